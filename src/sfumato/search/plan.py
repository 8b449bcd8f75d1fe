"""Plans: what each column becomes, and the proof that the promises hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import (
    ClassPromise,
    ColumnRolePromise,
    Promise,
    Promises,
    TermPromise,
    is_derived,
)
from sfumato.models.registry import make
from sfumato.policy.columns import forms_of
from sfumato.policy.compatibility import against_compared, searches_of
from sfumato.policy.policy import Policy
from sfumato.policy.reference import Reference
from sfumato.policy.searches import BEST, ability_of
from sfumato.search.bare_rows import PublishedPeople
from sfumato.search.best import Foretell, expected_times
from sfumato.search.blind_groups import (
    GroupedPeople,
    against_blind,
    group_people,
    least_people,
    reads_values,
    table_of_keys,
)
from sfumato.search.class_term_removal import TermLimit
from sfumato.search.contract import MOST_LEVEL_VECTORS, Aim, ComparedSearch, Outcome, Search, find, work_of
from sfumato.search.controls import broken_control, refusal_under_controls, refuse_broken_controls
from sfumato.search.explanation import Explanation, explain
from sfumato.search.loss import ColumnShape, lost_columns, published_nodes, shape_of, tally
from sfumato.search.reuse_plan import NAME as REUSE_PLAN
from sfumato.search.reuse_plan import Transformation, no_cuts, search_reusing
from sfumato.search.suppression import boxes_of, covers_rows, recoded
from sfumato.search.term_removal import TermReport
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, BadPolicy, Infeasible, SfumatoError, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.memory import Memory, coarser_start
from sfumato.system.presentation.cards import (
    Card,
    Printable,
    format_number,
    json_ready,
    not_protected_lines,
    pluralize,
    verdict_document,
    verdict_lines,
)
from sfumato.system.progress import Progress, one_step, silent
from sfumato.system.verdict import Verdict
from sfumato.table.arrays import written
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Counts, Microdata, Role
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under
from sfumato.table.release_summary import Imprint, ProvedCandidates
from sfumato.table.source import AnyTable, Source, open_source
from sfumato.table.taxonomy import Label

# The outlook: what a plan comes to, and what a little more would buy; each offer was planned, not guessed.

SHARES = tuple(Fraction(thousandth, 1000) for thousandth in (1, 5, 10, 20, 50, 100))
"""The limits of suppression that are tried, where they are more than the policy allows."""
MOST_WALKED = 100_000_000
"""Boxes of rows that local recoding may look at for offers: it walks every vector of levels."""
MOST_PLANS = 16
MOST_WHOLE_PLANS = 2
"""So many plans for offers are made by all searches of the policy; what needs one more is not offered."""
MOST_NAMED = 20
"""Columns that a sentence names; of more it says how many there are."""
SMALL_LOSS = 0.1
"""With less lost, and no column lost, nothing is offered."""
MUCH_LESS = 0.75
"""An offer that brings no column back has to bring the loss down to this share."""


Replan = Callable[[Microdata, Policy], "Plan"]
"""Plans a table by a policy, and proves what was found."""


@dataclass(frozen=True)
class OfferedChange:
    """What a change of the policy buys: `key` and `value` are to be written into it.

    `rows` more rows are then suppressed, or `column` begins one level higher; the columns `restored` are no
    longer lost, and the loss is `loss`.
    """

    key: str
    value: str
    rows: int
    column: str | None
    restored: tuple[str, ...]
    loss: float

    def sentence(self, before: float) -> str:
        """Returns the offer in words, beside what is lost without it."""
        much = pluralize(self.rows, "more row") if self.column is None else f"a coarser {self.column}"
        bought = f"restore {_listed(self.restored)}"
        if not self.restored:
            bought = f"bring the loss from {format_number(before)} to {format_number(self.loss)}"
        return f"{much} would {bought} ({self.key}: {self.value})"


@dataclass(frozen=True)
class Outlook:
    """How many of the key columns that have several values are lost, and what would bring some back."""

    lost: tuple[str, ...]
    columns: int
    loss: float
    offer: OfferedChange | None = None

    @property
    def line(self) -> str:
        """The outlook in a sentence."""
        columns = pluralize(self.columns, "column")
        sentence = f"none of {columns} is lost" if self.columns else "no column could be lost"
        if self.lost:
            sentence = f"{len(self.lost)} of {columns} {'is' if len(self.lost) == 1 else 'are'} lost"
            sentence += "" if len(self.lost) == self.columns else f": {_listed(self.lost)}"
        return sentence if self.offer is None else f"{sentence}; {self.offer.sentence(self.loss)}"

    def as_dict(self) -> JsonObject:
        """Returns JSON."""
        offer: JsonObject | None = None
        if self.offer is not None:
            offer = {**vars(self.offer), "restored": list(self.offer.restored)}
        return {"lost": list(self.lost), "columns": self.columns, "offer": offer}


def outlook_of(plan: Plan, replan: Replan) -> Outlook:
    """Returns what a plan comes to, and the first offer that plans bear out: rows, then a coarser column.

    How many plans are made for that depends on counts alone. Where several searches were tried, offers are
    looked for by the one that found the plan; what is offered was planned by all of them.
    """
    table = plan.recoding.table
    several_values = [c for c in table.keys if len(table.held_codes(c.name)) > 1]
    bare = Outlook(lost_columns(plan.recoding), len(several_values), plan.loss)
    policy = plan.policy
    several = policy.people.rows != 1
    tied = policy.recipients is not None or policy.promises.of_table or table.joints or several
    if tied or plan.recoding.rewritten or not (bare.lost or plan.loss >= SMALL_LOSS):
        return bare
    plans = _Plans(plan, replan, _plans_within_budget(plan.search, table))
    offer = _more_rows(plans) or _coarser_column(plans)
    return bare if offer is None else replace(bare, offer=offer)


def _plans_within_budget(search: str, table: Microdata) -> int:
    """Returns how many plans by this search may be made for offers: a matter of counts, never of time."""
    distinct = max(1, table.distinct)
    work = work_of(search)
    most = min(MOST_PLANS, work.rows_of_offers // distinct)
    if work.walks_levels:
        vectors = prod(column.taxonomy.ceiling + 1 for column in table.keys)
        most = min(most, MOST_WALKED // (distinct * min(vectors, MOST_LEVEL_VECTORS)))
    return most


class _Plans:
    """Makes plans for offers, so many at most, and says what each buys."""

    def __init__(self, plan: Plan, replan: Replan, left: int) -> None:
        self.plan, self.policy, self.table = plan, plan.policy, plan.recoding.table
        self.lost = lost_columns(plan.recoding)
        self._replan, self._left, self._whole_left = replan, left, MOST_WHOLE_PLANS

    @property
    def are_whole(self) -> bool:
        """Whether every plan is made as the policy asks; else first by one of its searches."""
        return self.policy.protect.search != BEST

    def made(self, table: Microdata, policy: Policy, *, whole: bool = False) -> Plan | None:
        """Returns a plan, by all searches of the policy if `whole`; `None` if there is none, or no more."""
        if not (self._whole_left if whole else self._left):
            return None
        self._left -= not whole
        self._whole_left -= whole
        try:
            if not (whole or self.are_whole):
                policy = replace(policy, protect=replace(policy.protect, search=self.plan.search))
            return self._replan(table, policy)
        except SfumatoError:
            return None

    def restored(self, plan: Plan) -> tuple[str, ...]:
        """Returns the columns that are lost now and not in another plan, where that loses no other column."""
        still = lost_columns(plan.recoding)
        return tuple(n for n in self.lost if n not in still) if set(still) <= set(self.lost) else ()


def _more_rows(plans: _Plans) -> OfferedChange | None:
    """Returns what the least of some larger limits of suppression buys, if any does."""
    rule, rows = plans.policy.protect, plans.table.rows + plans.table.dropped
    ability = ability_of(rule.search)
    if ability is None or not ability.can_suppress(rule.price):
        return None
    for share in (share for share in SHARES if int(rows * share) > int(rows * rule.suppress)):
        offer, limit = _with_limit(plans, share), share
        if offer is None:
            continue
        for fewer in _halves(plans.plan.recoding.suppressed, offer.rows):
            better = _with_limit(plans, Fraction(fewer, rows))
            if better is None or better.rows > offer.rows:
                break
            offer, limit = better, Fraction(fewer, rows)
        return offer if plans.are_whole else _with_limit(plans, limit, whole=True)
    return None


def _halves(before: int, more: int) -> Iterator[int]:
    """Yields ever smaller numbers of suppressed rows, beginning with what was just found."""
    while more:
        yield before + more
        more //= 2


def _with_limit(plans: _Plans, share: Fraction, *, whole: bool = False) -> OfferedChange | None:
    policy = replace(plans.policy, protect=replace(plans.policy.protect, suppress=share))
    plan = plans.made(plans.table, policy, whole=whole)
    if plan is None:
        return None
    more = plan.recoding.suppressed - plans.plan.recoding.suppressed
    restored = plans.restored(plan)
    if more <= 0 or not (restored or (plan.loss <= MUCH_LESS * plans.plan.loss and not plans.lost)):
        return None
    return OfferedChange("suppress", str(written(share)), more, None, restored, plan.loss)


def _coarser_column(plans: _Plans) -> OfferedChange | None:
    """Returns the first column that brings a lost one back when it begins one level higher."""
    if not plans.lost:
        return None
    for column in plans.table.keys:
        rule = plans.policy.columns.get(column.name)
        if column.name in plans.lost or rule is None or rule.role is not Role.QUASI or rule.taxonomy is None:
            continue
        if column.taxonomy.height < 2:
            continue
        columns = {**plans.policy.columns, column.name: replace(rule, start=rule.start + 1)}
        try:
            policy = replace(plans.policy, columns=columns)
        except BadPolicy:  # a control of the column forbids it, such as at-most: nothing to offer
            continue
        plan, restored = _restoring(plans, _beginning_higher(plans.table, column.name), policy)
        if plan is not None:
            more = max(0, plan.recoding.suppressed - plans.plan.recoding.suppressed)
            key = f"columns.{column.name}.start"
            return OfferedChange(key, str(rule.start + 1), more, column.name, restored, plan.loss)
    return None


def _restoring(plans: _Plans, table: Microdata, policy: Policy) -> tuple[Plan | None, tuple[str, ...]]:
    """Returns a plan that brings lost columns back, and these; none if the policy's searches do not."""
    plan: Plan | None = None
    restored: tuple[str, ...] = ()
    for whole in (False,) if plans.are_whole else (False, True):
        plan = plans.made(table, policy, whole=whole)
        restored = () if plan is None else plans.restored(plan)
        if not restored:
            return None, ()
    return plan, restored


def _beginning_higher(table: Microdata, name: str) -> Microdata:
    """Returns the table counted with one column at the first level of its tree."""
    columns, codes = [], []
    for column in table.columns:
        ranks = table.codes(column.name)
        if column.name == name:
            nodes = column.taxonomy.levels[1]
            ranks = np.unique(nodes, return_inverse=True)[1].astype(np.int32)[ranks]
            column = replace(column, taxonomy=column.taxonomy.from_level(1))  # noqa: PLW2901  # the same, coarser
        columns.append(column)
        codes.append(ranks)
    coarser = Microdata.of_codes(
        columns, codes, counts=table.counts, person=table.person, dropped=table.dropped
    )
    return replace(coarser, person_column=table.person_column, rows_only=table.rows_only)


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > MOST_NAMED:
        names = (*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more")
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


# The imprint of a plan: what later releases have to know of what it publishes.


def imprint_of(policy: Policy, recoding: Recoding, verdicts: Sequence[Verdict]) -> Imprint:
    """Returns counts and marks of a recoding that a policy allows, and what its verdicts prove."""
    sets = {part: name for name, form in forms_of(policy).items() for part in form.parts}
    published = [n for n in policy.published if not policy.columns[n].role.is_key]
    chain = policy.promises.cross_release
    batch_columns = [promise.batch_column for promise in chain if promise.batch_column]
    return Imprint.of(
        recoding,
        list(dict.fromkeys(sets.get(name, name) for name in published)),
        since=batch_columns[0] if batch_columns else None,
        people=any(promise.tells_people for promise in chain),
        policy=policy.digest,
        after=[release.digest for promise in chain for release in promise.earlier],
        candidates=_candidates(policy, verdicts),
    )


def _candidates(policy: Policy, verdicts: Sequence[Verdict]) -> ProvedCandidates | None:
    """Returns what was proved of everybody's candidates beside all releases so far."""
    verdict_of = {verdict.promise: verdict for verdict in verdicts}
    promises = [promise for promise in policy.promises.cross_release if str(promise) in verdict_of]
    answers = (promise.candidates(verdict_of[str(promise)]) for promise in promises)
    return next((candidates for candidates in answers if candidates is not None), None)


# The check of people: nobody may have several rows in what is planned.


def check_people(table: Microdata) -> None:
    """Raises `BadData` where somebody has several rows: classes would count rows, promises are about people.

    Rows in which people show values are planned by themselves, each as a person.
    """
    many = table.people_with_several_rows
    if many:
        raise BadData(
            f"{pluralize(many, 'person has', 'people have')} several rows, and one row of each is planned",
            remedy="Bring each person's rows together in one.",
        )


# Two phases: first the keys are generalized, then terms are removed where a class still says too much.

__all__ = [
    "TermReport",
    "is_kept_by_terms",
    "key_promises",
    "removes_terms",
    "search_in_two_phases",
    "with_original",
]


def with_original(policy: Policy, table: Microdata) -> Policy:
    """Returns the policy with what its promises take from this table, the original one."""
    informed = tuple(p.given_original(table) if isinstance(p, TermPromise) else p for p in policy.promises)
    unchanged = all(new is old for new, old in zip(informed, policy.promises, strict=True))
    return policy if unchanged else replace(policy, promises=Promises(informed))


def key_promises(promises: Promises) -> Promises:
    """Returns the promises that phase one keeps."""
    return Promises(tuple(p for p in promises if not is_kept_by_terms(p)))


def is_kept_by_terms(promise: Promise) -> bool:
    """Whether a promise is about term sets, from which phase two removes terms."""
    return isinstance(promise, ColumnRolePromise) and promise.column_role is Role.QUASI_SENSITIVE


def limits_of(promises: Promises) -> list[TermLimit]:
    """Returns what has to be kept in phase two: column by column, or columns that are judged together."""
    by_column: dict[str, list[ClassPromise]] = {}
    for promise in promises.of_class:
        if is_kept_by_terms(promise) and not is_derived(promise):
            by_column.setdefault(promise.sensitive[0], []).append(promise)
    limits = []
    while by_column:
        column, column_limits = by_column.popitem()
        derived = [p for p in promises.of_terms if p.derived]
        together = [p for p in derived if column in p.reads]
        others = dict.fromkeys(name for p in together for name in p.reads if name in by_column)
        for another in others:
            column_limits += by_column.pop(another)
        among = [p for p in derived if set(p.reads) <= set(others)]
        limit = TermLimit.jointly(*column_limits, *together, *among) if others else None
        limits.append(limit or TermLimit.of(*column_limits))
    return limits[::-1]


def removes_terms(policy: Policy) -> bool:
    """Whether there is a second phase."""
    return policy.protect.terms.method != "keep" and bool(limits_of(policy.promises))


def search_in_two_phases(
    search: Search, table: Microdata, policy: Policy, aim: Aim, *, progress: Progress = silent
) -> tuple[Outcome, TermReport | None]:
    """Returns what a search finds, after phase two, and the report of that phase, if there was one."""
    rule = policy.protect.terms
    limits = limits_of(policy.promises)
    if not removes_terms(policy):
        return search(table, policy.promises, aim, progress=progress), None
    from sfumato.search.term_removal import suppress_terms  # noqa: PLC0415  # most policies have no terms

    outcome = search(table, key_promises(policy.promises), aim, progress=progress)
    left = aim.allowed(table) - outcome.recoding.suppressed
    recoding, report = suppress_terms(outcome.recoding, limits, rule, allowed=left, progress=progress)
    refuse_broken_controls(recoding, aim)
    loss, levels, optimal = outcome.loss, outcome.levels, outcome.optimal
    if recoding.count != outcome.recoding.count or recoding.cuts is None:
        loss = aim.loss_of(recoding, levels if recoding.cuts else None)
        optimal = optimal and recoding.count == outcome.recoding.count
    levels = levels if recoding.cuts else None
    return replace(outcome, recoding=recoding, loss=loss, levels=levels, optimal=optimal), report


@dataclass(frozen=True, eq=False)
class Plan(Printable):
    """A recoding that keeps every promise of a policy, proved on the classes it publishes.

    `levels` maps columns to levels where the search is full-domain. `loss` is the value of the measure that
    the policy names; `checked` counts the recodings judged. `optimal` says that no global recoding (of a
    full-domain search: no combination of levels) loses less; `bound` is what every one loses at least, where
    an exact search ran out of steps. `terms` tells what became of term sets, class by class,
    where a quasi-sensitive promise had terms removed; `policy` then holds the prior that beliefs are compared
    with. `search` is the search that found it, `compared` what each of several gave, and `left_out` why
    others were not tried. `grouped` says how people were put into classes where promises are about values,
    `coins` are what was drawn from. What a plan prints names only values that the published table shows.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> plan.search, plan.rows, plan.suppressed, plan.cuts
    ('local', 4, 0, None)
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
    grouped: GroupedPeople | None = None
    coins: Coins | None = field(default=None, repr=False)
    people: PublishedPeople | None = None

    @property
    def cuts(self) -> dict[str, tuple[Label, ...]] | None:
        """Column -> labels of the nodes its values become; `None` where classes are recoded one by one."""
        if self.recoding.cuts is None:
            return None
        return {name: cut.labels for name, cut in self.recoding.cuts.items()}

    @property
    def rows(self) -> int:
        """The rows of the source."""
        if self.people is not None:
            return self.people.rows
        table = self.recoding.table
        return table.rows + table.dropped

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that are published as they are."""
        columns, kept = self.policy.columns, (Role.SENSITIVE, Role.INSENSITIVE)
        return tuple(name for name in self.policy.published if columns[name].role in kept)

    @property
    def suppressed(self) -> int:
        """The rows of the source that are not published."""
        return self.recoding.suppressed if self.people is None else self.people.absent

    @property
    def grouping(self) -> str:
        """Whether sensitive values had a say in who is in which class: `blind` or `informed`."""
        return "blind" if self.grouped is not None and self.grouped.blind else "informed"

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
        """What each key column became, to be taken over by another plan (`reuse_plan`).

        Raises `BadData` where classes are recoded one by one.
        """
        if self.cuts is None:
            raise no_cuts("the earlier plan")
        return Transformation(self.cuts, self.levels, "the earlier plan")

    @cached_property
    def outlook(self) -> Outlook:
        """How many columns are lost, and what a little more suppression or a coarser column would buy."""
        reused = self.transformation if self.search == REUSE_PLAN else None
        return outlook_of(self, partial(make_plan, reuse_plan=reused, coins=self.coins))

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
        """Returns the safe table, of the kind of `data`.

        Its rows stand in an order of their own, which tells nothing of that of `data`.

        Args:
            data: the table; it must hold the rows that the plan was made for.
            keep_index: rows stand as in `data`, with the index of a pandas frame, to be held beside it.
                Whoever knows that order knows whose row is whose, so such a table is for its owner alone.
            progress: receives the phase, how much is done, and out of how much.
        """
        source = open_source(data, expected=self.policy.form_of_data, digits=self.policy.digits)
        if self.people is not None:
            return self._rows_of_people(self.people, source, keep_index=keep_index, progress=progress)
        if keep_index:
            from sfumato.table.kept_order import recode_in_order  # noqa: PLC0415  # loads Arrow

            return recode_in_order(source, self.recoding, drop=self.policy.dropped, progress=progress)
        return source.recode(self.recoding, drop=self.policy.dropped, progress=progress)

    def _rows_of_people(
        self, people: PublishedPeople, source: Source, *, keep_index: bool, progress: Progress
    ) -> Any:  # a table of any library
        from sfumato.table.known_rows import planned_rows  # noqa: PLC0415  # loads Arrow

        if keep_index:
            raise UsageError(
                "rows stand in an order of their own where people have several",
                remedy="Leave keep_index out.",
            )
        return planned_rows(source, list(self.policy.columns), people.base, people.mark, progress=progress)

    @property
    def not_protected(self) -> dict[str, int]:
        """The sensitive columns with values that no promise protects, and for how many people one of these
        is certain as planned. The data have to be at hand for that: an owner's figures."""
        values = self.policy.not_protected
        classes = Classes.of(self.recoding.table, self.recoding.class_of, sensitive=list(values))
        return {name: classes.histograms[name].certain_for(values[name]) for name in values}

    def as_dict(self) -> JsonObject:
        """Returns JSON, under the names of the attributes; `cuts` lists the labels that are published."""
        published: JsonObject | None = None
        if self.recoding.cuts is not None:
            nodes = ((c, published_nodes(self.recoding, j)) for j, c in enumerate(self.recoding.table.keys))
            published = {c.name: [c.taxonomy.labels[v] for v in own] for c, own in nodes}
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
            **({} if self.people is None else {"people": self.people.as_dict()}),
            "unchanged": list(self.unchanged),
            "outlook": self.outlook.as_dict(),
            "not_protected": self.not_protected,
            **self._comparison_document(),
        }

    def _comparison_document(self) -> JsonObject:
        """Returns what each search gave, without its time: the same rows give the same document."""
        if not self.compared:
            return {}
        names = ("search", "loss", "suppressed", "classes", "lost", "optimal")
        compared = [{name: vars(entry)[name] for name in names} for entry in self.compared]
        return {"found_by": self.search, "compared": compared}

    def card(self) -> Card:
        """Returns the plan on a few lines."""
        levels, keys = self.levels or {}, self.recoding.table.keys
        shapes = [shape_of(self.recoding, j, levels.get(c.name)) for j, c in enumerate(keys)]
        kind, best = "global recoding" if self.levels is None else "combination of levels", ""
        if self.optimal:
            best = f" (no {kind} loses less)"
        elif self.bound is not None:
            best = f" (no {kind} is below {format_number(self.bound)})"
        notes = (
            f"{pluralize(self.classes, 'class', 'classes')}, {self._smallest}",
            f"{pluralize(self.suppressed, 'row')} of {format_number(self.rows)} suppressed",
            f"{self.policy.protect.loss} {format_number(self.loss)}{best}",
            *(() if self.people is None else self.people.lines()),
            *(() if self.grouped is None else (self.grouped.line,)),
            *(() if self.terms is None else self.terms.lines()),
            *(() if self.reference is None else self.reference.lines()),
            *([f"published unchanged: {_listed(self.unchanged)}"] if self.unchanged else []),
            self.outlook.line,
        )
        unprotected = not_protected_lines(self.policy.protected_counts, self.not_protected)
        lines = [*unprotected, (), *verdict_lines(self.verdicts), (), *(shape.line for shape in shapes)]
        return Card(f"plan by {self._searched}", lines, notes)

    def comparison(self) -> Card:
        """Returns what each search gave that was tried, the chosen one first; says so where one was tried."""
        if not self.compared:
            return Card("nothing to compare: only `search: best` tries several searches", (), ())
        ranked = sorted(self.compared, key=lambda entry: entry.search != self.search)
        return Card("searches compared", [entry.cells for entry in ranked], self._not_tried())

    def _not_tried(self) -> tuple[str, ...]:
        """Returns why some searches were not compared."""
        against = against_compared(self.policy).items()
        reasons = {name: problems[0].message for name, problems in against if problems} | dict(self.left_out)
        return tuple(f"{name} was not tried: {reason}" for name, reason in reasons.items())

    @property
    def _searched(self) -> str:
        search = self.policy.protect.search
        if self.search == REUSE_PLAN:
            return "the transformation of an earlier one"
        several = f" of {len(self.compared)} searches: {self.search}"
        return search if self.search in ("", search) else f"{search}{several}"

    @property
    def _smallest(self) -> str:
        counted = "rows" if self.recoding.table.rows_only else "people"
        return f"the smallest of {format_number(self.smallest)} {counted}"

    def __repr__(self) -> str:
        return f"Plan({self.rows} rows, {self.suppressed} suppressed, {self.classes} classes)"


def showing_who_keys_allow(search: Search) -> Search:
    """Returns the search that leaves nobody out because of a value: quasi-identifiers alone decide who is.

    Left out is whom the same search leaves out where nothing but the size of classes is promised.
    """

    def search_them(
        table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent
    ) -> Outcome:
        shown = np.ones(table.distinct, dtype=bool)
        if aim.allowed(table) > table.dropped:
            people = Promises((make("k-anonymity", {"k": least_people(promises)}),))
            with suppress(Infeasible):
                place, alone = table_of_keys(table)
                shown = (search(alone, people, aim, progress=progress).recoding.class_of >= 0)[place]
        here = replace(
            table,
            words=np.ascontiguousarray(table.words[:, shown]),
            counts=table.counts[shown],
            dropped=table.dropped + int(table.counts[~shown].sum()),
        )
        none_more = replace(aim, suppress=Fraction(here.dropped, max(1, here.rows + here.dropped)))
        outcome = search(here, promises, none_more, progress=progress)
        class_of = np.full(table.distinct, SUPPRESSED, np.int32)
        class_of[shown] = outcome.recoding.class_of
        return replace(outcome, recoding=replace(outcome.recoding, table=table, class_of=class_of))

    return search_them


def make_plan(
    table: Microdata,
    policy: Policy,
    *,
    reuse_plan: Transformation | None = None,
    coins: Coins | None = None,
    everybody: bool = False,
    foretell: Foretell | None = None,
    progress: Progress = silent,
) -> Plan:
    """Searches as the policy asks, and proves what was found before anybody sees it.

    With `reuse_plan`, the cuts of an earlier plan are taken instead. `foretell` receives, before the search
    begins, about how long it will take. `coins` are what blind grouping draws from: the same table and the
    same coins give the same plan; without any, classes are informed. With `everybody` nobody is suppressed
    because of sensitive values: who is shown later would tell them. Where controls leave no table that keeps
    the promises, `Infeasible` says which to loosen.
    """
    check_people(table)
    aim = aim_of(policy)
    policy = with_original(policy, table)
    search = find(policy.protect.search) if reuse_plan is None else search_reusing(reuse_plan)
    if foretell is not None and reuse_plan is None:
        foretell(expected_times(table, key_promises(policy.promises), aim, searches_of(policy)))
    blind, grouped = None, None
    if coins is not None and reuse_plan is None and may_be_blind(policy):
        blind, grouped = group_people(
            table, policy.promises, aim, policy.protect.grouping, coins, progress=progress
        )
    if everybody and blind is None and reads_values(policy.promises):
        search = showing_who_keys_allow(search)
    try:
        outcome, terms = (
            (blind, None)
            if blind is not None
            else search_in_two_phases(search, table, policy, aim, progress=progress)
        )
    except Infeasible as refused:
        promises = key_promises(policy.promises)
        raise (refusal_under_controls(table, promises, aim) or refused) from None
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
        outcome.search or (policy.protect.search if reuse_plan is None else REUSE_PLAN),
        outcome.compared,
        outcome.left_out,
        outcome.bound,
        grouped,
        coins,
    )


def may_be_blind(policy: Policy) -> bool:
    """Returns whether people may be grouped without looking at values, as far as the policy alone tells."""
    wanted = policy.protect.grouping != "informed" and reads_values(policy.promises)
    asked = policy.protect.grouping == "blind"
    return wanted and (asked or not against_blind(policy.promises, aim_of(policy)))


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
    rule, columns = policy.protect, policy.columns.items()
    return Aim(
        suppress=rule.suppress,
        loss=rule.loss,
        weights=policy.weights,
        relaxed=rule.relaxed,
        price=rule.price,
        compared=searches_of(policy),
        together=rule.together,
        never_suppress={n: c.controls.never_suppress for n, c in columns if c.controls.never_suppress},
    )


def prove(
    outcome: Outcome, promises: Promises, aim: Aim, *, one_by_one: bool = False
) -> tuple[tuple[Verdict, ...], int]:
    """Returns the verdicts on what would be published, and its smallest class, judged from scratch.

    With `one_by_one` classes that show the same are not put together: they may be of the same people. Raises
    if a value would be published as something that does not cover it, if too many rows are suppressed, or if
    a promise does not hold: each is a bug of the search.
    """
    recoding = outcome.recoding
    if recoding.suppressed > aim.allowed(recoding.table):
        raise SfumatoError("the search suppressed more rows than the policy allows", remedy="This is a bug.")
    if not covers_rows(recoding):
        raise SfumatoError("the search publishes values that do not cover the data", remedy="This is a bug.")
    if broken := broken_control(recoding, aim):
        raise SfumatoError(f"the search breaks a control: {broken}", remedy="This is a bug.")
    class_of = recoding.class_of if one_by_one else boxes_of(recoding)[1]
    classes = recoding.classes(class_of, promises.sensitive)
    verdicts = list(promises.verdicts(classes))
    for promise in promises.of_table:
        if recoding.cuts is None:
            raise SfumatoError(f"{promise.name} needs a global recoding", remedy="This is a bug.")
        verdicts.append(promise.verdict_on(recoding.table, recoding.cuts))
    for verdict in verdicts:
        if verdict.holds is not True:
            raise SfumatoError(f"the search broke {verdict.promise}", remedy="This is a bug.")
    return tuple(verdicts), int(classes.people.min(initial=np.iinfo(np.int64).max)) if len(classes) else 0


# Changes of a table: what was in it and what is published, in counts alone.


@dataclass(frozen=True)
class RowsByClass:
    """How rows fall into classes: the rows, the classes, the smallest class, the rows that stand alone."""

    rows: int
    classes: int
    smallest: int
    alone: int

    @classmethod
    def of(cls, sizes: Counts) -> RowsByClass:
        smallest = int(sizes.min()) if len(sizes) else 0
        return cls(int(sizes.sum()), len(sizes), smallest, int((sizes == 1).sum()))


@dataclass(frozen=True)
class ColumnChange:
    """One key column before and after.

    `rare` counts values that fewer rows hold than a class must have; `fewest` are the rows of the group that
    the fewest rows publish, and `hidden` the rows that publish nothing but the root of the tree.
    """

    shape: ColumnShape
    rare: int
    fewest: int
    hidden: int


@dataclass(frozen=True)
class TableChange:
    """A table before and after, in counts: no value, and no row."""

    before: RowsByClass
    after: RowsByClass
    suppressed: int
    columns: tuple[ColumnChange, ...]

    @classmethod
    def of(cls, recoding: Recoding, *, least: int, levels: dict[str, int] | None = None) -> TableChange:
        """Returns what a recoding changes, where a class must have at least so many rows."""
        table, published = recoding.table, boxes_of(recoding)[1]
        here = published != SUPPRESSED
        columns = tuple(
            _column_change(recoding, j, least, None if levels is None else levels.get(c.name))
            for j, c in enumerate(table.keys)
        )
        return cls(
            rows_before(table),
            RowsByClass.of(_sums(published[here], table.counts[here])),
            recoding.suppressed,
            columns,
        )


def rows_before(table: Microdata) -> RowsByClass:
    """Returns how the rows fall into classes while nothing is generalized."""
    class_of, _ = classes_under(table, {c.name: Cut.level(c.taxonomy, 0) for c in table.keys})
    return RowsByClass.of(_sums(class_of, table.counts))


def _column_change(recoding: Recoding, j: int, least: int, level: int | None) -> ColumnChange:
    table, column = recoding.table, recoding.table.keys[j]
    sizes = _sums(table.codes(column.name), table.counts)
    low, high = recoding.low[:, j], recoding.high[:, j]
    spans, group = np.unique((low.astype(np.int64) << 32) | high, return_inverse=True)
    rows = tally(group.ravel(), recoding.rows, len(spans))
    shape = shape_of(recoding, j, level)
    root = (low == 0) & (high == len(column.taxonomy.leaves))
    hidden = int(recoding.rows[root].sum()) if shape.values > 1 else 0
    return ColumnChange(shape, int((sizes < least).sum()), int(rows.min()) if len(rows) else 0, hidden)


def _sums(ids: NDArray[np.integer], counts: Counts) -> Counts:
    """Returns the rows of every number that occurs."""
    sums = tally(ids, counts, int(ids.max(initial=-1)) + 1)
    return sums[sums > 0]


# The memory that a search needs, before it begins.

BYTES_PER_TERM_ROW = 2000
"""Bytes per row where terms are removed: the sets of every row as texts, and what is left of them."""


def check_need(table: Microdata, policy: Policy, memory: Memory) -> None:
    """Raises where the policy's search needs more memory than is allowed, and says what would do."""
    if memory.limit is None:
        return
    if removes_terms(policy):
        memory.check(
            table.rows * BYTES_PER_TERM_ROW,
            f"removing terms from the sets of {table.rows:,} rows",
            "keep all terms (`terms: {method: keep}` under `protect`), or plan for fewer rows.",
        )
    wide = max(table.keys, key=lambda c: len(c.taxonomy.leaves), default=None)
    memory.check(
        bytes_needed(table, policy),
        f"the search {policy.protect.search} over {table.distinct:,} different rows",
        "" if wide is None else coarser_start(wide.name),
    )


def bytes_needed(table: Microdata, policy: Policy) -> int:
    """Returns the bytes that the search and the proof of its result hold at their peak, besides the table.

    Measured at one and at four million different rows (the scale benchmark), and a fifth more. The lattice
    also holds tables that it has rolled up, and local recoding those of its levels, some number of entries at
    most. `best` needs as much as that of its searches which needs most.
    """
    keys, width = len(table.keys), 8 * table.packing.words
    named = bool(policy.promises.sensitive)
    works = [work_of(name) for name in searches_of(policy)]
    each = max(work.row_bytes(keys, width, named) for work in works)
    fixed = max(work.held_bytes(table) for work in works)
    return table.distinct * each + fixed
