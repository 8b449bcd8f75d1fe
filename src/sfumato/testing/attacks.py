"""The conformance suite for attacks: what every attack must keep to, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato.models.attack_contract import Attack, PublishedTable
from sfumato.models.freeform.inference import (
    Leaves,
    Observability,
    Sensitivity,
    check_observability,
    check_sensitivity,
)
from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import AttackLimits, Finding
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Label, Taxonomy
from sfumato.testing.promises import require

CANARY = "canary-"
"""Begins every cell of the suite's tables; no sentence may hold it."""

NOTHING_PROMISED = AttackLimits()

Rows = list[tuple[Label, ...]]


def published(
    rows: Rows, keys: tuple[str, ...], sensitive: tuple[str, ...], *, person: list[int] | None = None
) -> PublishedTable:
    """Returns a small published table, given row by row: key cells first, then sensitive cells.

    >>> published([("a", "flu"), ("a", "cold")], ("zip",), ("disease",)).classes.people.tolist()
    [2]
    """
    names = keys + sensitive
    columns, codes = [], []
    for j, name in enumerate(names):
        cells = [row[j] for row in rows]
        taxonomy = Taxonomy.flat_in_order(list(dict.fromkeys(cells)))
        rank = {label: r for r, label in enumerate(taxonomy.leaf_labels)}
        columns.append(Column(name, Role.QUASI if name in keys else Role.SENSITIVE, taxonomy))
        codes.append(np.array([rank[cell] for cell in cells], dtype=np.int32))
    people = None if person is None else np.array(person, dtype=np.int32)
    return PublishedTable(Microdata.of_codes(columns, codes, person=people), names)


def check_attack(attack: Attack, *, limits: AttackLimits = NOTHING_PROMISED, seed: int = 0) -> None:
    """Raises `AssertionError` where an attack breaks the rules of the seam.

    `limits` is what promises say of it, `Promises.limits`; without them it goes by its defaults.

    It names its adversary; it judges only what is published, so the order of rows is no evidence; its
    numbers are possible; it says nothing of a cell in words; it copes with an empty table, one row, empty
    cells, no key column, no sensitive column.

    >>> from sfumato.models.l_diversity.attack import Homogeneity
    >>> check_attack(Homogeneity())
    """
    _names_its_adversary(attack)
    for rows, keys, sensitive in _tables(np.random.default_rng(seed)):
        publication = published(rows, keys, sensitive)
        findings = attack.strike(publication, limits)
        for finding in findings:
            _is_possible(attack, finding, publication)
            _keeps_cells_to_itself(finding)
        backwards = attack.strike(published(rows[::-1], keys, sensitive), limits)
        require(findings == backwards, f"{attack.name}: the order of the rows changes the findings")
        again = attack.strike(replace(publication), limits)
        require(findings == again, f"{attack.name}: the same table gives other findings")


def _names_its_adversary(attack: Attack) -> None:
    require(bool(attack.name), "an attack has a name")
    words = {"knows": attack.knows, "seeks": attack.seeks, "succeeds": attack.succeeds}
    for part, sentence in words.items():
        require(bool(sentence.strip()), f"{attack.name}: says nothing about what it {part}")
    require(bool(attack.threatens), f"{attack.name}: threatens no promise")


def _is_possible(attack: Attack, finding: Finding, publication: PublishedTable) -> None:
    require(finding.attack == attack.name, f"{attack.name}: a finding bears another name")
    require(bool(finding.adversary and finding.sentence), f"{attack.name}: a finding without words")
    require(isinstance(finding.confidence, Fraction), f"{attack.name}: confidence is not exact")
    require(0 <= finding.confidence <= 1, f"{attack.name}: confidence outside 0..1")
    require(0 <= finding.people <= publication.table.people, f"{attack.name}: more people than there are")
    require(
        set(finding.columns) <= set(publication.columns),
        f"{attack.name}: names a column that is not published",
    )
    require(
        set(finding.values) <= set(publication.columns),
        f"{attack.name}: shows a column that is not published",
    )
    if not publication.rows:
        require(not finding.breach and finding.people == 0, f"{attack.name}: finds people in an empty table")


def _keeps_cells_to_itself(finding: Finding) -> None:
    words = [
        finding.adversary,
        finding.sentence,
        *map(str, finding.details),
        *map(str, finding.details.values()),
        repr(finding),
    ]
    require(not any(CANARY in word for word in words), f"{finding.attack}: a cell value in words")


def _tables(rng: np.random.Generator) -> list[tuple[Rows, tuple[str, ...], tuple[str, ...]]]:
    """Returns corner cases, and some random tables with empty cells."""
    single: Rows = [(f"{CANARY}a", f"{CANARY}s")]
    tables: list[tuple[Rows, tuple[str, ...], tuple[str, ...]]] = [
        ([], ("q",), ("s",)),
        (single, ("q",), ("s",)),
        (single, ("q", "s"), ()),
        (single * 3, (), ("q", "s")),
        ([(None, None)] * 4, ("q",), ("s",)),
    ]
    for _ in range(20):
        size = int(rng.integers(1, 30))
        picks = rng.integers(0, 4, size=(size, 4))
        rows: Rows = [
            tuple(f"{CANARY}{j}{v}" if v else None for j, v in enumerate(r)) for r in picks.tolist()
        ]
        tables.append((rows, ("q0", "q1"), ("s0", "s1")))
    return tables


# Conformance suites for sensitivities and observabilities: run them on yours before others rely on it.


def check_sensitivity_model(model: Sensitivity, *, trees: int = 200, seed: int = 0) -> None:
    """Checks the Sensitivity principle on random trees; raises `AssertionError` that names a node.

    >>> from sfumato.models.freeform.inference import aggregate
    >>> check_sensitivity_model(aggregate, trees=20)
    """

    def check(tree: Taxonomy, sensitive: Leaves, values: Sequence[Fraction]) -> None:
        check_sensitivity(tree, sensitive, values, column="x")

    _check_model(model, check, trees, seed)


def check_observability_model(model: Observability, *, trees: int = 200, seed: int = 0) -> None:
    """Checks the Observability principle on random trees; raises `AssertionError` that names a node.

    >>> from sfumato.models.freeform.inference import unless_sensitive
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
