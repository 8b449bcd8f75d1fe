"""Trees from levels: what every leaf becomes, level by level."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadPolicy, BadTaxonomy
from sfumato.table.taxonomy import ANY, Label, Taxonomy

NAMED = "--show-values names them"
"""No message names a label: where it is what a cell holds, or reads like it, that would show the cell."""


ORDERED: Mapping[str, object] = {
    "type": "boolean",
    "default": False,
    "description": "The values have an order, and groups are neighbours in it.",
}
"""The schema of the key `ordered`."""


def builder_schema(description: str, properties: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the schema of a taxonomy; the first of its properties is the key that names it."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [next(iter(properties))],
        "additionalProperties": False,
    }


def list_schema(items: Mapping[str, object], description: str) -> Mapping[str, object]:
    """Returns the schema of a list that is not empty."""
    return {"type": "array", "minItems": 1, "items": items, "description": description}


@dataclass(frozen=True, eq=False)
class Level:
    """What every leaf becomes at one level: leaf j becomes `names[codes[j]]`."""

    names: Sequence[Label]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Sequence[Label]) -> Self:
        index: dict[Label, int] = {}
        codes = [index.setdefault(label, len(index)) for label in labels]
        return cls(list(index), np.array(codes, dtype=np.int64))

    @classmethod
    def all_alike(cls, label: Label, count: int) -> Self:
        return cls([label], np.zeros(count, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.codes)

    def labels(self) -> list[Label]:
        return [self.names[code] for code in self.codes.tolist()]

    def with_missing(self, label: Label) -> Level:
        """Returns the level with one more leaf, for empty cells, at the end."""
        return Level([*self.names, label], np.append(self.codes, len(self.names)))


def tree_of_levels(
    levels: Sequence[Level],
    *,
    ordered: bool = False,
    missing: bool = False,
    aliases: Mapping[Label, Label] | None = None,
) -> Taxonomy:
    """Returns the tree whose full-domain levels are exactly `levels`.

    The leaves (`levels[0]`) must differ. A root `*` is added unless the last level has a single label. A
    label that repeats itself upwards is one node, unless others join on the way: then the value keeps a leaf
    of its own below the group of the same name. The same label in two unrelated places is refused, for nobody
    could tell what it means once published. `missing` adds a leaf for empty cells directly below the root;
    `aliases` names the leaf of raw values that are not leaves themselves. Ranges of an `ordered` tree run
    between nodes of the first level above the leaves, where there is one below the root.

    >>> t = tree_of_levels([Level.of(["Flu", "TB", "White"]), Level.of(["Viral", "Bacterial", "White"])])
    >>> t.labels, t.height
    (('*', 'Viral', 'Flu', 'Bacterial', 'TB', 'White'), 2)
    """
    if not levels or not len(levels[0]):
        return Taxonomy.flat([None] if missing else [])
    upwards = list(levels)
    root: Label = ANY
    if len(upwards) > 1 and len(upwards[-1].names) == 1:
        root = upwards.pop().names[0]
    if missing:
        upwards = [level.with_missing(None) for level in upwards]
    nodes = _Nodes(root)
    node_of_leaf = [np.zeros(len(upwards[0]), dtype=np.int64)]
    for level in reversed(upwards):
        node_of_leaf.append(nodes.descend(level, node_of_leaf[-1]))
    _refuse_repeated_labels(nodes.labels, nodes.parent)
    leaves = upwards[0].labels()
    node_of = dict(zip(leaves, node_of_leaf[-1].tolist(), strict=True)) if aliases else {}
    by_node = np.argsort(node_of_leaf[-1], kind="stable")
    tree = Taxonomy.grow(
        nodes.labels,
        nodes.parent,
        levels=np.array(node_of_leaf[::-1])[:, by_node],
        ordered=ordered,
        aliases={name: node_of[leaf] for name, leaf in (aliases or {}).items()},
        range_level=1 if ordered and len(upwards) > 1 else 0,
    )
    if ordered and tree.leaf_labels != tuple(leaves):
        raise BadTaxonomy(
            "an ordered taxonomy may only group neighbours",
            remedy="Sort the values so that each group is in one piece, or drop `ordered`.",
        )
    return tree


def require_known(tree: Taxonomy, values: Iterable[Label]) -> Taxonomy:
    """Returns the tree if it knows all the values; else raises `BadTaxonomy` with their number."""
    unknown = [v for v in values if v is not None and tree.rank(v) is None]
    if unknown:
        raise unknown_values(unknown)
    return tree


def is_lack(wrong: BadTaxonomy) -> bool:
    """Returns whether an error is about values of the data that the taxonomy lacks."""
    return bool(wrong.values) and wrong.message == unknown_values(wrong.values).message


def unknown_values(unknown: Sequence[str]) -> BadTaxonomy:
    """Returns the error for values of the data that the taxonomy lacks."""
    sole = len(unknown) == 1
    return BadTaxonomy(
        f"{len(unknown)} value{'' if sole else 's'} {'occurs' if sole else 'occur'} that the taxonomy lacks",
        remedy="Add them to the taxonomy, or correct the data; `sfumato policy check` proposes how.",
        values=unknown,
    )


class _Nodes:
    """A tree under construction, from the root down."""

    def __init__(self, root: Label) -> None:
        self.labels: list[Label] = [root]
        self.parent: list[int] = [-1]
        self._ids: dict[Label, int] = {root: 0}
        self._label_of = np.zeros(1, dtype=np.int64)

    def descend(self, level: Level, above: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the node of every leaf one level further down; adds the nodes that are new."""
        ids = self._ids
        named = np.array([ids.setdefault(name, len(ids)) for name in level.names], dtype=np.int64)[
            level.codes
        ]
        splits = np.zeros(len(self.labels), dtype=bool)
        splits[above[named != self._label_of[above]]] = True
        moved = np.flatnonzero(splits[above])
        pairs = above[moved] * len(ids) + named[moved]
        _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
        by_appearance = np.argsort(first)
        number = np.empty(len(first), dtype=np.int64)
        number[by_appearance] = len(self.labels) + np.arange(len(first))
        here = above.copy()
        here[moved] = number[which]
        fresh = moved[first[by_appearance]]
        self.labels += [level.names[code] for code in level.codes[fresh].tolist()]
        self.parent += above[fresh].tolist()
        self._label_of = np.concatenate((self._label_of, named[fresh]))
        return here


def _refuse_repeated_labels(labels: Sequence[Label], parent: Sequence[int]) -> None:
    """Raises where a label stands at two places; a value below the group of its own name is allowed."""
    if len(set(labels)) == len(labels):
        return
    last_node: dict[Label, int] = {}
    for node, label in enumerate(labels):
        earlier = last_node.setdefault(label, node)
        last_node[label] = node
        if earlier in (node, parent[node]):
            continue
        up = parent[node]
        while up > earlier:
            up = parent[up]
        first, second = labels[parent[earlier]], labels[parent[node]]
        if up == earlier:
            raise BadTaxonomy(
                "the levels run in a circle: a label becomes another, which becomes the first again",
                remedy=f"Rename one of the two ({NAMED}).",
                values=_texts(label, second),
            )
        raise BadTaxonomy(
            "not a hierarchy: a label stands below one label and below another",
            remedy=f"Rename it at one of the two places ({NAMED}).",
            values=_texts(label, first, second),
        )


def _texts(*labels: Label) -> list[str]:
    return [label for label in labels if label is not None]


# Numbers in data, read exactly.

_SHAPE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_MOST_DIGITS = 60


def number(text: str) -> Decimal | None:
    """Returns the number a cell holds, `None` if it holds none (NaN and infinity are none).

    >>> number("007"), number("2.50"), number("nan"), number("1_000")
    (Decimal('7'), Decimal('2.50'), None, None)
    """
    if len(text) > _MOST_DIGITS or not _SHAPE.fullmatch(text):
        return None
    value = Decimal(text)
    return value if not value or abs(value.adjusted()) < _MOST_DIGITS else None


def plain(value: Decimal) -> str:
    """Writes a number without exponent and without idle zeros.

    >>> plain(Decimal("2.50")), plain(Decimal("1E+2")), plain(Decimal("-0.0"))
    ('2.5', '100', '0')
    """
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


# Literals of a policy, read: labels, lists, exact numbers.


def label(word: object) -> str:
    """Returns a label of a taxonomy; numbers keep the digits they were written with."""
    if isinstance(word, str):
        return word
    if isinstance(word, bool) or word is None:
        literal = {True: "true", False: "false", None: "null"}[word]
        raise BadPolicy(f"{literal} is no label", remedy=f'Put it in quotes: "{literal}".')
    if isinstance(word, int | Decimal):
        return str(word)
    if isinstance(word, float):
        return repr(word)
    raise BadPolicy("a label must be text")


def sequence(words: object) -> Sequence[object]:
    """Returns a list; one word stands for a list of one."""
    if isinstance(words, Sequence) and not isinstance(words, str):
        return words
    return [words]


def decimal(word: object, *, key: str) -> Decimal:
    """Returns an exact number: 5, 2.5, "2.5"; a float means the decimal it prints as.

    >>> decimal(0.3, key="width") % decimal(0.1, key="width")
    Decimal('0.0')
    """
    text = repr(word) if isinstance(word, float) else str(word)
    value = None if isinstance(word, bool) else number(text)
    if value is None:
        raise BadPolicy("must be a number such as 5 or 2.5", where=key)
    return value


def whole(word: object, *, key: str) -> int:
    """Returns a whole number from 1; raises where it is none."""
    value = decimal(word, key=key)
    if value != int(value) or value < 1:
        raise BadPolicy("must be a whole number from 1", where=key)
    return int(value)
