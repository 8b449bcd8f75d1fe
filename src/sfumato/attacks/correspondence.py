"""Correspondence attacks: what releases disclose together that none discloses alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import perm, prod
from typing import Literal

import numpy as np

from sfumato.models.continuous.attack import (
    CrackedClass,
    CrackedClasses,
    CrackedGroup,
    RealizedTargets,
    TargetBounds,
    solve_targets,
)
from sfumato.models.continuous.chain import Chain, ReleaseIndex, match_blocks
from sfumato.models.continuous.kernels import NO_OVERLAP
from sfumato.models.continuous.overlap import Overlap
from sfumato.policy.policy import Policy
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import format_number
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.release_summary import Imprint

Scope = Literal["feasible", "literal", "realized"]
Method = Literal["exact", "refined", "paper"]


@dataclass(frozen=True, eq=False)
class TargetCandidates:
    """The people who came with one release (`time` counts from 0), and how few candidates one of them keeps.

    `least` is `None` where nobody can have come then. `per_class[j]` gives, for the classes of the first and
    of the last release that hold them, the fewest candidates of a target in it (-1: nobody can be there).
    `certain` says that `least` is exact; otherwise, if it is `seen`, somebody can be there who keeps no more,
    and if not, it is what the bound leaves, perhaps where nobody can be. Of the targets, `few` are known to
    exist with fewer candidates than asked, and of `open` ones it is not known (without k: the exact number).
    """

    time: int
    least: int | None
    per_class: dict[int, Counts]
    certain: bool
    count: int
    few: int = 0
    open: int = 0
    seen: bool = True


@dataclass(frozen=True, eq=False)
class Correspondence:
    """What an adversary keeps as candidates who holds all releases and knows somebody's key values and time.

    `FA`: the fewest candidates of somebody who is in an earlier release too, judged in the release they came
    with (forward); `CA`: the same person, looked for in the last release (cross; always equal); `BA`: the
    fewest candidates of somebody who is not in the first release (backward). `None` means that there is no
    such person. Scope `literal` counts every pair of comparable classes, as the paper prints it; `feasible`
    only those where somebody can be; `realized` only those where somebody is, which the data holder alone can
    say.
    """

    targets: tuple[TargetCandidates, ...]
    scope: Scope
    method: Method
    k: int | None = None
    chain: Chain = field(repr=False, default=None)  # type: ignore[assignment]  # always set by `correspondence`

    @property
    def FA(self) -> int | None:  # noqa: N802  # the paper's name
        return _fewest(t.least for t in self.targets[:-1])

    @property
    def CA(self) -> int | None:  # noqa: N802  # the paper's name
        return self.FA

    @property
    def BA(self) -> int | None:  # noqa: N802  # the paper's name
        return _fewest(t.least for t in self.targets[1:])

    @property
    def least(self) -> int | None:
        """The fewest candidates that anybody keeps."""
        return _fewest(t.least for t in self.targets)

    @property
    def certain(self) -> bool:
        return all(t.certain for t in self.targets)

    @property
    def open(self) -> int:
        """How many targets are neither known to keep k candidates nor known to keep fewer."""
        return sum(t.open for t in self.targets)

    @property
    def holds(self) -> bool | None:
        """Whether everybody keeps at least k candidates; `None` where that is not known.

        A bound that is below k counts as a no, as if all targets existed that it allows; `exact` asks whether
        they do, unless there are too many.
        """
        if self.k is None:
            return None
        if any(t.few for t in self.targets):
            return False
        return None if self.open else True

    @cached_property
    def cracked(self) -> CrackedClasses:
        """Who is cracked, by class and count."""
        releases = self.chain.releases
        entries = [
            (t.time, release, candidates, releases[release].sizes)
            for t in self.targets
            for release, candidates in sorted(t.per_class.items())
        ]
        return CrackedClasses.of(entries, self.k)

    @cached_property
    def _overlap(self) -> Overlap:
        return Overlap(self.chain)

    @cached_property
    def _class_of(self) -> dict[tuple[int, int], Codes]:
        return {}

    def cracked_document(self) -> JsonObject:
        """Returns the classes in which rows are ruled out as JSON, the crack sizes of their groups beside."""
        lines = zip(self.cracked.listed, map(self.groups, self.cracked.listed), strict=True)
        by_class = [{**one.as_dict(), "groups": [g.as_dict() for g in groups]} for one, groups in lines]
        return {**self.cracked.as_dict(), "by_class": by_class}

    def _classes(self, came: int, release: int) -> Codes:
        """The class in a release of every cell of people who came with another."""
        if (came, release) not in self._class_of:
            index = ReleaseIndex(self.chain, self.chain.releases[release - 1])
            self._class_of[came, release] = index.classes(self._overlap.by_time[came - 1].table)
        return self._class_of[came, release]

    def _worst(self, cracked: CrackedClass) -> int | None:
        """The cell of the class in which the fewest candidates are left; `None` if nobody can be there."""
        at, cells = self._classes(cracked.came, cracked.release), self._overlap.by_time[cracked.came - 1]
        here = np.flatnonzero((at == cracked.number - 1) & (cells.candidates > 0))
        return int(here[np.argmin(cells.candidates[here])]) if len(here) else None

    def groups(self, cracked: CrackedClass) -> tuple[CrackedGroup, ...]:
        """The crack size of every group of a class, for whoever keeps the fewest candidates there.

        Of three releases or more these are the refined bound's, and at least so large in truth. Empty where
        the releases meet in too many classes to look at them one by one.
        """
        try:
            cells = self._overlap.by_time[cracked.came - 1].table
        except UsageError:
            return ()
        release = self.chain.releases[cracked.release - 1]
        mine, worst = release.owner == cracked.number - 1, self._worst(cracked)
        own = cells.owner == (-1 if worst is None else worst)
        left = dict(zip(cells.values[own].tolist(), cells.counts[own].tolist(), strict=True))
        groups = zip(release.values[mine].tolist(), release.counts[mine].tolist(), strict=True)
        return tuple(CrackedGroup(value, rows, rows - left.get(value, 0)) for value, rows in groups)

    @cached_property
    def generators(self) -> int | None:
        """In how many ways rows of the first release can each have a row of their own in the second: the
        paper's generators, rows told apart. `None` for more than two releases."""
        if len(self.chain) != 2:
            return None
        earlier, later = self.chain.releases
        blocks = match_blocks(self.chain.trees, earlier, later)
        blocks.surplus(earlier, later)  # refuses releases of which no generator is possible
        sides = (
            np.bincount(number, weights=table.counts, minlength=blocks.count).astype(np.int64).tolist()
            for number, table in ((blocks.one, earlier), (blocks.other, later))
        )
        return prod(perm(new, old) for old, new in zip(*sides, strict=True))

    def generator(self, cracked: CrackedClass) -> list[tuple[int, int, int, int]]:
        """One generator of two releases, in which only the rows that its groups name are ruled out.

        Every entry says that so many rows of a class of the first release have their row in a class of the
        second: class, class, the number of the matching value, rows. Rows that are in no entry are new.
        """
        earlier, later = self.chain.releases
        blocks, worst = match_blocks(self.chain.trees, earlier, later), self._worst(cracked)
        if worst is None:
            raise UsageError("nobody can be in this class", remedy="Look at the scope `feasible`.")
        is_new = later.owner == self._classes(cracked.came, 2)[worst]
        old_order, new_order = np.argsort(blocks.one, kind="stable"), np.lexsort((is_new, blocks.other))
        if cracked.came == 1:
            is_old = earlier.owner == self._classes(1, 1)[worst]
            old_order, new_order = np.lexsort((~is_old, blocks.one)), np.lexsort((~is_new, blocks.other))
        buddies, free, at = [], later.counts.copy(), 0
        for e in old_order.tolist():
            rows = int(earlier.counts[e])
            while rows:  # blocks are whole: any of the later release's rows in it will do
                n = new_order[at]
                some = min(rows, int(free[n])) if blocks.other[n] == blocks.one[e] else 0
                if some:
                    entry = (int(earlier.owner[e]) + 1, int(later.owner[n]) + 1, int(earlier.values[e]), some)
                    buddies.append(entry)
                    rows, free[n] = rows - some, free[n] - some
                at += bool(rows)
        return buddies

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words, without a cell value."""
        return tuple(self._sentence(t) for t in self.targets)

    def _sentence(self, t: TargetCandidates) -> str:
        who = f"somebody who came with release {t.time + 1} of {len(self.targets)}"
        if t.least is None:
            return f"nobody came with release {t.time + 1} of {len(self.targets)}"
        bound = "" if t.certain else "at most "
        sentence = f"{who} keeps {bound}{format_number(t.least)} candidates at worst"
        sentence += "" if t.certain or t.seen else ", if somebody can be there"
        if self.k is None:
            return sentence
        against_k = f"{sentence}; {self.k} are asked"
        if t.few:
            return f"{against_k}: BROKEN" if t.certain or t.seen else f"{against_k}: below that by the bound"
        return (
            f"{against_k}; not known for {format_number(t.open)} of {format_number(t.count)} targets"
            if t.open
            else against_k
        )

    def as_dict(self) -> JsonObject:
        """Returns the result as JSON."""
        return {
            "scope": self.scope,
            "method": self.method,
            "k": self.k,
            "FA": self.FA,
            "CA": self.CA,
            "BA": self.BA,
            "certain": self.certain,
            "open": self.open,
            "cracked": self.cracked_document(),
            "sentences": list(self.sentences),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def correspondence(
    releases: Sequence[Imprint],
    policy: Policy | None = None,
    *,
    scope: Scope = "feasible",
    method: Method = "exact",
    data: Microdata | None = None,
    since: str | None = None,
    k: int | None = None,
    only_fewest: bool = False,
) -> Correspondence:
    """Attacks cumulative releases, oldest first, with everything they say together.

    Two releases are always judged exactly. More are judged by the refined bound; `exact` narrows it by the
    integer program, first where that decides about k, and says what stays open; `paper` composes attacks as
    the paper does (a reference: its bound may be too high). The scope `realized` needs `data`, and the column
    `since` where there are several batches. `k` is that of the policy unless given. With `only_fewest` three
    releases or more are solved as far as k, FA and BA need it: these are the same, and what else is told of
    one time may be a bound ("at most").
    """
    if scope not in ("feasible", "literal", "realized") or method not in ("exact", "refined", "paper"):
        raise UsageError(
            "unknown scope or method",
            remedy="Scopes: feasible, literal, realized; methods: exact, refined, paper.",
        )
    k = policy.promises.limits.asked_k if policy and k is None else k
    chain = Chain.of(releases)
    exactly = len(chain) > 2 and method == "exact" and scope != "realized"
    solved = solve_targets(chain, k, only_fewest=only_fewest) if exactly else None
    if solved is not None:
        targets = [_exact(s, scope, k) for s in solved]
        return Correspondence(tuple(targets), scope, method, k, chain)
    overlap = Overlap(chain, compose=method != "paper")
    times = range(len(chain))
    if scope != "realized":
        targets = [_bounded(overlap, t, scope, k) for t in times]
    elif data is None:
        raise UsageError("only the data holder can say who is where", remedy="Give the data, too.")
    else:
        realized = RealizedTargets.of(releases, chain, data, since)
        targets = [_realized(overlap, t, realized, k) for t in times]
    return Correspondence(tuple(targets), scope, method, k, chain)


def _exact(solved: TargetBounds, scope: Scope, k: int | None) -> TargetCandidates:
    """Returns the candidates by the integer program, as far as that went."""
    lowest, highest = solved.lowest, solved.highest
    least, is_certain, certain = highest, True, lowest == highest
    if highest is None and lowest is not None:
        least, is_certain = int(solved.most[solved.possible].min()), False
    few, left = (solved.few(k) if k else 0), solved.open(k)
    if scope == "literal" and least is not None and (solved.phantom or not solved.possible.all()):
        least, is_certain, certain, few = 0, True, True, max(few, int(k is not None))
    count = int(solved.possible.sum())
    return TargetCandidates(solved.time, least, solved.per_class(), certain, count, few, left, is_certain)


def _bounded(overlap: Overlap, time: int, scope: Scope, k: int | None) -> TargetCandidates:
    """Returns the candidates by the join theorem, and for three or more releases by the refined bound."""
    last = len(overlap.chain) - 1
    left = overlap.fewest_candidates(time)
    least, first = left.least, np.where(left.first == NO_OVERLAP, -1, left.first)
    if scope == "literal" and least is not None and left.disjoint.any():
        least = 0
        first = np.where(left.disjoint, 0, first) if len(left.disjoint) == len(first) else first
    per_class = {time: first}
    if left.last is not None:
        per_class[last] = np.where(left.last == NO_OVERLAP, -1, left.last)
    count = int((left.first != NO_OVERLAP).sum())
    exact = last < 2 or least is None
    few = int(k is not None and least is not None and least < k)
    return TargetCandidates(time, least, per_class, exact, count, few, 0 if exact else count, exact)


def _realized(overlap: Overlap, time: int, realized: RealizedTargets, k: int | None) -> TargetCandidates:
    """Returns the candidates where somebody is, by one group-by of the data."""
    left = realized.candidates(overlap, time)
    least, exact = _fewest_of(left), len(overlap.chain) <= 2
    few = int((left < k).sum()) if k else 0
    return TargetCandidates(time, least, {}, exact, len(left), few, 0 if exact else len(left) - few)


def _fewest_of(left: Counts) -> int | None:
    return int(left.min()) if len(left) else None


def _fewest(numbers: Iterable[int | None]) -> int | None:
    return min((n for n in numbers if n is not None), default=None)
