"""Why a search that specializes cannot even start, and what would help."""

from __future__ import annotations

from sfumato.core.classes import Classes
from sfumato.core.errors import Infeasible, InfeasibleBesideHistory
from sfumato.core.microdata import Microdata
from sfumato.core.promise import ClassPromise, Promises, TablePromise
from sfumato.show.card import several


def too_many_missing(table: Microdata, allowed: int) -> Infeasible:
    """More rows were left out for empty key cells than may stay unpublished."""
    return Infeasible(
        f"{table.dropped} rows have an empty key cell and would be suppressed; {allowed} are allowed",
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
    if table.profiles:
        remedy += (
            " Even then people are told apart by how many rows they have: allow some to be suppressed, give"
            " everybody the same number of rows, or promise k-anonymity alone (person: {knows: row})."
        )
    return Infeasible(f"even with every key column fully generalized, {message}", remedy=remedy)


def at_the_ceilings(promises: Promises, lost: int, budget: int) -> Infeasible:
    """The whole table keeps the promises, and the coarsest levels that the policy permits do not."""
    asked = " and ".join(str(p) for p in promises)
    return Infeasible(
        f"no column may be coarser than the policy permits, and there {asked} would take {lost} suppressed"
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
    if promise.looks_back and promise.earlier:
        return InfeasibleBesideHistory(
            message, remedy=f"Wait until more people have come or left, or ask less of {promise.name}."
        )
    return Infeasible(message, remedy=f"Relax {promise.name}.")


def _shortfall(table: Microdata, promise: ClassPromise, everything: Classes) -> str:
    """Which promise, asked and reached, and how many people, or rows, are concerned."""
    verdict = promise.verdict(everything)
    if promise.by_size:
        fewest = int(verdict.measured or 0)
        told = several(fewest, "row") if table.rows_only else several(fewest, "person", "people")
        said = f"the table {'has' if table.rows_only else 'is about'} {told}"
        if len(everything) > 1:
            said = f"the fewest people with the same number of rows are {fewest}"
        return f"{promise} is short by {int(verdict.limit) - fewest}: {said}"
    reached = "" if verdict.measured is None else f" (reached: {verdict.measured}, asked: {verdict.limit})"
    return f"{promise} fails for {verdict.people} {'rows' if table.rows_only else 'people'}{reached}"
