"""A release of a chain of groups: newcomers are grouped, everybody else stays as they were published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.policy.chain import Again, ChainRule, Leavers, Shows
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.releases.base_file import BaseFile, BaseStore
from sfumato.releases.dictionary import dictionary_files
from sfumato.releases.files import StageText, discard
from sfumato.releases.issue import PlannedRelease
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import HistoryComparison, ReleaseRecord, memory_bytes
from sfumato.search.bare_rows import boxes_for_bare_rows, classes_of_bare_rows
from sfumato.search.blind_groups import least_people
from sfumato.search.plan import Plan, aim_of
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, Infeasible, RefusedByHistory, SfumatoError, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import pluralize, verdict_document
from sfumato.system.progress import Progress, one_step
from sfumato.system.verdict import Verdict
from sfumato.table import base as rows_of_base
from sfumato.table.arrow_rows import form_of
from sfumato.table.base import BARE, Base
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import ROW_NUMBER, Microdata, Missing, Role
from sfumato.table.observers import TableFingerprint
from sfumato.table.source import Source
from sfumato.verify.file import recheck
from sfumato.verify.groups import check_growth
from sfumato.workflows.audit import agreed
from sfumato.workflows.baseline_policy import BaselineCheck
from sfumato.workflows.protect import plan_table

Truth = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Whose rows those of a table are, beside the base of its chain.

    `first` are the rows in which newcomers show their values, `further` other rows that are new; `people` and
    `rows` are hashes, one per row of the table. `left` counts people of earlier releases who are not in the
    table, `left_groups` lists the groups that they are in, `changed` counts rows that stay as they were
    published.
    """

    first: Truth
    further: Truth
    people: pa.Array
    rows: pa.Array
    batches: tuple[str, ...]
    newcomers: int
    left: int
    left_groups: tuple[int, ...]
    changed: int


def known_rows(
    source: RowSource, policy: Policy, rule: ChainRule, base: Base | None, coins: Coins
) -> KnownRows:
    """Returns which rows of a table are new, and whose.

    Who is who tells the column `person`; without one, everybody has one row, and the column of batches tells
    who came when.
    """
    keys = [name for name, column in policy.columns.items() if column.role.is_key]
    if policy.person is not None:
        return _rows_of_people(source, policy.person, keys, rule, base, coins)
    return _rows_of_batches(source, keys, rule, base)


def _rows_of_people(
    source: RowSource, person: str, keys: Sequence[str], rule: ChainRule, base: Base | None, coins: Coins
) -> KnownRows:
    who = rows_of_base.hashes_of_cells(source.reader, [person])
    _refuse_nobody(source, person)
    people = rows_of_base.hash_array(who)
    number = pc.dictionary_encode(people).indices.to_numpy()
    told_apart = rows_of_base.hashes_of_cells(source.reader, [person, *([rule.by] if rule.by else keys)])
    rows = rows_of_base.hash_array(_with_occurrence(told_apart))
    count = len(people)
    if base is None:
        known, there = np.zeros(count, bool), np.zeros(count, bool)
    else:
        known = pc.is_in(people, _column(base, rows_of_base.PERSON)).to_numpy(zero_copy_only=False)
        there = pc.is_in(rows, _column(base, rows_of_base.ROW)).to_numpy(zero_copy_only=False)
    first = _first_rows(source, number, known, rule, coins)
    further = ~first & ~there
    changed = 0
    if base is not None:
        further, changed = _without_changed(base, people, known, further, rows, exact=rule.by is not None)
    left, groups = (0, ()) if base is None else _left(base, people)
    newcomers = len(np.unique(number[~known]))
    return KnownRows(first, further, people, rows, (), newcomers, left, groups, changed)


def _refuse_nobody(source: RowSource, person: str) -> None:
    nobody = sum(batch.column(0).null_count for batch in source.reader.batches([person]))
    if nobody:
        raise BadData(
            f"{pluralize(nobody, 'row names', 'rows name')} nobody",
            where=f"column {person}",
            remedy="Give every row a person, or leave such rows out.",
        )


def _with_occurrence(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns hashes that tell equal ones apart by how many of them came before."""
    order = np.lexsort((np.arange(len(hashes)), hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    fresh = np.ones(len(hashes), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    start = np.maximum.accumulate(np.where(fresh, np.arange(len(hashes)), 0))
    counted = hashes.copy()
    counted[order, 1] ^= (np.arange(len(hashes)) - start).astype(np.uint64)
    return counted


def _first_rows(source: RowSource, number: Numbers, known: Truth, rule: ChainRule, coins: Coins) -> Truth:
    """Returns the row of every newcomer that shows values: the first by `by`, equal ones by coins."""
    coin = coins.draw("first rows", len(number))
    order = np.zeros(len(number), np.int64)
    if rule.by is not None:
        order = rows_of_base.ranks_of_cells(source.reader, rule.by)
    places = np.lexsort((coin, order, number))
    places = places[~known[places]]
    first = np.zeros(len(number), dtype=bool)
    first[places[np.unique(number[places], return_index=True)[1]]] = True
    return first


def _without_changed(
    base: Base,
    people: pa.Array,
    known: Truth,
    further: Truth,
    rows: pa.Array,
    *,
    exact: bool,
) -> tuple[Truth, int]:
    """Returns the further rows without those that are a published row with other quasi-identifiers.

    Where a column orders a person's rows, it tells which row is which. Otherwise as many new rows of a person
    as published ones are missing are taken to be these, changed: they stay as they were published.
    """
    if exact:
        return further, 0
    missing = _column(base, rows_of_base.ROW)
    gone = ~pc.is_in(missing, rows).to_numpy(zero_copy_only=False)
    gone_people = _column(base, rows_of_base.PERSON).filter(pa.array(gone))
    counts = pc.value_counts(gone_people)
    lacking = dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True))
    candidates = np.flatnonzero(further & known)
    changed = 0
    for row in candidates.tolist():
        who = people[row].as_py()
        if lacking.get(who, 0) > 0:
            lacking[who] -= 1
            further[row] = False
            changed += 1
    return further, changed


def _left(base: Base, people: pa.Array) -> tuple[int, tuple[int, ...]]:
    """Returns how many people of the base are not in the table, and the groups that these are in."""
    there = pc.is_in(_column(base, rows_of_base.PERSON), pc.unique(people)).to_numpy(zero_copy_only=False)
    gone = base.rows.filter(pa.array(~there))
    left = pc.count_distinct(gone.column(rows_of_base.PERSON)).as_py()
    return left, tuple(sorted(pc.unique(gone.column(rows_of_base.HOME)).to_pylist()))


def _rows_of_batches(source: RowSource, keys: Sequence[str], rule: ChainRule, base: Base | None) -> KnownRows:
    if rule.since is None and base is not None:
        raise RefusedByHistory(
            "nothing tells who is in earlier releases of this chain already",
            remedy="Name the column that tells people apart (`person: COLUMN`), or the column of batches"
            " (`chain: {since: COLUMN}`), where nobody has two rows.",
        )
    rows = rows_of_base.hashes_of_cells(source.reader, keys)
    count = len(rows)
    own = np.stack([np.arange(count, dtype=np.uint64), np.zeros(count, np.uint64)], axis=1)
    fresh, batches = np.ones(count, dtype=bool), ()
    if rule.since is not None:
        texts = [hash_.tobytes().hex() for hash_ in rows_of_base.hashes_of_cells(source.reader, [rule.since])]
        batches = tuple(sorted(set(texts)))
        shown = set(() if base is None else base.batches)
        fresh = np.array([text not in shown for text in texts], dtype=bool)
    own[:, 1] = np.uint64(0 if base is None else base.releases)
    people = rows_of_base.hash_array(own)
    return KnownRows(fresh, np.zeros(count, bool), people, people, batches, int(fresh.sum()), 0, (), 0)


def _column(base: Base, name: str) -> pa.Array:
    column = base.rows.column(name).combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


# The rows of one release, as they enter the base.


@dataclass(frozen=True, eq=False)
class PlannedGroups:
    """What a release adds to the base of its chain, and what is told of it.

    `plan` is that of the newcomers, `None` where there are none or they wait; `held` counts those who wait,
    `bare` the bare rows that are added, `not_shown` further rows that no class of other people covers.
    """

    base: Base
    plan: Plan | None
    known: KnownRows
    held: int
    bare: int
    not_shown: int


def grow(
    source: RowSource, policy: Policy, rule: ChainRule, base: Base | None, coins: Coins, *, progress: Progress
) -> PlannedGroups:
    """Returns the base after a release of this table."""
    with one_step(progress, "who is new"):
        known = known_rows(source, policy, rule, base, coins)
    alone = _alone(policy)
    least = max(rule.hold, least_people(policy.promises))
    held = known.newcomers if known.newcomers < least else 0
    if base is None and held:
        raise Infeasible(
            f"{pluralize(held, 'person comes', 'people come')} first, and a release waits for {least}",
            remedy="Wait for more, or ask for a smaller k or hold.",
        )
    plan, added = None, None
    if known.newcomers and not held:
        newcomers = rows_of_base.chosen_rows(source, known.first)
        plan = plan_table(newcomers, alone, coins=coins.of("groups"), one_by_one=True, progress=progress)
        added = _rows_of_plan(newcomers, plan, policy, known, base)
    first_of_all = base if base is not None else _empty(policy, added)
    grown = first_of_all
    withheld = set(first_of_all.withheld)
    if rule.leavers is Leavers.WITHHELD:
        withheld |= set(known.left_groups)
    groups = 0 if added is None else int(pc.max(added.column(rows_of_base.GROUP)).as_py()) + 1 - grown.groups
    grown = grown.with_rows(
        grown.rows.schema.empty_table() if added is None else added, groups=groups, classes=groups
    )
    grown = replace(
        grown,
        withheld=tuple(sorted(withheld)),
        batches=tuple(sorted({*grown.batches, *known.batches})) if not held else grown.batches,
        policies=tuple(dict.fromkeys((*grown.policies, policy.digest))),
    )
    bare, not_shown = None, int(known.further.sum())
    if not_shown and rule.again is Again.BARE:
        bare = _bare_rows(source, policy, known, grown, progress)
    if bare is not None and len(bare):
        not_shown -= len(bare)
        last = int(pc.max(bare.column(rows_of_base.GROUP)).as_py()) + 1
        grown = replace(
            grown,
            rows=pa.concat_tables([grown.rows, bare]),
            groups=max(grown.groups, last),
            classes=max(grown.classes, last),
        )
    return PlannedGroups(grown, plan, known, held, 0 if bare is None else len(bare), not_shown)


def _alone(policy: Policy) -> Policy:
    """Returns the policy by which the rows of newcomers are grouped: each row is a person."""
    return replace(policy, person=None, knows=None, chain=None)


def _empty(policy: Policy, added: pa.Table | None) -> Base:
    if added is None:
        raise AssertionError
    keys = tuple(name for name in policy.published if policy.columns[name].role.is_key)
    return Base(added.schema.empty_table(), tuple(policy.published), keys)


def _rows_of_plan(
    newcomers: RowSource, plan: Plan, policy: Policy, known: KnownRows, base: Base | None
) -> pa.Table:
    """Returns the rows of newcomers as they enter the base."""
    table, classes, which = rows_of_base.recoded_rows(newcomers, plan.recoding, policy.published)
    where = np.flatnonzero(known.first)[which]
    offset = 0 if base is None else base.groups
    release = 1 if base is None else base.releases + 1
    lost = _loss_of_classes(plan)[classes]
    columns = {
        rows_of_base.PERSON: known.people.take(pa.array(where)),
        rows_of_base.ROW: known.rows.take(pa.array(where)),
        rows_of_base.GROUP: pa.array(classes + offset),
        rows_of_base.CLASS: pa.array(classes + offset),
        rows_of_base.HOME: pa.array(classes + offset),
        rows_of_base.RELEASE: pa.array(np.full(len(classes), release, np.int32)),
        rows_of_base.BARE_ROW: pa.array(np.zeros(len(classes), bool)),
        rows_of_base.LOSS: pa.array(lost),
    }
    return pa.table({**columns, **{name: table.column(name) for name in table.column_names}})


def _loss_of_classes(plan: Plan) -> NDArray[np.float64]:
    """Returns the mean share of values that the box of each class stands for."""
    recoding = plan.recoding
    lost = np.zeros(recoding.count)
    for j, column in enumerate(recoding.table.keys):
        leaves = len(column.taxonomy.leaves)
        if leaves > 1:
            lost += (recoding.high[:, j] - recoding.low[:, j] - 1) / (leaves - 1)
    return lost / max(1, len(recoding.table.keys))


def _bare_rows(
    source: RowSource, policy: Policy, known: KnownRows, base: Base, progress: Progress
) -> pa.Table | None:
    """Returns further rows in boxes of other people, without any column that is published unchanged.

    What no class of other people covers makes classes of its own, of as many people as any class has.
    """
    further = rows_of_base.chosen_rows(source, known.further)
    codings = [coding for coding in policy.codings if coding.role.is_key]
    table = further.count(codings, missing=Missing.OWN_VALUE, person=ROW_NUMBER, progress=progress)
    where = np.flatnonzero(known.further)
    homes = _homes(base, known.people.take(pa.array(where)))
    parts = [_in_boxes_of_others(table, where, homes, known, base)]
    placed = np.zeros(len(where), dtype=bool)
    placed[parts[0][1]] = True
    left = np.flatnonzero(~placed & (homes >= 0))
    parts.append(_in_own_classes(table, where, left, homes, known, base, policy, progress))
    tables = [rows for rows, _ in parts if rows is not None]
    return pa.concat_tables(tables) if tables else None


def _in_boxes_of_others(
    table: Microdata, where: Numbers, homes: Numbers, known: KnownRows, base: Base
) -> tuple[pa.Table | None, Numbers]:
    """Returns the bare rows that a class of other people covers, and which of the further rows they are."""
    here = base.rows.filter(pa.array(base.shown() & ~base.is_bare))
    firsts = pc.unique(here.column(rows_of_base.CLASS))
    classes = here.take(pc.index_in(firsts, _flat(here.column(rows_of_base.CLASS))))
    keys = [column.name for column in table.keys]
    boxes = list(zip(*(classes.column(name).to_pylist() for name in keys), strict=True))
    owner = np.asarray(classes.column(rows_of_base.GROUP).to_numpy(), np.int64)
    chosen = boxes_for_bare_rows(table, boxes, owner, homes)
    covered = np.flatnonzero((chosen >= 0) & (homes >= 0))
    if not len(covered):
        return None, covered
    box = classes.take(pa.array(chosen[covered]))
    shown = {name: box.column(name) for name in keys}
    place = {name: box.column(name) for name in (rows_of_base.GROUP, rows_of_base.CLASS)}
    return _as_bare(where[covered], homes[covered], known, base, shown, place), covered


def _in_own_classes(
    table: Microdata,
    where: Numbers,
    left: Numbers,
    homes: Numbers,
    known: KnownRows,
    base: Base,
    policy: Policy,
    progress: Progress,
) -> tuple[pa.Table | None, Numbers]:
    """Returns further rows in classes of bare rows alone, and which they are."""
    nothing = None, np.zeros(0, np.int64)
    person = np.asarray(pc.dictionary_encode(known.people).indices.to_numpy(), np.int64)[where]
    rest = _some_rows(table, left)
    if rest is None:
        return nothing
    recoding = classes_of_bare_rows(
        rest, person[left], least_people(policy.promises), aim_of(_alone(policy)), progress=progress
    )
    if recoding is None:
        return nothing
    numbers = recoding.table.person
    shown = np.flatnonzero(recoding.class_of >= 0)
    if numbers is None or not len(shown):
        return nothing
    chosen = left[numbers[shown]]
    classes = recoding.class_of[shown]
    columns = {}
    for j, column in enumerate(recoding.table.keys):
        texts, which = recoding.texts(j)
        columns[column.name] = pa.array([texts[i] for i in np.asarray(which)[classes].tolist()], pa.string())
    numbered = pa.array(classes.astype(np.int64) + base.groups)
    place = {rows_of_base.GROUP: numbered, rows_of_base.CLASS: numbered}
    return _as_bare(where[chosen], homes[chosen], known, base, columns, place), chosen


def _some_rows(table: Microdata, chosen: Numbers) -> Microdata | None:
    """Returns rows of a table whose rows are numbered, numbered anew in the same order."""
    person = table.person
    if person is None or not len(chosen):
        return None
    place = np.full(table.rows, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    number = place[_row_numbers(table)[person]]
    here = number >= 0
    codes = [table.codes(column.name)[here] for column in table.keys]
    return Microdata.of_codes(table.keys, codes, person=number[here])


def _row_numbers(table: Microdata) -> Numbers:
    """Returns the row of the source that each number of a person stands for: numbers are in order of their
    texts.
    """
    texts = np.array([str(row) for row in range(table.rows)])
    return np.argsort(texts).astype(np.int64)


def _as_bare(
    rows: Numbers,
    homes: Numbers,
    known: KnownRows,
    base: Base,
    shown: Mapping[str, pa.Array | pa.ChunkedArray],
    place: Mapping[str, pa.Array | pa.ChunkedArray],
) -> pa.Table:
    """Returns bare rows as they enter the base, in the boxes `shown`."""
    count = len(rows)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        rows_of_base.PERSON: known.people.take(pa.array(rows)),
        rows_of_base.ROW: known.rows.take(pa.array(rows)),
        **place,
        rows_of_base.HOME: pa.array(homes),
        rows_of_base.RELEASE: pa.array(np.full(count, base.releases, np.int32)),
        rows_of_base.BARE_ROW: pa.array(np.ones(count, bool)),
        rows_of_base.LOSS: pa.array(np.zeros(count)),
    }
    for name in base.published:
        kind = base.rows.schema.field(name).type
        columns[name] = shown[name] if name in shown else pa.nulls(count, kind)
    return pa.table({name: columns[name] for name in base.rows.column_names}).cast(base.rows.schema)


def _homes(base: Base, people: pa.Array) -> Numbers:
    """Returns the group that each of these people is in, or -1."""
    first = base.rows.filter(pa.array(~base.is_bare))
    place = pc.index_in(people, _flat(first.column(rows_of_base.PERSON)))
    homes = pc.fill_null(_flat(first.column(rows_of_base.GROUP)).take(place), -1)
    return np.asarray(homes.to_numpy(zero_copy_only=False), np.int64)


def _flat(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


# A delivery of a chain of groups: planned when the history is known, written as a view of the base.


class ChainDelivery:
    """What is released of a chain of groups: a view of its base, judged beside what was published before."""

    def __init__(
        self,
        source: Source,
        fingerprint: TableFingerprint,
        policy: Policy,
        names: Sequence[str],
        *,
        baseline: BaselineCheck,
        ledger: Ledger | None,
        ignore_chains: Sequence[str] = (),
        progress: Progress,
    ) -> None:
        if not isinstance(source, RowSource):
            raise UsageError(
                f"a chain of groups is not released from a {source.kind} table",
                remedy="Write it to Parquet first.",
            )
        if policy.chain is None:
            raise AssertionError
        self.policy, self.source, self.names = policy, source, tuple(names)
        self.chain, self.versions, self.identifying_rows = baseline.chain, None, {}
        self.keep: StageText = discard
        self._rule, self._fingerprint, self._baseline = policy.chain, fingerprint, baseline
        self._ledger, self._ignore_chains, self._progress = ledger, tuple(ignore_chains), progress
        self._form = form_of(source)

    def __enter__(self) -> ChainDelivery:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def plan(self, history: Sequence[ReleaseRecord]) -> list[PlannedRelease]:
        """Returns the release, planned beside the base of its chain."""
        if len(self.names) > 1:
            raise UsageError(
                "several recipients of a chain of groups get the same table: release it once for all of them",
                remedy="Leave --to out, or name one recipient.",
            )
        compared = self._baseline.hold(history)
        store = None if self._ledger is None else BaseStore.of(self._ledger)
        before = _base_before(store, history)
        if store is not None and self._ledger is not None and not self._ledger.readonly:
            for record in history[:-1]:
                store.forget(record.memory)
        grown = grow(
            self.source,
            self.policy,
            self._rule,
            before,
            self._coins(len(history)),
            progress=self._progress,
        )
        shown = grown.base.shown(newcomers=self._rule.shows is Shows.NEWCOMERS)
        if not shown.any():
            raise Infeasible(
                "nothing is left to show", remedy="Wait for newcomers, or let people who left linger."
            )
        sealed = BaseFile.of(grown.base)
        record = ReleaseRecord(
            release="",
            chain=self.chain,
            policy=self.policy.digest,
            recipient=self.names[0] if self.names else None,
            verdicts=[] if grown.plan is None else list(map(verdict_document, grown.plan.verdicts)),
            versions={"sfumato": version("sfumato")},
            weaker=compared.weaker,
            ignore_chains=self._ignore_chains,
            statement=compared.statement,
            table=self._fingerprint.digest,
            figures=_figures(grown, shown),
            memory=memory_bytes(sealed.notes),
            people=mark_bytes(self._fingerprint.people),
        )
        view = grown.base.view(shown)

        def judge(path: Path, private: Path) -> tuple[Verdict, ...]:
            verdicts = self._judge(path, private, before, grown.base, shown)
            if store is not None:
                store.keep(sealed)
            return verdicts

        return [
            PlannedRelease(
                record,
                write=lambda path: self._write(view, path),
                judge=judge,
                describe=lambda path: dictionary_files(path, _view_policy(self.policy, view), self._form),
                form=self._form,
            )
        ]

    def check(
        self, history: Sequence[ReleaseRecord], record: ReleaseRecord
    ) -> Mapping[str, object] | HistoryComparison | None:
        """Nothing more: what was written was judged beside the base."""
        del history, record
        return None

    def _coins(self, releases: int) -> Coins:
        if self._ledger is None or self._ledger.readonly:
            return Coins.fresh()
        purpose = f"sfumato coins {self.chain} {releases}".encode()
        return Coins(self._ledger.signing_key.derived(purpose))

    def _write(self, rows: pa.Table, path: Path) -> None:
        rows_of_base.write_rows(rows, path, self.source.reader, self.source.memory, self._progress)

    def _judge(
        self, path: Path, private: Path, before: Base | None, base: Base, shown: Truth
    ) -> tuple[Verdict, ...]:
        """Has the written file judged: by itself, and beside what was published before."""
        view = base.view(shown)
        policy = _view_policy(self.policy, view)
        bare = base.is_bare
        memory, progress, form = self.source.memory, self._progress, self._form
        plain = path
        if BARE in view.column_names:
            sizes = replace(policy, promises=Promises((make("k-anonymity", {"k": 1}),)))
            agreed(recheck(path, judge_data(sizes), form=form, memory=memory, progress=progress))
            plain = private / f"first_rows{path.suffix}"
            self._write(base.view(shown & ~bare).select(list(base.published)), plain)
            policy = _view_policy(self.policy, view.select(list(base.published)))
        verdicts = agreed(recheck(plain, judge_data(policy), form=form, memory=memory, progress=progress))
        earlier = added = None
        new = base._numbers(rows_of_base.RELEASE) == base.releases
        if before is not None:
            fresh = shown & new & ~bare
            if fresh.any():
                alone = private / f"newcomers{path.suffix}"
                self._write(base.view(fresh).select(list(base.published)), alone)
                judged = judge_data(_view_policy(self.policy, base.view(fresh).select(list(base.published))))
                agreed(recheck(alone, judged, form=form, memory=memory, progress=progress))
            if self._rule.shows is Shows.EVERYBODY:
                earlier = _with_bare(before, _still_shown(before, base), view)
                added = _with_bare(base, shown & new, view)
                earlier_path, added_path = private / f"earlier{path.suffix}", private / f"added{path.suffix}"
                self._write(earlier, earlier_path)
                self._write(added, added_path)
                verdict = check_growth(
                    path,
                    earlier_path if len(earlier) else None,
                    added_path if len(added) else None,
                    form=form,
                    memory=memory,
                )
                verdicts += agreed((verdict,))
        return verdicts


def _still_shown(before: Base, base: Base) -> Truth:
    """Returns which rows of the earlier base a view of the grown one shows."""
    return replace(before, withheld=base.withheld).shown()


def _with_bare(base: Base, rows: Truth, view: pa.Table) -> pa.Table:
    """Returns some rows of a base in the columns of a view."""
    table = base.view(rows)
    if BARE in view.column_names and BARE not in table.column_names:
        table = table.append_column(BARE, pa.array(["no"] * len(table), pa.string()))
    return table.select(view.column_names)


def _view_policy(policy: Policy, view: pa.Table) -> Policy:
    """Returns the policy that a view is judged and described by: every row that is not bare is a person."""
    columns = dict(policy.columns)
    if BARE in view.column_names:
        columns[BARE] = ColumnRule(Role.INSENSITIVE)
    return replace(policy, columns=columns, person=None, knows=None, chain=None)


def _figures(grown: PlannedGroups, shown: Truth) -> JsonObject:
    base, plan, known = grown.base, grown.plan, grown.known
    sizes = np.unique(base._numbers(rows_of_base.CLASS)[shown & ~base.is_bare], return_counts=True)[1]
    figures: JsonObject = {
        "rows": int(shown.sum()),
        "suppressed": 0 if plan is None else plan.suppressed,
        "classes": len(sizes),
        "k": int(sizes.min()) if len(sizes) else 0,
        "loss": base.loss(shown),
        "newcomers": known.newcomers - grown.held,
    }
    more = {
        "waiting": grown.held,
        "left": known.left,
        "bare rows": int((shown & base.is_bare).sum()),
        "rows not shown": grown.not_shown,
        "changed": known.changed,
    }
    grouping = "" if plan is None or plan.grouped is None else "blind" if plan.grouped.blind else "informed"
    return {
        **figures,
        **{name: n for name, n in more.items() if n},
        **({"grouping": grouping} if grouping else {}),
    }


def _base_before(store: BaseStore | None, history: Sequence[ReleaseRecord]) -> Base | None:
    """Returns the base after the last release of a chain; `None` where there is none yet."""
    if not history:
        return None
    if store is None:
        raise AssertionError
    last = history[-1]
    try:
        return store.open(last.memory)
    except SfumatoError as why:
        if not BaseFile.is_named_in(last.memory):
            raise RefusedByHistory(
                "the releases of this chain are no groups of people, and groups cannot go on from them",
                remedy="Start a new chain with people never published, or leave `chain` out of the policy.",
            ) from None
        raise why from None
