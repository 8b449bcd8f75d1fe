"""What a policy says of a free column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.core.errors import BadPolicy
from sfumato.core.exact_numbers import fraction, written
from sfumato.core.freeform.guard import FreeColumn
from sfumato.core.freeform.observability import Belief, Observability, unless_sensitive
from sfumato.core.freeform.published_nodes import has_no_groups, written_down
from sfumato.core.freeform.sensitivity import Sensitivity, aggregate, guarded_leaves, particular
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.promises.freeform.models import read_model, written_model

Schema = Mapping[str, Any]

NUMBERS: Schema = {
    "type": "object",
    "properties": {
        "values": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/fraction"},
            "description": "The number of every node that is named; others have that of the usual model.",
        },
        "file": {
            "type": "string",
            "description": "A CSV file of labels and numbers, relative to the policy.",
        },
    },
    "additionalProperties": False,
}
LABELS: Schema = {"type": "array", "items": {"type": ["string", "number", "null"]}}


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

    schema: ClassVar[Schema] = {
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
                    "anyOf": [
                        {"$ref": "#/$defs/fraction"},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/fraction"}},
                    ],
                    "description": "The belief that a value is seen: one for all, or one for each value.",
                },
                "boost": {
                    "$ref": "#/$defs/fraction",
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
        seen = words.get("observable")
        if isinstance(shape, bool):
            shape = aggregate if shape else particular
        shape = read_model(shape, aggregate, where="aggregate") or shape
        if isinstance(shape, Mapping):
            raise BadPolicy("give `values`, or a `file` of them", where="aggregate")
        seen = read_model(seen, unless_sensitive, where="observable") or seen
        if seen is None or isinstance(seen, Mapping):
            seen = unless_sensitive if seen is None else _belief(seen)
        return cls(tuple(_label(x) for x in words.get("sensitive", ())), shape, seen)

    def words(self) -> dict[str, object]:
        """As a policy writes it; models of one's own by name."""
        found: dict[str, object] = {}
        if self.sensitive:
            found["sensitive"] = list(self.sensitive)
        if self.sensitivity is not aggregate:
            found["aggregate"] = False if self.sensitivity is particular else written_model(self.sensitivity)
        if isinstance(self.observability, Belief):
            found["observable"] = _written(self.observability)
        elif self.observability is not unless_sensitive:
            found["observable"] = written_model(self.observability)
        return found

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
    seen: object = None
    if isinstance(column.observability, Belief):
        leaf = column.observability.leaf
        seen = {
            "leaf": dict(leaf) if isinstance(leaf, Mapping) else Fraction(leaf),
            "boost": column.observability.boost,
        }
    elif column.observability is not unless_sensitive:
        seen = _numbers(column, column.observability)
    shape: object = column.sensitivity is aggregate
    if column.sensitivity not in (aggregate, particular):
        shape = _numbers(column, column.sensitivity)
    return {"sensitive": column.sensitive, "aggregate": shape, "observable": seen}


def _numbers(column: FreeColumn, model: Sensitivity | Observability) -> dict[str, object]:
    """The number that a model gives every node, by the labels from the node up to the root.

    There is one table `with_missing` cells and one `without_missing` ones. Both are empty where the policy
    does not write the values down.
    """
    found: dict[str, object] = {"with_missing": (), "without_missing": ()}
    if column.rule is None or has_no_groups(column.rule) or not written_down(column.rule):
        return found
    for key, cells in (("with_missing", [None]), ("without_missing", [])):
        tree: Taxonomy = column.rule.build(cells)
        numbers = model(tree, guarded_leaves(tree, column.sensitive, column=""))
        paths = (_path(tree, node) for node in range(len(tree.labels)))
        found[key] = tuple(zip(paths, map(Fraction, numbers), strict=True))
    return found


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
        leaf = {_label(label): fraction(value, key="leaf") for label, value in leaf.items()}
        if not all(0 <= value <= 1 for value in leaf.values()):
            raise BadPolicy("a belief must be from 0 to 1", where="observable")
        return Belief(leaf, boost)
    return Belief(fraction(leaf, key="leaf"), boost)


def _written(belief: Belief) -> dict[str, object]:
    leaf: object
    if isinstance(belief.leaf, Mapping):
        leaf = {str(label): written(value) for label, value in belief.leaf.items()}
    else:
        leaf = written(Fraction(belief.leaf))
    return {"leaf": leaf, **({"boost": written(belief.boost)} if belief.boost else {})}


def _label(word: object) -> Label:
    return None if word is None else str(word)
