"""Hierarchy files as ARX writes them."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from sfumato.policy.taxonomies.levels import (
    NAMED,
    ORDERED,
    Level,
    builder_schema,
    label,
    list_schema,
    require_known,
    sequence,
    tree_of_levels,
)
from sfumato.system.disk import read_start
from sfumato.system.errors import BadPolicy, BadTaxonomy, UsageError
from sfumato.table.taxonomy import ANY, Label, Spec, Taxonomy

# Taxonomies written out row by row: a value, then what it becomes at each level.

Row = tuple[str, ...]


@dataclass(frozen=True)
class WrittenRows:
    """A hierarchy as ARX writes it, inside the policy: `{rows: [[Flu, Viral, "*"], [TB, Bacterial, "*"]]}`.

    Rows may differ in length; they are aligned at the root, so that a short row keeps its value longer.

    >>> WrittenRows((("Flu", "Viral", "*"), ("TB", "*"))).build(["TB"]).levels.shape
    (3, 2)
    """

    key: ClassVar[str] = "rows"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "A hierarchy row by row: the value first, then what it becomes at each level.",
        {
            "rows": list_schema(
                {"$ref": "#/$defs/labels"},
                "One list per value: the value, then what it becomes, the root last.",
            ),
            "ordered": ORDERED,
        },
    )

    rows: tuple[Row, ...]
    ordered: bool = False
    digest: ClassVar[str] = ""

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


def _two_paths(first: Row, second: Row, lines: tuple[int, int] | None) -> BadTaxonomy:
    here, there = next(
        ((a, b) for a, b in zip(first, second, strict=False) if a != b), (first[0], second[-1])
    )
    what = "can become one label or another" if here != there else "has two paths of different length"
    place = f" (lines {lines[0]} and {lines[1]})" if lines else ""
    return BadTaxonomy(
        f"not a hierarchy: a value {what}{place}",
        remedy=f"Keep one of the two ({NAMED}).",
        values=(first[0], here, there) if here != there else (first[0],),
    )


def paths(tree: Taxonomy) -> list[tuple[Label, ...]]:
    """Returns what each leaf becomes, from itself to the root, in the order of the leaves."""
    columns = [[tree.labels[v] for v in level] for level in tree.levels.tolist()]
    return list(zip(*columns, strict=True))


MOST_FILE_BYTES = 64 * 2**20
SEPARATORS = ";,\t|"


@dataclass(frozen=True)
class HierarchyFile:
    """A hierarchy CSV without header: the value, then what it becomes at each level, the root last.

    Separators `;`, `,`, tab and `|` are told apart by what makes every line a row; quotes and a byte order
    mark are understood. The file's columns stay the full-domain levels. Lines of different length are
    aligned at the root. The file is read when the policy is loaded, before any data is touched.
    """

    key: ClassVar[str] = "file"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "A hierarchy CSV without header: the value, then what it becomes at each level.",
        {
            "file": {
                "type": "string",
                "minLength": 1,
                "description": "The file, relative to the policy; one line per value, the root last.",
            },
            "ordered": ORDERED,
        },
    )

    name: str
    content: bytes = field(repr=False)
    ordered: bool = False

    @classmethod
    def read(cls, spec: Spec, folder: Path | None) -> Self:
        name = str(spec["file"])
        rule = cls(
            name, read_bytes(Path(name) if folder is None else folder / name), bool(spec.get("ordered"))
        )
        rule.build([])
        return rule

    @property
    def spec(self) -> Spec:
        ordered = {"ordered": True} if self.ordered else {}
        return {"file": self.name, **ordered}

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def build(self, values: Sequence[Label]) -> Taxonomy:
        return require_known(self._with_missing if None in values else self._alone, values)

    @cached_property
    def _alone(self) -> Taxonomy:
        return self._build_tree(missing=False)

    @cached_property
    def _with_missing(self) -> Taxonomy:
        return self._build_tree(missing=True)

    def _build_tree(self, *, missing: bool) -> Taxonomy:
        try:
            return tree_of_levels(self._levels, ordered=self.ordered, missing=missing)
        except BadTaxonomy as wrong:
            raise _here(wrong, wrong.where or self.name) from None

    @cached_property
    def _levels(self) -> list[Level]:
        rows, lines = parse(self.content, name=self.name)
        try:
            return levels_of(rows, lines=lines)
        except BadTaxonomy as wrong:
            raise _here(wrong, self.name) from None


def _here(wrong: BadTaxonomy, where: str) -> BadTaxonomy:
    return BadTaxonomy(wrong.message, remedy=wrong.remedy, where=where, values=wrong.values)


def read_bytes(path: Path) -> bytes:
    """Reads the content of a hierarchy file; raises where it cannot be read or is too long."""
    try:
        content = read_start(path, MOST_FILE_BYTES + 1)
    except OSError as wrong:
        reason = wrong.strerror or "cannot be read"
        raise BadPolicy(
            f"the hierarchy file {path.name!r} cannot be read: {reason.lower()}",
            remedy="Paths are relative to the policy file.",
        ) from None
    if len(content) > MOST_FILE_BYTES:
        raise BadTaxonomy(f"the file is larger than {MOST_FILE_BYTES >> 20} MiB", where=path.name)
    return content


def parse(content: bytes, *, name: str = "") -> tuple[list[Row], list[int]]:
    """Returns the rows of a hierarchy file, and the line each starts on."""
    text = _decode(content, name)
    choices = [_split(text, separator, name) for separator in SEPARATORS if separator in text]
    rows, lines = max(
        choices or [_split(text, ";", name)], key=lambda choice: sum(len(row) > 1 for row in choice[0])
    )
    if not rows:
        raise BadTaxonomy("the hierarchy is empty", where=name, remedy="It needs one line per value.")
    return [_trim(row, line, name) for row, line in zip(rows, lines, strict=True)], lines


def _decode(content: bytes, name: str) -> str:
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise BadTaxonomy(
            "not UTF-8 text", where=f"{name}, line {line}", remedy="Save it as UTF-8."
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadTaxonomy("holds a NUL character", where=f"{name}, line {line}")
    return text


def _split(text: str, separator: str, name: str) -> tuple[list[Row], list[int]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, lines, line = [], [], 1
    try:
        for row in reader:
            if row:
                rows.append(tuple(row))
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        if separator == max(SEPARATORS, key=text.count):  # the one that occurs most
            raise BadTaxonomy(
                "a quote is not closed or is followed by text", where=f"{name}, line {line}"
            ) from None
        return [], []
    return rows, lines


def _trim(row: Row, line: int, name: str) -> Row:
    while len(row) > 1 and not row[-1]:
        row = row[:-1]
    if "" in row:
        what = "the value is empty" if not row[0] else f"level {row.index('')} is empty"
        remedy = (
            "Empty cells of the data get a leaf of their own." if not row[0] else "Repeat the label below it."
        )
        raise BadTaxonomy(what, where=f"{name}, line {line}", remedy=remedy)
    return row


# Trees written as nested lists and mappings.

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
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "A tree as nested mappings (groups) and lists (values).",
        {
            "tree": {
                "type": ["object", "array"],
                "description": "Groups as keys, values as lists below them; the root `*` is added."
                " A single group that holds everything is the root.",
            },
            "ordered": ORDERED,
        },
    )

    branches: tuple[Branch, ...]
    ordered: bool = False
    starred: bool = False
    digest: ClassVar[str] = ""

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


# Changes of a written tree: rename, group, split, merge, move and dissolve. The values stay the same.
#
# Nodes are named by their paths: the position among the groups at the top, then among what is below, and so
# on.

NodePath = tuple[int, ...]
ROOT: NodePath = ()


@dataclass(eq=False)
class TreeNode:
    """A node of a tree that is being changed; a value has no children."""

    label: str
    children: list[TreeNode] | None = None

    @classmethod
    def of(cls, branch: Branch) -> TreeNode:
        return (
            cls(branch) if isinstance(branch, str) else cls(branch[0], [cls.of(child) for child in branch[1]])
        )

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
            raise UsageError("these nodes are in no group", remedy="Put them into a new group instead.")
        if len(chosen) == len(parent.children or ()):
            raise UsageError("nothing would be left of the group", remedy="Leave some, or rename the group.")
        above = self._node(paths[0][:-2])
        parent.children = [child for child in parent.children or () if child not in chosen]
        siblings = above.children or []
        siblings.insert(siblings.index(parent) + 1, TreeNode(self._new(name), list(chosen)))
        return self._result()

    def merge(self, paths: Sequence[NodePath], name: str) -> NestedTree:
        """Makes one group of several that stand side by side."""
        parent, chosen = self._siblings(paths)
        if len(chosen) < 2 or any(node.children is None for node in chosen):
            raise UsageError("two groups or more are merged", remedy="Choose groups, not single values.")
        inside = [child for node in chosen for child in node.children or ()]
        labels = {node.label for node in chosen}
        self._put(parent, chosen, TreeNode(name if name in labels else self._new(name), inside))
        return self._result()

    def move(self, paths: Sequence[NodePath], target: NodePath) -> NestedTree:
        """Moves nodes into another group, or to the top; groups that lose everything go."""
        chosen = self._outermost(paths)
        goal = self._top if target == ROOT else self._group(target)
        if any(goal in node.below() for node in chosen):
            raise UsageError("a group cannot be moved into itself", remedy="Choose another group.")
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
                raise UsageError("the tree has no such node", remedy="Open the page again.")
            node = below[position]
        return node

    def _group(self, path: NodePath) -> TreeNode:
        node = self._node(path)
        if node.children is None or node is self._top:
            raise UsageError("this is a value, not a group", remedy="Choose a group.")
        return node

    def _outermost(self, paths: Sequence[NodePath]) -> list[TreeNode]:
        """Returns the nodes of these paths, without those below others of them."""
        chosen = sorted(set(paths))
        if not chosen or ROOT in chosen:
            raise UsageError("no node is chosen", remedy="Choose at least one.")
        inside = [p for p in chosen if any(p[: len(outer)] == outer for outer in chosen if outer != p)]
        return [self._node(path) for path in chosen if path not in inside]

    def _siblings(self, paths: Sequence[NodePath]) -> tuple[TreeNode, list[TreeNode]]:
        """Returns the group in which all these nodes are, and the nodes in order."""
        chosen = self._outermost(paths)
        if len({path[:-1] for path in paths}) != 1:
            raise UsageError("these nodes are not side by side", remedy="Choose nodes of one group.")
        return self._node(paths[0][:-1]), chosen

    def _parent_of(self, node: TreeNode) -> list[TreeNode]:
        for above in self._top.below():
            if above.children is not None and node in above.children:
                return above.children
        raise UsageError("the tree has no such node", remedy="Open the page again.")

    def _put(self, parent: TreeNode, chosen: Sequence[TreeNode], node: TreeNode) -> None:
        """Puts a node where the first of the chosen is; the chosen go."""
        below = parent.children or []
        position = below.index(chosen[0])
        parent.children = [*below[:position], node, *(c for c in below[position:] if c not in chosen)]

    def _new(self, name: str) -> str:
        plain = " ".join(name.split())
        if not plain:
            raise UsageError("a group needs a name", remedy="Say how it is to be published.")
        if any(node.label == plain for node in self._top.below()):
            raise UsageError("there is a node of this name already", remedy="Choose another name.")
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
        for group in reversed([name for name in above if name != "*"]):
            below = [] if place.children is None else place.children
            group_node = next(
                (node for node in below if node.label == group and node.children is not None), None
            )
            if group_node is None:
                group_node = TreeNode(group, [])
                below.append(group_node)
            place = group_node
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


# Hierarchy files that ARX reads, written from a taxonomy.

_NEEDS_QUOTES = frozenset(';"\r\n\ufeff')


def as_csv(tree: Taxonomy) -> str:
    """Returns one line per leaf, with `;` between the levels. The leaf of empty cells is left out.

    >>> print(as_csv(Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])), end="")
    Flu;Viral;*
    AIDS;Viral;*
    TB;TB;*
    """
    return "".join(f"{as_line(row)}\n" for row in WrittenRows.of(tree).rows)


def as_line(row: Sequence[str]) -> str:
    """Returns a row as a line of the file; labels that could be misread are quoted."""
    return ";".join(_quote(label) for label in row)


def _quote(label: str) -> str:
    if label and not _NEEDS_QUOTES.intersection(label):
        return label
    return '"' + label.replace('"', '""') + '"'
