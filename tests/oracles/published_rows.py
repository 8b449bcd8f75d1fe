"""The definitions once more, in plain Python on rows: the oracle. Nothing of the project is imported."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import prod


def classes(rows, keys):
    """Rows (dicts) with the same key cells."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[k] for k in keys)].append(row)
    return list(groups.values())


def people(rows, person):
    return len({row[person] for row in rows}) if person else len(rows)


def counts(rows, column, person):
    """How many people hold each value; someone with two rows of one value counts once for it."""
    if person:
        return Counter(value for value, _ in {(row[column], row[person]) for row in rows})
    return Counter(row[column] for row in rows)


def k_anonymous(rows, person, *, k):
    return people(rows, person) >= k


def known(rows, column, person):
    """The same, largest first, without missing cells, which diversity does not count."""
    held = counts(rows, column, person)
    return sorted((n for value, n in held.items() if value is not None), reverse=True)


def distinct(rows, person, *, of, l):  # noqa: E741
    return len(known(rows, of, person)) >= l


def entropy(rows, person, *, of, l):  # noqa: E741
    found = known(rows, of, person)
    n = sum(found)
    return bool(found) and Fraction(n) ** n >= Fraction(l) ** n * prod(c**c for c in found)


def recursive(rows, person, *, of, l, c):  # noqa: E741
    found = known(rows, of, person)
    return bool(found[l - 1 :]) and found[0] < c * sum(found[l - 1 :])


def confident(rows, person, *, of, confidence=None, alpha=None, k=1):
    found = counts(rows, of, person)
    share = Fraction(max(found.values()), people(rows, person))
    return share <= (confidence or alpha) and people(rows, person) >= k


def distance(held, whole, kind, *, order, paths):
    """Earth mover's distance between two counters, over the values in `order`."""
    n, total, values = sum(held.values()), sum(whole.values()), order
    gap = {v: Fraction(held[v], n) - Fraction(whole[v], total) for v in values}
    if kind == "equal":
        return sum(map(abs, gap.values())) / 2
    if kind == "ordered":
        carried, moved = Fraction(0), Fraction(0)
        for v in values:
            carried += gap[v]
            moved += abs(carried)
        return moved / max(1, len(values) - 1)
    return _through_the_tree(gap, paths)


def _through_the_tree(gap, paths):
    """Settle at every inner node, lowest first, what its children can exchange (Li et al. 2007)."""
    height = max((len(path) for path in paths.values()), default=1) - 1
    cost, left = Fraction(0), dict(gap)
    for up in range(1, height + 1):
        below = defaultdict(list)
        for value, path in paths.items():
            if value in left:
                below[path[min(up, len(path) - 1)]].append(value)
        for group in below.values():
            surplus = sum(max(left[v], 0) for v in group)
            deficit = -sum(min(left[v], 0) for v in group)
            met = min(surplus, deficit)
            cost += met * Fraction(up, height)
            for v in group:
                if left[v] > 0:
                    left[v] -= met * left[v] / surplus
                elif left[v] < 0:
                    left[v] += met * -left[v] / deficit
    return cost


def as_csv(rows, columns):
    """Bytes of a CSV file: an empty cell is missing, empty text is quoted."""
    lines = [[_quoted(c) for c in columns], *([_quoted(row[c]) for c in columns] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def _quoted(cell):
    return "" if cell is None else '"' + str(cell).replace('"', '""') + '"'
