"""The second judge of freeform: keys spelled out and counted, written from the definition alone.

For every column that hides something, each class is copied once for every combination of values that an
adversary may observe in the other columns, equal combinations are added up, and so are the classes among
them that hold a hidden value. In a column it is enough to observe what is published, and what lies right
above something hidden: any other value is a mixture of values that can be observed as well, and a mixture
is never surer than its surest part. Where the copies are too many they are made in portions.

A table that shows a value and one above it is no single recoding. Whoever takes every value to be published
in one way reads the upper one as the rest: what it stands for without what is shown below it. That rest is
observed and inferred like a value, so such a table may be broken; it never holds, since nobody knows that
values are published in one way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.system.verdict import Verdict
from sfumato.verify.policy_data import JudgedColumn, PromiseData
from sfumato.verify.registry import second_judge
from sfumato.verify.tally import ClassTexts, Tally
from sfumato.verify.trees import ANY, Text, TreeNodes, ValueTree, value_tree

# Free columns, value by value: what can be observed of a person, and how harmful it is to infer the rest.

Ints = NDArray[np.int64]

NESTED = "a column shows a value and one above it, so what stands behind the upper one is not known"

OWN_MODEL = "a model of one's own speaks of values that the policy does not list"

FreeColumnData = Mapping[str, Any]
"""What a policy says of a free column; each promise's data have their own shape."""

ALL_OBSERVABLE: FreeColumnData = {"sensitive": (), "observable": None, "aggregate": True}
"""What is so of a key column that is not free."""

OPEN = frozenset(("intervals", "date", "prefix", "mask"))
"""Taxonomies that have a place for values that nobody listed."""


@dataclass(frozen=True, eq=False)
class FreeField:
    """One key column: its tree, the node of every class, which nodes are hidden, and the harm of each.

    `rest` holds, for published nodes with others below them, whether what these leave over is hidden, and its
    harm. The number of a rest is that of its node and the number of nodes. `nested`: there are such nodes.
    """

    tree: TreeNodes
    node: Ints
    hidden: list[bool]
    harm: list[Fraction]
    rest: Mapping[int, tuple[bool, Fraction]] = field(default_factory=dict)
    nested: bool = False

    def inside(self, node: int, rows: Ints) -> NDArray[np.bool_]:
        """Returns which of the rows show a node or one below it; of a rest, which show its node."""
        own, nodes = self.node[rows], len(self.tree.labels)
        if node >= nodes:
            return np.asarray(own == node - nodes, dtype=bool)
        return np.asarray((own >= node) & (own < self.tree.end[node]), dtype=bool)

    def path(self, node: int) -> list[int]:
        """Returns the node and everything above it."""
        steps = [node]
        while self.tree.parent[steps[-1]] >= 0:
            steps.append(int(self.tree.parent[steps[-1]]))
        return steps

    def seen(self) -> dict[int, list[int]]:
        """Returns, for every published node, the nodes above or at it that are worth observing."""
        published = {int(v) for v in np.unique(self.node)}
        covered = {a for v in published for a in self.path(v)}
        ahead = {int(self.tree.parent[a]) for a in covered if self.hidden[a]}
        return {
            v: [a for a in self.path(v) if not self.hidden[a] and (a in published or a in ahead)]
            + [v + len(self.hidden)] * (v in self.rest and not self.rest[v][0])
            for v in published
        }

    def sought(self) -> dict[int, list[int]]:
        """Returns, for every published node, the hidden nodes above or at it that do harm."""
        return {
            v: [a for a in self.path(v) if self.hidden[a] and self.harm[a]]
            + [v + len(self.hidden)] * (v in self.rest and self.rest[v][0] and self.rest[v][1] > 0)
            for v in np.unique(self.node).tolist()
        }

    def harm_of(self, node: int) -> Fraction:
        """Returns the harm of a node, or of a rest."""
        return self.harm[node] if node < len(self.harm) else self.rest[node - len(self.harm)][1]


def field_of(
    name: str, published: ClassTexts, column: JudgedColumn | None, promise: PromiseData
) -> FreeField:
    """Returns a key column with what is declared of it; raises `BadData` where a text has no place.

    What is observable altogether needs no tree: only the texts themselves matter.
    """
    free: FreeColumnData = promise.free_columns.get(name) or ALL_OBSERVABLE
    spec = None if column is None else column.taxonomy
    nested = column is not None and column.shows_above_another(published.texts)
    harmless = not free["sensitive"] and free["observable"] is None and free["aggregate"] is True
    open_ended = spec is None or spec.get("flat") is True or not OPEN.isdisjoint(spec)
    if harmless and (open_ended or not nested):
        tree, places = _flat(published.texts, ())
        zeros = [Fraction(0)] * len(tree.labels)
        rest = {0: (False, Fraction(0))} if nested and ANY in published.texts else {}
        return FreeField(tree, places[published.code], [False] * len(zeros), zeros, rest, nested)
    if spec is None or spec.get("flat") is True:
        tree, places = _flat(published.texts, [*free["sensitive"], *_believed(free)])
    else:
        grown = column.tree([None] if None in published.texts else [])  # type: ignore[union-attr]  # it has a spec
        tree = grown.nodes
        places = np.array(_places(name, grown, published.texts), dtype=np.int64)
    guarded = np.zeros(int(tree.high[0]), dtype=bool)
    for text in free["sensitive"]:
        top = tree.named(text)
        guarded[tree.low[top] : tree.high[top]] = True
    observability = _observability(free, tree, guarded)
    hidden = [v > 0 and observability[v] < Fraction(promise.observability) for v in range(len(tree.labels))]
    harm = _harm(free, tree, guarded)
    rest, nested = _rests(tree, np.unique(places), hidden, harm, alone=free["aggregate"] is False)
    if nested and (spec is None or spec.get("flat") is True):
        rest = {0: (False, Fraction(0))}  # there may be any other value
    return FreeField(tree, places[published.code], hidden, harm, rest, nested)


def _rests(
    tree: TreeNodes, published: Ints, hidden: list[bool], harm: list[Fraction], *, alone: bool
) -> tuple[dict[int, tuple[bool, Fraction]], bool]:
    """Returns what published nodes leave over besides those below them, and whether there are any below.

    Harm is the share of the values left over that are harmful; `alone`, over their number again.
    """
    rests, nested = dict[int, tuple[bool, Fraction]](), False
    leaf_at = {int(tree.low[v]): v for v in range(len(tree.labels)) if tree.end[v] == v + 1}
    size = tree.high - tree.low
    for v in published.tolist():
        below = published[(published > v) & (published < tree.end[v])]
        below = below[size[below] < size[v]]
        if not len(below):
            continue
        nested = True
        shown = {place for w in below.tolist() for place in range(int(tree.low[w]), int(tree.high[w]))}
        left = [leaf_at[place] for place in range(int(tree.low[v]), int(tree.high[v])) if place not in shown]
        if left:
            share = sum((harm[leaf] for leaf in left), Fraction(0)) / len(left) ** (2 if alone else 1)
            rests[v] = (all(hidden[leaf] for leaf in left), share)
    return rests, nested


def _flat(texts: Sequence[Text], spoken: Sequence[Text]) -> tuple[TreeNodes, Ints]:
    """Returns the tree of a column without groups, and the node of every text: the value itself or `*`."""
    values = {text for text in (*texts, *spoken) if text != ANY}
    named = sorted(text for text in values if text is not None)
    spec = {"flat": named} if named else {"flat": True}
    tree = value_tree(spec, [None] if None in values else []).nodes
    number = {label: v for v, label in reversed(list(enumerate(tree.labels)))}
    return tree, np.array([number[text] for text in texts], dtype=np.int64)


def _places(name: str, grown: ValueTree, texts: Sequence[Text]) -> list[int]:
    """Returns leaves if every text is a raw value, else the topmost node of that name."""
    tree = grown.nodes
    leaf_at = {int(tree.low[v]): v for v in range(len(tree.labels)) if tree.end[v] == v + 1}
    raw = {text: grown.place(text) for text in texts}
    if None not in raw.values():
        return [leaf_at[place] for text in texts if (place := raw[text]) is not None]
    top: dict[Text, int] = {}
    for v, label in enumerate(tree.labels):
        top.setdefault(label, v)
    apart = {x for v, x in enumerate(tree.labels) if x != ANY and not top[x] <= v < int(tree.end[top[x]])}
    named = {**{text: leaf_at[p] for text, p in raw.items() if p is not None}, **top, ANY: 0}
    if any(text not in named or text in apart for text in texts):
        raise BadData(f"texts of {name} are no values of its taxonomy")
    return [named[text] for text in texts]


def _believed(free: FreeColumnData) -> list[Text]:
    """Returns the labels that beliefs speak of."""
    observable = free["observable"]
    leaf = observable.get("leaf") if isinstance(observable, Mapping) else None
    return list(leaf) if isinstance(leaf, Mapping) else []


def _observability(free: FreeColumnData, tree: TreeNodes, guarded: NDArray[np.bool_]) -> list[Fraction]:
    """Returns how well every node can be observed.

    Beliefs climb the tree. Without beliefs a node is hidden if all its leaves are guarded.
    """
    observable = free["observable"]
    if observable is None:
        return [Fraction(int(n < leaves)) for n, leaves in _guarded_below(tree, guarded)]
    if "leaf" not in observable:
        return _own_numbers(observable, tree)
    believed = [Fraction(1)] * len(guarded)
    leaf = observable["leaf"]
    stated = leaf if isinstance(leaf, Mapping) else {tree.labels[0]: leaf}
    for node, belief in sorted((tree.named(label), belief) for label, belief in stated.items()):
        for place in range(int(tree.low[node]), int(tree.high[node])):
            believed[place] = Fraction(belief)
    numbers = [Fraction(-1)] * len(tree.labels)
    for v in reversed(range(len(tree.labels))):
        if tree.end[v] == v + 1:
            numbers[v] = believed[int(tree.low[v])]
        above = int(tree.parent[v])
        if above >= 0:
            numbers[above] = max(numbers[above], min(Fraction(1), numbers[v] + observable["boost"]))
    return numbers


def _harm(free: FreeColumnData, tree: TreeNodes, guarded: NDArray[np.bool_]) -> list[Fraction]:
    """Returns the share of guarded leaves below a node, over its leaves again where one is sought."""
    shape = free["aggregate"]
    if not isinstance(shape, bool):
        return _own_numbers(shape, tree)
    power = 1 if shape else 2
    return [Fraction(n, leaves**power) for n, leaves in _guarded_below(tree, guarded)]


def _guarded_below(tree: TreeNodes, guarded: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Returns, for every node, how many of its leaves are guarded, and how many there are."""
    before = np.concatenate(([0], np.cumsum(guarded)))
    count = before[tree.high] - before[tree.low]
    return list(zip(count.tolist(), (tree.high - tree.low).tolist(), strict=True))


def _own_numbers(tables: Mapping[str, Any], tree: TreeNodes) -> list[Fraction]:
    """Returns the number of every node from a table of paths to the root; there is one with an empty cell."""
    number_of_path = dict(tables["with_missing" if None in tree.labels else "without_missing"])
    numbers = []
    for v in range(len(tree.labels)):
        path, at = [], v
        while at >= 0:
            path.append(tree.labels[at])
            at = int(tree.parent[at])
        if tuple(path) not in number_of_path:
            raise BadData(OWN_MODEL)
        numbers.append(Fraction(number_of_path[tuple(path)]))
    return numbers


AT_ONCE = 4_000_000
"""Copies made at a time."""


@dataclass
class Surest:
    """The largest confidence in a hidden value, and the classes that such a guess hits."""

    confidence: Fraction = Fraction(0)
    hit: set[int] = field(default_factory=set)

    def add(self, confidence: Fraction, classes: Ints) -> None:
        if confidence > self.confidence:
            self.confidence, self.hit = confidence, set()
        if confidence == self.confidence:
            self.hit.update(classes.tolist())


@second_judge("freeform")
def freeform(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no hidden value is inferred with a threat above the one allowed.

    `people` are those whom some surest guess about a value at risk is right about, `classes` counts such
    values.
    """
    fields = [
        field_of(name, published, tally.policy.columns.get(name), promise)
        for name, published in tally.shown.items()
    ]
    limit, most = Fraction(promise.threat), Fraction(0)
    broken, exposed = 0, np.zeros(len(tally.rows), dtype=bool)
    for j, aim in enumerate(fields):
        if not any(aim.hidden):
            continue
        for node, surest in _surest_guesses(fields, j, tally.rows).items():
            threat = surest.confidence * aim.harm_of(node)
            most = max(most, threat)
            if threat > limit:
                broken += 1
                exposed[list(surest.hit)] = True
    nested = any(column.nested for column in fields)
    return Verdict(
        promise=str(promise),
        holds=False if broken else None if nested else True,
        measured=most,
        limit=limit,
        people=int(tally.rows[exposed].sum()),
        classes=broken,
        evidence=promise.evidence,
        reason=NESTED if nested else "" if len(tally.rows) else "nothing is published",
    )


def _surest_guesses(fields: list[FreeField], target: int, weight: Ints) -> dict[int, Surest]:
    """Returns the surest guess about every hidden value of one column that is published, or above what is."""
    aim, guesses = fields[target], dict[int, Surest]()
    others = [column for i, column in enumerate(fields) if i != target]
    choices = [column.seen() for column in others]
    sought = sorted({node for nodes in aim.sought().values() for node in nodes})
    for rows, key in _copies(np.arange(len(weight)), others, choices):
        keys = int(key.max(initial=-1)) + 1
        total = np.zeros(keys, dtype=np.int64)
        np.add.at(total, key, weight[rows])
        for node in sought:
            inside = aim.inside(node, rows)
            hits = np.zeros(keys, dtype=np.int64)
            np.add.at(hits, key[inside], weight[rows[inside]])
            hit_keys = np.flatnonzero(hits)
            if not len(hit_keys):
                continue
            share = hits[hit_keys] / total[hit_keys]
            near = hit_keys[share >= share.max() * (1 - 1e-9)]
            exact = [Fraction(h, t) for h, t in zip(hits[near].tolist(), total[near].tolist(), strict=True)]
            best = max(exact)
            surest = near[[share_of_key == best for share_of_key in exact]]
            guesses.setdefault(node, Surest()).add(best, rows[inside & np.isin(key, surest)])
    return guesses


def _copies(
    rows: Ints, others: list[FreeField], choices: list[dict[int, list[int]]]
) -> Iterator[tuple[Ints, Ints]]:
    """Yields portions of (row, key): every row once for each combination; a combination is in one portion."""
    amount = np.ones(len(rows))
    for column, choice in zip(others, choices, strict=True):
        amount *= _widths(choice)[column.node[rows]]
    if amount.sum() > AT_ONCE and others and len(rows) > 1:
        (column, *columns), (choice, *after) = others, choices
        for a in sorted({a for c in choice.values() for a in c}):
            inside = column.inside(a, rows)
            if inside.any():
                yield from _copies(rows[inside], columns, after)
        return
    key = np.zeros(len(rows), dtype=np.int64)
    for column, choice in zip(others, choices, strict=True):
        rows, key = _spelled_out(rows, key, column, choice)
    yield rows, key


def _spelled_out(rows: Ints, key: Ints, column: FreeField, choice: dict[int, list[int]]) -> tuple[Ints, Ints]:
    """Returns every row once for each node of one more column; keys are numbered anew."""
    many = _widths(choice)[column.node[rows]]
    first = np.repeat(np.cumsum(many) - many, many)
    turn = np.arange(len(first)) - first
    width = max((len(c) for c in choice.values()), default=0)
    table = np.zeros((len(column.tree.labels), max(1, width)), dtype=np.int64)
    for v, nodes in choice.items():
        table[v, : len(nodes)] = nodes
    rows = np.repeat(rows, many)
    pair = np.repeat(key, many) * (2 * len(column.tree.labels)) + table[column.node[rows], turn]
    return rows, np.unique(pair, return_inverse=True)[1].ravel()


def _widths(choice: dict[int, list[int]]) -> Ints:
    """Returns for every node how many nodes are to be chosen from."""
    return np.array([len(choice.get(v, ())) for v in range(max(choice, default=0) + 1)], dtype=np.int64)
