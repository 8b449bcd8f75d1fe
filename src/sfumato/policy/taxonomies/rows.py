"""Taxonomies written out row by row: a value, then what it becomes at each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from sfumato.core.errors import BadTaxonomy
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.taxonomy_rule import Spec
from sfumato.policy.taxonomies.levels import NAMED, Level, require_known, tree_of_levels
from sfumato.policy.taxonomies.literals import label, sequence

Row = tuple[str, ...]


@dataclass(frozen=True)
class WrittenRows:
    """A hierarchy as ARX writes it, inside the policy: `{rows: [[Flu, Viral, "*"], [TB, Bacterial, "*"]]}`.

    Rows may differ in length; they are aligned at the root, so that a short row keeps its value longer.

    >>> WrittenRows((("Flu", "Viral", "*"), ("TB", "*"))).build(["TB"]).levels.shape
    (3, 2)
    """

    key: ClassVar[str] = "rows"
    schema: ClassVar[Mapping[str, object]] = {
        "type": "object",
        "description": "A hierarchy row by row: the value first, then what it becomes at each level.",
        "properties": {
            "rows": {
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/$defs/labels"},
                "description": "One list per value: the value, then what it becomes, the root last.",
            },
            "ordered": {
                "type": "boolean",
                "default": False,
                "description": "The values have an order, and groups are neighbours in it.",
            },
        },
        "required": ["rows"],
        "additionalProperties": False,
    }

    rows: tuple[Row, ...]
    ordered: bool = False

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        rows = tuple(tuple(label(x) for x in sequence(row)) for row in sequence(spec["rows"]))
        rule = cls(rows, bool(spec.get("ordered", False)))
        _ = rule._levels
        return rule

    @classmethod
    def of(cls, tree: Taxonomy) -> Self:
        """Returns the rows of a taxonomy without the leaf of empty cells, which `build` adds if needed."""
        rows = [
            tuple(ANY if at is None else at for at in row)
            for leaf, row in zip(tree.leaf_labels, paths(tree), strict=True)
            if leaf is not None
        ]
        return cls(tuple(rows), tree.ordered)

    @property
    def spec(self) -> Spec:
        ordered = {"ordered": True} if self.ordered else {}
        return {"rows": [list(row) for row in self.rows], **ordered}

    @property
    def digest(self) -> str:
        return ""

    def build(self, values: Sequence[Label]) -> Taxonomy:
        missing = None in values
        return require_known(tree_of_levels(self._levels, ordered=self.ordered, missing=missing), values)

    @cached_property
    def _levels(self) -> list[Level]:
        return levels_of(self.rows)


def levels_of(rows: Sequence[Row], *, lines: Sequence[int] | None = None) -> list[Level]:
    """Returns the levels of a hierarchy; rows are aligned at the root: `*`, or the one label that ends all.

    `lines` says where each row stands, for messages. Equal rows are harmless; contradicting ones are not.
    """
    first: dict[str, int] = {}
    for i, row in enumerate(rows):
        earlier = first.setdefault(row[0], i)
        if row != rows[earlier]:
            raise _two_paths(rows[earlier], row, (lines[earlier], lines[i]) if lines else None)
    chosen = [rows[i] for i in first.values()]
    if len({row[-1] for row in chosen}) > 1 or any(len(row) == 1 for row in chosen):
        chosen = [row if len(row) > 1 and row[-1] == ANY else (*row, ANY) for row in chosen]
    height = max((len(row) for row in chosen), default=0)
    padded = [(row[0],) * (height - len(row)) + row for row in chosen]
    return [Level.of(labels) for labels in zip(*padded, strict=True)]


def _two_paths(one: Row, other: Row, lines: tuple[int, int] | None) -> BadTaxonomy:
    here, there = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), (one[0], other[-1]))
    what = "can become one label or another" if here != there else "has two paths of different length"
    place = f" (lines {lines[0]} and {lines[1]})" if lines else ""
    return BadTaxonomy(
        f"not a hierarchy: a value {what}{place}",
        remedy=f"Keep one of the two ({NAMED}).",
        values=(one[0], here, there) if here != there else (one[0],),
    )


def paths(tree: Taxonomy) -> list[tuple[Label, ...]]:
    """Returns what each leaf becomes, from itself to the root, in the order of the leaves."""
    columns = [[tree.labels[v] for v in level] for level in tree.levels.tolist()]
    return list(zip(*columns, strict=True))
