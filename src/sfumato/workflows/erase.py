"""The verb `erase`: people are taken out of what a ledger keeps, and what is left to delete is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.inputs import AnyMemory, AnyPolicy, load_policy, open_original
from sfumato.policy.policy import Policy
from sfumato.releases.base_file import BaseFile, BaseStore
from sfumato.releases.issue import recover
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.erasure import ErasedBase, ErasureRequest, erase_people
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import memory_bytes
from sfumato.releases.names import checked_name
from sfumato.releases.receipt import Erasure
from sfumato.releases.staging import StepHook, no_hook
from sfumato.system.errors import LedgerConflict, Unfinished, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_rows import rows_of_keys, texts_of_rows
from sfumato.table.keyed_hashes import label_marks
from sfumato.table.microdata import Coding, Role
from sfumato.table.release_summary import Imprint
from sfumato.table.source import AnyTable, Source
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.delivery import person_columns
from sfumato.workflows.history import imprints_of

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import ReleaseRecord

UNSETTLED = ("under way", "out of reach", "blocked")
"""What recovery says of releases whose staged files may still hold somebody."""


def erase(
    people: Sequence[str] = (),
    *,
    rows: Sequence[int] = (),
    ledger: Ledger | str,
    data: AnyTable | None = None,
    policy: AnyPolicy | None = None,
    column: str | None = None,
    chain: str = "main",
    forget: bool = False,
    key: str | Path | None = None,
    memory: AnyMemory = None,
    progress: Progress | None = None,
    at: StepHook = no_hook,
) -> Erasure:
    """Take people, named by their keys, out of everything that a ledger keeps; return what is left to do.

    Their marks go from all entries of all chains, in one transaction with a sealed entry that names nobody.
    Published counts stay as they are: later releases are held against what the world has.

    Args:
        people: the keys of the people.
        rows: the numbers of their rows in the table, counted from 1: so nobody needs a key.
        ledger: the ledger, or its URL.
        data: the table with their rows still in it. It is needed for `rows`, and where batches (`since`) tell
            which rows were released; the result then says which rows to delete.
        policy: the policy of the table.
        column: the column that tells people apart, where the policy does not say it.
        chain: the chain in which batches of the table were released.
        forget: keep no mark of them in bases of groups either: if they return, they are newcomers there.
        key: the file of the signing key, where the ledger is named by its URL.
        memory: how much memory may be used, such as "4GB".
        progress: receives the phase, how much is done, and out of how much.
        at: receives the name of every step.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d"], "age": ["21", "24", "37", "39"]})
    >>> words = sf.protect(people, k=2, identifier="id", quasi="age").policy.to_dict()
    >>> with TemporaryDirectory() as home, sf.Ledger(f"sqlite:///{home}/ledger.db") as ledger:
    ...     policy = {**words, "person": "id"}
    ...     receipt = sf.release(people, policy, ledger=ledger, into=f"{home}/first")
    ...     sf.erase(["b"], ledger=ledger, column="id").people
    1
    """
    chain = checked_name(chain, "chain")
    rules = None if policy is None else load_policy(policy)
    told_by = _person_column(rules, column)
    if rows and (data is None or rules is None):
        raise UsageError("rows are numbers in a table", remedy="Name the table, and its policy: -p POLICY.")
    if data is not None and (rules is None or (told_by is None and not rows)):
        raise UsageError(
            "a table goes with its policy, and a column that tells people apart",
            remedy="Name both: -p POLICY, and --column where the policy has no `person`.",
        )
    source = None if data is None else open_original(data, memory, rules)
    if rows and source is not None and told_by is not None:
        people = [
            *people,
            *(str(key) for (key,) in texts_of_rows(source, [told_by], rows) if key is not None),
        ]
    named = rows if told_by is None else ()
    keys = [] if named and not people else _checked_keys(people)
    if isinstance(ledger, str):
        LedgerDatabase(ledger).require()
    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger, key=key)
    unsettled = sum(recovered.outcome in UNSETTLED for recovered in recover(opened))
    request = ErasureRequest(label_marks(keys), told_by, chain, forget=forget)
    theirs, in_table = None, 0
    if source is not None and rules is not None:
        history, show = opened.history(chain), progress or silent
        if named and history and history[-1].is_of_groups:
            raise UsageError(
                f"chain {chain} is one of groups that tells nobody apart: whose rows are in it is not known",
                remedy=f"End the chain, which deletes what is kept of it: `sfumato ledger retire {chain}`.",
            )
        if named:
            theirs = sorted(set(named))
            request = _with_rows(request, source, rules, history, theirs, show)
        elif told_by is not None:
            theirs = rows_of_keys(source, told_by, keys)
            request, in_table = _with_batches(request, source, rules, history, keys, show)
    request = _with_bases(request, opened, keys, forget=forget)
    try:
        entry, erased = erase_people(opened, request, in_table=in_table, at=at)
    except (UsageError, LedgerConflict) as refused:
        if not isinstance(refused, Unfinished):
            for base in request.bases:
                BaseStore.of(opened).forget(base.after)
        raise
    report = Erasure.of(entry, erased, rows=theirs, postgresql=opened.database.path is None)
    return report.beside_unsettled(unsettled)


def _checked_keys(people: Sequence[str]) -> list[str]:
    keys = list(dict.fromkeys(people))
    if not keys or any(not isinstance(key, str) or not key for key in keys):
        raise UsageError(
            "somebody has to be named, by the text of their key", remedy="Name them with --person."
        )
    return keys


def _person_column(policy: Policy | None, column: str | None) -> str | None:
    """Returns the column that tells people apart."""
    declared = [] if policy is None else person_columns(policy)
    if column is not None and declared and column not in declared:
        raise UsageError("the policy tells people apart by another column", where=f"column {column}")
    return column or (declared[0] if declared else None)


def _with_bases(
    request: ErasureRequest, ledger: Ledger, keys: Sequence[str], *, forget: bool
) -> ErasureRequest:
    """Returns the request with the bases of chains of groups, without these people; they are on disk."""
    last = {record.chain: record for record in ledger.history() if record.is_of_groups}
    if not last:
        return request
    from sfumato.table.known_rows import hashes_of_people  # noqa: PLC0415  # rows, for chains of groups alone

    store, people = BaseStore.of(ledger), hashes_of_people(keys)
    bases, closed_to = list[ErasedBase](), list[str]()
    for record in last.values():
        if not store.has(record.memory):  # lost, and nobody in it with it
            continue
        base = store.open(record.memory)
        if base.people_by(request.column) is None:
            closed_to.append(record.chain)
            continue
        left, found = base.without(people, request.column, forget=forget)
        if found.any():
            sealed = BaseFile.of(left)
            store.keep(sealed)
            groups, after = len(left.withheld) - len(base.withheld), memory_bytes(sealed.notes)
            count, marks = int(found.sum()), request.marks[found]
            bases.append(ErasedBase(record.number, record.memory, after, count, groups, marks))
    return replace(request, bases=tuple(bases), closed_to=tuple(closed_to))


def _with_batches(
    request: ErasureRequest,
    source: Source,
    policy: Policy,
    history: Sequence[ReleaseRecord],
    keys: Sequence[str],
    progress: Progress,
) -> tuple[ErasureRequest, int]:
    """Returns the request with the rows of each release, where batches tell; and who is in the table."""
    from sfumato.models.continuous.chain import rows_by_release  # noqa: PLC0415  # compiled kernels

    promise = next((p for p in policy.promises.cross_release if p.batch_column and not p.tells_people), None)
    column = request.column
    if promise is None or promise.batch_column is None or column is None or not history:
        return request, 0
    earlier: tuple[Imprint, ...] = imprints_of(history)
    policy.check_columns(source.columns)
    more = [Coding(column, Role.IDENTIFIER, Taxonomy.flat_in_order)]
    if any(coding.name == column for coding in policy.codings):
        more = []
    table = source.count([*policy.codings, *more], missing=policy.missing, progress=progress)
    theirs, in_table = rows_by_release(table, earlier, keys, person=column, since=promise.batch_column)
    rows = {record.number: n for record, n in zip(history, theirs, strict=True) if n}
    return replace(request, rows=rows, after=history[-1].hash), in_table


def _with_rows(
    request: ErasureRequest,
    source: Source,
    policy: Policy,
    history: Sequence[ReleaseRecord],
    numbers: Sequence[int],
    progress: Progress,
) -> ErasureRequest:
    """Returns the request with how many of the rows of these numbers each release holds."""
    from sfumato.models.continuous.chain import named_by_release  # noqa: PLC0415  # compiled kernels

    promise = next((p for p in policy.promises.cross_release if p.batch_column and not p.tells_people), None)
    if promise is None or promise.batch_column is None or not history:
        raise UsageError(
            "without a key only rows of a chain can be erased that tells batches apart (since)",
            remedy="Name the column of keys with --column, or the chain with --chain.",
        )
    policy.check_columns(source.columns)
    texts = texts_of_rows(source, [promise.batch_column], numbers)
    table = source.count(policy.codings, missing=policy.missing, progress=progress)
    theirs = named_by_release(table, imprints_of(history), texts, since=promise.batch_column)
    if not any(theirs):
        raise UsageError("no release of the chain holds these rows", remedy="Delete them from the table.")
    counts = {record.number: n for record, n in zip(history, theirs, strict=True) if n}
    return replace(request, rows=counts, after=history[-1].hash, unmarked=len(numbers))
