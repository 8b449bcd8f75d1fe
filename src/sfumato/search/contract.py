"""Searches: what each is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar, cast

from sfumato.models.contract import ClassPromise, CrossReleasePromise, Promises, TablePromise
from sfumato.policy.searches import SEARCHES, Ability, known, offered
from sfumato.search.loss import ColumnShape, measure
from sfumato.system.errors import Infeasible, InfeasibleBesideHistory, UsageError
from sfumato.system.presentation.cards import format_number, pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding

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
            f"loss {format_number(self.loss)}",
            f"{pluralize(self.suppressed, 'row')} suppressed",
            pluralize(self.classes, "class", "classes"),
            f"{pluralize(self.lost, 'column')} lost",
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


@dataclass
class Steps:
    """Steps that are `left` to several searches together; a count, so that results repeat."""

    left: int


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
        for number, outcome in descend(missing) if missing else ():
            self._made[promises, missing[number]] = outcome
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
        value: Made = self._made[key]
        return value


class Search(Protocol):
    """Finds a recoding that keeps the promises, or raises `Infeasible` with the nearest feasible change."""

    def __call__(
        self, table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent
    ) -> Outcome: ...


# The searches by name: those built in, more through the entry-point group `sfumato.searches`.

TIMES_DIVIDED_AGAIN = 6
"""Limits of suppression that are tried where suppressed rows have a price."""
ROWS_OF_OFFERS = 40_000
"""Distinct rows that plans for offers may look at together, by a search that does not say."""


@dataclass(frozen=True)
class TableSize:
    """What the time that a search takes depends on.

    `rows` are the distinct ones, `levels` those of all columns added up, `nodes` the combinations of levels;
    `least` is how many people a class has at least, `priced` whether suppressed rows have a price.
    """

    rows: int
    keys: int
    levels: int
    nodes: int
    least: int
    priced: bool


@dataclass(frozen=True)
class Work:
    """What a built-in search takes: users are told before it runs, and `best` tries it where there is time.

    `steps` counts how often it looks at a distinct row, at most or, unless `at_most`, about; a step takes
    `step_time` times as long as grouping a row, and `times_for_values` as long where promises are about
    values. `row_bytes` is what it holds per distinct row, besides the table, of so many key columns, packed
    in so many bytes, with sensitive values or without; `held_bytes` is what it holds beyond. `too_much` says
    why `best` does not try it on a table, if so; asked for more than was promised, all rungs of the ladders
    together, it may look at `rows_of_rungs` distinct rows, and at `cells_of_rungs` of them times key columns
    times promises about values. Plans for offers may look at `rows_of_offers` together. `walks_levels`: it
    looks at every row at every combination of levels.
    """

    steps: Callable[[TableSize], float] | None = None
    step_time: float = 1.0
    at_most: bool = False
    times_for_values: int = 1
    row_bytes: Callable[[int, int, bool], int] = lambda keys, width, _: 4 * keys + 2 * width + 130
    held_bytes: Callable[[Microdata], int] = lambda _: 0
    too_much: Callable[[Microdata, Promises], str] = lambda *_: ""
    rows_of_rungs: int = 0
    cells_of_rungs: int | None = None
    rows_of_offers: int = ROWS_OF_OFFERS
    walks_levels: bool = False


S = TypeVar("S", bound=Search)
_work: dict[str, Work] = {}


def built_in_search(
    name: str, meaning: str, *, place: int, ability: Ability, work: Work, compared: int | None = None
) -> Callable[[S], S]:
    """Offers a function as a built-in search, under its name in policies.

    `sfumato.policy.searches` reads these words from the file without importing it, all but `work`: they are
    literals, or calls of `Ability` and `losses_with`.

    Args:
        name: what a policy writes after `search:`.
        meaning: what the search does, for the schema and for pages.
        place: where it stands among the searches when they are listed.
        ability: what it can do, so that a policy is checked without loading it.
        work: how much time and memory it takes.
        compared: when `best` tries it, the least first; without it `best` does not.
    """
    del meaning, place, ability, compared  # read from the file

    def offer(search: S) -> S:
        _work[name] = work
        return search

    return offer


def find(name: str) -> Search:
    """Returns the search with this name; loads its module now.

    >>> find("sideways")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    sfumato.system.errors.UsageError: there is no search of this name. Pick one of top-down, lattice, ...
    """
    search = offered(name)
    if search is not None:
        return cast(Search, search)  # another package's: its ability was checked, its signature is its word
    if name not in SEARCHES:
        raise UsageError("there is no search of this name.", remedy=f"Pick one of {', '.join(known())}.")
    built_in: Search = SEARCHES[name].load()
    return built_in


def work_of(name: str) -> Work:
    """Returns what a built-in search takes; of any other, what is assumed of it."""
    if name in SEARCHES:
        SEARCHES[name].load()
    return _work.get(name, Work())


# Why a search that specializes cannot even start, and what would help.


def refuse_local(table: Microdata, promises: Promises, aim: Aim, why: str) -> None:
    """Raises where a search that recodes every class by itself cannot do what is asked, and says `why`."""
    if promises.of_table:
        name = promises.of_table[0].name
        raise UsageError(f"{name} needs one recoding for all classes{why}", remedy="Search top-down.")
    check_missing(table, aim)


def check_missing(table: Microdata, aim: Aim) -> None:
    """Raises where more rows were left out for empty key cells than may stay unpublished."""
    if table.dropped > aim.allowed(table):
        raise Infeasible(
            f"{table.dropped} rows have an empty key cell and would be suppressed; {aim.allowed(table)} are"
            " allowed",
            remedy=f"Allow {table.dropped} suppressed rows, or let missing cells be a value of their own.",
        )


def at_the_root(table: Microdata, everything: Classes, promises: Promises, *, final: bool) -> Infeasible:
    """The table breaks a promise with every key column at its root: `everything` is what is judged there.

    `final` says that nothing finer can keep it either.
    """
    broken = [p for p in promises.of_class if not p.holds_on(everything).all()]
    message = "; ".join(_shortfall(table, p, everything) for p in broken)
    remedy = f"Ask for at most what the whole table reaches, or drop {' and '.join(p.name for p in broken)}."
    if not final:
        remedy += " Search by lattice: it may find classes to suppress that make the rest keep the promises."
    return Infeasible(f"even with every key column fully generalized, {message}", remedy=remedy)


def at_the_ceilings(promises: Promises, lost: int, budget: int) -> Infeasible:
    """The whole table keeps the promises, and the coarsest levels that the policy permits do not."""
    demand = " and ".join(str(p) for p in promises)
    return Infeasible(
        f"no column may be coarser than the policy permits, and there {demand} would take {lost} suppressed"
        f" rows where {budget} are allowed",
        remedy="Let a column be coarser (at-most), or ask for less.",
    )


def no_single_values(column: str) -> Infeasible:
    """A column may not be coarser than single values, and the search publishes ranges."""
    return Infeasible(
        f"{column} may not be coarser than a single value, and Mondrian publishes ranges of it",
        remedy="Search top-down, by lattice or locally, or let the column be coarser (at-most).",
    )


def by_table(promise: TablePromise, reason: str) -> Infeasible:
    """A table promise breaks with every key column at its root."""
    message = f"even with every key column fully generalized, {promise} does not hold: {reason}"
    return _broken(promise, message)


def no_recoding_found(promise: TablePromise, reason: str, looked: int, *, all_of_them: bool) -> Infeasible:
    """A table promise breaks at the roots, and no finer recoding that was looked at keeps every promise."""
    whole = f"none of the {looked} recodings that could mend it does"
    near = f"none of the {looked} nearest recodings mends it, which does not prove that none can"
    message = f"with every key column fully generalized, {promise} does not hold: {reason};"
    return _broken(promise, f"{message} {whole if all_of_them else near}")


def _broken(promise: TablePromise, message: str) -> Infeasible:
    """The error of a table promise; where it is judged beside earlier releases, these are the cause."""
    if isinstance(promise, CrossReleasePromise) and promise.earlier:
        return InfeasibleBesideHistory(
            message, remedy=f"Wait until more people have come or left, or ask less of {promise.name}."
        )
    return Infeasible(message, remedy=f"Relax {promise.name}.")


def _shortfall(table: Microdata, promise: ClassPromise, everything: Classes) -> str:
    """Which promise, asked and reached, and how many people, or rows, are concerned."""
    verdict = promise.verdict(everything)
    if promise.by_size:
        fewest = int(verdict.measured or 0)
        size = pluralize(fewest, "row") if table.rows_only else pluralize(fewest, "person", "people")
        fact = f"the table {'has' if table.rows_only else 'is about'} {size}"
        if len(everything) > 1:
            fact = f"the fewest people with the same number of rows are {fewest}"
        return f"{promise} is short by {int(verdict.limit) - fewest}: {fact}"
    reached = "" if verdict.measured is None else f" (reached: {verdict.measured}, asked: {verdict.limit})"
    return f"{promise} fails for {verdict.people} {'rows' if table.rows_only else 'people'}{reached}"
