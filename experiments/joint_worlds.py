"""What all classes of a table tell together to somebody who knows the search and everybody's keys.

Tables of a thousand people have too many worlds to list, and single classes leave out what several tell
together. Here worlds of the whole table are walked through: beginning with the table itself, values of one
class after the other are dealt anew, and a deal is kept where the search publishes the same table. Every deal
is as likely as the way back, so in the long run all worlds that can be reached are visited equally often
(Metropolis). A walk begins where the truth is: ended too early it says that more is known than is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
from sfumato.attacks.known_search import Publication, Republish, publication_of
from sfumato.table.microdata import Microdata
from sfumato.table.source import open_source
from sfumato.workflows.attack import known_search

Row = dict[str, Any]
PRIOR = 20
"""What a class holds is believed like so many worlds, before any is seen."""
PROMISES: dict[str, Row] = {
    "l = 3": {"l-diversity": {"of": "s", "l": 3}},
    "confidence 1/2": {"confidence-bounding": {"of": "s", "confidence": "1/2"}},
}


@dataclass(frozen=True)
class Walk:
    """The values of everybody in every world that was visited, the part of all deals that was kept, and which
    class everybody is in."""

    worlds: NDArray[np.int64]
    kept: Fraction
    class_of: NDArray[np.int64]


def walk(people: Microdata, search: Republish, *, sweeps: int, seed: int) -> Walk:
    """Returns the worlds after each of so many sweeps over the classes of what a search publishes.

    `people` has one sensitive column, the last; nobody may be suppressed.
    """
    keys, held = rows_of(people)
    recoding = search(_table(people, keys, held))
    assert recoding is not None and not recoding.suppressed  # the caller chose such a table
    shown = publication_of(recoding, len(people.keys))
    members = _members(people, keys, held, search)
    rng, visited, kept, dealt = np.random.default_rng(seed), [], 0, 0
    for _ in range(sweeps):
        for some in members:
            new = held.copy()
            new[some] = rng.permutation(held[some])
            dealt += 1
            if np.array_equal(new, held) or _same(people, keys, new, search, shown):
                held, kept = new, kept + 1
        visited.append(held)
    class_of = np.zeros(len(held), np.int64)
    for c, some in enumerate(members):
        class_of[some] = c
    return Walk(np.stack(visited), Fraction(kept, max(1, dealt)), class_of)


def rows_of(people: Microdata) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns key codes and values, a row per person."""
    columns = [np.repeat(people.codes(column.name), people.counts) for column in people.columns]
    return np.stack(columns[:-1], axis=1), columns[-1].astype(np.int64)


def _table(people: Microdata, keys: NDArray[np.int64], held: NDArray[np.int64]) -> Microdata:
    return Microdata.of_codes(people.columns, [*keys.T, held])


def _same(
    people: Microdata,
    keys: NDArray[np.int64],
    held: NDArray[np.int64],
    search: Republish,
    shown: Publication,
) -> bool:
    recoding = search(_table(people, keys, held))
    return recoding is not None and publication_of(recoding, keys.shape[1]) == shown


def _members(
    people: Microdata, keys: NDArray[np.int64], held: NDArray[np.int64], search: Republish
) -> list[NDArray[np.int64]]:
    """Returns the people of every class; of classes with the same box those of all of them."""
    recoding = search(_table(people, keys, held))
    assert recoding is not None  # the caller looked
    boxes = np.concatenate([recoding.low, recoding.high], axis=1)
    _, number = np.unique(boxes, axis=0, return_inverse=True)
    rows = np.stack([recoding.table.codes(column.name) for column in recoding.table.columns], axis=1)
    class_of = {
        tuple(row): int(number[c]) for row, c in zip(rows.tolist(), recoding.class_of.tolist(), strict=True)
    }
    mine = np.array(
        [class_of[(*key, value)] for key, value in zip(keys.tolist(), held.tolist(), strict=True)]
    )
    return [np.flatnonzero(mine == c) for c in range(int(number.max()) + 1)]


def guessed(first: Walk, second: Walk, alike: NDArray[np.int64]) -> float:
    """Returns how often the commonest value of people who are alike in one walk is right in the other.

    What a class holds counts like `PRIOR` worlds more, so that few worlds make no guess worse than none.
    """
    values = int(max(first.worlds.max(), second.worlds.max())) + 1
    shares = np.zeros((int(first.class_of.max()) + 1, values))
    np.add.at(shares, (first.class_of, first.worlds[0]), 1)
    shares /= shares.sum(axis=1, keepdims=True)
    right = 0
    for one, other in ((first, second), (second, first)):
        counts = np.zeros((int(alike.max()) + 1, values))
        np.add.at(counts, (np.broadcast_to(alike, one.worlds.shape), one.worlds), 1)
        np.add.at(counts, alike, PRIOR * shares[first.class_of])
        right += int((other.worlds == counts.argmax(axis=1)[alike]).sum())
    return right / (first.worlds.size + second.worlds.size)


def joint(people: int, *, sweeps: int, seed: int, searches: Sequence[str]) -> Iterator[Row]:
    """Yields, per search and promise, how often guesses are right: by the table, by single classes as the
    attack has them (of people it draws), and by worlds of the whole table."""
    frame = made_up(people, seed)
    for search, (name, promise) in ((s, p) for s in searches for p in PROMISES.items()):
        begin = process_time()
        policy = _policy(search, promise)
        safe = sf.protect(frame, policy).apply(frame)
        (finding,) = sf.attack.minimality(safe, policy, frame.select("a", "b"), steps=2000).findings
        counted = open_source(frame).count(policy.codings, missing=policy.missing)
        republish = known_search(policy, steps=1, seed=0).republish
        walks = [walk(counted, republish, sweeps=sweeps, seed=seed + 1 + i) for i in range(2)]
        keys, held = rows_of(counted)
        _, alike = np.unique(keys, axis=0, return_inverse=True)
        moved = np.logical_or.reduce([(one.worlds != held).any(axis=0) for one in walks])
        yield {
            "people": people,
            "search": search,
            "promise": name,
            "classes": int(safe.group_by("a", "b").len().height),
            "before": round(by_class(safe), 4),
            "of 200 drawn": round(float(finding.details["before"]), 4),
            "of these, by single classes": round(float(finding.details["after"]), 4),
            "together": round(guessed(walks[0], walks[1], alike), 4),
            "deals kept": round(float((walks[0].kept + walks[1].kept) / 2), 4),
            "never another value": int((~moved).sum()),
            "CPU s": round(process_time() - begin, 1),
        }


def by_class(safe: pl.DataFrame) -> float:
    """Returns how often the commonest value of their class is right of everybody, whatever the search."""
    counts = safe.group_by("a", "b", "s").len()
    most = counts.group_by("a", "b").agg(pl.col("len").max())["len"].sum()
    return int(most) / safe.height


def made_up(people: int, seed: int) -> pl.DataFrame:
    """Returns people with an age, one of eight places and one of five values, which hangs on the age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 64, people)
    common = np.array([[5, 4, 3, 2, 1], [1, 2, 3, 4, 5]])[age // 32]
    chances = common / common.sum(axis=1, keepdims=True)
    value = (rng.random(people)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(max=4)
    places = rng.integers(0, 8, people)
    return pl.DataFrame(
        {
            "a": [str(n) for n in age.tolist()],
            "b": [f"p{n}" for n in places.tolist()],
            "s": [f"v{n}" for n in value.tolist()],
        }
    )


def _policy(search: str, promise: Row) -> sf.Policy:
    places = {
        "north": {"nw": ["p0", "p1"], "ne": ["p2", "p3"]},
        "south": {"sw": ["p4", "p5"], "se": ["p6", "p7"]},
    }
    return sf.Policy.from_dict(
        {
            "columns": {
                "a": {"role": "quasi", "taxonomy": {"intervals": [4, 16], "from": 0, "to": 64}},
                "b": {"role": "quasi", "taxonomy": {"tree": places}},
                "s": {"role": "sensitive"},
            },
            "promises": [promise],
            "protect": {"suppress": 0, "search": search},
        }
    )


def main(data: Path, out: Path) -> None:  # noqa: ARG001  (every experiment is told where data are)
    """Prints the figures, and writes them to `joint_worlds.json`."""
    rows = []
    small = joint(300, sweeps=20, seed=0, searches=("mondrian",))
    for row in (*joint(1000, sweeps=20, seed=0, searches=("top-down",)), *small):
        print(json.dumps(row), flush=True)
        rows.append(row)
    (out / "joint_worlds.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
