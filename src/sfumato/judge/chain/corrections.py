"""People whose value is another one in the second of two releases: how many rows can have been theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sfumato.judge.chain.remembered_release import Numbers, ReleaseTable
from sfumato.judge.chain.world_equations import TooLarge

MOST_PAIRS = 2_000_000
"""So many pairs of classes are looked at."""

Held = Mapping[int, int]
"""Value -> rows."""


def fewest_of_corrected(
    first: tuple[ReleaseTable, Numbers],
    second: tuple[ReleaseTable, Numbers],
    shared: Numbers | None,
    *,
    total: bool,
) -> int | None:
    """Returns the fewest candidates of anybody whose value changed, in either release; `None`: nobody's can.

    Each release comes with the component of every class; `shared` are the people of the same value in both,
    by class of the second, `None` where that is unknown.
    """
    sides = [_by_component(*first), _by_component(*second)]
    parts = sorted(set(sides[0]) | set(sides[1]))
    if sum(len(sides[0].get(p, ())) * len(sides[1].get(p, ())) for p in parts) > MOST_PAIRS:
        raise TooLarge
    spare = _spare(sides, second[1], shared, total=total)
    found: list[int] = []
    for part in parts:
        classes = [side.get(part, []) for side in sides]
        sums = [_sum(some) for some in classes]
        for one, other in ((0, 1), (1, 0)):
            gaps = [_less(sums[one], sums[other]), _less(sums[other], sums[one])]
            for mine in classes[one]:
                found += [_candidates(mine, t, gaps[0], gaps[1], spare.get(part)) for t in classes[other]]
    return min((n for n in found if n), default=None)


def _by_component(table: ReleaseTable, component: Numbers) -> dict[int, list[dict[int, int]]]:
    held: list[dict[int, int]] = [{} for _ in range(len(table))]
    entries = zip(table.owner.tolist(), table.value.tolist(), table.count.tolist(), strict=True)
    for owner, value, count in entries:
        held[owner][value] = held[owner].get(value, 0) + count
    found: dict[int, list[dict[int, int]]] = defaultdict(list)
    for part, one in zip(component.tolist(), held, strict=True):
        found[part].append(one)
    return dict(found)


def _spare(
    sides: list[dict[int, list[dict[int, int]]]], component: Numbers, shared: Numbers | None, *, total: bool
) -> dict[int, int | None]:
    """Returns, by component, how many more people could have the same value in both than have."""
    parts = sorted(set(sides[0]) | set(sides[1]))
    if shared is None:
        return dict.fromkeys(parts)
    could = {}
    for part in parts:
        one, other = (_sum(side.get(part, [])) for side in sides)
        could[part] = sum(min(one[v], other.get(v, 0)) for v in one)
    if total:
        left = sum(could.values()) - (int(shared[0]) if len(shared) else 0)
        return dict.fromkeys(parts, left)
    both = dict(zip(component.tolist(), shared.tolist(), strict=True))
    return {part: could[part] - both.get(part, 0) for part in parts}


def _sum(classes: list[dict[int, int]]) -> dict[int, int]:
    sums: dict[int, int] = defaultdict(int)
    for one in classes:
        for value, count in one.items():
            sums[value] += count
    return dict(sums)


def _less(one: Held, other: Held) -> dict[int, int]:
    return {value: max(0, count - other.get(value, 0)) for value, count in one.items()}


def _candidates(mine: Held, theirs: Held, gap: Held, theirs_gap: Held, spare: int | None) -> int:
    """Returns how many rows of a class can be those of somebody who has another value in the other class."""
    found = 0
    for value, count in mine.items():
        room = sum(n for other, n in theirs.items() if other != value)
        most = min(count, room)
        if spare is not None:
            into = sum(min(n, theirs_gap[other]) for other, n in theirs.items() if other != value)
            while most and max(0, most - gap[value]) + max(0, most - into) > spare:
                most -= 1
        found += most
    return found
