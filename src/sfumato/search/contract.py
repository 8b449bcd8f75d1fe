"""Searches: what each is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.protection.column_shape import ColumnShape
from sfumato.protection.loss import measure
from sfumato.show.card import figure, several

Made = TypeVar("Made")

Descend = Callable[[Sequence[Fraction]], "Iterable[tuple[int, Outcome | Infeasible]]"]
"""Finds what top-down finds for each of some limits of suppression, in any order, with its place."""

MOST_LEVEL_VECTORS = 40_000
"""Lattices up to this size are walked whole by local recoding."""


@dataclass(frozen=True)
class Aim:
    """What a search aims at.

    `suppress` is the largest share of the rows that may stay unpublished; `loss` names the measure to keep
    small; `weights` makes some columns dearer (default 1 each); `relaxed` lets Mondrian put rows with the
    median value on either side. `price` says as how many fully generalized rows a suppressed one counts;
    without a price it counts as one and is not weighed against detail. `compared` names the searches that
    `best` may try; `None`: all that can. `beat` is the loss of a result that is there already: a search need
    not go on where everything left loses more. `descents` keeps what top-down found for several searches,
    `prepared` what is made of the table alone, and `steps` are what several exact searches may take together.
    `together` are groups of key columns that are published at the same level; `never_suppress` names, per key
    column, values and nodes whose rows are not suppressed. How coarse a column may become its taxonomy says
    (`ceiling`).
    """

    suppress: Fraction = Fraction(0)
    loss: str = "loss"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    relaxed: bool = False
    price: Fraction | None = None
    compared: tuple[str, ...] | None = None
    beat: float | None = None
    descents: Descents | None = None
    prepared: Preparations | None = None
    steps: Steps | None = None
    together: tuple[tuple[str, ...], ...] = ()
    never_suppress: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def allowed(self, table: Microdata) -> int:
        """Returns how many rows may stay unpublished."""
        return int((table.rows + table.dropped) * self.suppress)

    def loss_of(self, recoding: Recoding, levels: Mapping[str, int] | None = None) -> float:
        """Returns what a recoding loses by the measure of this aim; `levels` of a full-domain one."""
        return measure(self.loss, recoding, levels, self.weights, self.price)


@dataclass(frozen=True)
class ComparedSearch:
    """What one of several searches gave; `lost` counts columns that became one group for everybody.

    `columns` says what each key column became.
    """

    search: str
    loss: float
    suppressed: int
    classes: int
    lost: int
    optimal: bool
    seconds: float
    columns: tuple[ColumnShape, ...] = field(default=(), repr=False)

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells for a card."""
        return (
            self.search,
            f"loss {figure(self.loss)}",
            f"{several(self.suppressed, 'row')} suppressed",
            several(self.classes, "class", "classes"),
            f"{several(self.lost, 'column')} lost",
            f"{self.seconds:.1f} s",
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search found: a recoding that keeps every promise, and what is known about it.

    `levels` is set by full-domain searches; `loss` is the value of the measure that the aim names;
    `optimal` says that nothing allowed of the kind that was searched, combinations of levels or global
    recodings, is better; `bound`, where it is known, is what everything of that kind loses at least;
    `checked` counts the recodings that were judged. Where several searches were tried, `search` is the one
    whose result this is, `compared` tells of all, and `left_out` says why others were not tried.
    """

    recoding: Recoding
    loss: float
    levels: Mapping[str, int] | None = None
    optimal: bool = False
    checked: int = 0
    bound: float | None = None
    search: str | None = None
    compared: tuple[ComparedSearch, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def unproved_if_suppressed(outcome: Outcome, table: Microdata, aim: Aim) -> Outcome:
    """Returns what was found, without a proof where rows may be suppressed: not every choice was weighed."""
    return replace(outcome, optimal=False, bound=None) if aim.allowed(table) > table.dropped else outcome


class Steps:
    """Steps that are left to several searches together; a count, so that results repeat."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, some: int) -> None:
        """Counts steps that were taken."""
        self.left -= some


class Descents:
    """What top-down found in one table for one aim, made once for each promises and limit of suppression."""

    def __init__(self, table: Microdata) -> None:
        self.table = table
        self._made: dict[tuple[Promises, Fraction], Outcome | Infeasible] = {}

    def find(
        self, promises: Promises, shares: Sequence[Fraction], descend: Descend
    ) -> list[Outcome | Infeasible]:
        """Returns what was found for each share, and finds what was not; a refusal is found as well."""
        missing = [share for share in shares if (promises, share) not in self._made]
        for number, found in descend(missing) if missing else ():
            self._made[promises, missing[number]] = found
        return [self._made[promises, share] for share in shares]


class Preparations:
    """What searches make of one table before they look at any promise, made once."""

    def __init__(self, table: Microdata) -> None:
        self.table = table
        self._made: dict[tuple[Hashable, ...], Any] = {}

    def find(self, key: tuple[Hashable, ...], make: Callable[[], Made]) -> Made:
        """Returns what was made under this name, or makes it."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made


class Search(Protocol):
    """Finds a recoding that keeps the promises, or raises `Infeasible` with the nearest feasible change."""

    def __call__(
        self, table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent
    ) -> Outcome: ...
