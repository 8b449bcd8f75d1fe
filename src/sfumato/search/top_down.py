"""Top-down specialization over subtree cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Cuts, Promises
from sfumato.protection.loss import find_measure
from sfumato.protection.searches.classed_rows import ClassedRows
from sfumato.protection.searches.descents import TopDownDescent, begin, go_down, make
from sfumato.protection.searches.first_steps import steps_to_ceilings
from sfumato.protection.searches.refinement import Specialization
from sfumato.protection.searches.search import Aim, Outcome
from sfumato.protection.searches.step_check import StepJudge

MOST_EXACT_ANSWERS = 16
"""A promise is asked so many times for an exact answer, once its bound proved too high."""


SMALLER_LIMITS = tuple(Fraction(thousandth, 1000) for thousandth in (0, 1, 5, 10, 20, 50, 100))
"""Where suppressed rows have a price, smaller limits are tried, too: less may be better than more."""


def top_down(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best of descents (`specialize`) with the aim's limit of suppression and smaller ones.

    Without a price for suppressed rows there is one descent, which suppresses as far as it may.
    """
    least = Fraction(table.dropped, max(1, table.rows + table.dropped))
    limits = {aim.allowed(table): aim.suppress}
    if aim.price is not None and not promises.of_table:
        for limit in (max(limit, least) for limit in SMALLER_LIMITS if max(limit, least) < aim.suppress):
            limits.setdefault(replace(aim, suppress=limit).allowed(table), limit)
    best, refused, checked = None, None, 0
    for number, found in specialize_each(table, promises, aim, tuple(limits.values()), progress=progress):
        if isinstance(found, Infeasible):
            refused = found if number == 0 else refused
            continue
        checked += found.checked
        rank = (found.loss, found.recoding.suppressed, number)
        if best is None or rank < best[0]:
            best = rank, found
    if best is None:
        raise refused or Infeasible("nothing is left to publish", remedy="Ask for less.")
    return replace(best[1], checked=checked)


def specialize(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Specializes from every key column at its ceiling, the root as a rule, as long as every promise holds.

    A candidate is a node of a cut that has children. The best-ranked one (`Ranking`) is tried: if every
    promise still holds it is replaced by its children, in all classes; if not, it is dropped for good where
    no later step can help, and otherwise set aside (`StepJudge` says which). What was set aside is tried
    again when every other candidate is used up, as long as a step was accepted since. The result is minimal:
    no single further specialization is valid.

    With suppression a recoding is valid if the classes that `suppression.keep` does not keep hold at most the
    allowed number of rows. For hereditary promises (k-anonymity, distinct l-diversity) these rows only become
    more from step to step, so a dropped candidate stays invalid. For others (entropy and recursive
    l-diversity, t-closeness) a class may break the promise and its parts keep it: such candidates are
    set aside.

    With a price, a step that suppresses rows worth more than what the others gain is set aside. Where the
    ceilings break a promise that is not hereditary and suppression may mend it, the search starts from the
    best full-domain recoding.

    A table promise may break with every column at its ceiling and hold further down; the search then starts
    from the nearest recoding that keeps every promise (`steps_to_valid`).

    A table promise may answer by a bound while the search runs. If what was found turns out not to be
    certain, as many of the steps as are certain (by bisection) are made again, and the search goes on from
    there with exact answers, `MOST_EXACT_ANSWERS` of them. The result is then certain, and minimal only as
    far as these went.

    Source: Fung, Wang and Yu, *Top-down specialization for information and privacy preservation*, 2005.
    """
    ((_, found),) = specialize_each(table, promises, aim, (aim.suppress,), progress=progress)
    if isinstance(found, Infeasible):
        raise found
    return found


def specialize_each(
    table: Microdata,
    promises: Promises,
    aim: Aim,
    shares: Sequence[Fraction],
    *,
    progress: Progress = silent,
) -> Iterator[tuple[int, Outcome | Infeasible]]:
    """Yields what `specialize` finds with each of some limits of suppression, or why it finds nothing.

    The largest limit is the first, and where it is refused all are. Each comes with its place among the
    limits, as soon as it is found.
    """
    find_measure(aim.loss)

    def descend(some: Sequence[Fraction]) -> Iterator[tuple[int, Outcome | Infeasible]]:
        return _descend(table, promises, [replace(aim, suppress=share) for share in some], progress)

    if aim.descents is None or aim.descents.table is not table:
        return descend(shares)
    return iter(enumerate(aim.descents.find(promises, shares, descend)))


def _descend(
    table: Microdata, promises: Promises, aims: Sequence[Aim], progress: Progress
) -> Iterator[tuple[int, Outcome | Infeasible]]:
    companies, refused = begin(table, promises, aims)
    yield from refused.items()
    for ended in go_down(companies, progress=progress):
        yield ended.number, _certain(ended, promises, progress)


def _certain(ended: TopDownDescent, promises: Promises, progress: Progress) -> Outcome:
    """Returns what was found, or as many of its steps as are certain, and what exact answers add to them."""
    table, judge = ended.classes.table, ended.judge
    if not judge.watches or judge.certain(_cuts_after(table, ended.path)):
        return ended.outcome()
    few = _certain_steps(table, ended.path, judge, least=len(steps_to_ceilings(table)))
    again = TopDownDescent(ClassedRows.of(table), table, promises, ended.aim, watches=judge.watches)
    for step in ended.path[:few]:
        make([again], step)
    again.judge.deliberate(MOST_EXACT_ANSWERS)
    (again,) = go_down([[again]], progress=progress)
    return again.outcome()


def _cuts_after(table: Microdata, path: list[Specialization]) -> Cuts:
    shown = [np.zeros(len(c.taxonomy.leaves), np.int32) for c in table.keys]
    for step in path:
        tree = table.keys[step.column].taxonomy
        shown[step.column][tree.low[step.node] : tree.high[step.node]] = tree.child_above(step.node)
    return {c.name: Cut(c.taxonomy, nodes) for c, nodes in zip(table.keys, shown, strict=True)}


def _certain_steps(table: Microdata, path: list[Specialization], judge: StepJudge, *, least: int) -> int:
    """Returns how many of the steps, `least` or more, make a result that is certain; all are too many."""
    few, many = least, len(path)
    while many - few > 1:
        middle = (few + many) // 2
        if judge.certain(_cuts_after(table, path[:middle])):
            few = middle
        else:
            many = middle
    return few
