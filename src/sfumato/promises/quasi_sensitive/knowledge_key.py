"""The knowledge of a promise, as a policy names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from sfumato.core.errors import BadPolicy
from sfumato.core.knowledge import Knowledge
from sfumato.promises.parameters import Parameter, Schema
from sfumato.promises.quasi_sensitive.knowledge_file import FORMS, load


@dataclass(frozen=True)
class KnowledgeFile(Parameter):
    """The name of a knowledge file, or the knowledge itself: label -> its terms, or a list of such lists."""

    names_file: ClassVar[bool] = True

    def read(self, value: object) -> Knowledge:
        if isinstance(value, Knowledge):
            return value
        if isinstance(value, Mapping):
            return Knowledge.of(_in_place(value))
        if isinstance(value, str | Path):
            return load(Path(value))
        raise BadPolicy(f"{self.name} must be the name of a CSV file", where=self.name, remedy=FORMS)

    def open(self, name: str, folder: Path) -> Knowledge:
        return replace(load(folder / name), file=name)

    def write(self, value: Knowledge) -> object:
        if value.file is not None:
            return value.file
        found: dict[str, list[list[str]]] = {}
        for label, terms in value.rows:
            found.setdefault(label, []).append(sorted(terms))
        return {label: rows[0] if len(rows) == 1 else rows for label, rows in found.items()}

    def plain(self, value: Knowledge) -> object:
        return tuple((label, tuple(sorted(terms))) for label, terms in value.rows)

    @property
    def schema(self) -> Schema:
        texts = {"type": "array", "items": {"type": ["string", "array"]}}
        return {
            "oneOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "additionalProperties": texts},
            ]
        }


def _in_place(words: Mapping[str, object]) -> Iterable[tuple[str, Iterable[str]]]:
    for label, rows in words.items():
        several = rows if isinstance(rows, Sequence) and not isinstance(rows, str) else None
        if several is None:
            raise BadPolicy("each label takes a list of terms", where="knowledge", remedy=FORMS)
        nested = bool(several) and all(isinstance(row, list | tuple) for row in several)
        for row in several if nested else [several]:
            if not all(isinstance(term, str) and term for term in row):
                raise BadPolicy("terms are texts", where="knowledge")
            yield str(label), row
