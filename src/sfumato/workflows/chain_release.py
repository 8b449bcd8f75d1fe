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

from sfumato.inputs import NotedWarnings, view_policy
from sfumato.policy.chain import ChainRule, Leavers, Shows
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.policy.reference import judge_data_of
from sfumato.recipients.capacity import MarkedVersions
from sfumato.recipients.marks import MarkedChain
from sfumato.releases.base_file import BaseFile, BaseMissing, BaseStore, sweep_bases
from sfumato.releases.certificate import INFORMED, Circumstances, stated_adversaries
from sfumato.releases.dictionary import dictionary_files, rows_are
from sfumato.releases.files import StageText, discard
from sfumato.releases.issue import PlannedRelease
from sfumato.releases.ledger.ledger import Ledger, ledger_coins
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import HistoryComparison, ReleaseRecord, memory_bytes
from sfumato.releases.receipt import ROWS_ONLY, UNMARKED
from sfumato.system.errors import (
    BadLedger,
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
from sfumato.table.base import GROUP, RELEASE, Base, write_rows
from sfumato.table.form_of_source import RowSource, in_memory
from sfumato.table.observers import TableFingerprint
from sfumato.table.source import Source
from sfumato.verify.file import recheck
from sfumato.verify.groups import check_growth, check_version
from sfumato.workflows.baseline_policy import BaselineCheck
from sfumato.workflows.grown_base import GrownBase, grow
from sfumato.workflows.judgement import (
    agreed,
    class_rules,
    judged_view,
    rules_of_generations,
    view_rules,
)
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
        places: Mapping[str, str],
        *,
        baseline: BaselineCheck,
        ledger: Ledger | None,
        ignore_chains: Sequence[str] = (),
        noted: NotedWarnings | None = None,
        progress: Progress,
    ) -> None:
        if not isinstance(source, RowSource):
            raise UsageError(
                f"a chain of groups is not released from a {source.kind} table",
                remedy="Write it to Parquet first.",
            )
        self.policy, self.source, self.names, self._places = policy, source, tuple(places), places
        self.chain = baseline.chain
        self.versions: MarkedVersions | None = None
        self.identifying_rows: dict[str, JsonObject] = {}
        self.keep: StageText = discard
        self._sealed: BaseFile | None = None
        self._rule = ChainRule() if policy.chain is None else policy.chain
        self._fingerprint, self._baseline = fingerprint, baseline
        self._ledger, self._ignore_chains, self._progress = ledger, tuple(ignore_chains), progress
        self._form, self._noted = form_of(source), noted

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
        """Returns the release, planned beside the base of its chain: a version for everybody who is named."""
        compared = self._baseline.hold(history)
        rows = in_memory(self.source)
        store = None if self._ledger is None else BaseStore.of(self._ledger)
        before = self._base_before(store, history)
        grown = grow(
            rows,
            self.policy,
            self._rule,
            before,
            ledger_coins(self._ledger, f"coins of chain {self.chain}, release {len(history) + 1}"),
            marks=ledger_coins(self._ledger, f"marks of chain {self.chain}"),
            plan_rows=plan_table,
            warn=self._noted,
            progress=self._progress,
        )
        shown = grown.shown
        if self._rule.shows is Shows.NEWCOMERS:
            shown = shown & grown.base.is_new
        if not shown.any():
            raise Infeasible("the release would show nothing", remedy=_remedy_for_nothing(self._rule, grown))
        sealed = BaseFile.of(grown.base)
        record = ReleaseRecord(
            release="",
            chain=self.chain,
            policy=self.policy.digest,
            verdicts=[] if grown.plan is None else list(map(verdict_document, grown.plan.verdicts)),
            versions={"sfumato": version("sfumato")},
            weaker=compared.weaker,
            ignore_chains=self._ignore_chains,
            statement=compared.statement,
            adversaries=stated_adversaries(self._circumstances(grown, history)),
            not_protected=self.policy.protected_counts,
            table=self._fingerprint.digest,
            figures=_figures(grown, shown, before, self._rule) | self._rows_only,
            memory=memory_bytes(sealed.notes),
            people=mark_bytes(self._fingerprint.people),
            marks=_commitment(grown.base, history),
        )
        event = _Event(self, grown.base, before, shown, sealed, record)
        served = {earlier.recipient for earlier in history}
        named = {*self.names, *served} - {None}
        error = (self.policy.recipients or RecipientRule()).error
        self.versions = MarkedVersions(MarkedChain.of(grown.base), shown, len(named), error)
        return [event.version(name, again=name in served) for name in self.names or (None,)]

    def check(
        self, history: Sequence[ReleaseRecord], record: ReleaseRecord
    ) -> Mapping[str, object] | HistoryComparison | None:
        """Nothing more: what was written was judged beside the base."""
        del history, record
        return None

    @property
    def _rows_only(self) -> JsonObject:
        return {ROWS_ONLY: True} if self._noted is not None and self._noted.rows_only else {}

    def _circumstances(self, grown: GrownBase, history: Sequence[ReleaseRecord]) -> Circumstances:
        """Returns what decides which adversaries the certificate names."""
        groupings = {str(r.figures.get("grouping", INFORMED)) for r in history if r.figures.get("newcomers")}
        if grown.plan is not None:
            groupings.add(grown.plan.grouping)
        people = ({record.recipient for record in history} | set(self.names)) - {None}
        refused = 0 if self._ledger is None else self._ledger.refusals(self._fingerprint.digest)
        return Circumstances(self.policy, groupings, len(people), refused)

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

    def _keep(self, sealed: BaseFile) -> None:
        """Writes the base of the release to disk, once."""
        if self._ledger is not None and self._sealed is None:
            self._sealed = sealed
            BaseStore.of(self._ledger).keep(sealed)

    def _write(self, rows: Any, path: Path, *, private: bool = False) -> None:
        source = self.source
        write_rows(rows, path, source.reader, source.memory, self._progress, private=private)


@dataclass
class _Event:
    """A release to everybody who is named: one base, of which each of them has a version."""

    delivery: ChainDelivery
    base: Base
    before: Base | None
    shown: Truth
    sealed: BaseFile
    record: ReleaseRecord
    verdicts: tuple[Verdict, ...] | None = None
    """Those on the base, after they were asked for once."""

    def version(self, recipient: str | None, *, again: bool) -> PlannedRelease:
        """Returns what somebody gets; `again` says that an earlier release was for them."""
        delivery, base, shown = self.delivery, _seen_by(recipient, self.base), self.shown
        bare = bool((shown & base.is_bare).any())
        rules, form = view_policy(delivery.policy, marked=bare), delivery._form
        figures: JsonObject = {**self.record.figures, "loss": base.loss(shown)}
        figures |= _figures_of_marks(self.base, shown, recipient, rule=delivery.policy.recipients)
        record = replace(
            self.record,
            recipient=recipient,
            place="" if recipient is None else delivery._places[recipient],
            states=[rows_are(rules, groups=True), *([MARKED] if recipient is not None else [])],
            figures=figures,
        )
        return PlannedRelease(
            record,
            write=lambda path: delivery._write(_seen_by(recipient, self.base).view(shown), path),
            judge=lambda path, private: self._judge(recipient, path, private, again=again),
            describe=lambda path: dictionary_files(path, rules, form, groups=True),
            form=form,
        )

    def _judge(self, recipient: str | None, path: Path, private: Path, *, again: bool) -> tuple[Verdict, ...]:
        """Has a written file judged: by itself, beside the base, and beside what was published before."""
        delivery, base, shown, before = self.delivery, self.base, self.shown, self.before
        judge, own = _FileJudge(delivery, private, path.suffix), _seen_by(recipient, base)
        bare = bool((shown & base.is_bare).any())
        numbered = judge.written("numbered", own, shown, marked=bare, numbered=True)
        verdicts = [*judge.view(path, numbered, base, marked=bare)]
        if recipient is not None:
            whole = judge.written("base", base, shown, marked=bare, numbered=True)
            verdicts = [*self._on_base(judge, whole, marked=bare), judge.version(numbered, whole, base)]
        else:
            verdicts += judge.policies(base, shown)
        if before is not None and again and delivery._rule.shows is Shows.EVERYBODY:
            lasting = _seen_by(recipient, replace(before, withheld=base.withheld))
            earlier = judge.written("earlier", lasting, lasting.shown(), marked=bare)
            added = judge.written("added", own, shown & base.is_new, marked=bare)
            verdicts += agreed((judge.growth(path, earlier, added),))
        delivery._keep(self.sealed)
        return tuple(verdicts)

    def _on_base(self, judge: _FileJudge, numbered: Path | None, *, marked: bool) -> tuple[Verdict, ...]:
        """Returns what is said of the base, asked once for all recipients: together they may know it."""
        if self.verdicts is None:
            plain = judge.written("plain", self.base, self.shown, marked=marked)
            on_view = () if plain is None else judge.view(plain, numbered, self.base, marked=marked)
            self.verdicts = (*on_view, *judge.policies(self.base, self.shown))
        return self.verdicts


MARKED = "This is a version for one recipient: in some groups a column is coarser than others may have it."
"""What a certificate says of it."""


def _seen_by(recipient: str | None, base: Base) -> Base:
    """Returns the base as somebody sees it: whoever is not named sees it as it is."""
    return base if recipient is None else MarkedChain.of(base).version(recipient)


def _commitment(base: Base, history: Sequence[ReleaseRecord]) -> str:
    """Returns the digest that binds the key of marks; raises where the first release had another."""
    digest = MarkedChain.of(base).commitment
    if history and history[0].marks != digest:
        raise BadLedger(
            "the key of the marks is not the one that the first release of the chain committed to",
            remedy="Restore the ledger and its bases from a backup.",
        )
    return digest


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
        self.delivery._write(base.view(rows, marked=marked, numbered=numbered), path, private=True)
        return path

    def policies(self, base: Base, rows: Truth) -> list[Verdict]:
        """Returns the verdicts on the groups of each of several policies; raises where a class breaks one."""
        numbers = range(len(base.policies))
        return [v for number in numbers for v in self.policy(base, number, rows & base.made_under(number))]

    def policy(self, base: Base, number: int, rows: Truth) -> tuple[Verdict, ...]:
        """Returns the verdicts on the groups that were made by one policy of a base, where there are several.

        Classes are judged as a reader sees them, and once more one by one.
        """
        rules = judge_data_of(base.policies[number])
        by_class = self.written(f"classes_{number}", base, rows, numbered=True)
        if by_class is None:
            return ()
        self._recheck(by_class, class_rules(rules))
        if len(base.policies) == 1:
            return ()
        path = self.written(f"rows_{number}", base, rows)
        verdicts = () if path is None else self._recheck(path, rules)
        releases = np.unique(base.numbers(RELEASE)[rows]).tolist()
        named = f"(people who came in {_named_releases(releases)})"
        return tuple(replace(verdict, promise=f"{verdict.promise} {named}") for verdict in verdicts)

    def view(self, path: Path, numbered: Path | None, base: Base, *, marked: bool) -> tuple[Verdict, ...]:
        """Returns the verdicts on a view; none where several policies made groups: each is judged alone."""
        rules = view_rules(self.delivery.policy, marked=marked)
        if len(base.policies) > 1:
            rules = rules_of_generations(rules, base.policies)
        memory, form = self.delivery.source.memory, self.delivery._form
        progress = self.delivery._progress
        verdicts = judged_view(path, rules, numbered, form=form, memory=memory, progress=progress)
        return verdicts if len(base.policies) == 1 else ()

    def version(self, numbered: Path | None, whole: Path | None, base: Base) -> Verdict:
        """Returns whether a version shows the base, or less."""
        if numbered is None or whole is None:
            raise AssertionError
        policies = list(map(judge_data_of, base.policies))
        form, memory = self.delivery._form, self.delivery.source.memory
        return agreed((check_version(numbered, whole, policies, form=form, memory=memory),))[0]

    def growth(self, path: Path, earlier: Path | None, added: Path | None) -> Verdict:
        """Returns whether earlier rows stay as they were published."""
        source, form = self.delivery.source, self.delivery._form
        return check_growth(path, earlier, added, form=form, memory=source.memory)

    def _recheck(self, path: Path, rules: Mapping[str, Any]) -> tuple[Verdict, ...]:
        memory, progress = self.delivery.source.memory, self.delivery._progress
        return agreed(recheck(path, rules, form=self.delivery._form, memory=memory, progress=progress))


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
        "rows of erased people": known.erased,
        "same as leavers": known.alike,
    }
    figures |= {name: count for name, count in more.items() if count}
    if known.left and rule.leavers is Leavers.WITHHELD:
        figures["groups withheld"] = len(withheld)
    if plan is not None and plan.grouped is not None:
        figures["grouping"] = plan.grouping
    return figures


def _figures_of_marks(
    base: Base, shown: Truth, recipient: str | None, *, rule: RecipientRule | None
) -> JsonObject:
    """Returns what is told of the marks of a version; of the base alone, that it has none."""
    if recipient is None:
        return {} if rule is None else {UNMARKED: True}
    groups = base.numbers(GROUP)[shown & ~base.is_bare]
    marked = np.isin(groups, base.marks.column("group").to_numpy())
    return {
        "loss of the base": base.loss(shown),
        "marked groups": len(np.unique(groups[marked])),
        "marked rows": int(marked.sum()),
    }


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
