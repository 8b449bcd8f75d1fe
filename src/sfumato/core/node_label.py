"""What the nodes of a tree are known by: a label or, where no value of today has it, a mark."""

from __future__ import annotations

from dataclasses import dataclass

Label = str | None
"""A published text; `None` is a missing cell."""


@dataclass(frozen=True)
class RememberedNode:
    """In place of a label: a node that an earlier release had values for, and today's table has none for.

    Only the mark is known by which the release remembers it (`core.marks.tree_marks`): it is no text, and
    nothing is published of it.
    """

    mark: int


NodeLabel = Label | RememberedNode
"""What a node of a tree is known by."""
