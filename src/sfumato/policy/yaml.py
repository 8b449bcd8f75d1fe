"""YAML that somebody else wrote, read as plain data, with line numbers and within limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from sfumato.policy.taxonomies.levels import number
from sfumato.system.errors import BadPolicy, Place, short

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

MOST_FILE_BYTES = 2**20
"""A policy file may be so long."""
MOST_NODES = 50_000
"""Keys, list entries and values of a policy file, together: reading so many takes some seconds."""
MOST_ALIASES = 100
MOST_DEPTH = 40
TOO_DEEP = "nested too deeply"
TOO_MANY = f"a policy has at most {MOST_NODES} entries"
REMEDY = "Put long hierarchies into files of their own: `taxonomy: {file: jobs.csv}`."

_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,30})")


@dataclass
class YamlDocument:
    """Plain data, and the line on which each of its places starts.

    Text stays text, whole numbers become `int`, others `Decimal`: nothing is rounded. A number that would
    not be written back the same way (`007`, `0x1F`) stays text.
    """

    data: object
    lines: dict[Place, int] = field(default_factory=dict)


def read(text: str | bytes, *, name: str = "policy") -> YamlDocument:
    """Reads one YAML document; raises `BadPolicy` with the line."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(content) > MOST_FILE_BYTES:
        raise BadPolicy(f"the file is larger than {MOST_FILE_BYTES >> 20} MiB", where=name)
    try:
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise BadPolicy("not UTF-8 text", where=f"{name}, line {line}", remedy="Save it as UTF-8.") from None
    if decoded.count(",") + decoded.count("\n") > MOST_NODES:  # what would take long is not begun
        raise BadPolicy(TOO_MANY, where=name, remedy=REMEDY)
    node = compose(decoded, name=name)
    if node is None:
        raise BadPolicy("the policy is empty", where=name)
    walk = _PlainData(name)
    return YamlDocument(walk.visit(node, ()), walk.lines)


def compose(text: str, *, name: str = "policy") -> Node | None:
    """Returns the nodes of one YAML document, with their places in the text; raises `BadPolicy`."""
    from ruamel.yaml import YAML  # noqa: PLC0415  # only needed when a file is read
    from ruamel.yaml.composer import Composer  # noqa: PLC0415  # as above
    from ruamel.yaml.error import MarkedYAMLError  # noqa: PLC0415  # as above

    class Shallow(Composer):
        """Gives up before deep nesting, or endless lists, cost time."""

        depth = 0
        nodes = 0

        def compose_node(self, parent: Node | None, index: object) -> Node | None:
            if self.depth > MOST_DEPTH or self.nodes >= MOST_NODES:
                mark = self.parser.peek_event().start_mark
                problem = TOO_DEEP if self.depth > MOST_DEPTH else TOO_MANY
                raise MarkedYAMLError(problem=problem, problem_mark=mark)
            self.depth += 1
            self.nodes += 1
            node: Node | None = super().compose_node(parent, index)
            self.depth -= 1
            return node

    reader = YAML(typ="safe", pure=True)
    reader.Composer = Shallow
    with _our_errors(name):
        root: Node | None = reader.compose(text)
    return root


@contextmanager
def _our_errors(name: str) -> Iterator[None]:
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415  # as above

    try:
        yield
    except MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        what = short(" ".join(str(wrong.problem or wrong.context or "").split()))
        message = what if what in (TOO_DEEP, TOO_MANY) else f"this is not YAML: {what}"
        remedy = REMEDY if what == TOO_MANY else ""
        raise BadPolicy(message, where=f"{name}{line}", remedy=remedy) from None
    except (YAMLError, ValueError) as wrong:
        # `getattr`: of these errors only those of the reader know their line.
        line = f", line {text_line}" if (text_line := getattr(wrong, "line", None)) else ""
        raise BadPolicy("this is not YAML: a character is not allowed", where=f"{name}{line}") from None


class _PlainData:
    """Turns nodes into plain data, counting as it goes: an alias costs as much as what it stands for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Place, int] = {}
        self._nodes = 0
        self._aliases = 0
        self._seen: set[int] = set()
        self._open: set[int] = set()

    def visit(self, node: Node, place: Place) -> object:
        self._count(node)
        self.lines.setdefault(place, node.start_mark.line + 1)
        kind = type(node).__name__
        tag = str(node.tag).removeprefix(_TAG)
        if kind == "ScalarNode":
            return self._scalar(node, tag)
        if tag != {"SequenceNode": "seq", "MappingNode": "map"}[kind]:
            raise self._wrong(node, f"the tag {short(str(node.tag))} is not allowed")
        if id(node) in self._open:
            raise self._wrong(node, "an anchor contains itself")
        if len(self._open) >= MOST_DEPTH:
            raise self._wrong(node, TOO_DEEP)
        self._open.add(id(node))
        data = self._list(node, place) if kind == "SequenceNode" else self._mapping(node, place)
        self._open.discard(id(node))
        return data

    def _list(self, node: Node, place: Place) -> list[object]:
        return [self.visit(child, (*place, i)) for i, child in enumerate(node.value)]

    def _mapping(self, node: Node, place: Place) -> dict[str, object]:
        data: dict[str, object] = {}
        for key_node, value_node in node.value:
            if type(key_node).__name__ != "ScalarNode":
                raise self._wrong(key_node, "a key must be a word")
            key = str(key_node.value)
            if key in data:
                raise self._wrong(key_node, f"the key {short(key)} occurs twice")
            self.lines[(*place, key)] = key_node.start_mark.line + 1
            data[key] = self.visit(value_node, (*place, key))
        return data

    def _scalar(self, node: Node, tag: str) -> str | int | Decimal | bool | None:
        text = str(node.value)
        plain = getattr(node, "style", None) is None  # the library types only scalar nodes with a style
        if tag == "null":
            return None
        if tag == "bool" and plain:
            return text.lower() == "true"
        if tag == "int" and plain and _INTEGER.fullmatch(text):
            return int(text)
        if tag == "float" and plain:
            size = number(text)
            return text if size is None else size
        if tag in ("str", "int", "float", "bool", "timestamp", "merge", "value"):
            return text
        raise self._wrong(node, f"the tag {short(str(node.tag))} is not allowed")

    def _count(self, node: Node) -> None:
        self._nodes += 1
        if id(node) in self._seen:
            self._aliases += 1
        self._seen.add(id(node))
        if self._aliases > MOST_ALIASES or self._nodes > MOST_NODES:
            raise self._wrong(node, "too many aliases, or entries that they stand for")

    def _wrong(self, node: Node, message: str) -> BadPolicy:
        return BadPolicy(message, where=f"{self.name}, line {node.start_mark.line + 1}")
