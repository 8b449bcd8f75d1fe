"""Trees written as nested lists and mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from sfumato.core.errors import BadPolicy, BadTaxonomy
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.taxonomy_rule import Spec
from sfumato.policy.taxonomies.literals import label
from sfumato.policy.taxonomies.rows import Row, WrittenRows

Branch = str | tuple[str, tuple["Branch", ...]]
MOST_DEPTH = 30


@dataclass(frozen=True)
class NestedTree:
    """A tree literal: `{tree: {Viral: [Flu, AIDS], Bacterial: [E.Coli, TB]}}`. Its root is `*`.

    A single group that holds everything is the root itself, unless `*` is written above it (`starred`).

    >>> t = NestedTree.read({"tree": {"Viral": ["Flu", "AIDS"], "Bacterial": ["TB"], "Trauma": None}})
    >>> t.build(["Flu", None]).leaf_labels
    ('Flu', 'AIDS', 'TB', 'Trauma', None)
    >>> one, starred = {"person": ["f", "m"]}, {"*": {"person": ["f", "m"]}}
    >>> [NestedTree.read({"tree": tree}).build([]).height for tree in (one, starred)]
    [1, 2]
    """

    key: ClassVar[str] = "tree"
    schema: ClassVar[Mapping[str, object]] = {
        "type": "object",
        "description": "A tree as nested mappings (groups) and lists (values).",
        "properties": {
            "tree": {
                "type": ["object", "array"],
                "description": "Groups as keys, values as lists below them; the root `*` is added."
                " A single group that holds everything is the root.",
            },
            "ordered": {
                "type": "boolean",
                "default": False,
                "description": "The values have an order, and groups are neighbours in it.",
            },
        },
        "required": ["tree"],
        "additionalProperties": False,
    }

    branches: tuple[Branch, ...]
    ordered: bool = False
    starred: bool = False

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        branches = _branches(spec["tree"])
        match branches:
            case (("*", below),):
                branches, starred = below, True
            case _:
                starred = False
        rule = cls(branches, bool(spec.get("ordered", False)), starred and _is_one_group(branches))
        if not branches:
            raise BadTaxonomy("the tree is empty")
        rule.build([])
        return rule

    @property
    def spec(self) -> Spec:
        ordered = {"ordered": True} if self.ordered else {}
        tree = _written(self.branches)
        return {"tree": {"*": tree} if self.starred else tree, **ordered}

    @property
    def digest(self) -> str:
        return ""

    def build(self, values: Sequence[Label]) -> Taxonomy:
        return self._written_out.build(values)

    @cached_property
    def _written_out(self) -> WrittenRows:
        above = () if _is_one_group(self.branches) and not self.starred else (ANY,)
        rows = (row for branch in self.branches for row in _rows(branch, above))
        return WrittenRows(tuple(rows), self.ordered)


def _is_one_group(branches: tuple[Branch, ...]) -> bool:
    """Whether one group, of the tree's own naming, holds every value."""
    return len(branches) == 1 and not isinstance(branches[0], str)


def _branches(words: object, depth: int = 0) -> tuple[Branch, ...]:
    if depth > MOST_DEPTH:
        raise BadPolicy(f"the tree is deeper than {MOST_DEPTH} levels")
    if words is None:
        return ()
    if isinstance(words, Mapping):
        return tuple(_branch(name, below, depth) for name, below in words.items())
    if isinstance(words, Sequence) and not isinstance(words, str):
        return tuple(
            branch
            for word in words
            for branch in (_branches(word, depth) if isinstance(word, Mapping) else (label(word),))
        )
    return (label(words),)


def _branch(name: object, below: object, depth: int) -> Branch:
    children = _branches(below, depth + 1)
    return (label(name), children) if children else label(name)


def _rows(branch: Branch, above: Row) -> Iterator[Row]:
    if isinstance(branch, str):
        yield (branch, *above)
        return
    name, below = branch
    for child in below:
        yield from _rows(child, (name, *above))


def _written(branches: tuple[Branch, ...]) -> object:
    """Returns the branches as a policy writes them: a mapping where all are groups, else a list."""
    groups = {branch[0]: _written(branch[1]) for branch in branches if not isinstance(branch, str)}
    if len(groups) == len(branches):
        return groups
    return [b if isinstance(b, str) else {b[0]: _written(b[1])} for b in branches]
