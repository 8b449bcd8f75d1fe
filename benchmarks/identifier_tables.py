"""Made-up tables in the shape of those on which key discovery is usually measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.coded import Coded

ORDER_LINES = (
    "order", "part", "supplier", "line", "quantity", "price", "discount", "tax", "returned", "status",
    "shipped", "committed", "received", "instruction", "mode", "comment",
)  # fmt: skip


def order_lines(rows: int, *, seed: int = 7) -> Coded:
    """Sixteen columns of order lines: an order has up to seven, prices follow from parts and quantities."""
    rng = np.random.default_rng(seed)
    per_order = rng.integers(1, 8, rows // 4 + rows // 16 + 8)
    order = np.repeat(np.arange(len(per_order)), per_order)[:rows]
    line = np.arange(rows) - (np.cumsum(per_order) - per_order)[order]
    parts, suppliers = max(2, rows // 30), max(2, rows // 600)
    part = rng.integers(0, parts, rows)
    quantity = rng.integers(1, 51, rows)
    ordered = rng.integers(0, 2406, len(per_order))[order]
    shipped = ordered + rng.integers(1, 122, rows)
    received = shipped + rng.integers(1, 31, rows)
    columns = [
        order,
        part,
        (part + rng.integers(0, 4, rows) * (parts // 4 + 1)) % suppliers,
        line,
        quantity,
        (90_000 + (part // 10) % 20_001 + 100 * (part % 1000)) * quantity,
        rng.integers(0, 11, rows),
        rng.integers(0, 9, rows),
        np.where(received <= 1500, rng.integers(0, 2, rows), 2),
        shipped > 1500,
        shipped,
        ordered + rng.integers(30, 91, rows),
        received,
        rng.integers(0, 4, rows),
        rng.integers(0, 7, rows),
        rng.integers(0, max(2, int(0.9 * rows)), rows),
    ]
    codes = np.empty((len(columns), rows), np.int32)
    sizes = []
    for j, column in enumerate(columns):
        values, codes[j] = np.unique(column, return_inverse=True)
        sizes.append(len(values))
    return Coded(ORDER_LINES, codes, tuple(sizes))


def shares(rows: int = 1994, columns: int = 128, *, seed: int = 7) -> Coded:
    """Numbers with two decimals that hang together, as in tables of towns and their statistics."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(6, rows))
    mixed = rng.normal(size=(columns, 6)) @ factors + rng.normal(size=(columns, rows))
    return _dense(np.round(1 / (1 + np.exp(-mixed)), 2) * 100)


def games(rows: int = 10_294, columns: int = 117, *, seed: int = 7) -> Coded:
    """Mostly zeros: two sides of five, picked from many, and four columns about the game."""
    rng = np.random.default_rng(seed)
    heroes = columns - 4
    picks = np.zeros((columns, rows), np.int64)
    popular = rng.dirichlet(np.full(heroes, 1.5))
    for i in range(rows):
        chosen = rng.choice(heroes, 10, replace=False, p=popular)
        picks[chosen[:5], i], picks[chosen[5:], i] = 1, -1
    for j, size in zip(range(heroes, columns), (60, 9, 3, 2), strict=True):
        picks[j] = rng.integers(0, size, rows)
    return _dense(picks)


def annotations(rows: int = 1000, columns: int = 220, *, seed: int = 7) -> Coded:
    """Sparse and wide: an identifier, many columns that are empty most of the time, some long texts."""
    rng = np.random.default_rng(seed)
    codes = np.empty((columns, rows), np.int64)
    codes[0] = np.arange(rows)
    for j in range(1, columns):
        values = int(rng.integers(2, rows))
        filled = rng.random(rows) < rng.beta(0.6, 1.2)
        codes[j] = np.where(filled, rng.integers(0, values, rows), -1)
    return _dense(codes)


def _dense(values: NDArray[np.generic]) -> Coded:
    codes = np.empty(values.shape, np.int32)
    sizes = []
    for j, column in enumerate(values):
        found, codes[j] = np.unique(column, return_inverse=True)
        sizes.append(len(found))
    return Coded(tuple(f"c{j}" for j in range(len(values))), codes, tuple(sizes))
