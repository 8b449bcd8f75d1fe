"""Chains of small tables that the program itself releases, and what must not change what they show.

A *tale* says who comes, returns, moves, leaves and is erased, and what everybody has: values are whatever a
world says. `told` releases it, by the functions that `release` calls, with coins of a key. `moved` makes
another tale and other coins of it: whole units of a joined group, or whole blocks, have exchanged what their
people show, and the coins were carried along; within every unit people have exchanged it, too; and values
that are not shown are others. What is told of both must be the same in every byte. As these moves take every
member of a group to every other, what is believed of a member is then what the class shows, exactly.
"""

from __future__ import annotations

import contextlib
import io
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.csv as pa_csv

from oracles.program_tales import Tale, biographies, tale_of
from sfumato.inputs import open_table
from sfumato.recipients.marks import MarkedChain
from sfumato.search import blind_groups
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible, SfumatoError
from sfumato.system.progress import silent
from sfumato.table.base import BARE_ROW, GROUP, HOME, PERSON, RELEASE, write_rows
from sfumato.table.known_rows import hashes_of_people
from sfumato.workflows.grown_base import grow
from sfumato.workflows.protect import plan_table

# Coins that are carried along -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CarriedCoins(Coins):
    """The coins of a key, but for some draws, which belong to things that have changed places."""

    carried: dict = field(default_factory=dict, repr=False)

    def of(self, purpose):
        return CarriedCoins(self.key, f"{self.purpose}/{purpose}", self.carried)

    def draw(self, purpose, count):
        drawn = super().draw(purpose, count)
        places = self.carried.get((self.purpose, purpose))
        return drawn if places is None or len(places) != count else drawn[places]


@dataclass(frozen=True)
class Joining:
    """What was joined for a release: units, their groups, and the purpose of the coins."""

    units: blind_groups.Units
    group_of: np.ndarray
    purpose: str


@contextlib.contextmanager
def _watched(joinings):
    """Notes every call that joins units; the last one of a release is that of the true values."""
    join = blind_groups.joined_units

    def watched(units, values, coins):
        group_of = join(units, values, coins)
        joinings.append(Joining(units, group_of, coins.purpose))
        return group_of

    with mock.patch.object(blind_groups, "joined_units", watched):
        yield


# What is told ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What anybody may learn of one release, and what tests need to know of it.

    `file` is what is published, `others` further views, `known` what the shadow adversary knows: groups, and
    whether and why people were grouped blindly. `first` maps persons who came to the number of the row that
    shows their values, `units` the persons of every unit in order, `joining` how these were joined; where
    values were looked at, `informed` says so.
    """

    file: bytes
    others: tuple[bytes, ...]
    known: tuple
    first: dict[str, int]
    groups: dict[str, int]
    units: tuple[tuple[str, ...], ...] = ()
    joining: Joining | None = None
    informed: bool = False

    @property
    def seen(self) -> tuple:
        return self.file, self.others, self.known


REFUSED = "refused"

WAITS = "waits"


class Waits(Exception):
    """A release that a rule taken away would have stopped."""


def told(tale: Tale, coins: list[Coins], folder: Path | None = None) -> list[Told | str]:
    """Releases a tale; a refusal ends a release, not the chain.

    With a folder, files are written as `release` writes them.
    """
    base, results = None, []
    for release in range(len(tale.tables)):
        if base is not None and release in tale.erased:
            base, _ = base.without(hashes_of_people([tale.erased[release]]))
        source = open_table(tale.frame(release), None, tale.policy)
        joinings: list[Joining] = []
        try:
            with _watched(joinings):
                grown = grow(
                    source,
                    tale.policy,
                    tale.policy.chain,
                    base,
                    coins[release],
                    plan_rows=plan_table,
                    marks=Coins(b"marks"),
                    progress=silent,
                )
        except Waits:
            results.append(WAITS)
            continue
        except (Infeasible, SfumatoError) as error:
            results.append((REFUSED, str(error)))
            continue
        base = grown.base
        results.append(_told(tale, release, grown, joinings, source, folder))
    return results


def _told(tale, release, grown, joinings, source, folder):
    base, rule = grown.base, tale.policy.chain
    names = dict(zip(hashes_of_people(tale.people).to_pylist(), tale.people, strict=True))
    whose = [names[person] for person in base.rows.column(PERSON).to_pylist()]
    groups, bare = base.rows.column(GROUP).to_pylist(), base.rows.column(BARE_ROW).to_pylist()
    new = [number == base.releases for number in base.rows.column(RELEASE).to_pylist()]
    shown = base.shown()
    if rule.shows == "newcomers":
        shown = shown & base.is_new
    views = [base.view(shown), base.view(shown & (base.numbers(GROUP) % 2 == 0))]
    views.append(views[0].select([name for name in views[0].column_names if name != "nights"]))
    views += [MarkedChain.of(base).version(name).view(shown) for name in ("alpha", "beta")]
    written = [_written(view, source, folder) for view in views]
    plan = grown.plan
    blind = plan is not None and plan.grouped is not None and plan.grouped.blind
    known = (
        tuple(zip(whose, groups, bare, strict=True)),
        (grown.waiting, grown.not_shown, grown.known.left, grown.known.changed, base.withheld),
        (len(base.sizes(shown)), f"{base.loss(shown):.15f}"),
        None if plan is None or plan.grouped is None else (plan.grouped.line, plan.suppressed),
    )
    came_first = [tale.tables[release][row] for row in np.flatnonzero(grown.known.first).tolist()]
    first = {visit.person: visit.number for visit in came_first}
    homes = base.rows.column(HOME).to_pylist()
    came = {
        person: home
        for person, home, is_bare, is_new in zip(whose, homes, bare, new, strict=True)
        if is_new and not is_bare
    }
    result = Told(written[0], tuple(written[1:]), known, first, came, informed=plan is not None and not blind)
    if not blind or tale.policy.people.rows != 1:
        return result
    units = joinings[-1].units
    people = plan.recoding.table.person
    of_units = tuple(
        tuple(came_first[people[row]].person for row in np.flatnonzero(units.unit_of == unit).tolist())
        for unit in range(units.count)
    )
    return replace(result, units=of_units, joining=joinings[-1])


def _written(view, source, folder):
    if folder is None:
        sink = io.BytesIO()
        order = sorted(zip(*(map(str, column.to_pylist()) for column in view.columns), strict=True))
        pa_csv.write_csv(view.slice(0, 0), sink)
        return sink.getvalue() + repr(order).encode()
    path = folder / "view.csv"
    write_rows(view, path, source.reader, source.memory)
    content = path.read_bytes()
    path.unlink()
    return content


# Moves ----------------------------------------------------------------------------------------------------


def moved(tale: Tale, key: bytes, before: list, draw: random.Random) -> tuple[Tale, list[Coins]]:
    """Another tale and other coins, of which the same must be told.

    Of every blind release, units of a joined group exchange what they show, whole blocks where whole blocks
    were joined, with their coins; members of every unit exchange it, too. Whoever is in the base already may
    have any values in later tables, and so may rows that show none.
    """
    has, coins = dict(tale.has), coins_of(key, len(tale.tables))
    in_base: set[str] = set()
    looked_at: set[str] = set()
    for release, result in enumerate(before):
        in_base -= {tale.erased.get(release, "")}
        people = {visit.person for visit in tale.tables[release]}
        if isinstance(result, Told):
            giver = {person: person for person in result.groups}
            if result.informed:
                looked_at |= set(result.first)
            elif result.joining is not None and not looked_at & set(result.groups):
                giver, carried = _exchanged(result, draw)
                coins[release] = CarriedCoins(key, coins[release].purpose, carried)
            for person, other in giver.items():
                for earlier in range(release + 1):
                    row = earlier, result.first[person]
                    if row in has:
                        has[row] = tale.has[release, result.first[other]]
            in_base |= set(result.groups)
        elif result != WAITS:
            looked_at |= people - in_base
        for visit in tale.tables[release]:
            is_first = isinstance(result, Told) and result.first.get(visit.person) == visit.number
            if visit.person in in_base and not is_first:
                has[release, visit.number] = (draw.choice("abcd"), draw.randrange(3))
    return replace(tale, has=has), coins


def coins_of(key: bytes, releases: int) -> list[Coins]:
    return [Coins(key).of(str(release)) for release in range(releases)]


def _exchanged(result: Told, draw: random.Random) -> tuple[dict[str, str], dict]:
    """Who shows whose values now, and where the coins of units and blocks are to be found."""
    joining, units = result.joining, result.joining.units
    unit_to = np.arange(units.count)
    block_to = np.arange(len(units.can_join))
    for group in np.unique(joining.group_of):
        members = np.flatnonzero(joining.group_of == group)
        blocks = np.unique(units.block[members])
        if len(blocks) == 1:
            unit_to[members] = members[_shuffled(len(members), draw)]
            continue
        block_to[blocks] = blocks[_shuffled(len(blocks), draw)]
        for block in blocks:
            here = np.flatnonzero(units.block == block)
            there = np.flatnonzero(units.block == block_to[block])
            unit_to[here] = there[_shuffled(len(there), draw)]
    giver = {}
    for unit, people in enumerate(result.units):
        others = list(result.units[unit_to[unit]])
        draw.shuffle(others)
        giver |= dict(zip(people, others, strict=True))
    purpose = joining.purpose
    carried = {(purpose, name): unit_to for name in ("joins", "decoy units")}
    carried |= {(purpose, name): block_to for name in ("decoys", "stuck blocks")}
    return giver, carried


def _shuffled(count: int, draw: random.Random) -> np.ndarray:
    order = list(range(count))
    draw.shuffle(order)
    return np.array(order)


def differences(seed: int, folder: Path | None = None, *, secret: bool = True) -> tuple[list, dict]:
    """Releases of one tale that tell something else of a moved one, and what was tried.

    Unless coins are `secret`, they stay where they were: so whoever knows them compares.
    """
    tale, key = tale_of(seed), f"key {seed}".encode()
    before = told(tale, coins_of(key, len(tale.tables)), folder)
    other, coins = moved(tale, key, before, random.Random(seed))
    after = told(other, coins if secret else coins_of(key, len(coins)), folder)
    counts = defaultdict(int)
    counts["tables"] += len(tale.tables)
    for result in before:
        if not isinstance(result, Told):
            counts["refused"] += 1
            continue
        counts["blind"] += result.joining is not None
        if result.joining is not None:
            sizes = np.bincount(result.joining.group_of)
            counts["joined groups"] += int((sizes > 1).sum())
            counts["members"] += len(result.groups)
        counts["bare rows"] += sum(is_bare for *_, is_bare in result.known[0])
    wrong = [
        (release, one, two)
        for release, (one, two) in enumerate(zip(before, after, strict=True))
        if (one.seen if isinstance(one, Told) else one) != (two.seen if isinstance(two, Told) else two)
    ]
    return wrong, dict(counts)


def told_of_biographies(seed: int) -> tuple[list, list]:
    """What is told of people who show all their rows, and what once members of a unit exchanged theirs.

    Of k = 2, a group of two or three is one unit.
    """
    draw = random.Random(seed)
    tale, key = biographies(draw), f"key {seed}".encode()
    before = told(tale, coins_of(key, 1))
    if not isinstance(before[0], Told) or before[0].informed:
        return [], []
    rows: dict[str, list[int]] = defaultdict(list)
    for visit in sorted(tale.tables[0], key=lambda visit: visit.day):
        rows[visit.person].append(visit.number)
    groups: dict[int, list[str]] = defaultdict(list)
    for person, group in before[0].groups.items():
        groups[group].append(person)
    has = dict(tale.has)
    for members in groups.values():
        others = draw.sample(members, len(members)) if len(members) < 4 else members
        for person, other in zip(members, others, strict=True):
            for own, theirs in zip(rows[person], rows[other], strict=False):
                has[0, own] = tale.has[0, theirs]
    return before, told(replace(tale, has=has), coins_of(key, 1))
