"""FF-anonymity: no inference of what cannot be observed from what can."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import (
    AdjustablePromise,
    Answer,
    ColumnOptions,
    ColumnRolePromise,
    ColumnView,
    Conflict,
    Cuts,
    IncrementalChecker,
    PolicyView,
    TablePromise,
    below,
    most_general,
)
from sfumato.models.freeform.inference import (
    NESTED,
    Belief,
    FreeColumn,
    FreeformLimit,
    Guard,
    Inference,
    Int32s,
    Int64s,
    Leaves,
    NodeTable,
    Observability,
    Sensitivity,
    aggregate,
    breach,
    breach_of_step,
    guarded_leaves,
    has_no_groups,
    is_written_down,
    leaves_come_from_data,
    node_table_of_labels,
    particular,
    people_exposed,
    unless_sensitive,
    worst,
)
from sfumato.models.parameters import NOTHING, FractionParam, Parameter, ParametrizedPromise, Schema
from sfumato.models.registry import register
from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import Order, Verdict
from sfumato.table.arrays import fraction, written
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Column, Counts, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Label, Taxonomy

# A freeform promise at work on one table: asked before every step of a search.

ENOUGH = 5
"""People who must share a combination before its values are named in an explanation."""


@dataclass(frozen=True, eq=False)
class PublishedNodes:
    """What is published under some cuts: the class of every distinct row, nodes and rows of every class."""

    cuts: Cuts
    class_of: Int32s
    nodes: Int32s
    counts: Int64s

    @classmethod
    def under(cls, table: Microdata, cuts: Cuts) -> PublishedNodes:
        class_of, nodes = classes_under(table, cuts)
        counts = np.zeros(len(nodes), np.int64)
        np.add.at(counts, class_of, table.counts)
        return cls(cuts, class_of, np.ascontiguousarray(nodes.T), counts)

    def node_table(self, guards: tuple[Guard, ...]) -> NodeTable:
        return NodeTable(self.nodes, self.counts, guards)

    def with_step(self, table: Microdata, cuts: Cuts, column: int, node: int) -> PublishedNodes:
        """The same with one node replaced by its children: only rows below the node are looked at."""
        touched = np.flatnonzero(self.nodes[column] == node)
        number = np.full(len(self.counts), -1, np.int64)
        number[touched] = np.arange(len(touched))
        rows = np.flatnonzero(number[self.class_of] >= 0)
        key, tree = table.keys[column], table.keys[column].taxonomy
        children = np.array(tree.children(node), dtype=np.int32)
        branch = np.searchsorted(children, tree.child_above(node))
        codes = table.codes(key.name)[rows] - tree.low[node]
        pairs = number[self.class_of[rows]] * len(children) + branch[codes]
        parts, part_of = _numbered(pairs, len(touched) * len(children))
        parent, below = touched[parts // len(children)], children[parts % len(children)]
        nodes = self.nodes[:, parent].copy()
        nodes[column] = below
        counts = np.bincount(part_of, weights=table.counts[rows], minlength=len(parts)).astype(np.int64)
        others = np.flatnonzero(self.nodes[column] != node)
        new_number = np.full(len(self.counts), -1, np.int32)
        new_number[others] = np.arange(len(others))
        class_of = new_number[self.class_of]
        class_of[rows] = len(others) + part_of
        return PublishedNodes(
            cuts,
            class_of,
            np.concatenate([self.nodes[:, others], nodes], axis=1),
            np.concatenate([self.counts[others], counts]),
        )


def node_table_under(table: Microdata, cuts: Cuts, guards: tuple[Guard, ...]) -> NodeTable:
    """What is published under some cuts, with what is declared of the columns."""
    return PublishedNodes.under(table, cuts).node_table(guards)


def _numbered(pairs: Int64s, space: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct numbers among those below `space`, ascending, and where each stands."""
    if space > 4 * len(pairs) + (1 << 20):
        parts, part_of = np.unique(pairs, return_inverse=True)
        return parts, part_of.ravel()
    there = np.zeros(space, dtype=bool)
    there[pairs] = True
    parts = np.flatnonzero(there)
    place = np.cumsum(there) - 1
    return parts, place[pairs]


class FreeformWatch(IncrementalChecker):
    """Asked before every step of a search; a step is judged on what it changes."""

    def __init__(self, limit: FreeformLimit, table: Microdata, guards: tuple[Guard, ...]) -> None:
        self.limit, self.table, self.guards = limit, table, guards
        self._index = {c.name: j for j, c in enumerate(table.keys)}
        self._accepted: PublishedNodes | None = None
        self._proposed: PublishedNodes | None = None
        self.in_full = ""

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        inference = self.find(cuts, step)
        self.in_full = "" if inference is None else self.tell(inference, values=True)
        return (Answer.YES, "") if inference is None else (Answer.NEVER, self.tell(inference))

    def find(self, cuts: Cuts, step: tuple[str, int] | None = None) -> Inference | None:
        """A breach under these cuts, if there is any."""
        threat = self.limit.threat
        if step is None or self._accepted is None:
            self._proposed = PublishedNodes.under(self.table, cuts)
            return breach(self._proposed.node_table(self.guards), threat)
        column, node = self._index[step[0]], step[1]
        self._proposed = self._accepted.with_step(self.table, cuts, column, node)
        return breach_of_step(self._proposed.node_table(self.guards), threat, column, node)

    def accept(self, cuts: Cuts) -> None:
        proposed = self._proposed
        unchanged = proposed is not None and all(proposed.cuts[name] == cut for name, cut in cuts.items())
        self._accepted = proposed if unchanged else PublishedNodes.under(self.table, cuts)

    def tell(self, inference: Inference, *, values: bool = False) -> str:
        """A breach in columns and counts; values where enough people match and the policy writes them."""
        named = values or inference.support >= ENOUGH
        conditions = [self._told(j, v, named, values) for j, v in enumerate(inference.given) if v]
        whoever = f"whoever sees {' and '.join(conditions)}" if conditions else "anybody"
        return (
            f"{whoever} would infer {self._told(inference.target, inference.node, named, values)}: right for"
            f" {inference.held} of {inference.support} rows, threat {inference.threat}"
        )

    def _told(self, column: int, node: int, named: bool, values: bool) -> str:
        name, tree = self.table.keys[column].name, self.guards[column].taxonomy
        free = self.limit.columns.get(name)
        written = values or (free is not None and not leaves_come_from_data(free.rule))
        return f"{name} = {tree.labels[node]}" if named and written else name


# The conflicts of a freeform promise: what an exact search learns from its breaches.


class FreeformConflicts:
    """The breaches of a freeform promise, each raised as far as it stays one."""

    def __init__(self, table: Microdata, guards: tuple[Guard, ...], threat: Fraction) -> None:
        self._table, self._guards, self._threat = table, guards, threat
        self._raw = node_table_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys}, guards)

    def of(self, cuts: Cuts) -> list[Conflict]:
        inference = breach(node_table_under(self._table, cuts, self._guards), self._threat)
        if inference is None:
            return []
        values = np.array(inference.given, dtype=np.int64)
        values[inference.target] = inference.node
        observable = self._guards[inference.target].seen

        def still(conflict: Conflict) -> bool:
            return not observable[conflict[inference.target]] and self._breaks(conflict, inference.target)

        return most_general(values, [g.taxonomy for g in self._guards], still)

    def _breaks(self, values: Conflict, target: int) -> bool:
        counts, trees = self._raw.counts, [g.taxonomy for g in self._guards]
        matches = np.ones(len(counts), dtype=bool)
        for j, node in enumerate(values.tolist()):
            if j != target and node:
                matches &= below(trees[j], self._raw.nodes[j], node)
        hits = matches & below(trees[target], self._raw.nodes[target], int(values[target]))
        support = int(counts[matches].sum())
        s = self._guards[target].sensitivity[int(values[target])]
        return support > 0 and Fraction(int(counts[hits].sum()), support) * s > self._threat


# Models of sensitivity and observability that a policy gives: as numbers of nodes, or by importable name.

Model = Sensitivity | Observability


@dataclass(frozen=True)
class NodeNumbers:
    """Numbers for nodes that the policy names; every other node has that of the usual model.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> import numpy as np
    >>> [str(s) for s in NodeNumbers({"Viral": Fraction(1, 3)})(tree, np.array([False, True, True]))]
    ['2/3', '1/3', '0', '1', '1']
    """

    values: Mapping[Label, Fraction] = field(hash=False)
    otherwise: Model = aggregate

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
        numbers = [Fraction(value) for value in self.otherwise(taxonomy, sensitive)]
        for label, value in self.values.items():
            try:
                numbers[taxonomy.node(label)] = value
            except KeyError:
                raise BadPolicy(
                    "a number is given for what is no value of the column's taxonomy",
                    where="observable" if self.otherwise is unless_sensitive else "aggregate",
                    remedy="Name a node of the taxonomy; write it down there if the data may lack it.",
                ) from None
        return numbers

    @property
    def words(self) -> dict[str, object]:
        """The numbers as a policy writes them."""
        return {"values": {str(label): written(value) for label, value in self.values.items()}}


@dataclass(frozen=True)
class ImportedModel:
    """A model by its importable name, `package.module:function`; loaded when the policy is read."""

    name: str
    model: Model = field(compare=False, repr=False)

    @classmethod
    def load(cls, name: str, *, where: str) -> ImportedModel:
        """Imports a model; raises `BadPolicy` where there is none of this name."""
        module, _, path = name.partition(":")
        if not module or not path:
            raise BadPolicy("a model is named as package.module:function", where=where)
        try:
            target: Any = importlib.import_module(module)
            for part in path.split("."):
                target = getattr(target, part)  # a name that the policy gives
        except (ImportError, AttributeError):
            raise BadPolicy(
                "the model that is named cannot be imported",
                where=where,
                remedy="Install its package where policies are read, or give its numbers as `values`.",
            ) from None
        if not callable(target):
            raise BadPolicy("what is named is no function", where=where)
        return cls(name, target)

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> Sequence[Fraction]:
        return self.model(taxonomy, sensitive)


def read_model(word: object, otherwise: Model, *, where: str) -> Model | None:
    """Returns the model that a word of a policy means, `None` if it means none of these."""
    if isinstance(word, str):
        return ImportedModel.load(word, where=where)
    if isinstance(word, Mapping) and "values" in word:
        values = {_label(name): fraction(value, key="values") for name, value in word["values"].items()}
        if not all(0 <= value <= 1 for value in values.values()):
            raise BadPolicy("every number must be from 0 to 1", where=where)
        return NodeNumbers(values, otherwise)
    if isinstance(word, Mapping) and "file" in word:
        raise BadPolicy(
            "a file of numbers is read with the policy that names it", where=where, remedy="Give `values`."
        )
    return None


def written_model(model: Model) -> object:
    """Returns a model as a policy writes it; one that was given in Python by its importable name."""
    if isinstance(model, NodeNumbers):
        return model.words
    if isinstance(model, ImportedModel):
        return model.name
    # `getattr`: a model of the caller may be any callable
    return f"{getattr(model, '__module__', '')}:{getattr(model, '__qualname__', type(model).__qualname__)}"


def _label(word: object) -> Label:
    return None if word is None else str(word)


# What a policy says of a free column.

OptionSchema = Mapping[str, Any]

FRACTION: OptionSchema = {"$ref": "#/$defs/fraction"}
NUMBERS: OptionSchema = {
    "type": "object",
    "properties": {
        "values": {
            "type": "object",
            "additionalProperties": FRACTION,
            "description": "The number of every node that is named; others have that of the usual model.",
        },
        "file": {
            "type": "string",
            "description": "A CSV file of labels and numbers, relative to the policy.",
        },
    },
    "additionalProperties": False,
}
LABELS: OptionSchema = {"type": "array", "items": {"type": ["string", "number", "null"]}}


@dataclass(frozen=True)
class FreeOptions:
    """The keys `sensitive`, `aggregate` and `observable` of a column whose role is free.

    `aggregate` and `observable` take a `Sensitivity` or an `Observability` of one's own: as numbers, by
    importable name, and in Python as it is.

    >>> FreeOptions.read({"sensitive": ["AIDS"], "observable": {"leaf": 0, "boost": 1}}).words()
    {'sensitive': ['AIDS'], 'observable': {'leaf': 0, 'boost': 1}}
    """

    sensitive: tuple[Label, ...] = ()
    sensitivity: Sensitivity = aggregate
    observability: Observability = field(default=unless_sensitive)

    schema: ClassVar[OptionSchema] = {
        "sensitive": {**LABELS, "description": "The highest nodes that cover the sensitive values."},
        "aggregate": {
            "anyOf": [{"type": "boolean"}, {"type": "string"}, NUMBERS],
            "default": True,
            "description": "Harm is to learn that it is some sensitive value (true), or which one (false);"
            " or a sensitivity of one's own: importable name (package.module:function), or numbers of nodes.",
        },
        "observable": {
            "type": ["object", "string"],
            "description": "Beliefs, from 0 to 1; else a value is observable unless all of it is sensitive."
            " Or an observability of one's own: importable name, or numbers of nodes.",
            "properties": {
                **NUMBERS["properties"],
                "leaf": {
                    "anyOf": [FRACTION, {"type": "object", "additionalProperties": FRACTION}],
                    "description": "The belief that a value is seen: one for all, or one for each value.",
                },
                "boost": {
                    **FRACTION,
                    "default": 0,
                    "description": "How much easier a group is to see than what is in it.",
                },
            },
            "additionalProperties": False,
        },
    }

    @classmethod
    def read(cls, words: Mapping[str, Any]) -> FreeOptions:
        """From the keys of a column; raises `BadPolicy` that names the key."""
        shape = words.get("aggregate", True)
        observability = words.get("observable")
        if isinstance(shape, bool):
            shape = aggregate if shape else particular
        shape = read_model(shape, aggregate, where="aggregate") or shape
        if isinstance(shape, Mapping):
            raise BadPolicy("give `values`, or a `file` of them", where="aggregate")
        observability = read_model(observability, unless_sensitive, where="observable") or observability
        if observability is None or isinstance(observability, Mapping):
            observability = unless_sensitive if observability is None else _belief(observability)
        return cls(tuple(_label(x) for x in words.get("sensitive", ())), shape, observability)

    def words(self) -> dict[str, object]:
        """As a policy writes it; models of one's own by name."""
        keys: dict[str, object] = {}
        if self.sensitive:
            keys["sensitive"] = list(self.sensitive)
        if self.sensitivity is not aggregate:
            keys["aggregate"] = False if self.sensitivity is particular else written_model(self.sensitivity)
        if isinstance(self.observability, Belief):
            keys["observable"] = _written(self.observability)
        elif self.observability is not unless_sensitive:
            keys["observable"] = written_model(self.observability)
        return keys

    def declared(self, rule: Any) -> FreeColumn:
        """For the promise, with the column's taxonomy rule."""
        return FreeColumn(self.sensitive, self.sensitivity, self.observability, rule)


def plain_column(column: FreeColumn) -> dict[str, object]:
    """What is declared of a free column, as plain data.

    `sensitive`    the labels of the guarding set
    `aggregate`    whether harm is to learn that it is some sensitive value (true), or which one (false)
    `observable`   `None`: unless sensitive; else the beliefs: `leaf` (a share, or label -> share) and `boost`

    Of a model of one's own the numbers stand there, as `_numbers` says.
    """
    observable: object = None
    if isinstance(column.observability, Belief):
        leaf = column.observability.leaf
        observable = {
            "leaf": dict(leaf) if isinstance(leaf, Mapping) else Fraction(leaf),
            "boost": column.observability.boost,
        }
    elif column.observability is not unless_sensitive:
        observable = _numbers(column, column.observability)
    shape: object = column.sensitivity is aggregate
    if column.sensitivity not in (aggregate, particular):
        shape = _numbers(column, column.sensitivity)
    return {"sensitive": column.sensitive, "aggregate": shape, "observable": observable}


def _numbers(column: FreeColumn, model: Sensitivity | Observability) -> dict[str, object]:
    """The number that a model gives every node, by the labels from the node up to the root.

    There is one table `with_missing` cells and one `without_missing` ones. Both are empty where the policy
    does not write the values down.
    """
    tables: dict[str, object] = {"with_missing": (), "without_missing": ()}
    if column.rule is None or has_no_groups(column.rule) or not is_written_down(column.rule):
        return tables
    for key, cells in (("with_missing", [None]), ("without_missing", [])):
        tree: Taxonomy = column.rule.build(cells)
        numbers = model(tree, guarded_leaves(tree, column.sensitive, column=""))
        paths = (_path(tree, node) for node in range(len(tree.labels)))
        tables[key] = tuple(zip(paths, map(Fraction, numbers), strict=True))
    return tables


def _path(tree: Taxonomy, node: int) -> tuple[Label, ...]:
    steps = [tree.labels[node]]
    while (node := int(tree.parent[node])) >= 0:
        steps.append(tree.labels[node])
    return tuple(steps)


def _belief(words: Mapping[str, Any]) -> Belief:
    if "leaf" not in words:
        raise BadPolicy("say how observable a `leaf` is, or give `values`", where="observable")
    leaf = words["leaf"]
    boost = fraction(words.get("boost", 0), key="boost")
    if isinstance(leaf, Mapping):
        return Belief({_label(label): fraction(value, key="leaf") for label, value in leaf.items()}, boost)
    return Belief(fraction(leaf, key="leaf"), boost)


def _written(belief: Belief) -> dict[str, object]:
    boost = {"boost": written(belief.boost)} if belief.boost else {}
    if isinstance(belief.leaf, Mapping):
        return {"leaf": {str(label): written(value) for label, value in belief.leaf.items()}, **boost}
    return {"leaf": written(Fraction(belief.leaf)), **boost}


LADDER_OF_THREATS = tuple(
    Fraction(*threat)
    for threat in ((9, 10), (4, 5), (3, 4), (2, 3), (3, 5), (1, 2), (2, 5), (1, 3), (1, 4), (1, 5), (1, 10))
)
"""Threats that searches also look at where a larger one is allowed."""


class ObservableFrom(FractionParam):
    """The observability from which a value counts as observable; a fraction that may be left out.

    A model of what is observed of several values together is refused: whoever observes them observes each, so
    the least of their own is the largest that it may say, and is what is promised against.
    """

    required: ClassVar[bool] = False

    def read(self, value: object) -> Fraction:
        if isinstance(value, Mapping) or callable(value) or (isinstance(value, str) and ":" in value):
            raise BadPolicy(
                "an observability of several values together is not taken: whoever observes them observes"
                " each, so it is at most the least of theirs, which is promised against already",
                where=self.name,
                remedy="Say how observable single values are: `observable` of each column takes a name or a"
                " file.",
            )
        return super().read(value)

    @property
    def schema(self) -> Schema:
        """Anything but a number is refused when it is read, with the reason."""
        return {"type": ["number", "string", "object"]}


@register
@dataclass(frozen=True)
class Freeform(ParametrizedPromise, TablePromise, AdjustablePromise, ColumnRolePromise):
    """Whatever can be observed of a person, no hidden value is inferred with a threat above `threat`.

    There is no line between quasi-identifiers and secrets: every key column takes part, value by value. An
    attack observes values of any columns at any height and infers one that cannot be observed; its threat
    is the confidence times the sensitivity of what is inferred. A breach is *more* than `threat`. A value
    is observable from `observability` on; roots always are, and are never inferred: they say nothing.
    `columns` says what is declared of the free columns; values of other key columns are observable.

    Source: Wang, Xu, Fu and Wong, *FF-anonymity: when quasi-identifiers are missing*, 2009, with the
    extended breaches of its Definition 3.4. Monotone: yes (a more general table has fewer breaches).
    Evidence: the published table. One that shows a value and one above it in a column never keeps it: it is
    broken, or not decidable.
    Does not promise: that nobody is recognized (one person with harmless values is no breach: combine with
    k-anonymity), nor anything about columns that are not part of the key.

    >>> str(Freeform(Fraction(1, 2)))
    'freeform, threat at most 1/2, observable from 1'
    """

    threat: Fraction
    observability: Fraction = Fraction(1)
    columns: Mapping[str, FreeColumn] = field(default_factory=dict, hash=False)

    plain: ClassVar[str] = (
        "From whatever can be observed of a person, nothing hidden is inferred with a threat above {threat}."
    )
    silent_on: ClassVar[str] = "Somebody may be recognized, where that tells nothing hidden."
    name: ClassVar[str] = "freeform"
    monotone: ClassVar[bool] = True
    judged_on_labels: ClassVar[bool] = True
    column_role: ClassVar[Role] = Role.FREE
    threats: ClassVar[tuple[str, ...]] = ("freeform",)
    keys: ClassVar[tuple[Parameter, ...]] = (
        FractionParam(
            "threat",
            Fraction(0),
            Fraction(1),
            meaning="The largest confidence with which observed values may tell a sensitive one.",
        ),
        ObservableFrom(
            "observability",
            Fraction(0),
            Fraction(1),
            strict=True,
            meaning="A value counts as observable from this belief on.",
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {"threat": Order.SMALLER}
    column_options: ClassVar[type[ColumnOptions] | None] = FreeOptions

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threat == 1:
            raise BadPolicy(
                "threat must be below 1: no threat exceeds 1, so nothing would be promised", where="threat"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it was told about."""
        return tuple(self.columns)

    def about(self, columns: Mapping[str, ColumnView]) -> Freeform:
        """The same promise, told what the policy declares of its columns."""
        free_columns = {}
        for name, rule in columns.items():
            if rule.role is Role.FREE:
                options = rule.options if isinstance(rule.options, FreeOptions) else FreeOptions()
                declared = self.columns.get(name) or options.declared(rule.taxonomy)
                free_columns[name] = replace(declared, rule=declared.rule or rule.taxonomy)
        return Freeform(self.threat, self.observability, free_columns)

    def objections(self, policy: PolicyView) -> list[str]:
        """What this promise cannot go with."""
        sentences = []
        if not any(rule.role is Role.FREE for rule in policy.columns.values()):
            sentences.append("no column is free, so there is nothing to infer")
        if policy.person is not None:
            sentences.append("it counts rows, so every person must have one row: drop `person`")
        if policy.protect.suppress > 0:
            sentences.append("it is about the table as a whole and is not judged with rows suppressed")
        sentences += [
            f"the taxonomy of {name} grows from the data, and with it what is sensitive: write it down"
            for name, column in self.columns.items()
            if column != FreeColumn() and not is_written_down(column.rule)
        ]
        return sentences

    @property
    def stricter(self) -> tuple[Freeform, ...]:
        """The same promise with every smaller threat of a ladder, from the largest down."""
        return tuple(replace(self, threat=threat) for threat in LADDER_OF_THREATS if threat < self.threat)

    def limits(self) -> tuple[FreeformLimit, ...]:
        return (self._limit,)

    @property
    def _limit(self) -> FreeformLimit:
        return FreeformLimit(self.threat, self.observability, self.columns)

    def judge_data(self) -> dict[str, object]:
        """With `free_columns`: what is declared of each, as `plain_column` says."""
        free = {name: plain_column(column) for name, column in self.columns.items()}
        return {**super().judge_data(), "free_columns": free}

    def guards(self, columns: tuple[Column, ...]) -> tuple[Guard, ...]:
        """The key columns with what is declared of them; raises `BadPolicy` where that does not fit."""
        return tuple(
            self.columns[c.name].guard(c.taxonomy, self.observability, column=c.name)
            if c.name in self.columns
            else Guard.all_observable(c.taxonomy)
            for c in columns
        )

    def node_table(self, table: Microdata, cuts: Cuts, guards: tuple[Guard, ...] | None = None) -> NodeTable:
        """What is published under these cuts."""
        return node_table_under(table, cuts, guards or self.guards(table.keys))

    def watch(self, table: Microdata) -> FreeformWatch:
        return FreeformWatch(self._limit, table, self.guards(table.keys))

    def conflicts(self, table: Microdata) -> FreeformConflicts:
        return FreeformConflicts(table, self.guards(table.keys), self.threat)

    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict:
        return self.verdict_of(self.node_table(table, cuts))

    def verdict_on_labels(
        self, labels: Mapping[str, Sequence[Label]], codes: Mapping[str, Codes], counts: Counts
    ) -> Verdict:
        """On the texts of a published table; raises `BadData` where one has no place in its taxonomy."""
        return self.verdict_of(node_table_of_labels(self.columns, self.observability, labels, codes, counts))

    def verdict_of(self, node_table: NodeTable) -> Verdict:
        """The largest threat; `people` match the worst attack on some value, `classes` counts such values."""
        attacks = worst(node_table)
        broken = [inference for inference in attacks if inference.threat > self.threat]
        return Verdict(
            promise=str(self),
            holds=False if broken else None if node_table.nested else True,
            measured=max((inference.threat for inference in attacks), default=Fraction(0)),
            limit=self.threat,
            people=people_exposed(node_table, broken),
            classes=len(broken),
            evidence=self.evidence,
            reason=f"not known: {NESTED}" if node_table.nested else "" if len(node_table.counts) else NOTHING,
        )

    def __str__(self) -> str:
        return f"freeform, threat at most {self.threat}, observable from {self.observability}"
