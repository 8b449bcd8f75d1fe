"""What a plan comes to, and what a little more would buy: each offer was planned, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Protocol

import numpy as np

from sfumato.policy.policy import Policy
from sfumato.policy.searches import BEST, ability_of
from sfumato.search.contract import MOST_LEVEL_VECTORS, work_of
from sfumato.search.loss import lost_columns
from sfumato.system.errors import BadPolicy, SfumatoError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import format_number, pluralize
from sfumato.table.arrays import written
from sfumato.table.microdata import Microdata, Role
from sfumato.table.recoding import Recoding

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


class PlannedTable(Protocol):
    """What an outlook looks at in a plan."""

    @property
    def policy(self) -> Policy: ...

    @property
    def recoding(self) -> Recoding: ...

    @property
    def loss(self) -> float: ...

    @property
    def search(self) -> str:
        """The search that found it: one of several, where several were tried."""
        ...


Replan = Callable[[Microdata, Policy], PlannedTable]
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


def outlook_of(plan: PlannedTable, replan: Replan) -> Outlook:
    """Returns what a plan comes to, and the first offer that plans bear out: rows, then a coarser column.

    How many plans are made for that depends on counts alone. Where several searches were tried, offers are
    looked for by the one that found the plan; what is offered was planned by all of them.
    """
    table = plan.recoding.table
    several_values = [c for c in table.keys if len(table.held_codes(c.name)) > 1]
    bare = Outlook(lost_columns(plan.recoding), len(several_values), plan.loss)
    policy = plan.policy
    tied = policy.recipients is not None or policy.promises.of_table or table.joints
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

    def __init__(self, plan: PlannedTable, replan: Replan, left: int) -> None:
        self.plan, self.policy, self.table = plan, plan.policy, plan.recoding.table
        self.lost = lost_columns(plan.recoding)
        self._replan, self._left, self._whole_left = replan, left, MOST_WHOLE_PLANS

    @property
    def are_whole(self) -> bool:
        """Whether every plan is made as the policy asks; else first by one of its searches."""
        return self.policy.protect.search != BEST

    def made(self, table: Microdata, policy: Policy, *, whole: bool = False) -> PlannedTable | None:
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

    def restored(self, plan: PlannedTable) -> tuple[str, ...]:
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


def _restoring(
    plans: _Plans, table: Microdata, policy: Policy
) -> tuple[PlannedTable | None, tuple[str, ...]]:
    """Returns a plan that brings lost columns back, and these; none if the policy's searches do not."""
    plan: PlannedTable | None = None
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
    return replace(
        coarser, person_column=table.person_column, profiles=table.profiles, rows_only=table.rows_only
    )


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > MOST_NAMED:
        names = (*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more")
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
