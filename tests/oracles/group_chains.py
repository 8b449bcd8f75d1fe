"""Chains of releases and recipients over one partition of people, enumerated: views of a base of groups.

Newcomers of a release are grouped among themselves (`oracles.groups`) and enter the *base*. Every file is a
*view* of the base: some groups with a coarser box, some groups not at all, further rows of people bare.
The adversary holds all views, knows who came and left when, and who is in which group, even where a view
leaves the group out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from oracles.groups import REFUSED, Coins, Group, Rules, contents, every_outcome, planned, published

WIDE = 4
"""A coarser box ends at multiples of so much, as a level of a hierarchy does."""


class Sight(NamedTuple):
    """A group as one view shows it; the classes are None where the view leaves it out."""

    group: Group
    box: tuple | None
    bare: tuple[int, ...]
    """Who has a further row that takes the box of this group and shows no value."""

    @property
    def seen(self) -> tuple:
        """What reaches the adversary."""
        members, classes = self.group
        return (members, self.box, None if self.box is None else classes, self.bare)


@dataclass(frozen=True)
class Step:
    """One release: who comes, who has left since the last one, who is there with a further row."""

    newcomers: tuple[int, ...]
    leavers: tuple[int, ...] = ()
    again: tuple[int, ...] = ()


@dataclass(frozen=True)
class History:
    """Everything about a chain but values and coins."""

    keys: tuple[tuple[int, ...], ...]
    shows: tuple[int, ...]
    """How many rows each person shows; further ones are bare."""
    steps: tuple[Step, ...]
    k: int
    block: int
    rules: Rules
    recipients: tuple[Callable, ...]
    """One function per recipient: (group, keys, coins) -> the columns whose boxes are raised, or None if the
    group is left out. It is asked once for each group; a mark is never drawn again."""
    leavers: str = "linger"


def plans_of(history: History) -> Iterator[tuple]:
    """Every way in which coins may leave units out, release by release, before any value is read."""

    def plan(step: Step) -> dict:
        keys = {person: history.keys[person] for person in step.newcomers}
        shows = {person: history.shows[person] for person in step.newcomers}
        return every_outcome(
            lambda coins: planned(keys, shows, k=history.k, block=history.block, coins=coins)
        )

    yield from product(*(plan(step) for step in history.steps))


def box_of(members: tuple[int, ...], keys: tuple, raised: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Per column, the range of the keys of a group's members; raised columns end at a level."""
    ranges = []
    for column in range(len(keys[0])):
        known = [keys[person][column] for person in members]
        low, high = min(known), max(known)
        if column in raised:
            low, high = low // WIDE * WIDE, high // WIDE * WIDE + WIDE - 1
        ranges.append((low, high))
    return tuple(ranges)


def _covers(box: tuple, key: tuple[int, ...]) -> bool:
    return all(low <= value <= high for (low, high), value in zip(box, key, strict=True))


def _bare_rows(history: History, step: Step, base: list[Group], boxes: list) -> dict[int, list[int]]:
    """Place in the base -> people whose further row takes that box: of others, shown, covering, smallest."""
    places: dict[int, list[int]] = {}
    present = {person for group in base for person in group.members}
    for person in step.again:
        key = history.keys[person]
        able = [
            (sum(high - low for low, high in box), place)
            for place, (group, box) in enumerate(zip(base, boxes, strict=True))
            if box is not None and person not in group.members and _covers(box, key)
        ]
        if able and person in present:
            places.setdefault(min(able)[1], []).append(person)
    return places


def publish_chain(history: History, plans: tuple, world: tuple[str, ...]) -> dict:
    """Observation -> probability; an observation has one entry per release, its views or `REFUSED`."""
    told = tuple(biography[:rows] for biography, rows in zip(world, history.shows, strict=True))
    held = tuple(contents(kind, told) for plan in plans for kind in plan)
    if (history, plans) not in _MEMORY:
        _MEMORY.clear()
        _MEMORY[history, plans] = {}
    memory = _MEMORY[history, plans]
    if held not in memory:
        memory[held] = every_outcome(lambda coins: _run(history, plans, told, coins))
    return memory[held]


_MEMORY: dict = {}
"""For one history and its plans: what was read of a world -> what comes of it. Nothing else is read."""


def _run(history: History, plans: tuple, told: tuple[str, ...], coins: Coins) -> tuple:
    base: list[Group] = []
    marks: dict[tuple, tuple | None] = {}
    releases: list = []
    for step, plan in zip(history.steps, plans, strict=True):
        added = coins.pick(published(plan, history.rules, told))
        if added == REFUSED:
            return (*releases, REFUSED)
        base += sorted(added)
        if history.leavers == "withheld":
            base = [group for group in base if not set(group.members) & set(step.leavers)]
        views = []
        for recipient, raise_columns in enumerate(history.recipients):
            for group in base:
                if (recipient, group) not in marks:
                    marks[recipient, group] = raise_columns(group, history.keys, coins)
            raised = [marks[recipient, group] for group in base]
            boxes = [
                None if columns is None else box_of(group.members, history.keys, columns)
                for group, columns in zip(base, raised, strict=True)
            ]
            bare = _bare_rows(history, step, base, boxes)
            views.append(
                frozenset(
                    Sight(group, box, tuple(bare.get(place, ()))).seen
                    for place, (group, box) in enumerate(zip(base, boxes, strict=True))
                )
            )
        releases.append(tuple(views))
    return tuple(releases)


def groups_seen(observation: tuple) -> set[Group]:
    """Every group whose values some view of some release shows."""
    return {
        Group(members, classes)
        for release in observation
        if release != REFUSED
        for view in release
        for members, _, classes, _ in view
        if classes is not None
    }


def groups_hidden(observation: tuple) -> set[tuple[int, ...]]:
    """Members of every group that is in the base, and in no view."""
    everything = {
        members for release in observation if release != REFUSED for view in release for members, *_ in view
    }
    return everything - {group.members for group in groups_seen(observation)}


# Ways to make a view --------------------------------------------------------------------------------------


def plain(_group: Group, _keys: tuple, _coins: Coins) -> tuple:
    """The base as it is."""
    return ()


def marked(_group: Group, _keys: tuple, coins: Coins) -> tuple:
    """One of the first two columns is raised, by a fair coin: a recipient's mark."""
    return (0,) if coins.toss(Fraction(1, 2)) else (1,)


def left_out_by_keys(group: Group, keys: tuple, _coins: Coins) -> tuple | None:
    """Groups whose lowest key is odd are left out."""
    return None if min(keys[person][0] for person in group.members) % 2 else ()


def left_out_by_coins(_group: Group, _keys: tuple, coins: Coins) -> tuple | None:
    """A coin leaves every fourth group out."""
    return None if coins.toss(Fraction(1, 4)) else ()


def raised_by_values(group: Group, _keys: tuple, _coins: Coins) -> tuple:
    """A function of the base that is allowed: the column depends on what the classes show anyway."""
    return (0,) if "".join(group.classes).count("a") * 2 > len(group.members) else ()


def left_out_by_values(group: Group, _keys: tuple, _coins: Coins) -> tuple | None:
    """Groups that show some value only once are left out: a function of the base, nobody's row is asked."""
    return None if any(values.count(v) == 1 for values in group.classes for v in values) else ()
