"""The files of a dictionary beside a published table, checked before anybody sees them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.core.errors import BadData
from sfumato.judge.dictionary import dictionary_faults
from sfumato.policy.policy import Policy
from sfumato.policy.published_forms import READINGS
from sfumato.releases.dictionary import words
from sfumato.releases.dictionary.document import as_bytes, dictionary
from sfumato.releases.dictionary.page import allow_list, dictionary_page
from sfumato.releases.dictionary.places import DOCUMENT, PAGE


def dictionary_files(
    file: Path, policy: Policy, form: Mapping[str, str] | None = None
) -> Mapping[str, bytes]:
    """Returns the two files of a published table's dictionary, by their names in a release.

    The judge reads the table again and holds the document against it; the page may say what the document
    says. Raises `BadData` where anything else is found: nothing is to be published then.
    """
    document = dictionary(file, policy, form)
    page = dictionary_page(document)
    wrong = dictionary_faults(file, document, known=_known(policy), form=form)
    wrong += allow_list(document).faults(page)
    if wrong:
        raise BadData(
            f"the data dictionary would say what is not published: {wrong[0]}",
            where=file.name,
            remedy="Please report this; nothing was published.",
        )
    return {DOCUMENT: as_bytes(document), PAGE: page.encode()}


def _known(policy: Policy) -> frozenset[str]:
    """Returns the sentences that a dictionary may hold, whatever is in the table."""
    said = {words.PER_PERSON, words.SEVERAL_ROWS, words.GENERALIZED, words.UNCHANGED}
    said |= {words.TERMS_REMOVED, *READINGS.values(), *(rule.rewritten for rule in policy.columns.values())}
    said |= {f"{words.GENERALIZED}; {rule.rewritten}" for rule in policy.columns.values() if rule.rewritten}
    for promise in policy.promises:
        said |= {str(promise), promise.in_words(), promise.silent_on}
    return frozenset(said)
