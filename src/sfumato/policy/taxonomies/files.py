"""Hierarchy files as ARX writes them."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from sfumato.core.errors import BadPolicy, BadTaxonomy
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.taxonomy_rule import Spec
from sfumato.policy.taxonomies.levels import Level, require_known, tree_of_levels
from sfumato.policy.taxonomies.rows import Row, levels_of
from sfumato.system.disk import read_start

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
    schema: ClassVar[Mapping[str, object]] = {
        "type": "object",
        "description": "A hierarchy CSV without header: the value, then what it becomes at each level.",
        "properties": {
            "file": {
                "type": "string",
                "minLength": 1,
                "description": "The file, relative to the policy; one line per value, the root last.",
            },
            "ordered": {
                "type": "boolean",
                "default": False,
                "description": "The values have an order, and groups are neighbours in it.",
            },
        },
        "required": ["file"],
        "additionalProperties": False,
    }

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
        if separator == commonest_separator(text):
            raise BadTaxonomy(
                "a quote is not closed or is followed by text", where=f"{name}, line {line}"
            ) from None
        return [], []
    return rows, lines


def commonest_separator(text: str) -> str:
    """Returns the separator that occurs most."""
    return max(SEPARATORS, key=text.count)


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
