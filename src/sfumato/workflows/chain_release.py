"""A release of a chain of groups: newcomers are grouped, everybody else stays as they were published."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.policy.chain import Again, ChainRule, Leavers, Shows
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_column, judge_data, judge_data_of, judge_words
from sfumato.releases.base_file import BaseFile, BaseMissing, BaseStore, sweep_bases
from sfumato.releases.dictionary import dictionary_files, rows_are
from sfumato.releases.files import StageText, discard
from sfumato.releases.issue import PlannedRelease
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import HistoryComparison, ReleaseRecord, memory_bytes
from sfumato.search.bare_rows import boxes_for_bare_rows, classes_of_bare_rows
from sfumato.search.blind_groups import least_people
from sfumato.search.plan import Plan, aim_of
from sfumato.system.coins import Coins
from sfumato.system.errors import (
    BadData,
    Infeasible,
    LedgerConflict,
    RefusedByHistory,
    SfumatoError,
    Unfinished,
    UsageError,
)
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import pluralize, verdict_document
from sfumato.system.progress import Progress, one_step
from sfumato.system.verdict import Verdict
from sfumato.table.arrow_rows import form_of
from sfumato.table.base import GROUP_NUMBER, RELEASE, Base, write_rows
from sfumato.table.form_of_source import RowSource
from sfumato.table.known_rows import KnownRows, chosen_rows, known_rows, people_of_plan
from sfumato.table.microdata import BARE, ROW_NUMBER, Missing, Role
from sfumato.table.observers import TableFingerprint
from sfumato.table.source import Source
from sfumato.verify.file import recheck
from sfumato.verify.groups import check_growth
from sfumato.workflows.baseline_policy import BaselineCheck
from sfumato.workflows.judgement import agreed, view_policy
from sfumato.workflows.protect import plan_table

Truth = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GrownBase:
    """The base of a chain after a release, and what is told of it.

    `plan` is that of the newcomers, `None` where there are none or they wait; `waiting` counts those who
    wait, `not_shown` further rows of its people that are not published.
    """

    base: Base
    plan: Plan | None
    known: KnownRows
    waiting: int
    not_shown: int

    @property
    def shown(self) -> Truth:
        """Which rows are those of groups that are shown."""
        return self.base.shown()


def grow(
    source: RowSource, policy: Policy, rule: ChainRule, base: Base | None, coins: Coins, *, progress: Progress
) -> GrownBase:
    """Returns the base after a release of this table."""
    keys = [name for name, column in policy.columns.items() if column.role.is_key]
    if base is not None:
        _check_columns(policy, base)
    with one_step(progress, "who is new"):
        known = known_rows(source, keys, base, coins, person=policy.person, by=rule.by, since=rule.since)
    least = max(rule.hold, least_people(policy.promises))
    waiting = known.newcomers if known.newcomers < least else 0
    if base is None and waiting:
        raise Infeasible(
            f"{pluralize(waiting, 'person comes', 'people come')} first, and a release waits for {least}",
            remedy="Wait for more, or ask for a smaller k or hold.",
        )
    if base is not None and not known.newcomers and not len(known.people):
        raise BadData("the table has no rows", remedy="Look whether it is the right one.")
    plan, added = None, None
    if known.newcomers and not waiting:
        newcomers = chosen_rows(source, known.first)
        plan = _plan_of_newcomers(newcomers, policy, known, base, coins, progress)
        added = people_of_plan(newcomers, plan.recoding, base, known, policy.published)
    if base is None:
        if added is None:
            raise AssertionError
        base = Base(
            added.slice(0, 0), tuple(policy.published), tuple(n for n in policy.published if n in keys)
        )
    grown = base.after_release(
        base.rows.slice(0, 0) if added is None else added,
        policy=judge_words(view_policy(policy)),
        batches={} if waiting else known.batches,
        leaving=known.left_groups if rule.leavers is Leavers.WITHHELD else (),
    )
    before, where = len(grown.rows), np.flatnonzero(known.further)
    theirs = int((grown.homes_of(known.people_of(where)) >= 0).sum())
    if theirs and rule.again is Again.BARE:
        grown = _with_bare_rows(
            source, policy, known, grown, new=rule.shows is Shows.NEWCOMERS, progress=progress
        )
    return GrownBase(grown, plan, known, waiting, theirs - len(grown.rows) + before)


def _check_columns(policy: Policy, base: Base) -> None:
    """Raises where a policy publishes other columns than earlier releases of its chain."""
    published = set(policy.published)
    keys = {name for name in policy.published if policy.columns[name].role.is_key}
    changed = sorted(published ^ set(base.published)) or sorted(keys ^ set(base.keys))
    if changed:
        what = "published or not" if published != set(base.published) else "quasi-identifiers or not"
        raise RefusedByHistory(
            f"columns are not what they were in earlier releases of the chain ({what}): {', '.join(changed)}",
            where="policy, columns",
            remedy="Publish the same columns, or start a new chain with people who were never published.",
        )


def _plan_of_newcomers(
    newcomers: RowSource,
    policy: Policy,
    known: KnownRows,
    base: Base | None,
    coins: Coins,
    progress: Progress,
) -> Plan:
    """Returns the plan of the rows in which newcomers show their values."""
    try:
        return plan_table(
            newcomers, _alone(policy), coins=coins.of("groups"), one_by_one=True, progress=progress
        )
    except Infeasible as refused:
        if base is None:
            raise
        raise Infeasible(
            f"{pluralize(known.newcomers, 'newcomer')} cannot be put into groups by themselves:"
            f" {refused.message}",
            remedy="Wait until more have come, or leave them out: nobody joins an earlier group.",
        ) from None


def _alone(policy: Policy) -> Policy:
    """Returns the policy by which the rows of newcomers are grouped: each row is a person."""
    return replace(policy, person=None, knows=None, chain=None)


def _with_bare_rows(
    source: RowSource, policy: Policy, known: KnownRows, base: Base, *, new: bool, progress: Progress
) -> Base:
    """Returns the base with further rows of its people in boxes of others, without any unchanged column.

    What no group of other people covers makes groups of its own, of as many people as any group has. With
    `new`, the boxes are those of the newest release: its file shows no others.
    """
    codings = [coding for coding in policy.codings if coding.role.is_key]
    rows = chosen_rows(source, known.further)
    table = rows.count(codings, missing=Missing.OWN_VALUE, person=ROW_NUMBER, progress=progress)
    where = np.flatnonzero(known.further)
    homes = base.homes_of(known.people_of(where))
    homes = np.where(np.isin(homes, np.array(base.withheld, np.int64)), -1, homes)
    boxes = base.boxes(new=new)
    names = [column.name for column in table.keys]
    texts = list(zip(*(boxes.texts[name] for name in names), strict=True))
    chosen = boxes_for_bare_rows(table, texts, boxes.groups, homes)
    covered = np.flatnonzero((chosen >= 0) & (homes >= 0))
    shown = {name: [boxes.texts[name][box] for box in chosen[covered].tolist()] for name in names}
    grown = base.with_bare_rows(*known.hashes_of(where[covered]), boxes.groups[chosen[covered]], shown)
    left = np.flatnonzero((chosen < 0) & (homes >= 0))
    people, aim = least_people(policy.promises), aim_of(_alone(policy))
    whose = known.numbers_of(where[left])
    own = classes_of_bare_rows(table, left, whose, people, aim, progress=progress)
    if own is None or own.table.person is None:
        return grown
    here = np.flatnonzero(own.class_of >= 0)
    classes = own.class_of[here].astype(np.int64)
    shown = {}
    for j, column in enumerate(own.table.keys):
        labels, which = own.texts(j)
        shown[column.name] = [labels[place] for place in np.asarray(which)[classes].tolist()]
    placed = where[own.table.person[here]]
    return grown.with_bare_rows(*known.hashes_of(placed), classes + grown.groups, shown)


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
        self.chain, self.versions = baseline.chain, None
        self.identifying_rows: dict[str, JsonObject] = {}
        self.keep: StageText = discard
        self._sealed: BaseFile | None = None
        self._rule, self._fingerprint, self._baseline = policy.chain, fingerprint, baseline
        self._ledger, self._ignore_chains, self._progress = ledger, tuple(ignore_chains), progress
        self._form = form_of(source)

    def __enter__(self) -> ChainDelivery:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._ledger is None or self._sealed is None:
            return
        if kind is None:
            sweep_bases(self._ledger)
        elif not issubclass(kind, Unfinished):
            self._give_up(self._ledger, memory_bytes(self._sealed.notes))

    def _give_up(self, ledger: Ledger, memory: bytes) -> None:
        """Removes the base of a release that failed, where the ledger can be asked that it did."""
        with contextlib.suppress(SfumatoError, OSError):
            if all(record.memory != memory for record in ledger.history(self.chain)):
                BaseStore.of(ledger).forget(memory)

    def plan(self, history: Sequence[ReleaseRecord]) -> list[PlannedRelease]:
        """Returns the release, planned beside the base of its chain."""
        if len(self.names) > 1:
            raise UsageError(
                "several recipients of a chain of groups get the same table: release it once for all of them",
                remedy="Leave --to out, or name one recipient.",
            )
        compared = self._baseline.hold(history)
        store = None if self._ledger is None else BaseStore.of(self._ledger)
        before = self._base_before(store, history)
        grown = grow(
            self.source,
            self.policy,
            self._rule,
            before,
            self._coins(len(history)),
            progress=self._progress,
        )
        shown = grown.shown
        if self._rule.shows is Shows.NEWCOMERS:
            shown = shown & grown.base.is_new
        if not shown.any():
            raise Infeasible("the release would show nothing", remedy=_remedy_for_nothing(self._rule, grown))
        view = grown.base.view(shown)
        rules = view_policy(self.policy, marked=BARE in view.column_names)
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
            states=[rows_are(rules, groups=True)],
            table=self._fingerprint.digest,
            figures=_figures(grown, shown, before, self._rule),
            memory=memory_bytes(sealed.notes),
            people=mark_bytes(self._fingerprint.people),
        )

        def judge(path: Path, private: Path) -> tuple[Verdict, ...]:
            verdicts = self._judge(path, private, before, grown.base, shown)
            if store is not None:
                self._sealed = sealed
                store.keep(sealed)
            return verdicts

        return [
            PlannedRelease(
                record,
                write=lambda path: self._write(view, path),
                judge=judge,
                describe=lambda path: dictionary_files(path, rules, self._form, groups=True),
                form=self._form,
            )
        ]

    def check(
        self, history: Sequence[ReleaseRecord], record: ReleaseRecord
    ) -> Mapping[str, object] | HistoryComparison | None:
        """Nothing more: what was written was judged beside the base."""
        del history, record
        return None

    def _base_before(self, store: BaseStore | None, history: Sequence[ReleaseRecord]) -> Base | None:
        """Returns the base after the last release of the chain; `None` where there is none yet."""
        try:
            return _base_before(store, history)
        except BaseMissing:
            now = () if self._ledger is None else self._ledger.history(self.chain)
            if len(now) > len(history):
                raise LedgerConflict(
                    f"chain {self.chain} went on while this release was planned", remedy="Release again."
                ) from None
            raise

    def _coins(self, releases: int) -> Coins:
        """Returns the coins of a release: a rehearsal draws the same ones, where the key is there."""
        ledger, purpose = self._ledger, f"coins of chain {self.chain}, release {releases + 1}".encode()
        if ledger is None:
            return Coins.fresh()
        if not ledger.readonly:
            return Coins(ledger.signing_key.derived(purpose))
        if ledger.key_path is None or not ledger.key_path.exists():
            return Coins.fresh()
        return Coins(Key.load(ledger.key_path).derived(purpose))

    def _write(self, rows: Any, path: Path) -> None:
        write_rows(rows, path, self.source.reader, self.source.memory, self._progress)

    def _judge(
        self, path: Path, private: Path, before: Base | None, base: Base, shown: Truth
    ) -> tuple[Verdict, ...]:
        """Has the written file judged: by itself, and beside what was published before."""
        judge = _FileJudge(self, private, path.suffix)
        marked = bool((shown & base.is_bare).any())
        if len(base.policies) == 1:
            judge.form_of(path, marked=marked)
        verdicts: list[Verdict] = []
        for number in range(len(base.policies)):
            verdicts += judge.policy(base, number, shown & base.made_under(number))
        if before is not None and self._rule.shows is Shows.EVERYBODY:
            lasting = replace(before, withheld=base.withheld)
            earlier = judge.written("earlier", lasting, lasting.shown(), marked=marked)
            added = judge.written("added", base, shown & base.is_new, marked=marked)
            verdicts += agreed((judge.growth(path, earlier, added),))
        return tuple(verdicts)


@dataclass(frozen=True)
class _FileJudge:
    """The second judge of one release, and the private files that it reads beside the published one."""

    delivery: ChainDelivery
    private: Path
    suffix: str

    def written(
        self, name: str, base: Base, rows: Truth, *, marked: bool = False, numbered: bool = False
    ) -> Path | None:
        """Returns a private file of some rows of a base; `None` where there are none."""
        if not rows.any():
            return None
        path = self.private / f"{name}{self.suffix}"
        self.delivery._write(base.view(rows, marked=marked, numbered=numbered), path)
        return path

    def form_of(self, path: Path, *, marked: bool) -> None:
        """Raises where the bytes of a file are not as they should be, or show what no taxonomy has."""
        rules = view_policy(self.delivery.policy, marked=marked)
        rules = replace(rules, promises=Promises((make("k-anonymity", {"k": 1}),)))
        self._recheck(path, judge_data(rules))

    def policy(self, base: Base, number: int, rows: Truth) -> tuple[Verdict, ...]:
        """Returns the verdicts on the groups that were made by one policy of a base.

        Rows are of different people. Groups are judged as a reader sees them, and once more one by one.
        """
        rules = judge_data_of(base.policies[number])
        path = self.written(f"rows_{number}", base, rows)
        if path is None:
            return ()
        verdicts = self._recheck(path, rules)
        groups = self.written(f"groups_{number}", base, rows, numbered=True)
        if groups is not None:
            columns = {**rules["columns"], GROUP_NUMBER: {**NO_TAXONOMY, "ranges": False}}
            self._recheck(groups, {**rules, "columns": columns})
        if len(base.policies) == 1:
            return verdicts
        releases = np.unique(base.numbers(RELEASE)[rows]).tolist()
        named = f"(people who came in {_named_releases(releases)})"
        return tuple(replace(verdict, promise=f"{verdict.promise} {named}") for verdict in verdicts)

    def growth(self, path: Path, earlier: Path | None, added: Path | None) -> Verdict:
        """Returns whether earlier rows stay as they were published."""
        source, form = self.delivery.source, self.delivery._form
        return check_growth(path, earlier, added, form=form, memory=source.memory)

    def _recheck(self, path: Path, rules: Mapping[str, Any]) -> tuple[Verdict, ...]:
        memory, progress = self.delivery.source.memory, self.delivery._progress
        return agreed(recheck(path, rules, form=self.delivery._form, memory=memory, progress=progress))


NO_TAXONOMY = judge_column(ColumnRule(Role.QUASI))
"""What the judge is told of the column that tells groups apart."""


def _named_releases(numbers: Sequence[int]) -> str:
    """Says which releases these are.

    >>> _named_releases([1]), _named_releases([2, 3, 5])
    ('release 1', 'releases 2, 3, 5')
    """
    return f"release{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _remedy_for_nothing(rule: ChainRule, grown: GrownBase) -> str:
    """Says what can be done where a release has nothing to show."""
    if rule.shows is Shows.NEWCOMERS and grown.shown.any():
        return "Nobody is new: release when people have come, or say `shows: everybody`."
    return "Every group has somebody who left: let them stay with `leavers: linger`, or wait for newcomers."


def _figures(grown: GrownBase, shown: Truth, before: Base | None, rule: ChainRule) -> JsonObject:
    base, plan, known = grown.base, grown.plan, grown.known
    withheld = set(base.withheld) - set(() if before is None else before.withheld)
    sizes = base.sizes(shown)
    figures: JsonObject = {
        "rows": int(shown.sum()),
        "suppressed": 0 if plan is None else plan.suppressed,
        "classes": len(sizes),
        "k": int(sizes.min()) if len(sizes) else 0,
        "loss": base.loss(shown),
        "newcomers": known.newcomers - grown.waiting,
    }
    more = {
        "waiting": grown.waiting,
        "left": known.left,
        "groups withheld": len(withheld),
        "bare rows": int((shown & base.is_bare).sum()),
        "rows not shown": grown.not_shown,
        "rows changed": known.changed,
        "rows too late": known.late,
        "same as leavers": known.alike,
    }
    figures |= {name: count for name, count in more.items() if count}
    if known.left and rule.leavers is Leavers.WITHHELD:
        figures["groups withheld"] = len(withheld)
    if plan is not None and plan.grouped is not None:
        figures["grouping"] = "blind" if plan.grouped.blind else "informed"
    return figures


def _base_before(store: BaseStore | None, history: Sequence[ReleaseRecord]) -> Base | None:
    """Returns the base after the last release of a chain; `None` where there is none yet."""
    if not history or store is None:
        return None
    if not history[-1].is_of_groups:
        raise RefusedByHistory(
            "the releases of this chain are no groups of people, and groups cannot go on from them",
            remedy="Start a new chain with people never published, or leave `chain` out of the policy.",
        )
    return store.open(history[-1].memory)
