"""The files that a call reads, or that its owner needs later: no output may replace one of them."""
# ruff: noqa: PLC0415  # a database is loaded when a ledger is named

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.data_file import DataFile, SourceForm
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import HierarchyFile

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


PATHS = (str, PathLike)


def needed_files(
    given: object, policy: Policy, ledger: Ledger | str | None, others: Sequence[object]
) -> dict[Path, str]:
    """Returns the files of a policy, of a ledger, and those among `others` that are paths; each with a name.

    `given` is the policy as the caller named it.
    """
    needed = {Path(other): "a file that it is made from" for other in others if isinstance(other, PATHS)}
    said = [other.form for other in others if isinstance(other, DataFile)]
    for form in (policy.form_of_data, *said):
        needed |= files_of_form(form)
    for name, rule in policy.columns.items():
        if isinstance(rule.taxonomy, HierarchyFile):
            needed[_beside(policy, rule.taxonomy.name)] = f"the hierarchy of column {name}"
    for promise in policy.promises:
        needed |= {
            _beside(policy, file): f"a file of the promise {promise.name}" for file, _ in promise.files
        }
    if isinstance(given, PATHS):
        needed[Path(given)] = "the policy"
    return needed | _of_ledger(ledger)


def files_of_form(form: SourceForm) -> dict[Path, str]:
    """Returns the files beside the data that say how these are read; each with a name."""
    return {} if form.catalog is None else {Path(form.catalog): "the catalogue of labels"}


def _beside(policy: Policy, name: str) -> Path:
    """Returns the path of a file that a policy names, relative to its folder."""
    return Path(name) if policy.folder is None else policy.folder / name


def _of_ledger(ledger: Ledger | str | None) -> dict[Path, str]:
    if ledger is None:
        return {}
    from sfumato.releases.ledger.database import LedgerDatabase

    path = (LedgerDatabase(ledger) if isinstance(ledger, str) else ledger.database).path
    return {} if path is None else {path: "the ledger"}
