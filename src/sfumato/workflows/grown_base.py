"""The base of a chain after one more table: newcomers are grouped, further rows of its people are bare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.draft.doctor import Diagnosis, Severity
from sfumato.inputs import Warn, count_table, view_policy
from sfumato.policy.chain import Again, ChainRule, Changed, Leavers, Shows
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_words
from sfumato.search.bare_rows import (
    PublishedPeople,
    boxes_for_bare_rows,
    classes_of_bare_rows,
    share_error,
)
from sfumato.search.biographies import plan_of_biographies, rows_shown
from sfumato.search.blind_groups import least_people
from sfumato.search.plan import Plan, aim_of
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, Infeasible, RefusedByHistory
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, one_step
from sfumato.table.base import Base
from sfumato.table.form_of_source import RowSource, in_memory
from sfumato.table.known_rows import (
    Doubts,
    KnownRows,
    ShowsRows,
    WhoIsWho,
    chosen_rows,
    codes_of_cells,
    doubts_of,
    known_rows,
    mark_of_table,
    people_of_plan,
)
from sfumato.table.microdata import ROW_NUMBER, Missing, Role
from sfumato.table.recoding import Recoding

Numbers = NDArray[np.int64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GrownBase:
    """The base of a chain after a release, and what is told of it.

    `plan` is that of the newcomers, `None` where there are none or they wait; `waiting` counts those who
    wait, `not_shown` further rows of its people that are not published.
    """

    base: Base
    plan: Plan | None
    known: KnownRows
    waiting: int
    not_shown: int

    @property
    def shown(self) -> Truth:
        """Which rows are those of groups that are shown."""
        return self.base.shown()


class PlanNewcomers(Protocol):
    """Plans the rows in which newcomers show their values: each is a person, and alike ones stay apart."""

    def __call__(
        self, source: RowSource, policy: Policy, *, coins: Coins, one_by_one: bool, progress: Progress
    ) -> Plan: ...


def grow(
    source: RowSource,
    policy: Policy,
    rule: ChainRule,
    base: Base | None,
    coins: Coins,
    *,
    plan_rows: PlanNewcomers,
    marks: Coins | None = None,
    warn: Warn | None = None,
    progress: Progress,
) -> GrownBase:
    """Returns the base after a release of this table; `warn` receives what looks wrong with who is who.

    The first release takes the key of `marks`; without it groups have none, and everybody sees the base.
    """
    if base is not None:
        _check_columns(policy, base)
        _check_promises(policy)
    who = who_is_who(policy, rule)
    with one_step(progress, "who is new"):
        known = _known(source, policy, rule, base, coins, warn)
    base = known.before
    least = max(rule.hold, least_people(policy.promises))
    waiting = known.newcomers if known.newcomers < least else 0
    if base is None and waiting:
        raise Infeasible(
            f"{pluralize(waiting, 'person comes', 'people come')} first, and a release waits for {least}",
            remedy="Wait for more, or ask for a smaller k or hold.",
        )
    if base is not None and not known.newcomers and not len(known.people):
        raise BadData("the table has no rows", remedy="Look whether it is the right one.")
    plan, added, homes = None, None, None
    if known.newcomers and not waiting:
        newcomers = chosen_rows(source, known.first)
        plan, homes = _plan_of_newcomers(newcomers, policy, known, base, coins, plan_rows, progress)
        added = people_of_plan(newcomers, plan.recoding, base, known, policy.published, homes)
    if base is None:
        if added is None:
            raise AssertionError
        base = Base(
            added.slice(0, 0),
            tuple(policy.published),
            tuple(name for name in policy.published if name in who.keys),
            person=who.person,
            by=who.by,
            since=who.since,
            marks_key="" if marks is None else marks.key.hex(),
        )
    grown = base.after_release(
        base.rows.slice(0, 0) if added is None else added,
        policy=judge_words(view_policy(policy)),
        batches={} if waiting else known.batches,
        leaving=known.left_groups if rule.leavers is Leavers.WITHHELD else (),
    )
    if plan is not None and grown.marks_key:
        from sfumato.recipients.marks import mark_rule, with_marks  # noqa: PLC0415  # of chains alone

        grown = with_marks(grown, plan.recoding, base.groups, mark_rule(policy, plan.recoding.table))
    before, where = len(grown.rows), np.flatnonzero(known.further)
    theirs = int((grown.homes_of(known.people_of(where)) >= 0).sum())
    if theirs and rule.again is Again.BARE:
        grown = _with_bare_rows(
            source, policy, known, grown, new=rule.shows is Shows.NEWCOMERS, progress=progress
        )
    return GrownBase(grown, plan, known, waiting, theirs - len(grown.rows) + before)


def _plan_of_newcomers(
    newcomers: RowSource,
    policy: Policy,
    known: KnownRows,
    base: Base | None,
    coins: Coins,
    plan_rows: PlanNewcomers,
    progress: Progress,
) -> tuple[Plan, Numbers | None]:
    """Returns the plan of the rows in which newcomers show values, and the group of every class."""
    drawn, alone = coins.of("groups"), view_policy(policy)
    try:
        if policy.people.rows != 1:
            return _plan_of_biographies(newcomers, policy, known, drawn, progress)
        return plan_rows(newcomers, alone, coins=drawn, one_by_one=True, progress=progress), None
    except Infeasible as refused:
        if base is None:
            raise
        raise Infeasible(
            f"{pluralize(known.newcomers, 'newcomer')} cannot be put into groups by themselves:"
            f" {refused.message}",
            remedy="Wait until more have come, or leave them out: nobody joins an earlier group.",
        ) from None


def _shows(policy: Policy) -> ShowsRows:
    """Returns in how many rows people show values, by how many they have."""
    least = least_people(policy.promises)
    return lambda counts: rows_shown(counts, policy.people.rows, least)


def _plan_of_biographies(
    newcomers: RowSource, policy: Policy, known: KnownRows, coins: Coins, progress: Progress
) -> tuple[Plan, Numbers]:
    """Returns the plan of newcomers who show values in several rows, and the group of every class."""
    alone, where = view_policy(policy), np.flatnonzero(known.first)
    table = count_table(newcomers, alone, one_by_one=True, progress=progress)
    if known.place is None:
        raise AssertionError
    whose, place = known.numbers_of(where), known.place[where]
    return plan_of_biographies(table, alone, whose, place, coins, progress=progress)


def _known(
    source: RowSource, policy: Policy, rule: ChainRule, base: Base | None, coins: Coins, warn: Warn | None
) -> KnownRows:
    who, again = who_is_who(policy, rule), rule.changed is Changed.AGAIN
    known = known_rows(source, who, base, coins, again=again, shows=_shows(policy))
    for diagnosis in _diagnosed(doubts_of(known, who, source), who):
        if warn is not None:
            warn(diagnosis)
    return known


def who_is_who(policy: Policy, rule: ChainRule) -> WhoIsWho:
    """Returns what tells whose rows are whose, as a policy says."""
    keys = tuple(name for name, column in policy.columns.items() if column.role.is_key)
    return WhoIsWho(keys, policy.person, policy.people.by, rule.since, policy.dropped)


def _check_columns(policy: Policy, base: Base) -> None:
    """Raises where a policy publishes other columns than earlier releases of its chain."""
    published = set(policy.published)
    keys = {name for name in policy.published if policy.columns[name].role.is_key}
    changed = sorted(published ^ set(base.published)) or sorted(keys ^ set(base.keys))
    if changed:
        what = "published or not" if published != set(base.published) else "quasi-identifiers or not"
        raise RefusedByHistory(
            f"columns are not what they were in earlier releases of the chain ({what}): {', '.join(changed)}",
            where="policy, columns",
            remedy="Publish the same columns, or start a new chain with people who were never published.",
        )


def _diagnosed(doubts: Doubts, who: WhoIsWho) -> Iterator[Diagnosis]:
    """Yields a warning for everything that may be wrong; raises where people would be published twice."""
    place = f"column {who.person}"
    if doubts.new_ids:
        raise RefusedByHistory(
            "most people who are not in this table any more have a newcomer with all their quasi-identifiers:"
            " they seem to have got other ids, and would be published twice",
            where=place,
            remedy="Hand in the ids that the last release had, or name another column under `person` that"
            " has stayed the same. If these are other people, start a new chain.",
        )
    if doubts.two_ids:
        yield Diagnosis(
            "two-ids",
            Severity.WARNING,
            place,
            f"{doubts.two_ids:,} people share all quasi-identifiers with somebody of another id",
            doubts.two_ids,
            "Look whether they are the same people: these would show values twice.",
        )
    if doubts.two_people:
        yield Diagnosis(
            "one-id",
            Severity.WARNING,
            place,
            f"{pluralize(doubts.two_people, 'id has', 'ids have')} rows with little in common",
            doubts.two_people,
            "Look whether an id was given twice: the second person's values are not shown.",
        )
    for name in doubts.renamed:
        yield Diagnosis(
            "renamed",
            Severity.WARNING,
            f"column {name}",
            "a frequent value of earlier releases is gone, and another is new: a code may have been renamed",
            1,
            "Earlier rows keep the code they were published with: write it as before, or tell who reads the"
            " table.",
        )


def _check_promises(policy: Policy) -> None:
    """Raises where a promise compares classes with a table that changes from release to release."""
    for promise in policy.promises.relative:
        raise RefusedByHistory(
            f"{promise} compares classes with a table that changes from release to release",
            where="policy, promises",
            remedy="Start a new chain, with people who were never published, by a policy whose promise has a"
            " `reference` or leaves the comparison out.",
        )


def _with_bare_rows(
    source: RowSource, policy: Policy, known: KnownRows, base: Base, *, new: bool, progress: Progress
) -> Base:
    """Returns the base with further rows of its people in boxes of others, without any unchanged column.

    What no group of other people covers makes groups of its own, of as many people as any group has. With
    `new`, the boxes are those of the newest release: its file shows no others.
    """
    codings = [coding for coding in policy.codings if coding.role.is_key]
    rows = chosen_rows(source, known.further)
    table = rows.count(codings, missing=Missing.OWN_VALUE, person=ROW_NUMBER, progress=progress)
    where = np.flatnonzero(known.further)
    homes = base.homes_of(known.people_of(where))
    homes = np.where(np.isin(homes, np.array(base.withheld, np.int64)), -1, homes)
    boxes = base.boxes(new=new)
    names = [column.name for column in table.keys]
    texts = list(zip(*(boxes.texts[name] for name in names), strict=True))
    chosen = boxes_for_bare_rows(table, texts, boxes.homes, homes)
    covered = np.flatnonzero((chosen >= 0) & (homes >= 0))
    shown = {name: [boxes.texts[name][box] for box in chosen[covered].tolist()] for name in names}
    grown = base.with_bare_rows(known.hashes_of(where[covered]), boxes.classes[chosen[covered]], shown)
    left = np.flatnonzero((chosen < 0) & (homes >= 0))
    aim, people = aim_of(policy), least_people(policy.promises)
    for some in _one_of_each(left, known.numbers_of(where[left])):
        own = classes_of_bare_rows(table, some, people, aim, progress=progress)
        if own is not None:
            grown = _with_own_classes(grown, own, known, where)
    return grown


def _one_of_each(rows: Numbers, person: Numbers) -> Iterator[Numbers]:
    """Yields rows of different people, until all are yielded: the first of each, the second of each, …"""
    order = np.argsort(person, kind="stable")
    begin = np.flatnonzero(np.diff(person[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
    for number in range(int(place.max(initial=-1)) + 1):
        yield rows[np.sort(order[place == number])]


def _with_own_classes(base: Base, own: Recoding, known: KnownRows, where: Numbers) -> Base:
    """Returns the base with bare rows in classes of their own."""
    if own.table.person is None:
        raise AssertionError
    here = np.flatnonzero(own.class_of >= 0)
    classes, shown = own.class_of[here].astype(np.int64), {}
    for j, column in enumerate(own.table.keys):
        labels, which = own.texts(j)
        shown[column.name] = [labels[place] for place in np.asarray(which)[classes].tolist()]
    placed = where[own.table.person[here]]
    return base.with_bare_rows(known.hashes_of(placed), classes + base.groups, shown)


# A table that is published once, in which people have several rows: the first release of a chain, alone.


def plan_of_people(
    source: RowSource, policy: Policy, coins: Coins, *, plan_rows: PlanNewcomers, progress: Progress
) -> Plan:
    """Returns the plan of a table in which people have several rows, with every row that is published."""
    source = in_memory(source)
    grown = grow(source, policy, ChainRule(), None, coins, plan_rows=plan_rows, progress=progress)
    if grown.plan is None:
        raise AssertionError
    with one_step(progress, "what is not shown"):
        return replace(grown.plan, policy=policy, people=_published_people(source, policy, grown))


def _published_people(source: RowSource, policy: Policy, grown: GrownBase) -> PublishedPeople:
    base, known = grown.base, grown.known
    rows = len(known.first)
    every = known.numbers_of(np.arange(rows))
    several = np.bincount(every)[every] > 1
    shown = base.shows_values_of(known.rows)
    errors = {}
    for name, rule in policy.columns.items():
        if rule.role is Role.SENSITIVE:
            codes = codes_of_cells(source.reader, name)
            theirs = share_error(codes[several], codes[several & shown])
            errors[name] = share_error(codes, codes[shown]), theirs
    bare = int(base.is_bare.sum())
    return PublishedPeople(
        base,
        rows,
        len(np.unique(every[several])),
        bare,
        rows - len(base.rows),
        errors,
        int(np.bincount(every[shown]).max(initial=0)),
        mark_of_table(source, list(policy.columns)),
    )
