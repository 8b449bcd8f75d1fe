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

from sfumato.models.registry import make
from sfumato.policy.chain import ChainRule, Leavers, Shows
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_column, judge_data_of
from sfumato.releases.base_file import BaseFile, BaseMissing, BaseStore, sweep_bases
from sfumato.releases.dictionary import dictionary_files, rows_are
from sfumato.releases.files import StageText, discard
from sfumato.releases.issue import PlannedRelease
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import HistoryComparison, ReleaseRecord, memory_bytes
from sfumato.system.coins import Coins
from sfumato.system.errors import (
    Infeasible,
    LedgerConflict,
    RefusedByHistory,
    SfumatoError,
    Unfinished,
    UsageError,
)
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import verdict_document
from sfumato.system.progress import Progress
from sfumato.system.verdict import Verdict
from sfumato.table.arrow_rows import form_of
from sfumato.table.base import CLASS_NUMBER, GROUP_NUMBER, PERSON_NUMBER, RELEASE, Base, write_rows
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import BARE, Role
from sfumato.table.observers import TableFingerprint
from sfumato.table.source import Source
from sfumato.verify.file import recheck
from sfumato.verify.groups import check_growth
from sfumato.workflows.baseline_policy import BaselineCheck
from sfumato.workflows.grown_base import GrownBase, grow
from sfumato.workflows.judgement import agreed, judged_view, view_policy, view_rules
from sfumato.workflows.protect import plan_table

Truth = NDArray[np.bool_]
Numbers = NDArray[np.int64]


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
        self.policy, self.source, self.names = policy, source, tuple(names)
        self.chain, self.versions = baseline.chain, None
        self.identifying_rows: dict[str, JsonObject] = {}
        self.keep: StageText = discard
        self._sealed: BaseFile | None = None
        self._rule = ChainRule() if policy.chain is None else policy.chain
        self._fingerprint, self._baseline = fingerprint, baseline
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
            self._coins(f"coins of chain {self.chain}, release {len(history) + 1}"),
            marks=self._coins(f"marks of chain {self.chain}"),
            plan_rows=plan_table,
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

    def _coins(self, purpose: str) -> Coins:
        """Returns coins of the ledger's key: a rehearsal draws the same ones, where the key is there."""
        ledger = self._ledger
        if ledger is None:
            return Coins.fresh()
        if not ledger.readonly:
            return Coins(ledger.signing_key.derived(purpose.encode()))
        if ledger.key_path is None or not ledger.key_path.exists():
            return Coins.fresh()
        return Coins(Key.load(ledger.key_path).derived(purpose.encode()))

    def _write(self, rows: Any, path: Path) -> None:
        write_rows(rows, path, self.source.reader, self.source.memory, self._progress)

    def _judge(
        self, path: Path, private: Path, before: Base | None, base: Base, shown: Truth
    ) -> tuple[Verdict, ...]:
        """Has the written file judged: by itself, and beside what was published before."""
        judge = _FileJudge(self, private, path.suffix)
        marked = bool((shown & base.is_bare).any())
        rules = view_rules(self.policy, marked=marked)
        if len(base.policies) > 1:  # promises are those of the policy that made a group
            rules = {**rules, "promises": [make("k-anonymity", {"k": 1}).judge_data()]}
        numbered = judge.written("numbered", base, shown, marked=marked, numbered=True)
        memory, form = self.source.memory, self._form
        verdicts = [*judged_view(path, rules, numbered, form=form, memory=memory, progress=self._progress)]
        if len(base.policies) > 1:
            verdicts = []
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

    def policy(self, base: Base, number: int, rows: Truth) -> tuple[Verdict, ...]:
        """Returns the verdicts on the groups that were made by one policy of a base, where there are several.

        Classes are judged as a reader sees them, and once more one by one.
        """
        rules = judge_data_of(base.policies[number])
        by_class = self.written(f"classes_{number}", base, rows, numbered=True)
        if by_class is None:
            return ()
        columns = {
            **rules["columns"],
            CLASS_NUMBER: {**NO_TAXONOMY, "ranges": False},
            **{name: judge_column(ColumnRule(Role.INSENSITIVE)) for name in (PERSON_NUMBER, GROUP_NUMBER)},
        }
        self._recheck(by_class, {**rules, "columns": columns})
        if len(base.policies) == 1:
            return ()
        path = self.written(f"rows_{number}", base, rows)
        verdicts = () if path is None else self._recheck(path, rules)
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
