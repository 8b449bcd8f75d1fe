"""Quasi-identifiers and sample uniques straight from their definitions, one subset after the other."""

from collections import Counter
from itertools import combinations
from math import ceil

from sfumato.discovery.quasi_identifiers.coded import Coded


def subsets(columns, largest=None):
    top = len(columns) if largest is None else min(largest, len(columns))
    return [s for size in range(top + 1) for s in combinations(columns, size)]


def projected(table, columns):
    """The rows of a dict of columns, cut down to some of them."""
    rows = len(next(iter(table.values()), ()))
    return [tuple(table[c][i] for c in columns) for i in range(rows)]


def exposed(table, columns, k):
    """How many records share their values with fewer than k records."""
    return sum(size for size in Counter(projected(table, columns)).values() if size < k)


def threshold(reading, rows):
    if reading.name == "any":
        return 1
    if reading.name == "all":
        return max(1, rows)
    if reading.name == "count":
        return int(reading.amount)
    return max(1, ceil(reading.amount * rows))


def is_quasi_identifier(table, columns, reading):
    everything = projected(table, tuple(table))
    if reading.name == "distinct":
        return bool(everything) and len(set(projected(table, columns))) == len(set(everything))
    return exposed(table, columns, reading.k) >= threshold(reading, len(everything))


def minimal_sets(table, reading, largest=None):
    found = []
    for columns in subsets(tuple(table), largest):
        smaller = any(set(known) <= set(columns) for known in found)
        if not smaller and is_quasi_identifier(table, columns, reading):
            found.append(columns)
    return found


def paper_loop(table, reading):
    """The algorithm of the paper, restart included: the columns it ends with, and the tests it made."""
    fields, tests, found = tuple(table), 0, True
    while found:
        found = False
        for smaller in combinations(fields, len(fields) - 1) if fields else ():
            tests += 1
            if is_quasi_identifier(table, smaller, reading):
                found, fields = True, smaller
                break
    return fields, tests


def minimal_uniques(table, largest):
    """Per record, the smallest-by-inclusion non-empty sets of columns that make it unique."""
    names = tuple(table)
    rows = len(next(iter(table.values()), ()))
    found = [[] for _ in range(rows)]
    for columns in subsets(names, largest)[1:]:
        cells = projected(table, columns)
        sizes = Counter(cells)
        for i in range(rows):
            if sizes[cells[i]] == 1 and not any(set(known) <= set(columns) for known in found[i]):
                found[i].append(columns)
    return found


def random_table(draw, *, columns=5, rows=24, values=6):
    """A small table with constants, look-alike columns, missing cells and repeated rows now and then."""
    height = draw.randint(0, rows)
    table = {}
    for j in range(draw.randint(1, columns)):
        size = draw.randint(1, values)
        cells = [
            draw.choice([*range(size), None] if draw.random() < 0.3 else range(size)) for _ in range(height)
        ]
        if table and draw.random() < 0.15:
            cells = [None if c is None else f"same as {c}" for c in table[draw.choice(list(table))]]
        table[f"c{j}"] = cells
    if height and draw.random() < 0.4:
        chosen = [draw.randrange(height) for _ in range(height)]
        table = {name: [cells[i] for i in chosen] for name, cells in table.items()}
    return table


def coded(table):
    return Coded.of_columns(table)
