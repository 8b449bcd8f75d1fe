"""What asking for more than is promised buys against somebody who knows the search and everybody's keys.

All tables of a few people are taken: every key is a leaf of one tree, everybody has one of a few values, all
equally likely. The search is run once on each, with the promise or with a stricter one. What is published
then tells which tables remain, and the best guesses over these are held to the promise itself. Requests may
also be drawn in secret, with known chances, or be followed by the promise where no table keeps them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import factorial, prod
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.attacks.worlds.published_boxes import Publication, publication_of
from sfumato.core.microdata import Column, Microdata
from sfumato.core.recoding import Recoding
from sfumato.engine import open_source
from sfumato.journey.known_search import known_search

Row = dict[str, Any]
Asked = dict[str, dict[str, Any]]
TREE = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
SEARCHES = ("top-down", "lattice", "mondrian")
CONFIDENCE: Asked = {
    f"confidence {c}": {"confidence-bounding": {"of": "s", "confidence": c}}
    for c in ("1/2", "2/5", "1/3", "1/4")
}
DISTINCT: Asked = {f"l = {count}": {"l-diversity": {"of": "s", "l": count}} for count in (2, 3, 4)}
"""By name what is asked for, the promise first."""
Draws = Sequence[tuple[int, Sequence[Row]]]
"""What is asked for, in secret: requests with their weights, each a list of which the first is taken that
some table keeps."""


@dataclass(frozen=True)
class Setting:
    """So many people, with keys of so many nodes above two leaves each, and so many values."""

    people: int
    nodes: int = 2
    values: int = 4

    @property
    def tree(self) -> dict[str, list[str]]:
        return dict(list(TREE.items())[: self.nodes])

    @property
    def keys(self) -> list[str]:
        return [leaf for leaves in self.tree.values() for leaf in leaves]

    @property
    def texts(self) -> list[str]:
        return [f"v{i}" for i in range(self.values)]


Spread = tuple[tuple[int, ...], ...]
"""Per key, the values of the people who have it, in order."""


@dataclass
class _Tally:
    """Tables of all registers, weighted: so many in all, published, with a breach, and what they lost."""

    tables: int = 0
    published: int = 0
    broken: int = 0
    exposed: int = 0
    lost: float = 0.0
    searches: int = 0


def stricter(setting: Setting, searches: Sequence[str] = SEARCHES) -> Iterator[Row]:
    """Yields, per search and request, in how many tables somebody is exposed."""
    for search, asked in product(searches, (CONFIDENCE, DISTINCT)):
        for name, promise in asked.items():
            begin, tally = process_time(), _Tally()
            for register, weight in _registers(setting).items():
                _all_tables(setting, register, weight, search, [(1, [promise])], next(iter(asked)), tally)
            yield {**_told(setting, search, next(iter(asked)), name, tally), **_spent(tally, begin)}


def drawn(
    setting: Setting, promised: str, more: str, asked: Asked, search: str = "top-down"
) -> Iterator[Row]:
    """Yields in how many tables somebody is exposed where `more` is asked for now and then, or as far as it
    goes, which everybody knows but for the draw itself."""
    plain, strict = asked[promised], asked[more]
    modes: dict[str, Draws] = {
        f"{more} one time in ten": [(9, [plain]), (1, [strict])],
        f"{more} one time in two": [(1, [plain]), (1, [strict])],
        f"{more}, else {promised}": [(1, [strict, plain])],
    }
    for name, draws in modes.items():
        begin, tally = process_time(), _Tally()
        for register, weight in _registers(setting).items():
            _all_tables(setting, register, weight, search, draws, promised, tally)
        yield {**_told(setting, search, promised, name, tally), **_spent(tally, begin)}


def _told(setting: Setting, search: str, promised: str, asked: str, tally: _Tally) -> Row:
    shown = max(1, tally.published)
    return {
        **asdict(setting),
        "search": search,
        "promised": promised,
        "asked": asked,
        "published": round(tally.published / tally.tables, 4),
        "broken": round(tally.broken / shown, 5),
        "people exposed": round(tally.exposed / shown / setting.people, 5),
        "loss": round(tally.lost / shown, 4),
    }


def _spent(tally: _Tally, begin: float) -> Row:
    return {"searches": tally.searches, "CPU s": round(process_time() - begin, 1)}


def _registers(setting: Setting) -> dict[tuple[int, ...], int]:
    """Returns how many people have each key, one register of those that are alike but for names of nodes, and
    in how many ways keys can be given like that."""
    found: Counter[tuple[int, ...]] = Counter()
    for keys in combinations_with_replacement(range(len(setting.keys)), setting.people):
        counts = [keys.count(key) for key in range(len(setting.keys))]
        ways = factorial(setting.people) // prod(map(factorial, counts))
        halves = sorted(tuple(sorted(half, reverse=True)) for half in (counts[:2], counts[2:]))
        found[halves[1] + halves[0]] += ways
    return dict(found)


def _all_tables(
    setting: Setting,
    register: tuple[int, ...],
    weight: int,
    search: str,
    draws: Draws,
    promised: str,
    tally: _Tally,
) -> None:
    policies = [[_policy(setting, search, promise) for promise in requests] for _, requests in draws]
    policy = policies[0][0]
    searches = [[known_search(one, steps=1, seed=0).republish for one in some] for some in policies]
    cells = list(product(setting.keys, setting.texts))
    every = pa.table({"q": [key for key, _ in cells], "s": [value for _, value in cells]})
    columns = open_source(every).count(policy.codings, missing=policy.missing).columns
    worlds: dict[Any, list[tuple[int, Spread]]] = defaultdict(list)
    recodings: dict[Any, Recoding] = {}
    for spread in product(*(combinations_with_replacement(range(setting.values), n) for n in register)):
        ways = prod(factorial(len(some)) // prod(map(factorial, Counter(some).values())) for some in spread)
        for (often, _), some in zip(draws, searches, strict=True):
            tally.searches += 1
            tally.tables += weight * ways * often
            table = _table(columns, spread)
            recoding = next((found for one in some if (found := one(table)) is not None), None)
            if recoding is None:
                continue
            shown = frozenset(publication_of(recoding, 1).items())
            worlds[shown].append((ways * often, spread))
            recodings.setdefault(shown, recoding)
    for shown, some in worlds.items():
        _tally_one(dict(shown), recodings[shown], some, weight, promised, tally)


def _policy(setting: Setting, search: str, promise: Row) -> sf.Policy:
    return sf.Policy.from_dict(
        {
            "columns": {
                "q": {"role": "quasi", "taxonomy": {"tree": setting.tree}},
                "s": {"role": "sensitive", "taxonomy": {"flat": setting.texts}},
            },
            "promises": [promise],
            "protect": {"search": search},
        }
    )


def _table(columns: Sequence[Column], spread: Spread) -> Microdata:
    keys = np.repeat(np.arange(len(spread)), [len(some) for some in spread])
    return Microdata.of_codes(columns, [keys, np.array([value for some in spread for value in some])])


def _tally_one(
    shown: Publication,
    recoding: Recoding,
    worlds: list[tuple[int, Spread]],
    weight: int,
    promised: str,
    tally: _Tally,
) -> None:
    """Counts the tables that are published like this: in which somebody is exposed, and how far."""
    total = sum(ways for ways, _ in worlds)
    labels, which = recoding.texts(0)
    label_of = {
        int(key): labels[which[c]]
        for key, c in zip(recoding.table.codes("q").tolist(), recoding.class_of.tolist(), strict=True)
    }
    exposed = 0
    for key, label in label_of.items():
        many = len(worlds[0][1][key])
        held = {values[0]: n for (texts, values), n in shown.items() if texts == (label,)}
        before = {value: Fraction(n, sum(held.values())) for value, n in held.items()}
        after: Counter[int] = Counter()
        for ways, spread in worlds:
            for value in spread[key]:
                after[value] += ways
        chances = {value: Fraction(n, total * many) for value, n in after.items()}
        exposed += many * beyond(before, chances, promised)
    tally.published += weight * total
    tally.broken += weight * total * (exposed > 0)
    tally.exposed += weight * total * exposed
    tally.lost += weight * total * lost(recoding)


def beyond(before: dict[int, Fraction], after: dict[int, Fraction], promised: str) -> bool:
    """Whether more is known of somebody than the promise allows, that the table alone does not tell."""
    was, now = max(before.values()), max(after.values())
    sure = now == 1 > was
    if promised.startswith("l"):
        return sure or len(after) < 2 <= len(before)
    return sure or now > Fraction(1, 2) >= was


def lost(recoding: Recoding) -> float:
    """The leaves that a row covers beyond its own, of those that it might, on average."""
    widths = (recoding.high[:, 0] - recoding.low[:, 0])[recoding.class_of] - 1
    rows = recoding.table.counts
    return float((widths * rows).sum() / (rows.sum() * (len(recoding.table.column("q").taxonomy.leaves) - 1)))


def main(data: Path, out: Path) -> None:  # noqa: ARG001  (every experiment is told where data are)
    """Prints the figures, and writes them to `stricter_promises.json`."""
    rows = []
    eight = Setting(8, nodes=1, values=5)
    for row in (
        *stricter(Setting(6)),
        *stricter(eight, ("top-down",)),
        *drawn(eight, "l = 2", "l = 3", DISTINCT),
        *drawn(eight, "confidence 1/2", "confidence 2/5", CONFIDENCE),
        *drawn(eight, "confidence 1/2", "confidence 1/3", CONFIDENCE),
    ):
        print(json.dumps(row), flush=True)
        rows.append(row)
    (out / "stricter_promises.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
