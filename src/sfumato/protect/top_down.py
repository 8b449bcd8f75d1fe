"""Top-down specialization over subtree cuts."""

from __future__ import annotations

from sfumato.protect.judging import Judge
from sfumato.protect.loss import find_measure, measure
from sfumato.protect.ranking import Ranking
from sfumato.protect.refinement import Refinement
from sfumato.protect.search import Aim, Outcome
from sfumato.protect.way_down import way_down
from sfumato.terms.microdata import Microdata
from sfumato.terms.progress import Progress, silent
from sfumato.terms.promise import Answer, Promises


def top_down(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Start with every key column at its root and specialize while every promise holds.

    A candidate is a node of a cut that has children. The best-ranked one (`Ranking`) is tried: if every
    promise still holds it is replaced by its children, in all classes; if not, it is dropped for good where
    no later step can help, and otherwise set aside (`Judge` says which). What was set aside is tried again
    when every other candidate is used up, as long as a step was accepted since. The result is minimal: no
    single further specialization is valid.

    With suppression a recoding is valid if the classes that `suppress.keep` does not keep hold at most the
    allowed number of rows. For hereditary promises (k-anonymity, distinct l-diversity) these rows only become
    more from step to step, so a dropped candidate stays invalid. For others (entropy and recursive
    l-diversity, t-closeness) a class may break the promise and its parts keep it: such candidates are
    set aside.

    A table promise may break with every column at its root and hold further down; the search then starts from
    the nearest recoding that keeps every promise (`way_down`).

    A table promise may answer by a bound while the search runs. If what was found turns out not to be
    certain, the search runs again with exact answers.

    Source: Fung, Wang and Yu, *Top-down specialization for information and privacy preservation*, 2005.
    """
    find_measure(aim.loss)
    for exact in (False, True):
        found, judge = _descend(table, promises, aim, exact=exact, progress=progress)
        if exact or judge.certain:
            break
    return found


def _descend(
    table: Microdata, promises: Promises, aim: Aim, *, exact: bool, progress: Progress
) -> tuple[Outcome, Judge]:
    classes = Refinement(table)
    judge = Judge(classes, promises, aim, exact=exact)
    ranking = Ranking(classes, aim.loss, aim.weights, skip_empty=not judge.watches)
    checked = 1
    for first in way_down(table, promises, judge):
        split = classes.split(first)
        judge.ask(split)
        judge.accept(split)
        classes.accept(split)
        ranking.follow(split)
    while (step := ranking.best()) is not None:
        split = classes.split(step)
        answer = judge.ask(split)
        if answer is Answer.YES:
            judge.accept(split)
            classes.accept(split)
            ranking.follow(split)
        elif answer is Answer.LATER:
            ranking.set_aside(step)
        else:
            ranking.drop(step)
        checked += 1
        progress("top-down", checked)
    if not judge.watches:
        classes.open_empty_nodes()
    recoding = classes.recoding(judge.kept)
    return Outcome(recoding, measure(aim.loss, recoding, weights=aim.weights), checked=checked), judge
