"""Continuous publishing: BCF-anonymity, kept beside every earlier release of the chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from sfumato.models.contract import (
    AdjustablePromise,
    ClassPromise,
    ColumnView,
    CrossReleasePromise,
    Cuts,
    IncrementalChecker,
    PolicyView,
    Promises,
)
from sfumato.models.parameters import (
    ColumnParam,
    FlagParam,
    IntegerParam,
    OptionalParam,
    Parameter,
    ParametrizedPromise,
)
from sfumato.models.registry import register
from sfumato.system.errors import DeferredRelease, RefusedByHistory, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import CANDIDATES, Bound, Evidence, Order, Verdict
from sfumato.table.classes import Classes
from sfumato.table.microdata import Microdata, Role
from sfumato.table.release_summary import Imprint, ProvedCandidates

if TYPE_CHECKING:
    from sfumato.models.continuous.chain import ClassTable, History
    from sfumato.models.continuous.worlds import Decider


@register
@dataclass(frozen=True)
class Continuous(ParametrizedPromise, CrossReleasePromise, AdjustablePromise):
    """Beside all earlier releases, everybody keeps at least k candidate records.

    Whoever holds every release, and knows somebody's key values and when they came, can rule out records: by
    the forward, cross and backward attacks on any two releases, and by their composition on more. The promise
    is judged on targets that are *feasible*, a property of the published tables alone: a release that is safe
    only because nobody happens to be in a gap would give that gap away.

    `since` names the column that tells batches apart, or `person` the one that tells people apart; it is not
    published. Without either every row is old: the same people, recoded for another purpose. `hold` turns too
    small a batch into one that waits. `survivors` asks the policy's class promises of those who remain, too.

    Whoever holds all releases knows the key values of one person, nobody else's: everybody keeps k candidates
    wherever somebody can be, and `survivors` may ask for numbers of values alone. How likely a value is,
    beside several tables, is promised in chains of groups (`chain:`).

    Source: Fung, Wang, Fu and Pei, *Anonymity for continuous data publishing*, 2008, corrected.
    Evidence: the published table and the imprints of all earlier releases.
    Two releases are judged exactly by the join theorem. With three or more a search goes by the refined
    bound, what it found is decided exactly, and where that fails it goes back to what is certain and on from
    there with exact answers, a fixed number of them; what can be neither proved nor refuted is refused. The
    same goes for what survives.
    Does not promise: anything about releases of others.
    """

    k: int
    since: str | None = None
    person: str | None = None
    hold: bool = False
    survivors: bool = False
    matched: tuple[str, ...] = field(default=(), compare=False, repr=False)
    earlier: tuple[Imprint, ...] = field(default=(), compare=False, repr=False)
    beside: tuple[ClassPromise, ...] = field(default=(), compare=False, repr=False)

    plain: ClassVar[str] = (
        "Whoever holds every release so far still finds at least {k} possible records for everybody."
    )
    silent_on: ClassVar[str] = "Tables that other publishers release about the same people are not counted."
    name: ClassVar[str] = "continuous"
    evidence: ClassVar[Evidence] = Evidence.EARLIER
    searches: ClassVar[tuple[str, ...] | None] = ("top-down", "optimum")
    by_size: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("correspondence", "composition", "differencing", "minimality")
    keys: ClassVar[tuple[Parameter, ...]] = (
        IntegerParam(
            "k", meaning="At least so many candidates for everybody, beside all releases of the chain."
        ),
        OptionalParam(ColumnParam("since", meaning="The column that says with which release a row came.")),
        OptionalParam(
            ColumnParam("person", meaning="The column that tells people apart from release to release.")
        ),
        FlagParam(
            "hold", meaning="Too few newcomers wait for the next release instead of refusing this one."
        ),
        FlagParam(
            "survivors", meaning="The other promises hold, too, of whoever remains beside all releases."
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {
        "k": Order.LARGER,
        "hold": Order.FREE,
        "survivors": Order.LARGER,
    }

    def given(self, earlier: Sequence[Imprint], promises: Promises) -> Self:
        """The promise beside these releases, oldest first, and among these promises."""
        return replace(self, earlier=tuple(earlier), beside=promises.of_class)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that records are matched by, and the one that says which rows are old."""
        return (*self.matched, *((self.batch_column,) if self.batch_column else ()))

    @property
    def batch_column(self) -> str | None:
        return self.since or self.person

    @property
    def tells_people(self) -> bool:
        return self.since is None and self.person is not None

    @property
    def asks_others(self) -> bool:
        return self.survivors

    @property
    def least_people(self) -> int:
        return self.k

    def with_least_people(self, k: int) -> Self:
        return replace(self, k=k)

    def limits(self) -> tuple[Bound, ...]:
        return (Bound(CANDIDATES, Fraction(self.k)),)

    def about(self, columns: Mapping[str, ColumnView]) -> Self:
        """The same promise, told which columns are published unchanged besides sensitive ones."""
        return replace(self, matched=tuple(n for n, r in columns.items() if r.role is Role.INSENSITIVE))

    def objections(self, policy: PolicyView) -> list[str]:
        """What a chain of releases cannot go with."""
        sentences = []
        if self.since and self.person:
            sentences.append("either since or person says which rows are old, not both")
        for key, name in (("since", self.since), ("person", self.person)):
            rule = policy.columns.get(name or "")
            if name is None:
                continue
            if rule is None:
                sentences.append(f"{key} names no column of the policy")
            elif rule.role is not Role.IDENTIFIER:
                sentences.append(
                    f"the column of {key} must not be published: make it identifier, not {rule.role}"
                )
        if any(rule.role is Role.QUASI_SENSITIVE for rule in policy.columns.values()):
            sentences.append(
                "terms of a set-valued column are suppressed row by row: a chain cannot follow that"
            )
        return sentences

    def watch(self, table: Microdata) -> IncrementalChecker:
        from sfumato.models.continuous.watch import (  # noqa: PLC0415  # compiled kernels
            Continuity,
            SurelySurviving,
        )

        history = self._history(table)
        self._exists(history)
        survive = self._survive if self.survivors else None
        watch = Continuity(history, self.k, survive, proved=self._is_proved)
        left = watch.left_before
        if left < self.k:
            raise RefusedByHistory(
                f"the earlier releases together leave somebody {pluralize(left, 'candidate')}; none that"
                f" comes later can give them {self.k}",
                remedy=f"Promise k = {left}, or start a new chain with the later people.",
            )
        if self.survivors and len(history.releases) > 1:
            return SurelySurviving(watch, self._survive)
        return watch

    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict:
        """From scratch: the release as it would be, beside every earlier one.

        `measured` is the fewest candidates of anybody; with three releases or more that is the refined bound,
        and `holds` is decided exactly all the same.
        """
        from sfumato.models.continuous.chain import release_under  # noqa: PLC0415  # compiled kernels
        from sfumato.models.continuous.overlap import Overlap  # noqa: PLC0415  # compiled kernels
        from sfumato.models.continuous.watch import all_survive  # noqa: PLC0415  # compiled kernels
        from sfumato.models.continuous.worlds import Decider  # noqa: PLC0415  # compiled kernels

        history = self._history(table)
        release = release_under(history, cuts)
        decider = Decider(history, self.k, proved=self._is_proved)
        least = self._fewest(decider, release)
        holds: bool | None = least is None or least >= self.k
        reason = f"beside {pluralize(len(history.releases), 'earlier release')}"
        if len(history.releases) > 1:
            decided = decider.decide(release)
            holds = decided.holds
            reason += f"; at least {self.k} is decided exactly, the number is a bound"
            if holds is None:
                reason = "some targets are too large to decide exactly"
        if self.survivors and holds:
            holds = all_survive(history, Overlap(history.chain_with(release)), self._survive)
            if holds is False:
                reason = "what remains for somebody does not keep the other promises"
            elif holds is None:
                reason = "what remains for somebody is too large a question"
        return Verdict(str(self), holds, least, self.k, evidence=self.evidence, reason=reason)

    def candidates(self, verdict: Verdict) -> ProvedCandidates | None:
        """What its verdict proves of everybody beside all releases."""
        if verdict.holds is not True:
            return None
        return ProvedCandidates(self.k, None if verdict.measured is None else int(verdict.measured))

    @property
    def _is_proved(self) -> bool:
        """Whether the last of the earlier releases tells that everybody keeps k beside all of them."""
        candidates = self._known_at(len(self.earlier) - 1) if self.earlier else None
        return candidates is not None and candidates.proved >= self.k

    def _known_at(self, i: int) -> ProvedCandidates | None:
        """What an earlier release tells of candidates, if it was made beside those before it and no other."""
        before = tuple(imprint.digest for imprint in self.earlier[:i])
        return self.earlier[i].candidates if self.earlier[i].after == before else None

    def _fewest(self, decider: Decider, release: ClassTable) -> int | None:
        """The fewest candidates that anybody keeps, by the refined bound; `None`: nobody is there.

        From a release that closes the chain, and tells of those who came until then, it goes on from there.
        """
        from sfumato.models.continuous.overlap import Overlap  # noqa: PLC0415  # compiled kernels

        history, start = decider.history, decider.closing_above(release)
        proved = None if start is None else self._known_at(start)
        if start is None or proved is None:
            overlap, left = Overlap(history.chain_with(release)), []
        else:
            overlap, left = Overlap(history.since(start).chain_with(release)), [proved.fewest]
        left += [overlap.fewest_candidates(t).least for t in range(len(left), len(overlap.chain))]
        return min((n for n in left if n is not None), default=None)

    def _survive(self, classes: Classes) -> bool:
        """Whether what survives of every class keeps the other promises."""
        return bool(Promises(self.beside).holds_on(classes).all())

    def _history(self, table: Microdata) -> History:
        from sfumato.models.continuous.chain import History  # noqa: PLC0415  # compiled kernels

        self._refuse_beliefs()
        return History.of(table, self.earlier, self.batch_column, person=self.person is not None)

    def _refuse_beliefs(self) -> None:
        beliefs = Promises(self.beside).about_beliefs if self.survivors else ()
        if beliefs:
            raise UsageError(
                f"{beliefs[0].name} beside earlier releases is not judged by `continuous`",
                remedy="Use `chain:`, where it holds for whoever has every release, or leave survivors out.",
            )

    def _exists(self, history: History) -> None:
        """A next release exists iff it does with every column at its root: say why not."""
        for i, release in enumerate(history.releases):
            smallest = int(release.sizes.min(initial=self.k))
            if smallest < self.k:
                raise RefusedByHistory(
                    f"release {i + 1} has a class of {smallest}; no later release can give its people "
                    f"{self.k} candidates",
                    remedy=f"Promise k = {smallest}, or start a new chain with the people who came later.",
                )
        if history.releases and 0 < history.new < self.k:
            error = DeferredRelease if self.hold else RefusedByHistory
            raise error(
                f"{pluralize(history.new, 'person is', 'people are')} new; each must be one of {self.k}",
                remedy=f"Hold them back until {self.k - history.new} more have come.",
            )

    def __str__(self) -> str:
        return f"continuous, k = {self.k}"
