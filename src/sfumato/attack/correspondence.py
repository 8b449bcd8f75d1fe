"""Correspondence attacks: what releases give away together that none gives away alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from sfumato.attack.realized import Realized
from sfumato.declare.meeting import Cells, Meeting
from sfumato.declare.policy import Policy
from sfumato.declare.worlds import Worlds
from sfumato.kernels.overlaps import NOTHING
from sfumato.terms.card import figure
from sfumato.terms.chain import Chain, meet_of
from sfumato.terms.errors import WrongCall
from sfumato.terms.imprint import Imprint
from sfumato.terms.microdata import Codes, Counts, Microdata

Scope = Literal["feasible", "literal", "realized"]
Method = Literal["exact", "refined", "paper"]

SMALL = 3000
"""So many targets, of releases with so many groups, are solved exactly where there are three or more."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The people who came with one release (`time` counts from 0), and how few candidates one of them keeps.

    `least` is `None` where nobody can have come then. `per_class[j]` gives, for the classes of the first and
    of the last release that hold them, the fewest candidates of a target in it (-1: nobody can be there).
    `certain` says that `least` is exact, not only a bound.
    """

    time: int
    least: int | None
    per_class: dict[int, Counts]
    certain: bool
    count: int


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

    targets: tuple[Targets, ...]
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
    def holds(self) -> bool | None:
        """Whether everybody keeps at least k candidates; `None` where only a bound says so."""
        if self.k is None:
            return None
        if self.least is not None and self.least < self.k:
            return False if self.certain or self.scope != "literal" else None
        return True if self.certain else None

    def cracks(self, one: int, other: int, *, earlier: int = 0) -> dict[str, dict[int, int]]:
        """Crack sizes of the groups of two classes, by the number of their matching value.

        `F`: records of class `one` of the earlier release that cannot be the target's; `C`: records of class
        `other` of the last release that cannot be the target's, who is in both; `B`: records of class `other`
        that cannot belong to somebody who came later.
        """
        last = self.chain.releases[-1]
        first = self.chain.releases[earlier]
        met = meet_of(self.chain.trees, first, last)
        if met.join_one[one] != met.join_other[other]:
            raise WrongCall("these two classes are not comparable: nobody can be in both")
        mine, theirs = _entries(first.owner, one), _entries(last.owner, other)
        g1 = dict(zip(first.values[mine].tolist(), first.counts[mine].tolist(), strict=True))
        g2 = dict(zip(last.values[theirs].tolist(), last.counts[theirs].tolist(), strict=True))
        newer = met.surplus(first, last)[met.other[theirs]]
        spare = dict(zip(last.values[theirs].tolist(), newer.tolist(), strict=True))
        return {
            "F": {s: n - min(n, g2.get(s, 0)) for s, n in g1.items()},
            "C": {s: n - min(n, g1.get(s, 0)) for s, n in g2.items()},
            "B": {s: n - min(n, spare[s]) for s, n in g2.items()},
        }

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words, without a cell value."""
        return tuple(self._sentence(t) for t in self.targets)

    def _sentence(self, t: Targets) -> str:
        who = f"somebody who came with release {t.time + 1} of {len(self.targets)}"
        if t.least is None:
            return f"{who}: there is no such person"
        bound = "" if t.certain else "at most "
        kept = f"{who} keeps {bound}{figure(t.least)} candidates at worst"
        if self.k is None:
            return kept
        return f"{kept}; {self.k} are asked" + (": BROKEN" if t.least < self.k else "")

    def as_dict(self) -> dict[str, Any]:
        return {
            "scope": self.scope,
            "method": self.method,
            "k": self.k,
            "FA": self.FA,
            "CA": self.CA,
            "BA": self.BA,
            "certain": self.certain,
            "sentences": list(self.sentences),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def correspondence(
    releases: Sequence[Any],
    policy: Policy | str | Path | Mapping[str, Any] | None = None,
    *,
    scope: Scope = "feasible",
    method: Method = "exact",
    data: Microdata | None = None,
    since: str | None = None,
) -> Correspondence:
    """Attack cumulative releases, oldest first, with everything they say together.

    A release is a published table (a frame, or a CSV or Parquet file), which the policy's taxonomies are
    enough for, or its imprint (or the JSON file of one).
    Two releases are always judged exactly. More are judged by the refined bound; `exact` solves the integer
    program for small components, `paper` composes attacks as the paper does (a reference: its bound may be
    too high). The scope `realized` needs `data`, and the column `since` where there are several batches.
    """
    if scope not in ("feasible", "literal", "realized") or method not in ("exact", "refined", "paper"):
        raise WrongCall(
            "unknown scope or method",
            remedy="Scopes: feasible, literal, realized; methods: exact, refined, paper.",
        )
    meant = _meant(policy)
    known = _known(releases, meant)
    chain = Chain.of(known)
    meeting = Meeting(chain, compose=method != "paper")
    if scope == "realized":
        if data is None:
            raise WrongCall("only the data holder can say who is where", remedy="Give the data, too.")
        realized = Realized.of(known, chain, data, since)
        found = [_realized(meeting, t, realized) for t in range(len(chain))]
    elif len(chain) <= 2 or method != "exact":
        found = [_bounded(meeting, t, scope, certain=len(chain) <= 2) for t in range(len(chain))]
    else:
        found = _solved_where_small(chain, scope)
    return Correspondence(tuple(found), scope, method, asked_k(meant), chain)


def _meant(policy: Policy | str | Path | Mapping[str, Any] | None) -> Policy | None:
    if policy is None or isinstance(policy, Policy):
        return policy
    return Policy.load(policy) if isinstance(policy, str | Path) else Policy.from_dict(policy)


def _known(releases: Sequence[Any], policy: Policy | None) -> list[Imprint]:
    """The imprints of all releases: all kept, or all read from the published tables."""
    kept = [isinstance(r, Imprint) or str(r).lower().endswith(".json") for r in releases]
    if all(kept):
        return [r if isinstance(r, Imprint) else Imprint.from_json(Path(r).read_bytes()) for r in releases]
    if any(kept) or policy is None:
        raise WrongCall(
            "published tables are compared with each other, by the taxonomies of a policy",
            remedy="Give a policy and tables, or imprints alone.",
        )
    from sfumato.attack.chain_of_tables import read_chain  # noqa: PLC0415  # engines load when needed

    return read_chain(releases, policy)


def asked_k(policy: Policy | None) -> int | None:
    """The k that a policy asks for across releases, else within one."""
    for name in ("continuous", "k-anonymity"):
        for promise in policy.promises if policy else ():
            if promise.name == name:
                return int(getattr(promise, "k", 1))
    return None


def _bounded(meeting: Meeting, time: int, scope: Scope, *, certain: bool) -> Targets:
    """By the join theorem, and for three or more releases by the refined bound."""
    last = len(meeting.chain) - 1
    left = meeting.left(time)
    least, first = left.least, np.where(left.first == NOTHING, -1, left.first)
    if scope == "literal" and least is not None and left.alone.any():
        least = 0
        first = np.where(left.alone, 0, first) if len(left.alone) == len(first) else first
    per_class = {time: first}
    if left.last is not None:
        per_class[last] = np.where(left.last == NOTHING, -1, left.last)
    return Targets(time, least, per_class, certain, int((left.first != NOTHING).sum()))


def _solved_where_small(chain: Chain, scope: Scope) -> list[Targets]:
    """Three or more releases: the refined bound, and the exact number where programs are small."""
    meeting = Meeting(chain)
    found = [_bounded(meeting, t, scope, certain=False) for t in range(len(chain))]
    if max(len(side.owner) for side in chain.releases) > SMALL:
        return found
    meeting = Meeting(chain, every=True)
    cells = [meeting.cells(t) for t in range(len(chain))]
    if sum(len(c.left) for c in cells) > SMALL:
        return found
    worlds = Worlds(meeting)
    return [_solved(c, scope, worlds) for c in cells]


def _solved(cells: Cells, scope: Scope, worlds: Worlds) -> Targets:
    exact = [worlds.left((cells.time, tuple(row))) for row in cells.classes.tolist()]
    certain = None not in exact
    known = zip(cells.left.tolist(), exact, strict=True)
    left = np.array([bound if e is None else e for bound, e in known], np.int64)
    there = left > 0
    least = _fewest_of(left[there])
    if scope == "literal" and least is not None and (cells.phantom or not there.all()):
        least = 0
    per_class = {}
    for i, j in ((0, cells.time), (cells.classes.shape[1] - 1, cells.time + cells.classes.shape[1] - 1)):
        size = int(cells.classes[:, i].max(initial=-1)) + 1
        fewest = np.full(size, NOTHING, np.int64)
        np.minimum.at(fewest, cells.classes[there, i], left[there])
        per_class[j] = np.where(fewest == NOTHING, -1, fewest)
    return Targets(cells.time, least, per_class, certain, int(there.sum()))


def _realized(meeting: Meeting, time: int, realized: Realized) -> Targets:
    """Where somebody is: one group-by of the data."""
    left = realized.left(meeting, time)
    least = _fewest_of(left)
    return Targets(time, least, {}, len(meeting.chain) <= 2, len(left))


def _entries(owner: Codes, index: int) -> slice:
    return slice(*np.searchsorted(owner, [index, index + 1]).tolist())


def _fewest_of(left: Counts) -> int | None:
    return int(left.min()) if len(left) else None


def _fewest(numbers: Any) -> int | None:
    return min((n for n in numbers if n is not None), default=None)


class _Callable(ModuleType):
    """The module that can be called like the attack it is named after: `sf.attack.correspondence(...)`."""

    @property
    def __wrapped__(self) -> Any:
        return correspondence

    def __call__(self, *args: Any, **kwargs: Any) -> Correspondence:
        return correspondence(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
