"""A check of what is to be published: columns that hold names of people or hash values are refused."""

from __future__ import annotations

from sfumato.engine.source import Source
from sfumato.engine.surveying_reader import survey_first_texts
from sfumato.policy.column_evidence import TableEvidence
from sfumato.policy.hash_values import refuse_published_hashes
from sfumato.policy.person_names import refuse_published_names
from sfumato.policy.policy import Policy


def with_name_check(source: Source, policy: Policy) -> Source:
    """Returns the source to read from now on; its first pass raises `BadPolicy` where names or hash values
    are published.

    Its first rows are looked at, and only columns of text that the policy publishes.
    """

    def check(survey: TableEvidence) -> None:
        refuse_published_names(policy, survey)
        refuse_published_hashes(policy, survey)

    return survey_first_texts(source, policy.published, check)
