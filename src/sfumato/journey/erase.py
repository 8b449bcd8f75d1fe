"""The verb `erase`: people are taken out of what a ledger keeps, and what is left to delete is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.marks import label_marks
from sfumato.core.microdata import Coding, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.engine import AnyTable
from sfumato.engine.rows_of_keys import rows_of_keys
from sfumato.engine.source import Source
from sfumato.journey.delivery import person_columns
from sfumato.journey.history import imprints_of
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.table_argument import AnyMemory, open_table
from sfumato.policy.policy import Policy
from sfumato.releases.erasure_report import Erasure
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.erasure import ErasureRequest, erase_people
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.names import checked_name
from sfumato.releases.recovery import recover
from sfumato.releases.steps import StepHook, no_hook

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import Record

UNSETTLED = ("under way", "out of reach", "blocked")
"""What recovery says of releases whose staged files may still hold somebody."""


def erase(
    people: Sequence[str],
    *,
    ledger: Ledger | str,
    data: AnyTable | None = None,
    policy: AnyPolicy | None = None,
    column: str | None = None,
    chain: str = "main",
    key: str | Path | None = None,
    memory: AnyMemory = None,
    progress: Progress | None = None,
    at: StepHook = no_hook,
) -> Erasure:
    """Take people, named by their keys, out of everything that a ledger keeps; return what is left to do.

    Marks of theirs go from all entries of all chains, in one transaction with a sealed entry that names
    nobody. Published counts stay as they are: later releases are held against what the world has. `column`
    tells people apart, where the policy does not say it. `data`, the table with their rows still in it, and
    its `policy` are needed where batches (`since`) tell which rows of `chain` were released, and say which
    rows to delete.
    """
    keys, chain = _checked_keys(people), checked_name(chain, "chain")
    rules = None if policy is None else load_policy(policy)
    told_by = _person_column(rules, column)
    if data is not None and (rules is None or told_by is None):
        raise WrongCall(
            "a table goes with its policy, and a column that tells people apart",
            remedy="Name both: -p POLICY, and --column where the policy has no `person`.",
        )
    source = None if data is None else open_table(data, memory, rules)
    if isinstance(ledger, str):
        LedgerDatabase(ledger).require()
    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger, key=key)
    unsettled = sum(one.outcome in UNSETTLED for one in recover(opened))
    request = ErasureRequest(label_marks(keys), told_by, chain)
    rows, in_table = None, 0
    if source is not None and rules is not None and told_by is not None:
        rows = rows_of_keys(source, told_by, keys)
        history = opened.history(chain)
        request, in_table = _with_batches(request, source, rules, history, keys, progress or silent)
    entry, erased = erase_people(opened, request, in_table=in_table, at=at)
    report = Erasure.of(entry, erased, rows=rows, postgresql=opened.database.path is None)
    return report.beside_unsettled(unsettled)


def _checked_keys(people: Sequence[str]) -> list[str]:
    keys = list(dict.fromkeys(people))
    if not keys or any(not isinstance(key, str) or not key for key in keys):
        raise WrongCall(
            "somebody has to be named, by the text of their key", remedy="Name them with --person."
        )
    return keys


def _person_column(policy: Policy | None, column: str | None) -> str | None:
    """Returns the column that tells people apart."""
    said = [] if policy is None else person_columns(policy)
    if column is not None and said and column not in said:
        raise WrongCall("the policy tells people apart by another column", where=f"column {column}")
    return column or (said[0] if said else None)


def _with_batches(
    request: ErasureRequest,
    source: Source,
    policy: Policy,
    history: Sequence[Record],
    keys: Sequence[str],
    progress: Progress,
) -> tuple[ErasureRequest, int]:
    """Returns the request with the rows of each release, where batches tell; and who is in the table."""
    from sfumato.chains.erased_rows import rows_by_release  # noqa: PLC0415  # compiled kernels

    promise = next((p for p in policy.promises if p.batch_column and not p.tells_people), None)
    column = request.column
    if promise is None or promise.batch_column is None or column is None or not history:
        return request, 0
    earlier: tuple[Imprint, ...] = imprints_of(history)
    policy.check_columns(source.columns)
    more = [] if any(c.name == column for c in policy.codings) else [Coding(column, Role.IDENTIFIER, _flat)]
    table = source.count([*policy.codings, *more], missing=policy.missing, progress=progress)
    theirs, found = rows_by_release(
        table, earlier, keys, person=column, since=promise.batch_column, until=promise.departure_column
    )
    rows = {record.number: n for record, n in zip(history, theirs, strict=True) if n}
    return replace(request, rows=rows, after=history[-1].hash), found


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))
