"""What every class promise must do: run `check_promise` on yours before others rely on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes, Histogram
from sfumato.core.promise import ClassPromise, Truth
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.verdict import Evidence, Verdict

Grid = NDArray[np.int64]
"""Classes x values: how often each value occurs in each class."""


def check_promise(promise: ClassPromise, *, tables: int = 300, seed: int = 0) -> None:
    """Hold a class promise to its word on random tables; raise `AssertionError` with a sentence if it fails.

    Choose parameters that some small classes keep and others break: a claim can only be tested where both
    happen. The same `seed` gives the same tables.

    >>> from sfumato.promises import KAnonymity
    >>> check_promise(KAnonymity(3), tables=20)
    """
    _check_words(promise)
    rng = np.random.default_rng(seed)
    kept = 0
    for taxonomy, grid in _tables(rng, tables):
        overall = grid.sum(axis=0)
        classes = _classes(promise, taxonomy, grid, overall)
        truth = _judge(promise, classes)
        kept += int(truth.sum())
        _check_independence(promise, taxonomy, grid, truth, rng)
        _check_verdict(promise, classes, truth)
        _check_monotone(promise, taxonomy, grid, truth, rng)
        _check_hereditary(promise, taxonomy, grid, truth, rng)
    _check_small(promise)
    _say(kept > 0, "no random class keeps the promise; choose parameters that small classes can keep")


def _check_words(promise: ClassPromise) -> None:
    _say(isinstance(promise, ClassPromise), "it is no class promise: see sfumato.core.promise.ClassPromise")
    for claim in (promise.monotone, promise.hereditary):
        _say(isinstance(claim, bool), "monotone and hereditary are claims: True or False")
    _say(bool(promise.name) and isinstance(promise.name, str), "it needs a name, its policy key")
    _say(isinstance(promise.evidence, Evidence), "evidence is a member of Evidence")
    named = promise.sensitive
    _say(
        isinstance(named, tuple) and all(isinstance(c, str) for c in named), "sensitive is a tuple of columns"
    )
    text = str(promise)
    _say(bool(text) and "\n" not in text and text == str(promise), "str() gives one line, always the same")
    read, write = getattr(promise, "from_parameters", None), getattr(promise, "parameters", None)
    if callable(read) and callable(write):
        again = read(write())
        _say(again == promise and str(again) == text, "made again from its own parameters() it differs")


def _check_verdict(promise: ClassPromise, classes: Classes, truth: Truth) -> None:
    before = _bytes(classes)
    verdict = promise.verdict(classes)
    _say(_bytes(classes) == before, "verdict changes the classes it is given")
    _say(isinstance(verdict, Verdict), "verdict returns no Verdict")
    if verdict.holds is None:
        _say(promise.evidence is not Evidence.PUBLISHED, "what the published table decides must be decided")
        return
    broken = ~truth
    _say(verdict.holds == bool(truth.all()), "verdict and holds_on disagree on whether the promise holds")
    _say(verdict.classes == int(broken.sum()), "verdict counts other classes in violation than holds_on")
    _say(
        verdict.people == int(classes.people[broken].sum()), "verdict counts the people in violation wrongly"
    )
    _say(verdict.evidence is promise.evidence, "verdict names other evidence than the promise")
    for number in (verdict.measured, verdict.limit):
        right = number is None or isinstance(number, int | Fraction | float)
        _say(right and not isinstance(number, bool), "measured and limit are an int, a Fraction or a float")
        _say(not isinstance(number, float) or math.isfinite(number), "measured and limit are finite")
    if verdict.worst is not None:
        _say(0 <= verdict.worst < len(classes), "the worst class does not exist")
        _say(
            verdict.holds or bool(broken[verdict.worst]),
            "the worst class keeps the promise, another does not",
        )


def _check_independence(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    order = rng.permutation(len(grid))
    shuffled = _classes(promise, taxonomy, grid[order], grid.sum(axis=0))
    _say(np.array_equal(_judge(promise, shuffled), truth[order]), "the order of the classes matters")
    first, second = (
        promise.verdict(_classes(promise, taxonomy, grid, grid.sum(axis=0))),
        promise.verdict(shuffled),
    )
    _say(first.measured == second.measured, "what verdict measures depends on the order of the classes")
    some = order[: rng.integers(0, len(grid) + 1)]
    part = _classes(promise, taxonomy, grid[some], grid.sum(axis=0))
    _say(
        np.array_equal(_judge(promise, part), truth[some]),
        "a class is judged by more than itself and `overall`",
    )


def _check_monotone(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    if not promise.monotone:
        return
    good = np.flatnonzero(truth)
    if len(good) < 2:
        return
    left, right = rng.choice(good, 8), rng.choice(good, 8)
    apart = left != right
    unions = grid[left[apart]] + grid[right[apart]]
    kept = _judge(promise, _classes(promise, taxonomy, unions, grid.sum(axis=0)))
    _say(bool(kept.all()), "it claims to be monotone, but two classes keep it and their union does not")


def _check_hereditary(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    if not promise.hereditary:
        return
    bad = grid[~truth]
    parts = rng.binomial(bad, rng.random((len(bad), 1)))
    parts = np.where(rng.random(parts.shape) < 0.2, 0, parts)
    parts = parts[parts.sum(axis=1) > 0]
    kept = _judge(promise, _classes(promise, taxonomy, parts, grid.sum(axis=0)))
    _say(
        not kept.any(), "it claims to be hereditary, but a class breaks it and a part of that class keeps it"
    )


def _check_small(promise: ClassPromise) -> None:
    taxonomy = Taxonomy.flat(["a", "b"], ordered=True)
    for grid in (np.zeros((0, 2), np.int64), np.array([[3, 2]]), np.array([[1, 0]])):
        classes = _classes(promise, taxonomy, grid, grid.sum(axis=0))
        _check_verdict(promise, classes, _judge(promise, classes))
    empty = promise.verdict(_classes(promise, taxonomy, np.zeros((0, 2), np.int64), np.zeros(2, np.int64)))
    _say(empty.holds is not False, "a table without classes breaks no promise")


def _judge(promise: ClassPromise, classes: Classes) -> Truth:
    before = _bytes(classes)
    truth = promise.holds_on(classes)
    _say(_bytes(classes) == before, "holds_on changes the classes it is given")
    right = isinstance(truth, np.ndarray) and truth.dtype == np.bool_ and truth.shape == (len(classes),)
    _say(right, "holds_on returns one bool per class, as a numpy array")
    return truth


def _tables(rng: np.random.Generator, count: int) -> Iterator[tuple[Taxonomy, Grid]]:
    """Small tables of many shapes: few and many values, even and skewed, small and large classes."""
    for _ in range(count):
        leaves = int(rng.integers(1, 9))
        taxonomy = _tree(leaves, rng)
        rows = int(rng.integers(1, 9))
        scale = int(rng.choice([1, 2, 3, 10, 1000]))
        skew = rng.dirichlet(np.full(leaves, rng.choice([0.2, 1.0, 20.0])))
        grid = rng.poisson(scale * leaves * skew, size=(rows, leaves))
        if rng.random() < 0.3:
            grid[0] = rng.multinomial(scale * leaves, skew)
            grid[:] = grid[0]
        grid[grid.sum(axis=1) == 0, rng.integers(0, leaves)] = 1
        yield taxonomy, grid.astype(np.int64)


def _tree(leaves: int, rng: np.random.Generator) -> Taxonomy:
    labels = [f"v{i}" for i in range(leaves)]
    split = int(rng.integers(0, leaves + 1))
    if split in (0, leaves):
        return Taxonomy.flat(labels, ordered=True)
    parent = [-1, 0, 0, *(1 if i < split else 2 for i in range(leaves))]
    return Taxonomy.grow(["*", "low", "high", *labels], parent, ordered=True)


def _classes(promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, overall: Grid) -> Classes:
    owner, values = np.nonzero(grid)
    start = np.searchsorted(owner, np.arange(len(grid) + 1)).astype(np.int64)
    h = Histogram(taxonomy, start, values.astype(np.int32), grid[owner, values], overall)
    people = grid.sum(axis=1)
    return Classes(people, people.copy(), dict.fromkeys(promise.sensitive, h))


def _bytes(classes: Classes) -> bytes:
    parts: list[NDArray[np.generic]] = [classes.people, classes.rows]
    for h in classes.histograms.values():
        parts += [h.start, h.values, h.counts, h.overall]
    return b"".join(part.tobytes() for part in parts)


def _say(truth: bool, sentence: str) -> None:
    if not truth:
        raise AssertionError(sentence)
