"""A check of what is to be published: columns that hold names of people are refused."""

from __future__ import annotations

from sfumato.engine.source import Source
from sfumato.engine.surveying_reader import survey_first_texts
from sfumato.policy.person_names import refuse_published_names
from sfumato.policy.policy import Policy


def with_name_check(source: Source, policy: Policy) -> Source:
    """Returns the source to read from now on; its first pass raises `BadPolicy` where names are published.

    Its first rows are looked at, and only columns of text that the policy publishes.
    """
    return survey_first_texts(source, policy.published, lambda survey: refuse_published_names(policy, survey))
