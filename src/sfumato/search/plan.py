"""Plans: what each column becomes, and the proof that the promises hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Microdata
from sfumato.core.positions import judged_groups
from sfumato.core.progress import Progress, one_step, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.core.taxonomy import Label
from sfumato.core.verdict import Verdict
from sfumato.engine import AnyTable, open_source
from sfumato.policy.compatibility.search_fit import against_compared, searches_of
from sfumato.policy.policy import Policy
from sfumato.policy.reference import Reference
from sfumato.protection.boxes import boxes_of, covers_rows
from sfumato.protection.column_shape import published_nodes, shape_of
from sfumato.protection.controls import broken_control
from sfumato.protection.expected_time import Foretell, expected_times
from sfumato.protection.explanation.explanation import Explanation, explain
from sfumato.protection.loosened_controls import refusal_under_controls
from sfumato.protection.outlook import Outlook, outlook_of
from sfumato.protection.people_check import check_people
from sfumato.protection.plan_imprint import imprint_of
from sfumato.protection.same_transformation import NAME as LIKE
from sfumato.protection.same_transformation import Transformation, no_cuts, search_like
from sfumato.protection.searches.registry import find
from sfumato.protection.searches.search import Aim, ComparedSearch, Outcome
from sfumato.protection.suppression import recoded
from sfumato.protection.two_phases import TermReport, key_promises, search_in_two_phases, with_original
from sfumato.show.card import Card, Printable, figure, several, verdict_lines
from sfumato.show.document import json_ready, verdict_document


@dataclass(frozen=True, eq=False)
class Plan(Printable):
    """A recoding that keeps every promise of a policy, proved on the classes it publishes.

    `levels` maps columns to levels where the search is full-domain. `loss` is the value of the measure that
    the policy names; `checked` counts the recodings judged. `optimal` says that no global recoding (of a
    full-domain search: no combination of levels) loses less; `bound` is what every one loses at least, where
    an exact search ran out of steps. `terms` tells what became of term sets, class by class,
    where a quasi-sensitive promise had terms removed; `policy` then holds the prior that beliefs are compared
    with. `search` is the search that found it, `compared` what each of several gave, and `left_out` why
    others were not tried. What a plan prints names only values that the published table itself shows.
    """

    policy: Policy
    recoding: Recoding
    verdicts: tuple[Verdict, ...]
    loss: float
    levels: Mapping[str, int] | None = None
    optimal: bool = False
    checked: int = 0
    smallest: int = 0
    terms: TermReport | None = None
    search: str = ""
    compared: tuple[ComparedSearch, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    bound: float | None = None

    @property
    def cuts(self) -> dict[str, tuple[Label, ...]] | None:
        """Column -> labels of the nodes its values become; `None` where classes are recoded one by one."""
        if self.recoding.cuts is None:
            return None
        return {name: cut.labels for name, cut in self.recoding.cuts.items()}

    @property
    def rows(self) -> int:
        """The rows of the source."""
        table = self.recoding.table
        return table.rows + table.dropped

    @property
    def suppressed(self) -> int:
        """The rows of the source that are not published."""
        return self.recoding.suppressed

    @cached_property
    def classes(self) -> int:
        """The number of published classes."""
        return len(boxes_of(self.recoding)[0])

    @cached_property
    def reference(self) -> Reference | None:
        """What the owner has to keep of the original table, so that others can judge the published one."""
        return Reference.of(self.policy)

    @cached_property
    def imprint(self) -> Imprint:
        """What later releases have to know of this one: counts and marks, no row and no value."""
        return imprint_of(self.policy, self.recoding, self.verdicts)

    @property
    def transformation(self) -> Transformation:
        """What each key column became, to be taken over by another plan (`like`).

        Raises `BadData` where classes are recoded one by one.
        """
        if self.cuts is None:
            raise no_cuts("the earlier plan")
        return Transformation(self.cuts, self.levels, "the earlier plan")

    @cached_property
    def outlook(self) -> Outlook:
        """How many columns are lost, and what a little more suppression or a coarser column would buy."""
        replan = make_plan if self.search != LIKE else partial(make_plan, like=self.transformation)
        return outlook_of(self, replan)

    def explain(self) -> Explanation:
        """Returns, per column, what it became, what stops finer steps, and what the next would cost."""
        return self._explanation

    @cached_property
    def _explanation(self) -> Explanation:
        rule = self.policy.protect
        return explain(
            self.recoding,
            self.policy.promises if self.terms is None else key_promises(self.policy.promises),
            levels=self.levels,
            loss=rule.loss,
            weights=self.policy.weights,
            price=rule.price,
            allowed=aim_of(self.policy).allowed(self.recoding.table),
        )

    def apply(
        self, data: AnyTable, *, keep_index: bool = False, progress: Progress = silent
    ) -> Any:  # a table of any library
        """Returns the safe table, of the kind of `data`, which must hold the rows the plan was made for.

        Its rows stand in an order of their own, which tells nothing of that of `data`. With `keep_index` they
        stand as in `data`, with the index of a pandas frame, to be held beside it: whoever knows that order
        knows whose row is whose, so such a table is for its owner alone.
        """
        source = open_source(data, expected=self.policy.form_of_data, digits=self.policy.digits)
        if keep_index:
            from sfumato.engine.frames.kept_order import recode_in_order  # noqa: PLC0415  # loads Arrow

            return recode_in_order(source, self.recoding, drop=self.policy.dropped, progress=progress)
        return source.recode(self.recoding, drop=self.policy.dropped, progress=progress)

    def as_dict(self) -> JsonObject:
        """Returns JSON, under the names of the attributes; `cuts` lists the labels that are published."""
        published: JsonObject | None = None
        if self.recoding.cuts is not None:
            columns = enumerate(self.recoding.table.keys)
            published = {
                c.name: [c.taxonomy.labels[v] for v in published_nodes(self.recoding, j)] for j, c in columns
            }
        return {
            "search": self.policy.protect.search,
            "measure": self.policy.protect.loss,
            "loss": self.loss,
            "optimal": self.optimal,
            **({} if self.bound is None or self.optimal else {"bound": self.bound}),
            "checked": self.checked,
            "rows": self.rows,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "smallest": self.smallest,
            "levels": json_ready(self.levels),
            "cuts": published,
            "verdicts": [verdict_document(v) for v in self.verdicts],
            **({} if self.terms is None else {"terms": self.terms.as_dict()}),
            **({} if self.reference is None else {"reference": self.reference.names}),
            "outlook": self.outlook.as_dict(),
            **self._comparison_document(),
        }

    def _comparison_document(self) -> JsonObject:
        """Returns what each search gave, without its time: the same rows give the same document."""
        if not self.compared:
            return {}
        names = ("search", "loss", "suppressed", "classes", "lost", "optimal")
        compared = [{name: vars(one)[name] for name in names} for one in self.compared]
        return {"found_by": self.search, "compared": compared}

    def card(self) -> Card:
        """Returns the plan on a few lines."""
        levels, keys = self.levels or {}, self.recoding.table.keys
        shapes = [shape_of(self.recoding, j, levels.get(c.name)) for j, c in enumerate(keys)]
        kind, best = "global recoding" if self.levels is None else "combination of levels", ""
        if self.optimal:
            best = f" (no {kind} loses less)"
        elif self.bound is not None:
            best = f" (no {kind} is below {figure(self.bound)})"
        notes = (
            f"{several(self.classes, 'class', 'classes')}, {self._smallest}",
            f"{several(self.suppressed, 'row')} of {figure(self.rows)} suppressed",
            f"{self.policy.protect.loss} {figure(self.loss)}{best}",
            *(() if self.terms is None else self.terms.lines()),
            *(() if self.reference is None else self.reference.lines()),
            self.outlook.line,
        )
        lines = [*verdict_lines(self.verdicts), (), *(shape.line for shape in shapes)]
        return Card(f"plan by {self._searched}", lines, notes)

    def comparison(self) -> Card:
        """Returns what each search gave that was tried, the chosen one first; says so where one was tried."""
        if not self.compared:
            return Card("nothing to compare: only `search: best` tries several searches", (), ())
        ranked = sorted(self.compared, key=lambda one: one.search != self.search)
        return Card("searches compared", [one.cells for one in ranked], self._not_tried())

    def _not_tried(self) -> tuple[str, ...]:
        """Returns why some searches were not compared."""
        against = against_compared(self.policy)
        reasons = {name: problems[0].message for name, problems in against.items() if problems} | dict(
            self.left_out
        )
        return tuple(f"{name} was not tried: {reason}" for name, reason in reasons.items())

    @property
    def _searched(self) -> str:
        asked = self.policy.protect.search
        if self.search == LIKE:
            return "the transformation of an earlier one"
        return (
            asked
            if self.search in ("", asked)
            else f"{asked} of {len(self.compared)} searches: {self.search}"
        )

    @property
    def _smallest(self) -> str:
        if self.recoding.table.profiles:
            return f"everybody among {figure(self.smallest)} people or more with the same rows"
        counted = "rows" if self.recoding.table.rows_only else "people"
        return f"the smallest of {figure(self.smallest)} {counted}"

    def __repr__(self) -> str:
        return f"Plan({self.rows} rows, {self.suppressed} suppressed, {self.classes} classes)"


def make_plan(
    table: Microdata,
    policy: Policy,
    *,
    like: Transformation | None = None,
    foretell: Foretell | None = None,
    progress: Progress = silent,
) -> Plan:
    """Searches as the policy asks, and proves what was found before anybody sees it.

    With `like`, the cuts of an earlier plan are taken instead. `foretell` receives, before the search begins,
    about how long it will take. Where controls leave no table that keeps the promises, `Infeasible` says
    which to loosen.
    """
    check_people(table, policy.promises)
    aim = aim_of(policy)
    policy = with_original(policy, table)
    search = find(policy.protect.search) if like is None else search_like(like)
    if foretell is not None and like is None:
        foretell(expected_times(table, key_promises(policy.promises), aim, searches_of(policy)))
    try:
        outcome, terms = search_in_two_phases(search, table, policy, aim, progress=progress)
    except Infeasible as refused:
        asked = key_promises(policy.promises)
        raise (refusal_under_controls(table, asked, aim) or refused) from None
    with one_step(progress, "proving"):
        verdicts, smallest = prove(outcome, policy.promises, aim)
    if table.rows + table.dropped and not outcome.recoding.count:
        raise Infeasible(
            "every row would have to be suppressed, and an empty table is no release",
            remedy="Relax a promise, or give the columns coarser taxonomies.",
        )
    return Plan(
        policy,
        outcome.recoding,
        verdicts,
        outcome.loss,
        None if outcome.levels is None else dict(outcome.levels),
        outcome.optimal,
        outcome.checked,
        smallest,
        terms,
        outcome.search or (policy.protect.search if like is None else LIKE),
        outcome.compared,
        outcome.left_out,
        outcome.bound,
    )


def plan_of_cuts(
    table: Microdata, policy: Policy, cuts: Mapping[str, Cut], *, levels: Mapping[str, int] | None = None
) -> Plan:
    """Returns the plan of a version that was chosen for somebody, proved like any other; removes no term.

    What the policy's promises are given, priors and earlier releases, they have already.
    """
    aim = aim_of(policy)
    recoding = recoded(table, cuts, policy.promises)
    loss = aim.loss_of(recoding, levels)
    verdicts, smallest = prove(Outcome(recoding, loss, levels), policy.promises, aim)
    return Plan(policy, recoding, verdicts, loss, levels, smallest=smallest)


def aim_of(policy: Policy) -> Aim:
    """Returns what a search aims at under a policy."""
    rule = policy.protect
    return Aim(
        suppress=rule.suppress,
        loss=rule.loss,
        weights=policy.weights,
        relaxed=rule.relaxed,
        price=rule.price,
        compared=searches_of(policy),
        together=rule.together,
        never_suppress={
            name: column.controls.never_suppress
            for name, column in policy.columns.items()
            if column.controls.never_suppress
        },
    )


def prove(outcome: Outcome, promises: Promises, aim: Aim) -> tuple[tuple[Verdict, ...], int]:
    """Returns the verdicts on what would be published, and its smallest class, judged from scratch.

    Raises if a value would be published as something that does not cover it, if too many rows are
    suppressed, or if a promise does not hold: each is a bug of the search. Where positions of people are
    judged, it is the smallest position.
    """
    recoding = outcome.recoding
    if recoding.suppressed > aim.allowed(recoding.table):
        raise SfumatoError("the search suppressed more rows than the policy allows", remedy="This is a bug.")
    if not covers_rows(recoding):
        raise SfumatoError("the search publishes values that do not cover the data", remedy="This is a bug.")
    if broken := broken_control(recoding, aim):
        raise SfumatoError(f"the search breaks a control: {broken}", remedy="This is a bug.")
    _, class_of = boxes_of(recoding)
    if recoding.table.profiles:
        _check_positions(recoding)
    classes = recoding.classes(judged_groups(recoding.table, class_of), promises.sensitive)
    verdicts = list(promises.verdicts(classes))
    for promise in promises.of_table:
        if recoding.cuts is None:
            raise SfumatoError(f"{promise.name} needs a global recoding", remedy="This is a bug.")
        verdicts.append(promise.verdict_on(recoding.table, recoding.cuts))
    for verdict in verdicts:
        if verdict.holds is not True:
            raise SfumatoError(f"the search broke {verdict.promise}", remedy="This is a bug.")
    return tuple(verdicts), int(classes.people.min(initial=np.iinfo(np.int64).max)) if len(classes) else 0


def _check_positions(recoding: Recoding) -> None:
    """Raises where people cannot be judged by positions: under a local recoding, or with rows missing."""
    if recoding.cuts is None:
        raise SfumatoError("positions of people need a global recoding", remedy="This is a bug.")
    person, gone = recoding.table.person, recoding.class_of == SUPPRESSED
    if person is not None and len(np.intersect1d(person[gone], person[~gone])):
        raise SfumatoError("the search suppressed some rows of a person only", remedy="This is a bug.")
