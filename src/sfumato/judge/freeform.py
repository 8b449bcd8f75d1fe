"""The second judge of freeform: keys spelled out and counted, written from the definition alone.

For every column that hides something, each class is copied once for every combination of values that an
adversary may observe in the other columns, equal combinations are added up, and so are the classes among
them that hold a hidden value. In a column it is enough to observe what is published, and what lies right
above something hidden: any other value is a mixture of values that can be observed as well, and a mixture
is never surer than its surest part. Where the copies are too many they are made in portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.verdict import Verdict
from sfumato.judge.reader import ReadTable, Tally
from sfumato.judge.registry import second_judge

Ints = NDArray[np.int64]

AT_ONCE = 4_000_000
"""Copies made at a time."""


@dataclass(frozen=True, eq=False)
class Field:
    """One key column: its tree, the node of every class, and what is hidden and how sensitive."""

    tree: Taxonomy
    node: Ints
    hidden: list[bool]
    harm: list[Fraction]

    def path(self, node: int) -> list[int]:
        """The node and everything above it."""
        steps = [node]
        while self.tree.parent[steps[-1]] >= 0:
            steps.append(int(self.tree.parent[steps[-1]]))
        return steps

    def seen(self) -> dict[int, list[int]]:
        """For every published node the nodes above or at it that are worth observing."""
        published = {int(v) for v in np.unique(self.node)}
        covered = {a for v in published for a in self.path(v)}
        ahead = {int(self.tree.parent[a]) for a in covered if self.hidden[a]}
        return {
            v: [a for a in self.path(v) if not self.hidden[a] and (a in published or a in ahead)]
            for v in published
        }

    def sought(self) -> dict[int, list[int]]:
        """For every published node the hidden nodes above or at it."""
        return {int(v): [a for a in self.path(int(v)) if self.hidden[a]] for v in np.unique(self.node)}


@second_judge("freeform")
def freeform(tally: Tally, promise: Any) -> Verdict:
    """No hidden value inferred with a threat above the one allowed."""
    fields = [_field(shown, promise.columns.get(name), promise) for name, shown in tally.shown.items()]
    limit, most = Fraction(promise.threat), Fraction(0)
    broken: set[tuple[int, int]] = set()
    for j, aim in enumerate(fields):
        if not any(aim.hidden):
            continue
        sought = aim.sought()
        others = [field for i, field in enumerate(fields) if i != j]
        choices = [field.seen() for field in others]
        for rows, key in _copies(np.arange(len(tally.rows)), others, choices):
            for a, confidence in _surest(rows, key, aim, sought, tally.rows).items():
                threat = confidence * aim.harm[a]
                most = max(most, threat)
                if threat > limit:
                    broken.add((j, a))
    return Verdict(
        promise=str(promise),
        holds=not broken,
        measured=most,
        limit=limit,
        classes=len(broken),
        evidence=promise.evidence,
        reason="" if len(tally.rows) else "nothing is published",
    )


def _copies(
    rows: Ints, others: list[Field], choices: list[dict[int, list[int]]]
) -> Iterator[tuple[Ints, Ints]]:
    """Portions of (row, key): every row once for each combination; one combination is in one portion."""
    amount = np.ones(len(rows))
    for field, choice in zip(others, choices, strict=True):
        amount *= _lookup(choice, {v: len(c) for v, c in choice.items()})[field.node[rows]]
    if amount.sum() > AT_ONCE and others and len(rows) > 1:
        (field, *rest), (choice, *after) = others, choices
        for a in sorted({a for c in choice.values() for a in c}):
            inside = (field.node[rows] >= a) & (field.node[rows] < field.tree.end[a])
            if inside.any():
                yield from _copies(rows[inside], rest, after)
        return
    key = np.zeros(len(rows), dtype=np.int64)
    for field, choice in zip(others, choices, strict=True):
        rows, key = _spelled_out(rows, key, field, choice)
    yield rows, key


def _spelled_out(rows: Ints, key: Ints, field: Field, choice: dict[int, list[int]]) -> tuple[Ints, Ints]:
    """Every row once for each node of one more column; keys numbered anew."""
    many = _lookup(choice, {v: len(c) for v, c in choice.items()})[field.node[rows]]
    first = np.repeat(np.cumsum(many) - many, many)
    turn = np.arange(len(first)) - first
    width = max((len(c) for c in choice.values()), default=0)
    table = np.zeros((len(field.tree.labels), max(1, width)), dtype=np.int64)
    for v, nodes in choice.items():
        table[v, : len(nodes)] = nodes
    rows = np.repeat(rows, many)
    pair = np.repeat(key, many) * len(field.tree.labels) + table[field.node[rows], turn]
    return rows, np.unique(pair, return_inverse=True)[1].ravel()


def _surest(
    rows: Ints, key: Ints, aim: Field, sought: dict[int, list[int]], weight: Ints
) -> dict[int, Fraction]:
    """For every hidden node the largest share that it has of some key's classes."""
    keys = int(key.max(initial=-1)) + 1
    total = np.zeros(keys, dtype=np.int64)
    np.add.at(total, key, weight[rows])
    found = {}
    for a in sorted({a for nodes in sought.values() for a in nodes}):
        inside = (aim.node[rows] >= a) & (aim.node[rows] < aim.tree.end[a])
        held = np.zeros(keys, dtype=np.int64)
        np.add.at(held, key[inside], weight[rows[inside]])
        some = held > 0
        if some.any():
            share = held[some] / total[some]
            near = np.flatnonzero(share >= share.max() * (1 - 1e-9))
            pairs = set(zip(held[some][near].tolist(), total[some][near].tolist(), strict=True))
            found[a] = max(Fraction(h, t) for h, t in pairs)
    return found


def _lookup(choice: dict[int, list[int]], numbers: Mapping[int, int]) -> Ints:
    table = np.zeros(max(choice, default=0) + 1, dtype=np.int64)
    for v, number in numbers.items():
        table[v] = number
    return table


def _field(shown: ReadTable, free: Any, promise: Any) -> Field:
    """A column with its tree; texts are put where the tree has them."""
    if free is not None and not free.sensitive and not hasattr(free.observability, "boost"):
        free = free if _own_model(free.observability) else None
    rule = None if free is None else free.rule
    told = [] if free is None else [*free.sensitive, *_believed(free)]
    if rule is None or (type(rule).__name__ == "Flat" and rule.domain is None):
        values = {text for text in (*shown.texts, *told) if text != ANY}
        tree = Taxonomy.flat(sorted(values, key=lambda text: (text is None, text or "")))
    else:
        tree = rule.build([None] if None in shown.texts else [])
    node = np.array(_places(tree, shown.texts), dtype=np.int64)[shown.code]
    nodes = range(len(tree.labels))
    if free is None:
        return Field(tree, node, [False for _ in nodes], [Fraction(0) for _ in nodes])
    guarded = {leaf for label in free.sensitive for leaf in _leaves(tree, tree.node(label))}
    below = [_leaves(tree, v) for v in nodes]
    seen = _observability(free, tree, below, guarded)
    hidden = [v > 0 and seen[v] < Fraction(promise.observability) for v in nodes]
    return Field(tree, node, hidden, _harm(free, tree, below, guarded))


def _places(tree: Taxonomy, texts: tuple[Label, ...]) -> list[int]:
    """Leaves if every text is one, else the topmost node of that name."""
    leaf = {tree.labels[v]: v for v in tree.leaves.tolist()}
    leaf |= {name: int(tree.leaves[rank]) for name, rank in tree.aliases.items() if name not in leaf}
    top: dict[Label, int] = {}
    for v, label in enumerate(tree.labels):
        top.setdefault(label, v)
    if all(text in leaf for text in texts):
        return [leaf[text] for text in texts]
    named = {**leaf, **top, ANY: 0}
    apart = {x for v, x in enumerate(tree.labels) if x != ANY and not top[x] <= v < int(tree.end[top[x]])}
    lacking = sum(text not in named or text in apart for text in texts)
    if lacking:
        raise BadData(f"{lacking} published texts are no values of their taxonomy")
    return [named[text] for text in texts]


def _leaves(tree: Taxonomy, node: int) -> list[int]:
    found: list[int] = tree.leaves[int(tree.low[node]) : int(tree.high[node])].tolist()
    return found


def _believed(free: Any) -> list[Label]:
    leaf = getattr(free.observability, "leaf", None)
    return list(leaf) if isinstance(leaf, Mapping) else []


def _observability(free: Any, tree: Taxonomy, below: list[list[int]], guarded: set[int]) -> list[Fraction]:
    """Beliefs climb the tree; without beliefs a node is hidden if all its leaves are guarded."""
    model = free.observability
    if not _own_model(model):
        return [Fraction(int(not set(leaves) <= guarded)) for leaves in below]
    if not hasattr(model, "boost"):
        return [Fraction(x) for x in model(tree, _flags(tree, guarded))]
    believed: dict[int, Fraction] = dict.fromkeys(tree.leaves.tolist(), Fraction(1))
    said = model.leaf if isinstance(model.leaf, Mapping) else {tree.labels[0]: model.leaf}
    for node, belief in sorted((tree.node(label), belief) for label, belief in said.items()):
        believed |= dict.fromkeys(below[node], Fraction(belief))
    found = [believed.get(v, Fraction(-1)) for v in range(len(below))]
    for v in reversed(range(1, len(below))):
        above = int(tree.parent[v])
        found[above] = max(found[above], min(Fraction(1), found[v] + model.boost))
    return found


def _harm(free: Any, tree: Taxonomy, below: list[list[int]], guarded: set[int]) -> list[Fraction]:
    """The share of guarded leaves below a node, once more over the leaves where one of them is sought."""
    power = {"aggregate": 1, "particular": 2}.get(getattr(free.sensitivity, "__name__", ""))
    if power is None:
        return [Fraction(x) for x in free.sensitivity(tree, _flags(tree, guarded))]
    return [Fraction(len(set(leaves) & guarded), len(leaves) ** power) for leaves in below]


def _own_model(model: Any) -> bool:
    return getattr(model, "__name__", "") != "unless_sensitive"


def _flags(tree: Taxonomy, guarded: set[int]) -> NDArray[np.bool_]:
    return np.array([v in guarded for v in tree.leaves.tolist()], dtype=bool)
