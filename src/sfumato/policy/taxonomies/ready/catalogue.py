"""The catalogue of ready taxonomies, as `catalogue.toml` has it."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from sfumato.policy.taxonomies.files import levels_of
from sfumato.policy.taxonomies.levels import Level, builder_schema, tree_of_levels, unknown_values
from sfumato.system.errors import BadPolicy, did_you_mean
from sfumato.table.taxonomy import Label, Spec, Taxonomy

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


# Ready taxonomies as policies name them: `taxonomy: {ready: countries}`.

STEM = 3
"""So many characters of a code are looked up in a list of codes."""
POINT = "."


@dataclass(frozen=True)
class ReadyTaxonomy:
    """A list of the catalogue: of values with other spellings, or of the beginnings of codes.

    Every spelling of a value means the same leaf, which is published by its first spelling. Codes that
    begin alike become their first characters with a mark, then what the list says. Where codes occur, all
    beginnings of the list are leaves beside them.

    >>> tree = ReadyTaxonomy("countries").build(["NL", "Netherlands"])
    >>> tree.rank("NL") == tree.rank("Netherlands"), [tree.labels[v] for v in tree.levels[:, tree.rank("NL")]]
    (True, ['Netherlands', 'Western Europe', 'Europe', '*'])
    >>> tree = ReadyTaxonomy("naics-sectors").build(["622110"])
    >>> [tree.labels[v] for v in tree.levels[:, tree.rank("622110")]]
    ['622110', '622-', '62 Health Care and Social Assistance', '*']
    """

    key: ClassVar[str] = "ready"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "A taxonomy that comes with Sfumato, by its name.",
        {
            "ready": {
                "enum": list(CATALOGUE),
                "description": "Its name; ages, dates and truncated codes stand for other taxonomies.",
            }
        },
    )

    name: str

    @property
    def entry(self) -> ReadyEntry:
        """What the catalogue has under the name."""
        return CATALOGUE[self.name]

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> ReadyTaxonomy:
        """Returns the list of this name; raises `BadPolicy` where there is none."""
        del folder
        name = str(spec["ready"])
        if name not in CATALOGUE:
            hint = did_you_mean(name, list(CATALOGUE), otherwise=f"There are {', '.join(CATALOGUE)}.")
            raise BadPolicy("there is no ready taxonomy of this name", where="ready", remedy=hint)
        return cls(name)

    @property
    def content(self) -> bytes:
        """The bytes of the list."""
        return self.entry.content

    @property
    def ordered(self) -> bool:
        return self.entry.ordered

    @property
    def spec(self) -> Spec:
        return {"ready": self.name}

    @property
    def words_for_judge(self) -> dict[str, object]:
        """How the list is to be read, as plain data."""
        entry = self.entry
        return {"kind": entry.kind.value, "mark": entry.mark, "shape": entry.shape, "ordered": entry.ordered}

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def build(self, values: Sequence[Label]) -> Taxonomy:
        texts = [value for value in dict.fromkeys(values) if value is not None]
        if unknown := [text for text in texts if not self.knows(text)]:
            raise unknown_values(unknown)
        missing = None in values
        aliases: dict[Label, Label] = {text: leaf for text in texts if (leaf := self._leaf(text)) != text}
        levels = self._levels
        if self.entry.kind is ReadyKind.CODES:
            levels = self._levels_of_codes([self._leaf(text) for text in texts]) if texts else []
        return tree_of_levels(levels, ordered=self.ordered, missing=missing, aliases=aliases)

    def listed(self) -> Taxonomy:
        """Returns the tree of everything in the list, whatever occurs."""
        return self.build(sorted(self._above)[:1] if self.entry.kind is ReadyKind.CODES else [])

    def knows(self, text: str) -> bool:
        """Whether a value is in the list, in any spelling, or is a code that begins as one of the list."""
        if self.entry.kind is ReadyKind.CODES:
            return text[:STEM] in self._above and self._is_code(text)
        return text in self._spellings

    def nearest(self, text: str) -> str | None:
        """Returns the value that is probably meant by one that the list lacks; `None` where nobody knows."""
        folded = self._folded
        if (hit := folded.get(_folded(text))) is not None:
            return hit
        if self.entry.kind is ReadyKind.CODES:
            return text.strip().upper() if self.knows(text.strip().upper()) else None
        near = get_close_matches(
            _folded(text), [name for name in folded if len(name) > STEM], n=1, cutoff=0.8
        )
        return folded[near[0]] if near else None

    @cached_property
    def _folded(self) -> dict[str, str]:
        """The values that are meant, by what is left of a text without case, blanks and points."""
        listed = self._above if self.entry.kind is ReadyKind.CODES else self._spellings
        near = {_folded(name): leaf for name, leaf in self.entry.near.items()}
        return near | {_folded(name): self._spellings.get(name, name) for name in listed}

    def _leaf(self, text: str) -> str:
        """Returns the value that is published for a known text; a code gets the point of its list."""
        if self.entry.kind is ReadyKind.LIST:
            return self._spellings[text]
        point = POINT if self.entry.mark.startswith(POINT) and len(text) > STEM else ""
        return text[:STEM] + point + text[STEM:].removeprefix(POINT) if point else text

    @cached_property
    def _spellings(self) -> dict[str, str]:
        if self.entry.kind is ReadyKind.CODES:
            return {}
        return {text: spelled[0] for spelled, _ in self.entry.rows for text in spelled}

    @cached_property
    def _levels(self) -> list[Level]:
        if self.entry.kind is ReadyKind.CODES:
            return []
        return levels_of([(spelled[0], *above) for spelled, above in self.entry.rows])

    @cached_property
    def _above(self) -> dict[str, tuple[str, ...]]:
        """What the beginnings of codes become."""
        return {stem: above for stems, above in self.entry.rows for stem in stems}

    def _is_code(self, text: str) -> bool:
        return re.fullmatch(self.entry.shape, text) is not None

    def _levels_of_codes(self, texts: Sequence[str]) -> list[Level]:
        codes = sorted({*self._above, *texts})
        rows = [(code, code[:STEM] + self.entry.mark, *self._above[code[:STEM]]) for code in codes]
        return levels_of(rows)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace(".", "").split())
