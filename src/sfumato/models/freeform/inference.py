"""Freeform inferences on a published table: their supports, critical values and thresholds.

An attack X -> a observes one value per column, at any height of its taxonomy (a root: the column is not
used), and infers a value of one more column that cannot be observed. Its confidence is sup(Xa) / sup(X), its
threat the confidence times the sensitivity of a. All supports are exact.

The largest confidence of every a is attained by *critical* values alone: observable values that occur, or
that have a child above or among the occurring values which cannot be observed. (Take an observable value
that is not critical: every record below it lies below an observable child; the records of the children
partition its own, and a mean is at most the largest part.) So a check looks at few values per record,
mostly one or two per column; the complete list of breaches needs all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BadPolicy, BadTaxonomy
from sfumato.system.verdict import AttackLimit
from sfumato.table.taxonomy import ANY, ROOT, Label, Taxonomy, TaxonomyRule, depths, preorder

# How sensitive a value is: the share of what it stands for that must not be learned.

Leaves = NDArray[np.bool_]
"""One truth per leaf."""


class Sensitivity(Protocol):
    """Gives every node of a taxonomy its sensitivity s, a probability.

    The Sensitivity principle: s(a) is the probability that a published `a` stands for sensitive leaves. So
    it is 1 on a sensitive leaf, 0 wherever no leaf below is sensitive, and between 0 and 1 elsewhere.
    Leaves count whether or not they occur in a table.
    """

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> Sequence[Fraction]:
        """One number per node, in the order of the nodes."""
        ...


def aggregate(taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
    """The share of the leaves below that are sensitive: to learn that it is any of them is harm.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> [str(s) for s in aggregate(tree, np.array([False, True, True]))]
    ['2/3', '1/2', '0', '1', '1']
    """
    return [Fraction(s, n) for s, n in _sensitive_and_all(taxonomy, sensitive)]


def particular(taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
    """The same share over the leaves once more: harm is to learn which one it is (the non-aggregate model).

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> [str(s) for s in particular(tree, np.array([False, True, True]))]
    ['2/9', '1/4', '0', '1', '1']
    """
    return [Fraction(s, n * n) for s, n in _sensitive_and_all(taxonomy, sensitive)]


def sensitive_leaves_below(taxonomy: Taxonomy, sensitive: Leaves) -> NDArray[np.int64]:
    """How many sensitive leaves each node covers."""
    before = np.concatenate(([0], np.cumsum(sensitive))).astype(np.int64)
    return before[taxonomy.high] - before[taxonomy.low]


def guarded_leaves(taxonomy: Taxonomy, labels: Sequence[Label], *, column: str) -> Leaves:
    """The leaves below a guarding set: the highest nodes that cover what is sensitive, and nothing else."""
    sensitive = np.zeros(len(taxonomy.leaves), dtype=bool)
    for label in labels:
        try:
            node = taxonomy.node(label)
        except KeyError:
            raise BadPolicy(
                f"{'a missing cell' if label is None else 'a value'} is to be guarded that is not in the"
                " column's taxonomy",
                where=f"columns.{column}.sensitive",
                remedy="Name a node of the taxonomy; write it down there if the data may lack it.",
                values=[] if label is None else [label],
            ) from None
        sensitive[taxonomy.low[node] : taxonomy.high[node]] = True
    return sensitive


def check_sensitivity(
    taxonomy: Taxonomy, sensitive: Leaves, values: Sequence[Fraction], *, column: str
) -> None:
    """Raise `BadPolicy`, naming the node, where the Sensitivity principle is violated."""
    if len(values) != len(taxonomy.labels):
        raise BadPolicy("a sensitivity gives one number per node", where=f"columns.{column}")
    sensitive_below = sensitive_leaves_below(taxonomy, sensitive)
    for node, value in enumerate(values):
        leaf = taxonomy.end[node] == node + 1
        wrong = ""
        if not 0 <= value <= 1:
            wrong = "must be a probability, from 0 to 1"
        elif value and not sensitive_below[node]:
            wrong = "must be 0: no leaf below is sensitive"
        elif leaf and node != ROOT and sensitive_below[node] and value != 1:
            wrong = "must be 1: the leaf is sensitive"
        if wrong:
            raise BadPolicy(
                f"the sensitivity of {node_name(taxonomy, node)} {wrong}",
                where=f"columns.{column}",
                remedy="It violates the Sensitivity principle.",
                values=[str(taxonomy.labels[node])],
            )


def node_name(taxonomy: Taxonomy, node: int) -> str:
    """The name of a node in a message; a leaf may be a cell of the table, so the node above names it.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> node_name(tree, 1), node_name(tree, 3)
    ('Viral', 'leaf 2 below Viral')
    """
    if node == ROOT or taxonomy.end[node] > node + 1:
        return str(taxonomy.labels[node])
    above = int(taxonomy.parent[node])
    return f"leaf {taxonomy.children(above).index(node) + 1} below {taxonomy.labels[above]}"


def _sensitive_and_all(taxonomy: Taxonomy, sensitive: Leaves) -> list[tuple[int, int]]:
    leaves = np.maximum(taxonomy.leaf_count, 1).tolist()
    return list(zip(sensitive_leaves_below(taxonomy, sensitive).tolist(), leaves, strict=True))


# How well a value can be observed on a person by somebody from outside.


class Observability(Protocol):
    """Gives every node of a taxonomy its observability o, from 0 to 1.

    The Observability principle: whoever observes a value observes everything above it, so o never falls
    from a node to its parent. Several values are as observable as the least of them. Whatever o says, a
    root is observable: it says nothing.
    """

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> Sequence[Fraction]:
        """One number per node, in the order of the nodes."""
        ...


def unless_sensitive(taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
    """0 where every leaf below is sensitive, else 1.

    >>> import numpy as np
    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> [int(o) for o in unless_sensitive(tree, np.array([False, True, True]))]
    [1, 1, 1, 0, 0]
    """
    hidden = sensitive_leaves_below(taxonomy, sensitive) == taxonomy.leaf_count
    return [Fraction(int(not h)) for h in hidden.tolist()]


@dataclass(frozen=True)
class Belief:
    """What the publisher believes of each leaf; a parent is as observable as its best child, plus `boost`.

    `leaf` is one number for all leaves, or maps labels to numbers: a label speaks for every leaf below it,
    the lowest one wins, and leaves that none speaks for are observable (1).

    >>> import numpy as np
    >>> tree = Taxonomy.grow(["*", "High", "190K", "160K", "Low", "40K"], [-1, 0, 1, 1, 0, 4])
    >>> [int(o) for o in Belief(Fraction(0), Fraction(1))(tree, np.zeros(3, bool))]
    [1, 1, 0, 0, 1, 0]
    """

    leaf: Fraction | Mapping[Label, Fraction] = field(default=Fraction(0), hash=False)
    boost: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        beliefs = self.leaf if isinstance(self.leaf, Mapping) else {None: self.leaf}
        if not all(0 <= value <= 1 for value in beliefs.values()):
            raise BadPolicy("a belief must be from 0 to 1", where="observable")
        if not 0 <= self.boost <= 1:
            raise BadPolicy("the boost must be from 0 to 1", where="observable")

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:  # noqa: ARG002  # the seam's
        observability = [Fraction(0)] * len(taxonomy.labels)
        for leaf, value in zip(taxonomy.leaves.tolist(), self._leaves(taxonomy), strict=True):
            observability[leaf] = value
        best: list[Fraction | None] = [None] * len(observability)
        for node in reversed(range(len(observability))):
            top = best[node]
            if top is not None:
                observability[node] = min(Fraction(1), self.boost + top)
            above = int(taxonomy.parent[node])
            if above >= 0:
                best_child = best[above]
                own = observability[node]
                best[above] = own if best_child is None else max(best_child, own)
        return observability

    def _leaves(self, taxonomy: Taxonomy) -> list[Fraction]:
        if not isinstance(self.leaf, Mapping):
            return [self.leaf] * len(taxonomy.leaves)
        belief_of_node = {}
        for label, value in self.leaf.items():
            try:
                belief_of_node[taxonomy.node(label)] = value
            except KeyError:
                raise BadPolicy(
                    "a belief speaks of what is no value of the column's taxonomy",
                    where="observable",
                    remedy="Name a node of the taxonomy; write it down there if the data may lack it.",
                    values=[] if label is None else [label],
                ) from None
        beliefs = [Fraction(1)] * len(taxonomy.leaves)
        for node in sorted(belief_of_node):
            for rank in range(int(taxonomy.low[node]), int(taxonomy.high[node])):
                beliefs[rank] = belief_of_node[node]
        return beliefs


def check_observability(taxonomy: Taxonomy, values: Sequence[Fraction], *, column: str) -> None:
    """Raise `BadPolicy`, naming the node, where the Observability principle is violated."""
    if len(values) != len(taxonomy.labels):
        raise BadPolicy("an observability gives one number per node", where=f"columns.{column}")
    for node, value in enumerate(values):
        above = int(taxonomy.parent[node])
        wrong = ""
        if not 0 <= value <= 1:
            wrong = f"the observability of {node_name(taxonomy, node)} must be from 0 to 1"
        elif above >= 0 and values[above] < value:
            wrong = f"{taxonomy.labels[above]} is less observable than {node_name(taxonomy, node)}"
        if wrong:
            raise BadPolicy(
                wrong,
                where=f"columns.{column}.observable",
                remedy="It violates the Observability principle: who sees a value sees what is above it.",
                values=[str(taxonomy.labels[node])],
            )


# The guard of a column: which of its values can be observed, and how sensitive each is.


@dataclass(frozen=True)
class FreeColumn:
    """What is declared of a free column.

    `sensitive` is its guarding set: labels of nodes, every leaf below them is sensitive. `rule` is the
    taxonomy rule of the policy, for judges that see published labels alone.
    """

    sensitive: tuple[Label, ...] = ()
    sensitivity: Sensitivity = aggregate
    observability: Observability = unless_sensitive
    rule: TaxonomyRule | None = field(default=None, compare=False)

    def guard(self, taxonomy: Taxonomy, threshold: Fraction, *, column: str = "") -> Guard:
        """The guard of the column; raises `BadPolicy`, naming column and node, where a principle fails."""
        leaves = guarded_leaves(taxonomy, self.sensitive, column=column)
        s = _exact(self.sensitivity(taxonomy, leaves))
        check_sensitivity(taxonomy, leaves, s, column=column)
        try:
            o = _exact(self.observability(taxonomy, leaves))
        except BadPolicy as wrong:
            place = f"columns.{column}.{wrong.where}"
            raise BadPolicy(wrong.message, remedy=wrong.remedy, where=place, values=wrong.values) from None
        check_observability(taxonomy, o, column=column)
        return Guard(taxonomy, s, tuple(value >= threshold for value in o))


@dataclass(frozen=True, eq=False)
class Guard:
    """Per node: the sensitivity, and whether it can be observed. A root is always observable."""

    taxonomy: Taxonomy
    sensitivity: tuple[Fraction, ...]
    observable: tuple[bool, ...]

    @classmethod
    def all_observable(cls, taxonomy: Taxonomy) -> Guard:
        """The guard of a column of which everything can be observed and nothing is sensitive."""
        nodes = len(taxonomy.labels)
        return cls(taxonomy, (Fraction(0),) * nodes, (True,) * nodes)

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which nodes can be observed."""
        return np.array([True, *self.observable[1:]])


def _exact(values: Iterable[Fraction]) -> tuple[Fraction, ...]:
    """The numbers that a sensitivity or observability of the caller gave, checked to be numbers."""
    try:
        return tuple(Fraction(value) for value in values)
    except (TypeError, ValueError):
        raise BadPolicy("sensitivities and observabilities are numbers", where="columns") from None


Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

MOST_ROWS = 3_000_000_000
"""Rows of a table whose supports multiply within 64 bits."""


@dataclass(frozen=True, order=True)
class Inference:
    """One attack: `given` holds a node per column (the root where it is not used, or is the target's)."""

    target: int
    node: int
    given: tuple[int, ...]
    held: int
    support: int
    sensitivity: Fraction

    @property
    def confidence(self) -> Fraction:
        return Fraction(self.held, self.support)

    @property
    def threat(self) -> Fraction:
        return self.confidence * self.sensitivity


@dataclass(frozen=True, eq=False)
class LevelMarks:
    """One column as a level of the search: dense codes, and the chosen nodes above each code, top down.

    A *mark* is the number of a chosen node: mark m is `node[m]` and covers the codes `low[m] .. high[m]-1`.
    """

    code: Int32s
    start: Int64s
    chain: Int32s
    low: Int32s
    high: Int32s
    node: Int32s


@dataclass(frozen=True, eq=False)
class NodeTable:
    """A table as it is published: `nodes[j, i]` is what row i shows in column j, `counts[i]` its weight."""

    nodes: Int32s
    counts: Int64s
    guards: tuple[Guard, ...]

    def __post_init__(self) -> None:
        if int(self.counts.sum()) > MOST_ROWS:
            raise BadData(f"freeform attacks are counted on at most {MOST_ROWS} rows")

    def occurring(self, column: int) -> Int32s:
        """The nodes that column j shows, ascending."""
        return np.unique(self.nodes[column])

    @property
    def nested(self) -> bool:
        """Whether some column shows a node and one below it, so that the table is no single recoding."""
        for j, guard in enumerate(self.guards):
            shown, tree = self.occurring(j), guard.taxonomy
            size = tree.leaf_count
            if any(str(label).endswith(REST) for label in tree.labels) or any(
                tree.covers(v, w) and size[w] < size[v] for v in shown[size[shown] > 1] for w in shown
            ):
                return True
        return False

    def critical(self, column: int) -> NDArray[np.bool_]:
        """Per node: whether it is critical."""
        guard = self.guards[column]
        above = _above(guard.taxonomy, self.occurring(column))
        critical = np.zeros(len(above), dtype=bool)
        critical[self.occurring(column)] = True
        unseen = np.flatnonzero(above & ~guard.seen)
        critical[guard.taxonomy.parent[unseen]] = True
        return critical & guard.seen

    def observable(self, column: int) -> NDArray[np.bool_]:
        """Per node: whether it can be observed on a published record."""
        guard = self.guards[column]
        return _above(guard.taxonomy, self.occurring(column)) & guard.seen

    def targets(self, column: int, *, extended: bool = True) -> NDArray[np.bool_]:
        """Per node: published, or above what is (`extended`), and not observable: worth inferring."""
        guard = self.guards[column]
        occurring = self.occurring(column)
        there = _above(guard.taxonomy, occurring)
        if not extended:
            there &= np.isin(np.arange(len(there)), occurring)
        return there & ~guard.seen


def _above(taxonomy: Taxonomy, nodes: Int32s) -> NDArray[np.bool_]:
    """Per node: whether it is one of these or above one."""
    above = np.zeros(len(taxonomy.labels), dtype=bool)
    current = nodes
    while len(current):
        above[current] = True
        current = np.unique(taxonomy.parent[current])
        current = current[current >= 0]
        current = current[~above[current]]
    return above


def level_marks(
    node_table: NodeTable, column: int, chosen: NDArray[np.bool_], rows: NDArray[np.intp] | None = None
) -> LevelMarks:
    """A column as a level whose marks are the `chosen` nodes; a row below none of them gets no mark."""
    nodes = node_table.nodes[column] if rows is None else node_table.nodes[column][rows]
    taxonomy = node_table.guards[column].taxonomy
    occurring, code = np.unique(nodes, return_inverse=True)
    picked = np.flatnonzero(chosen).astype(np.int32)
    low = np.searchsorted(occurring, picked).astype(np.int32)
    high = np.searchsorted(occurring, taxonomy.end[picked]).astype(np.int32)
    lengths = (high - low).astype(np.int64)
    owner = np.repeat(np.arange(len(picked), dtype=np.int32), lengths)
    covered = np.repeat(low - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths) + np.arange(len(owner))
    order = np.lexsort((owner, covered))
    start = np.searchsorted(covered[order], np.arange(len(occurring) + 1)).astype(np.int64)
    return LevelMarks(code.ravel().astype(np.int32), start, owner[order], low, high, picked)


def confidence_thresholds(
    guard: Guard, nodes: Sequence[int], threat: Fraction, rows: int
) -> tuple[Int64s, Int64s]:
    """The confidence that each target must exceed for a breach, as fractions with small denominators.

    Supports are at most `rows`, so a confidence exceeds a number just if it exceeds the largest fraction
    below or at that number whose denominator is at most `rows`.
    """
    above, below = np.ones(len(nodes), np.int64), np.ones(len(nodes), np.int64)
    for i, node in enumerate(nodes):
        s = guard.sensitivity[node]
        if s > threat:
            least = fraction_at_or_below(threat / s, max(1, rows))
            above[i], below[i] = least.numerator, least.denominator
    return above, below


def fraction_at_or_below(number: Fraction, largest: int) -> Fraction:
    """The largest fraction at or below a number from 0 to 1 whose denominator is at most `largest`.

    >>> [str(fraction_at_or_below(Fraction(n, 1000), 10)) for n in (500, 333, 10)]
    ['1/2', '3/10', '0']
    """
    if number.denominator <= largest:
        return number
    near = number.limit_denominator(largest)
    if near <= number:
        return near
    # The neighbour below `near` among fractions with such denominators: p/q with near.n * q - p * near.d = 1.
    n, d = near.numerator, near.denominator
    q = pow(n, -1, d) if d > 1 else 1
    q += (largest - q) // d * d
    return Fraction((n * q - 1) // d, q)


def breachable_targets(guard: Guard, wanted: NDArray[np.bool_], threat: Fraction, *, sparse: bool) -> Int32s:
    """The targets that can be breached at all; `sparse` leaves out those that imply a breach further up."""
    taxonomy, targets = guard.taxonomy, []
    for node in np.flatnonzero(wanted).tolist():
        s = guard.sensitivity[node]
        above = int(taxonomy.parent[node])
        implied = sparse and above != ROOT and wanted[above] and guard.sensitivity[above] >= s
        if s > threat and not implied:
            targets.append(node)
    return np.array(targets, dtype=np.int32)


# What may be inferred at most, value by value: what a freeform promise tells attacks.


@dataclass(frozen=True)
class FreeformLimit(AttackLimit):
    """No inference of a value that cannot be observed has a threat above `threat`.

    A value is observable from `observability` on. `columns` says what is declared of the free columns; values
    of other key columns are observable.
    """

    threat: Fraction
    observability: Fraction
    columns: Mapping[str, FreeColumn] = field(hash=False)


# From published texts back to the nodes of a column's taxonomy.


def node_table_of_labels(
    free: Mapping[str, FreeColumn],
    threshold: Fraction,
    labels: Mapping[str, Sequence[Label]],
    codes: Mapping[str, Int32s],
    counts: Int64s,
    *,
    rules: Mapping[str, TaxonomyRule | None] | None = None,
) -> NodeTable:
    """A published table as nodes, from its texts by column and the text that every row shows.

    The texts of a free column are nodes of its taxonomy, which the policy writes down; without a taxonomy
    they are values or `*`. Raises `BadData` where a text has no place. Of a column that is observable
    altogether only the texts themselves matter to the worst attacks, and it needs no tree. A list of all
    attacks observes what is above these texts, too: with `rules`, the taxonomy rule of every column, they are
    placed in its tree.
    """
    guards, nodes = [], []
    for name, texts in labels.items():
        declared = free.get(name)
        if declared is None or declared == FreeColumn():
            tree, places = _flat(texts) if rules is None else _placed(texts, rules.get(name), column=name)
            guards.append(Guard.all_observable(tree))
        else:
            tree, places = taxonomy_and_nodes(texts, declared, column=name)
            guards.append(declared.guard(tree, threshold, column=name))
        if len(places) > 1:
            alone = declared is not None and declared.sensitivity is particular
            is_open = declared is not None and has_no_groups(declared.rule)
            guards[-1], places = with_rests(guards[-1], places, alone=alone, is_open=is_open)
        nodes.append(places[codes[name]])
    shape = np.stack(nodes).astype(np.int32) if nodes else np.zeros((0, len(counts)), np.int32)
    return NodeTable(shape, counts, tuple(guards))


NESTED = "what stands behind a value where a column also shows one below it, taken as published at will"
"""What nobody tries of a table that is no single recoding."""

REST = "other than what is shown"


def with_rests(guard: Guard, places: Int32s, *, alone: bool, is_open: bool) -> tuple[Guard, Int32s]:
    """The guard with a leaf for what every shown node leaves over besides those shown below it.

    So reads a column whoever takes each value to be published in one way. A rest is hidden if all that it
    stands for is; `alone`: harm is to learn which value it is. With `is_open`, `*` may stand for any other
    value. In a single recoding nothing is left over.
    """
    tree, size = guard.taxonomy, guard.taxonomy.leaf_count
    labels, parents = [*tree.labels], tree.parent.tolist()
    harm, seen, rest_of = [*guard.sensitivity], [*guard.observable], dict[int, int]()
    for v in np.unique(places).tolist():
        below = places[(places > v) & (places < tree.end[v]) & (size[places] < size[v])]
        left = np.ones(int(size[v]), dtype=bool)
        for w in np.unique(below).tolist():
            left[tree.low[w] - tree.low[v] : tree.high[w] - tree.low[v]] = False
        leaves = tree.leaves[tree.low[v] : tree.high[v]][left].tolist()
        free = is_open and v == ROOT
        if len(below) and (leaves or free):
            rest_of[v] = len(labels)
            labels.append(f"{tree.labels[v]}, {REST}")
            parents.append(v)
            total = sum((guard.sensitivity[leaf] for leaf in leaves), Fraction(0))
            harm.append(Fraction(0) if free else total / len(leaves) ** (2 if alone else 1))
            seen.append(free or any(guard.observable[leaf] for leaf in leaves))
    if not rest_of:
        return guard, places
    grown = Taxonomy.grow(labels, parents)
    order = np.argsort(preorder(np.array(parents, dtype=np.int32), depths(np.array(parents, np.int32))))
    place = np.argsort(order).astype(np.int32)
    moved = place[[rest_of.get(v, v) for v in places.tolist()]]
    return Guard(grown, tuple(harm[v] for v in order), tuple(seen[v] for v in order)), moved


def taxonomy_and_nodes(texts: Sequence[Label], free: FreeColumn, *, column: str) -> tuple[Taxonomy, Int32s]:
    """The taxonomy of a free column, and the node of every text."""
    if free.rule is None or has_no_groups(free.rule):
        return _flat([*texts, *_named_labels(free)], len(texts))
    tree = free.rule.build([None] if None in texts else [])
    nodes = nodes_of(tree, texts)
    if nodes is None:
        raise BadData(f"texts of {column} are no values of its taxonomy")
    return tree, nodes


def _placed(texts: Sequence[Label], rule: TaxonomyRule | None, *, column: str) -> tuple[Taxonomy, Int32s]:
    """The taxonomy of a column with nothing hidden, and the node of every text; raises if one has no place.

    Raw values are placed in the tree that they grow, as are codes of which fewer characters stay; other
    published texts in the tree that the policy writes down.
    """
    if rule is None or has_no_groups(rule):
        return _flat(texts)
    values = [text for text in texts if text != ANY]
    for cells in (values, [None] if None in values else []):
        try:
            tree = rule.build(cells)
        except BadTaxonomy:
            continue
        nodes = nodes_of(tree, texts)
        if nodes is not None:
            return tree, nodes
    raise BadData(
        f"texts of {column} have no place in its taxonomy, so not every attack through it can be listed",
        remedy="Write the taxonomy down with all its values, or ask for the worst attacks only.",
    )


def is_written_down(rule: TaxonomyRule | None) -> bool:
    """Whether the policy says what the taxonomy is, whatever values occur."""
    if rule is None or has_no_groups(rule):
        return True
    try:
        return len(rule.build([]).labels) > 1
    except BadTaxonomy:
        return False


def leaves_come_from_data(rule: TaxonomyRule | None) -> bool:
    """Whether the leaves of the taxonomy are cells of the data, not words of the policy."""
    return has_no_groups(rule) or not is_written_down(rule)


def has_no_groups(rule: TaxonomyRule | None) -> bool:
    """Whether a value becomes itself or `*`: which values there are says nothing of how sensitive one is."""
    return rule is None or rule.spec.get("flat") is True


def _named_labels(free: FreeColumn) -> list[Label]:
    """The labels that the declaration names."""
    beliefs = free.observability
    more = list(beliefs.leaf) if isinstance(beliefs, Belief) and isinstance(beliefs.leaf, Mapping) else []
    return [*free.sensitive, *more]


def _flat(texts: Sequence[Label], wanted: int | None = None) -> tuple[Taxonomy, Int32s]:
    values = sorted({t for t in texts if t != ANY}, key=lambda t: (t is None, t or ""))
    tree = Taxonomy.flat(values)
    placed = texts if wanted is None else texts[:wanted]
    return tree, np.array([ROOT if t == ANY else tree.node(t) for t in placed], dtype=np.int32)


def nodes_of(tree: Taxonomy, texts: Sequence[Label]) -> Int32s | None:
    """The node of every text: leaves if all of them are raw values, else the topmost of that name.

    `None` where a text has no place, or two: the same name in different branches.
    """
    ranks = [tree.rank(text) for text in texts]
    if all(rank is not None for rank in ranks):
        return tree.leaves[np.array(ranks, dtype=np.int64)]
    nodes = []
    for text, rank in zip(texts, ranks, strict=True):
        named = [ROOT] if text == ANY else [v for v, label in enumerate(tree.labels) if label == text]
        if not named and rank is None:
            return None
        node = named[0] if named else int(tree.leaves[rank or 0])
        if any(not tree.covers(node, candidate) for candidate in named):
            return None
        nodes.append(node)
    return np.array(nodes, dtype=np.int32)


def people_exposed(node_table: NodeTable, inferences: Iterable[Inference]) -> int:
    """How many people some of these attacks are right about."""
    exposed = np.zeros(len(node_table.counts), dtype=bool)
    for inference in inferences:
        match = np.ones(len(exposed), dtype=bool)
        values = [*inference.given]
        values[inference.target] = inference.node
        for nodes, guard, node in zip(node_table.nodes, node_table.guards, values, strict=True):
            match &= (nodes >= node) & (nodes < guard.taxonomy.end[node])
        exposed |= match
    return int(node_table.counts[exposed].sum())


# Breaches of a published table: whether there is one, the worst attack on every value, all of them.

Chosen = NDArray[np.bool_]
Rows = NDArray[np.intp]


def breach(table: NodeTable, threat: Fraction, *, extended: bool = True) -> Inference | None:
    """Some breach, if there is any."""
    for j in range(len(table.guards)):
        wanted = table.targets(j, extended=extended)
        aims = breachable_targets(table.guards[j], wanted, threat, sparse=extended)
        if inferences := _search_slices(table, j, aims, threat, _levels(table, j), mode=0):
            return inferences[0]
    return None


def breach_of_step(table: NodeTable, threat: Fraction, column: int, node: int) -> Inference | None:
    """Some breach that a step created: `node` of `column` became its children, the rest is as before.

    Supports of values that were there already are what they were, so a new breach observes or infers a
    child. Observed, it is among the rows below the node; the other columns may be taken to be critical.
    """
    guard = table.guards[column]
    children = np.zeros(len(guard.seen), dtype=bool)
    children[guard.taxonomy.children(node)] = True
    children &= table.observable(column) | table.targets(column)
    aims = breachable_targets(guard, children & ~guard.seen, threat, sparse=False)
    if node != ROOT and not guard.seen[node]:
        aims = aims[[guard.sensitivity[a] > guard.sensitivity[node] for a in aims.tolist()]]
    if inferences := _search_slices(table, column, aims, threat, _levels(table, column), mode=0):
        return inferences[0]
    observed = children & guard.seen
    rows = np.flatnonzero(observed[table.nodes[column]])
    if not len(rows):
        return None
    first = (column, observed)
    for j in range(len(table.guards)):
        if j == column:
            continue
        aims = breachable_targets(table.guards[j], table.targets(j), threat, sparse=True)
        levels = [first, *(level for level in _levels(table, j) if level[0] != column)]
        if inferences := _search_slices(table, j, aims, threat, levels, mode=0, rows=rows, whole=False):
            return inferences[0]
    return None


def worst(table: NodeTable, *, extended: bool = True) -> list[Inference]:
    """The attack with the largest threat on every target; among equals the one most people match.

    Targets that are not sensitive at all are left out. The order is that of columns and nodes.
    """
    inferences: list[Inference] = []
    for j, guard in enumerate(table.guards):
        wanted = table.targets(j, extended=extended)
        aims = np.array([v for v in np.flatnonzero(wanted) if guard.sensitivity[v]], dtype=np.int32)
        inferences += _search_slices(table, j, aims, Fraction(0), _levels(table, j), mode=1)
    return inferences


def breaches(table: NodeTable, threat: Fraction, *, extended: bool = True, limit: int) -> Iterator[Inference]:
    """Every breach, the most general first: by columns used, then by the depth of their nodes.

    Of two breaches, one of which observes and infers more general values than the other, it comes first.
    Those that use the same columns are found together, `limit` at most; further ones are left out.
    """
    columns = len(table.guards)
    aims = [
        breachable_targets(guard, table.targets(j, extended=extended), threat, sparse=False)
        for j, guard in enumerate(table.guards)
    ]
    for used in range(columns):
        for j in range(columns):
            others = [i for i in range(columns) if i != j and len(table.guards[i].seen) > 1]
            for chosen in combinations(others, used) if len(aims[j]) else ():
                levels = [(i, _without_root(table.observable(i))) for i in chosen]
                inferences = _search_slices(
                    table, j, aims[j], threat, levels, mode=2, capacity=limit, whole=not chosen
                )
                yield from sorted(inferences, key=lambda inference: (_depth(table, inference), inference))


def _depth(table: NodeTable, inference: Inference) -> int:
    depths = [int(g.taxonomy.depth[v]) for g, v in zip(table.guards, inference.given, strict=True)]
    return sum(depths) + int(table.guards[inference.target].taxonomy.depth[inference.node])


def _without_root(chosen: Chosen) -> Chosen:
    chosen = chosen.copy()
    chosen[ROOT] = False
    return chosen


def _levels(table: NodeTable, target: int) -> list[tuple[int, Chosen]]:
    """The other columns with their critical values; those that multiply rows come last."""
    levels = []
    for i in range(len(table.guards)):
        chosen = table.critical(i)
        if i != target and chosen[ROOT + 1 :].any():
            doubles = int(chosen[table.occurring(i)].sum() < chosen.sum())
            levels.append(((doubles, -int(chosen.sum()), i), (i, chosen)))
    return [level for _, level in sorted(levels, key=lambda pair: pair[0])]


def _search_slices(
    table: NodeTable,
    target: int,
    aims: Int32s,
    threat: Fraction,
    levels: Sequence[tuple[int, Chosen]],
    *,
    mode: int,
    rows: Rows | None = None,
    whole: bool = True,
    capacity: int = 1,
) -> list[Inference]:
    """The inferences that the compiled search finds, in the mode that is asked for."""
    from sfumato.models.freeform import kernels  # noqa: PLC0415  # compiles

    counts = table.counts if rows is None else table.counts[rows]
    if not len(counts) or not len(aims):
        return []
    marks = [level_marks(table, i, chosen, rows) for i, chosen in levels]
    chosen = np.zeros(len(table.guards[target].seen), dtype=bool)
    chosen[aims] = True
    bins = level_marks(table, target, chosen, rows)
    above, below = confidence_thresholds(table.guards[target], aims.tolist(), threat, int(table.counts.sum()))
    flat = _flattened(marks)
    room = min(capacity, 1 << 16)
    while True:
        count, _, held_bin, hits, total, mark = kernels.visit_slices(
            _stacked(marks, len(counts)), counts, *flat, bins.code, bins.start, bins.chain,
            above, below, mode, whole, room,
        )  # fmt: skip
        if mode != kernels.EVERY or count <= room or room >= capacity:
            break
        room = min(capacity, room * 8)
    node_of = np.concatenate([m.node for m in marks]) if marks else np.zeros(0, np.int32)
    inferences = []
    for i in np.flatnonzero(held_bin >= 0).tolist():
        node = int(aims[held_bin[i]])
        observed = [ROOT] * len(table.guards)
        for (column, _), m in zip(levels, mark[i].tolist(), strict=True):
            observed[column] = ROOT if m < 0 else int(node_of[m])
        s = table.guards[target].sensitivity[node]
        inferences.append(Inference(target, node, tuple(observed), int(hits[i]), int(total[i]), s))
    return inferences


def _stacked(marks: Sequence[LevelMarks], rows: int) -> Int32s:
    return np.stack([m.code for m in marks]) if marks else np.zeros((0, rows), np.int32)


def _flattened(marks: Sequence[LevelMarks]) -> tuple[Int64s, Int64s, Int32s, Int32s, Int32s]:
    """All levels in one set of arrays: codes and marks are numbered on from level to level."""
    level_start, chain_start = [0], []
    codes, links, numbers = 0, 0, 0
    chain, low, high = [], [], []
    for m in marks:
        width = len(m.start) - 1
        # One entry more per level: the end of its last code's chain.
        chain_start.append(m.start + links)
        chain.append(m.chain + numbers)
        low.append(m.low)
        high.append(m.high)
        codes, links, numbers = codes + width + 1, links + len(m.chain), numbers + len(m.node)
        level_start.append(codes)
    if not marks:
        nothing = np.zeros(0, np.int32)
        return np.zeros(1, np.int64), np.zeros(1, np.int64), nothing, nothing, nothing
    return (
        np.array(level_start, np.int64),
        np.concatenate(chain_start).astype(np.int64),
        np.concatenate(chain).astype(np.int32),
        np.concatenate(low).astype(np.int32),
        np.concatenate(high).astype(np.int32),
    )
