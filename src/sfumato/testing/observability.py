"""Conformance suites for sensitivities and observabilities: run them on yours before others rely on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from sfumato.core.errors import BadPolicy
from sfumato.core.freeform.observability import Observability, check_observability
from sfumato.core.freeform.sensitivity import Leaves, Sensitivity, check_sensitivity
from sfumato.core.taxonomy import Taxonomy


def check_sensitivity_model(model: Sensitivity, *, trees: int = 200, seed: int = 0) -> None:
    """Checks the Sensitivity principle on random trees; raises `AssertionError` that names a node.

    >>> from sfumato.core.freeform.sensitivity import aggregate
    >>> check_sensitivity_model(aggregate, trees=20)
    """

    def check(tree: Taxonomy, sensitive: Leaves, values: Sequence[Fraction]) -> None:
        check_sensitivity(tree, sensitive, values, column="x")

    _check_model(model, check, trees, seed)


def check_observability_model(model: Observability, *, trees: int = 200, seed: int = 0) -> None:
    """Checks the Observability principle on random trees; raises `AssertionError` that names a node.

    >>> from sfumato.core.freeform.observability import unless_sensitive
    >>> check_observability_model(unless_sensitive, trees=20)
    """

    def check(tree: Taxonomy, sensitive: Leaves, values: Sequence[Fraction]) -> None:
        del sensitive
        check_observability(tree, values, column="x")

    _check_model(model, check, trees, seed)


def _check_model(
    model: Sensitivity | Observability,
    check: Callable[[Taxonomy, Leaves, Sequence[Fraction]], None],
    trees: int,
    seed: int,
) -> None:
    for tree, sensitive in _trees(np.random.default_rng(seed), trees):
        values = [Fraction(value) for value in model(tree, sensitive.copy())]
        try:
            check(tree, sensitive, values)
        except BadPolicy as wrong:
            raise AssertionError(f"{wrong.message}: {wrong.remedy}") from None
        if values != [Fraction(value) for value in model(tree, sensitive.copy())]:
            raise AssertionError("asked again, it answers differently")


def _trees(rng: np.random.Generator, count: int) -> Iterator[tuple[Taxonomy, Leaves]]:
    """Yields random trees, some of whose leaves are sensitive: none, all, and in between."""
    for turn in range(count):
        size = int(rng.integers(2, 12))
        parent = [-1, *(int(rng.integers(0, v)) for v in range(1, size))]
        tree = Taxonomy.grow(["*", *(f"v{i}" for i in range(1, size))], parent)
        share = (0.0, 1.0, 0.4)[turn % 3]
        yield tree, rng.random(len(tree.leaves)) < share
