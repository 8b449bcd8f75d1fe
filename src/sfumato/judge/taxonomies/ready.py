"""Ready taxonomies: lists of values in several spellings, or of the beginnings of codes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sfumato.core.errors import BadTaxonomy
from sfumato.judge.taxonomies.value_tree import ANY, Text, ValueTree
from sfumato.judge.taxonomies.written import of_paths

BEGINNING = 3
"""So many characters of a code say which line it belongs to."""


@dataclass(frozen=True)
class ReadyList:
    """The lines of a list: what each value, or each beginning of codes, becomes.

    `leaf_of` names the value that a spelling means; it is empty for codes.
    """

    paths: Mapping[str, tuple[str, ...]]
    leaf_of: Mapping[str, str]
    mark: str
    shape: str

    @classmethod
    def of(cls, spec: Mapping[str, object], content: bytes) -> ReadyList:
        """Reads the bytes of a list, as the words of the policy describe it."""
        codes = spec.get("kind") == "codes"
        paths: dict[str, tuple[str, ...]] = {}
        leaf_of: dict[str, str] = {}
        for line in content.decode("utf-8").split("\n"):
            first, *groups = line.split(";")
            if not first:
                continue
            names = first.split(" ") if codes else first.split("|")
            for name in names if codes else names[:1]:
                paths[name] = tuple(groups)
            if not codes:
                leaf_of.update(dict.fromkeys(names, names[0]))
        return cls(paths, leaf_of, str(spec.get("mark") or ""), str(spec.get("shape") or ""))

    @property
    def has_codes(self) -> bool:
        return not self.leaf_of

    def value_of(self, text: str) -> str | None:
        """Returns the value that a text of the data means, `None` where it means none."""
        if not self.has_codes:
            return self.leaf_of.get(text)
        if text[:BEGINNING] not in self.paths or not re.fullmatch(self.shape, text):
            return None
        if self.mark[:1] != "." or len(text) == BEGINNING or text[BEGINNING] == ".":
            return text
        return f"{text[:BEGINNING]}.{text[BEGINNING:]}"

    def path_of(self, value: str) -> tuple[str, ...]:
        """Returns a value and what it becomes."""
        if not self.has_codes:
            return value, *self.paths[value]
        begins = value[:BEGINNING]
        return value, begins + self.mark, *self.paths[begins]

    @cached_property
    def groups(self) -> Mapping[str, int]:
        """The labels above the values, and the level of each."""
        return {
            group: level
            for value in self.paths
            for level, group in enumerate(self.path_of(value))
            if level > 0
        }


def build(spec: Mapping[str, object], texts: Sequence[Text], content: bytes) -> ValueTree:
    r"""Returns the tree of a list and of the texts that occur.

    >>> tree = build({"ready": "lands", "kind": "list"}, ["NL"], b"Netherlands|NL;Europe\nChad|TD;Africa\n")
    >>> tree.values[tree.place("NL")], tree.labels[1]
    ('Netherlands', ('Europe', 'Africa'))
    """
    listed = ReadyList.of(spec, content)
    values = {text: listed.value_of(text) for text in texts if text is not None}
    lacking = [text for text, value in values.items() if value is None]
    if lacking:
        raise BadTaxonomy(f"{len(lacking)} values have no place in the list", values=lacking)
    met = {value for value in values.values() if value is not None}
    leaves = sorted({*listed.paths, *met}) if listed.has_codes else list(listed.paths)
    if listed.has_codes and not met:
        leaves = []
    tree = of_paths([listed.path_of(leaf) for leaf in leaves], spec, [None] if None in texts else [])
    aliases = {text: value for text, value in values.items() if value is not None and value != text}
    return ValueTree(tree.values, tree.groups, tree.labels, tree.ordered, aliases)


@dataclass(frozen=True)
class CodeLabels:
    """Published labels of codes: a code, the beginning of one with its mark, a group, or `*`."""

    listed: ReadyList

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        del ranges
        level = self._level(text)
        return level is not None and level < start

    def is_coarser(self, text: str, most: int) -> bool:
        level = self._level(text)
        return level is not None and level > most

    def height(self, texts: Sequence[str]) -> int:
        del texts
        return 1 + max(self.listed.groups.values())

    def _level(self, text: str) -> int | None:
        if text == ANY:
            return self.height(())
        return 0 if self.listed.value_of(text) is not None else self.listed.groups.get(text)
