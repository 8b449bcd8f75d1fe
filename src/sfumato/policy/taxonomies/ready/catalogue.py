"""The catalogue of ready taxonomies, as `catalogue.toml` has it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent


class ReadyKind(StrEnum):
    """What a ready taxonomy is made from."""

    RULE = "rule"
    """The words of another taxonomy."""
    LIST = "list"
    """A list of values, with other spellings of each."""
    CODES = "codes"
    """A list of the first characters of codes; the codes themselves are the data's."""


@dataclass(frozen=True)
class ReadyEntry:
    """One ready taxonomy: what it is, and where it comes from.

    `rule` has the words that it stands for, `file` the list that it is made from. `near` maps values that
    are in no list to the one that is probably meant. `headers` are words of headers under which short codes
    are taken to be such values, and `shape` is the pattern of such codes. `example` is a value of a rule that
    has no list.
    """

    name: str
    title: str
    kind: ReadyKind
    source: str
    date: str
    licence: str
    file: str = ""
    rule: Mapping[str, object] = field(default_factory=dict)
    mark: str = ""
    ordered: bool = False
    shape: str = ""
    example: str = ""
    headers: tuple[str, ...] = ()
    near: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def content(self) -> bytes:
        """The bytes of the list."""
        return (FOLDER / self.file).read_bytes()

    @cached_property
    def rows(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The lines of the list: the spellings of a value, or the beginnings of codes; what they become."""
        between = "|" if self.kind is ReadyKind.LIST else " "
        lines = [line.split(";") for line in self.content.decode("utf-8").splitlines()]
        return [(tuple(line[0].split(between)), tuple(line[1:])) for line in lines]


def _read() -> dict[str, ReadyEntry]:
    words = tomllib.loads((FOLDER / "catalogue.toml").read_text(encoding="utf-8"))
    return {name: _entry(name, entry) for name, entry in words.items()}


def _entry(name: str, words: Mapping[str, object]) -> ReadyEntry:
    near, rule, headers = words.get("near", {}), words.get("rule", {}), words.get("headers", [])
    assert isinstance(near, dict) and isinstance(rule, dict) and isinstance(headers, list)  # noqa: S101  # ours
    texts = {key: str(words.get(key, "")) for key in TEXTS}
    return ReadyEntry(
        name,
        kind=ReadyKind(str(words["kind"])),
        rule=rule,
        ordered=words.get("ordered") is True,
        headers=tuple(headers),
        near=near,
        **texts,
    )


TEXTS = ("title", "source", "date", "licence", "file", "mark", "shape", "example")

CATALOGUE: Mapping[str, ReadyEntry] = _read()
"""The ready taxonomies, by the name that a policy gives."""
