"""All minimal quasi-identifiers, within bounds, and whether those are all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.column_sets import ColumnSets, listed
from sfumato.discovery.quasi_identifiers.criterion import Reading, Terms
from sfumato.discovery.quasi_identifiers.level_search import LARGEST_SET, LevelSearch
from sfumato.discovery.quasi_identifiers.limits import Clock, Limits, Stop
from sfumato.discovery.quasi_identifiers.question import QuasiIdentifierQuestion
from sfumato.discovery.quasi_identifiers.reduced import ReducedTable
from sfumato.discovery.quasi_identifiers.staged_search import StagedSearch
from sfumato.discovery.quasi_identifiers.tree_search import TreeSearch

Engine = Literal["auto", "tree", "levels"]


@dataclass(frozen=True)
class MinimalSets:
    """Minimal quasi-identifiers, smallest first.

    `complete` says that no minimal set of at most `max_size` columns (of any size, if `None`) is missing;
    of a search that was stopped, `complete_to` says that none of at most so many columns is, and `stopped`
    which limit it met.
    `reason` tells why there is none, or why the empty set is the only one; `duplicates` counts the rows
    that repeat another one, where that is the reason.
    """

    terms: Terms
    sets: ColumnSets
    complete: bool
    max_size: int | None = None
    reason: str = ""
    duplicates: int = 0
    complete_to: int = 0
    stopped: Stop = ""


def minimal(
    table: Coded,
    reading: Reading,
    *,
    max_size: int | None = None,
    max_results: int | None = None,
    deadline: float | None = None,
    budget: int | None = None,
    engine: Engine = "auto",
    progress: Progress = silent,
    clock: Clock = time.monotonic,
    limits: Limits | None = None,
) -> MinimalSets:
    """Find all minimal quasi-identifiers, or those found within the bounds.

    `limits`, if given, is all that bounds the search except `max_size`.

    Which ones are found within a number of results, a deadline or a budget of steps may depend on the
    order of the rows; a complete answer never does.

    >>> table = Coded.of_columns({"a": "xxy", "b": "xyy", "c": "pqr"})
    >>> minimal(table, Reading.of(k=2, mode="all")).sets
    [('c',), ('a', 'b')]
    """
    if max_size is not None and max_size < 0:
        raise WrongCall("max_size must be at least 0")
    limits = limits or Limits(max_results, deadline, clock, budget)
    question = QuasiIdentifierQuestion.of(table, reading)
    terms = question.terms
    if question.settled:
        sets = listed([()] if question.empty_set else [], table.names)
        return MinimalSets(terms, sets, True, max_size, question.reason, question.duplicates)
    if max_size == 0:
        nothing = listed([], table.names)
        return MinimalSets(terms, nothing, True, max_size, duplicates=question.duplicates)
    reduced = ReducedTable.of(question.table, terms.k)
    bound = reduced.columns if max_size is None else min(max_size, reduced.columns)
    search = choose_search(reduced, terms, bound, limits, engine)

    def keep_going(found: int) -> bool:
        best = search.smallest
        progress("minimal sets" if best is None else f"minimal sets, smallest {best}", found)
        return limits.allow(found, search.steps)

    ended = search.run(keep_going, fits=limits.fits)
    keep_going(search.found)
    stopped = "" if ended else limits.stopped
    sets = question.named(search.words(), reduced, most=limits.max_results)
    known = 0 if isinstance(search, TreeSearch) or sets.cut else search.sizes_done
    return MinimalSets(
        terms,
        sets,
        ended and not sets.cut,
        max_size,
        duplicates=question.duplicates,
        complete_to=known,
        stopped="results" if sets.cut else stopped,
    )


def choose_search(
    reduced: ReducedTable, terms: Terms, bound: int, limits: Limits, engine: Engine = "auto"
) -> TreeSearch | LevelSearch | StagedSearch:
    """The search that suits: by levels for some records and few columns, by both for more, else the tree."""
    if engine == "levels" and bound > LARGEST_SET:
        raise WrongCall(f"the search by levels goes up to {LARGEST_SET} columns")
    every = terms.t == terms.rows
    if engine == "levels" or (engine == "auto" and not every and bound <= LARGEST_SET):
        return LevelSearch(reduced, k=terms.k, t=terms.t, max_size=bound)
    if engine == "tree" or every:
        return TreeSearch(reduced, k=terms.k, t=terms.t, max_size=bound)
    return StagedSearch(reduced, k=terms.k, t=terms.t, max_size=bound, limits=limits)
