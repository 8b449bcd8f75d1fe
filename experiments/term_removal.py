"""What `margin` and `scope` buy against whoever knows how terms are removed: all worlds of small classes.

Knowledge is drawn: three to five labels with one to three of four terms each, kept if all consistent rows
together keep the promise. Every class of two rows is a world; each method publishes it, and for every
published class the belief over the worlds that give it is held against the promise (l = 2, c = 1). Told are,
in the mean over worlds: how often the promise is broken for this adversary, the largest belief, the one
that the published class gives by itself, and the cost T.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from sfumato.models.quasi_sensitive.attack import worlds_by_class
from sfumato.models.quasi_sensitive.knowledge import BeliefLimit, Knowledge
from sfumato.policy.policy import Policy
from sfumato.search.class_term_removal import RemovalCosts
from sfumato.workflows.attack import known_removal

TERMS = "abcd"
METHODS: dict[str, tuple[dict[str, object], Fraction]] = {
    "nothing": ({}, Fraction(1)),
    "margin 1/10": ({"margin": "1/10"}, Fraction(1)),
    "margin 1/4": ({"margin": "1/4"}, Fraction(1)),
    "margin 1/2": ({"margin": "1/2"}, Fraction(1)),
    "scope class": ({"scope": "class"}, Fraction(1)),
    "c = 3/4 instead": ({}, Fraction(3, 4)),
    "c = 1/2 instead": ({}, Fraction(1, 2)),
    "c = 1/2, scope class": ({"scope": "class"}, Fraction(1, 2)),
}
"""How terms are removed, and under which c: a defence may simply promise more than it is held to."""

Figures = tuple[float, float, float, float]


def policy(known: Mapping[str, tuple[str, ...]], terms: dict[str, object], c: Fraction) -> Policy:
    promise = {"of": "s", "knowledge": {a: list(t) for a, t in known.items()}, "l": 2, "c": str(c)}
    columns = {"q": {"role": "quasi"}, "s": {"role": "quasi-sensitive"}}
    return Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"quasi-sensitive": promise}],
            "protect": {"search": "top-down", "suppress": 0, "terms": terms},
        }
    )


def drawn(seed: int) -> dict[str, tuple[str, ...]]:
    rng = random.Random(seed)  # drawn again by its seed
    labels = "VWXYZ"[: rng.randint(3, 5)]
    return {label: tuple(sorted(rng.sample(TERMS, rng.randint(1, 3)))) for label in labels}


def possible(known: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """All rows that link to a label: one to three terms."""
    sets = [s for n in (1, 2, 3) for s in combinations(TERMS, n)]
    return [s for s in sets if any(set(s) <= set(held) for held in known.values())]


def limit_of(known: Mapping[str, tuple[str, ...]]) -> BeliefLimit:
    return policy(known, {}, Fraction(1)).promises.limits.of_kind(BeliefLimit)[0]


def is_fair(known: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether nothing is broken to begin with: all rows together keep the promise."""
    table = Knowledge.of(known.items())
    rows = possible(known)
    whole = worlds_by_class(table, rows, 1, lambda _: {((),): Fraction(1)})[((),)]
    return limit_of(known).keeps_beliefs(whole.belief(table.labels), [Fraction(0)] * len(known))


def measure(known: Mapping[str, tuple[str, ...]], terms: dict[str, object], c: Fraction) -> Figures:
    """How often the promise (c = 1) is broken, belief with and without knowing the method, and T."""
    table, limit = Knowledge.of(known.items()), limit_of(known)
    rows, labels, costs = possible(known), table.labels, RemovalCosts("inverse", 4)
    outcomes = known_removal(policy(known, terms, c), steps=10**6).outcomes
    spent = Fraction(0)

    def with_cost(world: tuple[tuple[str, ...], ...]) -> Mapping[tuple[tuple[str, ...], ...], Fraction]:
        nonlocal spent
        found = outcomes(world)
        orders = len({world, world[::-1]})
        whole = sum(costs.whole(row) for row in world)
        for out, chance in found.items():
            paid = sum(costs.paid(row, kept) for row, kept in zip(world, out, strict=True))
            spent += orders * chance * Fraction(paid, whole)
        return found

    total = broken = after = before = Fraction(0)
    nothing = [Fraction(0)] * len(labels)
    for published, fiber in worlds_by_class(table, rows, 2, with_cost).items():
        believed = fiber.belief(labels)
        shown = worlds_by_class(table, list(published), 1, lambda _: {((),): Fraction(1)})[((),)].belief(
            labels
        )
        total += fiber.weight
        broken += fiber.weight * (not limit.keeps_beliefs(believed, nothing))
        after += fiber.weight * max(believed)
        before += fiber.weight * max(shown)
    return (float(broken / total), float(after / total), float(before / total), float(spent / total))


def measured(tables: int) -> dict[str, Figures]:
    """The mean figures of every method over so many drawn tables of knowledge."""
    fair = (known for seed in range(100 * tables) if is_fair(known := drawn(seed)))
    some = [known for known, _ in zip(fair, range(tables), strict=False)]
    found = {}
    for name, (terms, c) in METHODS.items():
        each = [measure(known, terms, c) for known in some]
        found[name] = tuple(sum(column) / len(each) for column in zip(*each, strict=True))
    return found  # type: ignore[return-value]  # four figures each


def main(data: Path, out: Path, *, tables: int = 40) -> None:
    """Print and keep the table; `data` is not read."""
    del data
    lines = ["defence,promise broken,largest belief,as published,T"]
    for name, figures in measured(tables).items():
        lines.append(",".join([f'"{name}"', *(f"{figure:.3f}" for figure in figures)]))
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    (out / "term_removal.csv").write_text(text, encoding="utf-8")
    print(text)
