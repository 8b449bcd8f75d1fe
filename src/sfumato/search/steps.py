"""The first steps of a top-down search: to the ceilings, and to a recoding that keeps every promise."""

from __future__ import annotations

from collections import deque
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.coarsest_level import nodes_above_ceiling
from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.positions import judged_groups
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import ROOT
from sfumato.core.watch import Answer
from sfumato.protection.searches import refusal
from sfumato.protection.searches.lattice import lattice
from sfumato.protection.searches.refinement import Specialization
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.step_check import StepJudge
from sfumato.protection.suppression import keep

MOST_RECODINGS = 2_000
"""So many recodings are judged."""

MOST_LATTICE_ROWS = 400_000_000
"""Nodes of the lattice times distinct rows, up to which the best full-domain recoding is looked for."""

State = tuple[Cut, ...]


def steps_to_ceilings(table: Microdata) -> list[Specialization]:
    """Returns the steps from the roots to the coarsest cuts that may be published; often there are none."""
    return [
        Specialization(j, node)
        for j, column in enumerate(table.keys)
        for node in nodes_above_ceiling(column.taxonomy).tolist()
    ]


def steps_to_valid(table: Microdata, promises: Promises, aim: Aim, judge: StepJudge) -> list[Specialization]:
    """Returns the steps from the ceilings to a recoding that keeps every promise; none if the ceilings do.

    Where the ceilings break a class promise that suppression may mend, these lead to the best full-domain
    recoding. Where they break a table promise, they are the fewest: breadth first; what lies below a recoding
    that can never be mended is left out. Raises `Infeasible` where there is none, or none near enough, and
    says which.
    """
    if judge.broken_root is not None:
        return _steps_to_levels(table, promises, aim, judge.broken_root)
    if judge.waiting is None:
        return []
    columns = table.keys
    coarsest = tuple(Cut.coarsest(c.taxonomy) for c in columns)
    seen: set[State] = {coarsest}
    waiting: deque[tuple[State, list[Specialization]]] = deque([(coarsest, [])])
    looked, path = 0, None
    while waiting and path is None and looked < MOST_RECODINGS:
        state, steps = waiting.popleft()
        for step in [Specialization(j, int(v)) for j, cut in enumerate(state) for v in cut.specializations]:
            finer = (
                *state[: step.column],
                state[step.column].specialize(step.node),
                *state[step.column + 1 :],
            )
            if finer in seen:
                continue
            seen.add(finer)
            looked += 1
            answer = _answer(table, promises, judge, finer)
            if answer is Answer.YES:
                path = [*steps, step]
                break
            if answer is Answer.LATER:
                waiting.append((finer, [*steps, step]))
    for watch in judge.watches:
        watch.accept({c.name: cut for c, cut in zip(columns, coarsest, strict=True)})
    if path is None:
        promise, reason = judge.waiting
        raise refusal.no_recoding_found(promise, reason, looked, all_of_them=not waiting)
    return path


def _steps_to_levels(
    table: Microdata, promises: Promises, aim: Aim, refused: Infeasible
) -> list[Specialization]:
    """Returns the steps to the best full-domain recoding; raises what was refused where that is too far."""
    if prod(c.taxonomy.height + 1 for c in table.keys) * max(1, table.distinct) > MOST_LATTICE_ROWS:
        raise refused
    levels = lattice(table, promises, aim).levels or {}
    steps = []
    for j, column in enumerate(table.keys):
        tree, node = column.taxonomy, np.unique(column.taxonomy.levels[levels[column.name]])
        above: list[NDArray[np.int32]] = []
        while len(node := np.unique(tree.parent[node[node != ROOT]])):
            above.append(node)
        opened = np.unique(np.concatenate(above)).tolist() if above else []
        steps += [Specialization(j, int(v)) for v in opened]
    made = set(steps_to_ceilings(table))
    return [step for step in steps if step not in made]


def _answer(table: Microdata, promises: Promises, judge: StepJudge, state: State) -> Answer:
    cuts = {c.name: cut for c, cut in zip(table.keys, state, strict=True)}
    recoding = Recoding.of_cuts(table, cuts)
    groups = judged_groups(table, recoding.class_of)
    classes = Classes.of(table, groups, sensitive=promises.sensitive)
    if not judge.lasting.holds_on(classes).all():
        return Answer.NEVER
    worst = Answer.YES if keep(classes, promises).all() else Answer.LATER
    for watch in judge.watches:
        answer, _ = watch.ask(cuts)
        if answer is Answer.NEVER:
            return answer
        worst = worst if answer is Answer.YES else answer
    return worst
