"""Changes of a written tree: rename, group, split, merge, move and dissolve. The values stay the same.

Nodes are named by their paths: the position among the groups at the top, then among what is below, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sfumato.core.errors import WrongCall
from sfumato.core.taxonomy import Taxonomy
from sfumato.policy.taxonomies.tree import Branch, NestedTree

NodePath = tuple[int, ...]
ROOT: NodePath = ()


@dataclass(eq=False)
class TreeNode:
    """A node of a tree that is being changed; a value has no children."""

    label: str
    children: list[TreeNode] | None = None

    @classmethod
    def of(cls, branch: Branch) -> TreeNode:
        return cls(branch) if isinstance(branch, str) else cls(branch[0], [cls.of(one) for one in branch[1]])

    @property
    def branch(self) -> Branch:
        if self.children is None:
            return self.label
        return self.label, tuple(child.branch for child in self.children)

    def below(self) -> Iterator[TreeNode]:
        """Yields the node and every node below it."""
        yield self
        for child in self.children or ():
            yield from child.below()


class TreeChange:
    """A written tree while it is changed, from one state in which paths were read to the next."""

    def __init__(self, rule: NestedTree) -> None:
        self._rule = rule
        self._top = TreeNode("*", [TreeNode.of(branch) for branch in rule.branches])

    def rename(self, path: NodePath, name: str) -> NestedTree:
        """Gives a group another name; values are what the data holds, and keep theirs."""
        self._group(path).label = self._new(name)
        return self._result()

    def group(self, paths: Sequence[NodePath], name: str) -> NestedTree:
        """Puts nodes that stand side by side into a new group of their own, in their place."""
        parent, chosen = self._siblings(paths)
        self._put(parent, chosen, TreeNode(self._new(name), list(chosen)))
        return self._result()

    def split(self, paths: Sequence[NodePath], name: str) -> NestedTree:
        """Takes some of a group's nodes out of it, into a new group beside it."""
        parent, chosen = self._siblings(paths)
        if parent is self._top:
            raise WrongCall("these nodes are in no group", remedy="Put them into a new group instead.")
        if len(chosen) == len(parent.children or ()):
            raise WrongCall("nothing would be left of the group", remedy="Leave some, or rename the group.")
        above = self._node(paths[0][:-2])
        parent.children = [child for child in parent.children or () if child not in chosen]
        siblings = above.children or []
        siblings.insert(siblings.index(parent) + 1, TreeNode(self._new(name), list(chosen)))
        return self._result()

    def merge(self, paths: Sequence[NodePath], name: str) -> NestedTree:
        """Makes one group of several that stand side by side."""
        parent, chosen = self._siblings(paths)
        if len(chosen) < 2 or any(node.children is None for node in chosen):
            raise WrongCall("two groups or more are merged", remedy="Choose groups, not single values.")
        inside = [child for node in chosen for child in node.children or ()]
        labels = {node.label for node in chosen}
        self._put(parent, chosen, TreeNode(name if name in labels else self._new(name), inside))
        return self._result()

    def move(self, paths: Sequence[NodePath], target: NodePath) -> NestedTree:
        """Moves nodes into another group, or to the top; groups that lose everything go."""
        chosen = self._outermost(paths)
        goal = self._top if target == ROOT else self._group(target)
        if any(goal in node.below() for node in chosen):
            raise WrongCall("a group cannot be moved into itself", remedy="Choose another group.")
        for node in chosen:
            self._parent_of(node).remove(node)
        if goal.children is not None:
            goal.children += chosen
        return self._result()

    def dissolve(self, path: NodePath) -> NestedTree:
        """Removes a group; what is in it goes one level up."""
        node = self._group(path)
        siblings = self._parent_of(node)
        position = siblings.index(node)
        siblings[position : position + 1] = node.children or []
        return self._result()

    def _node(self, path: NodePath) -> TreeNode:
        node = self._top
        for position in path:
            below = node.children or []
            if not 0 <= position < len(below):
                raise WrongCall("the tree has no such node", remedy="Open the page again.")
            node = below[position]
        return node

    def _group(self, path: NodePath) -> TreeNode:
        node = self._node(path)
        if node.children is None or node is self._top:
            raise WrongCall("this is a value, not a group", remedy="Choose a group.")
        return node

    def _outermost(self, paths: Sequence[NodePath]) -> list[TreeNode]:
        """Returns the nodes of these paths, without those below others of them."""
        asked = sorted(set(paths))
        if not asked or ROOT in asked:
            raise WrongCall("no node is chosen", remedy="Choose at least one.")
        inside = [p for p in asked if any(p[: len(other)] == other for other in asked if other != p)]
        return [self._node(path) for path in asked if path not in inside]

    def _siblings(self, paths: Sequence[NodePath]) -> tuple[TreeNode, list[TreeNode]]:
        """Returns the group in which all these nodes are, and the nodes in order."""
        chosen = self._outermost(paths)
        if len({path[:-1] for path in paths}) != 1:
            raise WrongCall("these nodes are not side by side", remedy="Choose nodes of one group.")
        return self._node(paths[0][:-1]), chosen

    def _parent_of(self, node: TreeNode) -> list[TreeNode]:
        for above in self._top.below():
            if above.children is not None and node in above.children:
                return above.children
        raise WrongCall("the tree has no such node", remedy="Open the page again.")

    def _put(self, parent: TreeNode, chosen: Sequence[TreeNode], made: TreeNode) -> None:
        """Puts a node where the first of the chosen is; the chosen go."""
        below = parent.children or []
        position = below.index(chosen[0])
        parent.children = [*below[:position], made, *(c for c in below[position:] if c not in chosen)]

    def _new(self, name: str) -> str:
        plain = " ".join(name.split())
        if not plain:
            raise WrongCall("a group needs a name", remedy="Say how it is to be published.")
        if any(node.label == plain for node in self._top.below()):
            raise WrongCall("there is a node of this name already", remedy="Choose another name.")
        return plain

    def _result(self) -> NestedTree:
        _prune(self._top)
        return replace(self._rule, branches=tuple(child.branch for child in self._top.children or ()))


def _prune(node: TreeNode) -> None:
    """Removes groups that hold nothing: written down, they would be values."""
    for child in node.children or ():
        _prune(child)
    if node.children is not None:
        node.children = [child for child in node.children if child.children is None or child.children]


def with_values(rule: NestedTree, paths: Sequence[Sequence[str]]) -> NestedTree:
    """Returns the tree with more values, each with the groups above it, from the nearest to the highest.

    Groups that are not there are made; the root `*` may be named or not.
    """
    top = TreeNode("*", [TreeNode.of(branch) for branch in rule.branches])
    for leaf, *above in paths:
        place = top
        for label in reversed([name for name in above if name != "*"]):
            below = [] if place.children is None else place.children
            known = next((one for one in below if one.label == label and one.children is not None), None)
            if known is None:
                known = TreeNode(label, [])
                below.append(known)
            place = known
        if place.children is not None:
            place.children.append(TreeNode(leaf))
    return replace(rule, branches=tuple(child.branch for child in top.children or ()))


def written_tree(taxonomy: Taxonomy) -> NestedTree:
    """Returns a tree as a policy writes it down, from one that was built; an empty cell is left out."""

    def branch(node: int) -> Branch:
        label, below = str(taxonomy.labels[node]), taxonomy.children(node)
        return (label, tuple(branch(child) for child in below)) if below else label

    inside = [child for child in taxonomy.children(0) if taxonomy.labels[child] is not None]
    return NestedTree(tuple(branch(child) for child in inside), taxonomy.ordered)
