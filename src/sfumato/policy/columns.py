"""Controls of a column: what an expert asks of a search beyond the promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from sfumato.core.exact_numbers import fraction, written
from sfumato.core.json_object import JsonObject

LEVEL: JsonObject = {"type": "integer", "minimum": 0}
SCHEMA: JsonObject = {
    "weight": {
        "$ref": "#/$defs/fraction",
        "default": 1,
        "description": "How dear this key column is to a loss; 1 unless said otherwise, 0: may be lost.",
    },
    "at-most": {**LEVEL, "description": "The coarsest level that this key column may have; 0: as it is."},
    "fixed": {**LEVEL, "description": "The one level that this quasi-identifier is published at."},
    "never-suppress": {
        "$ref": "#/$defs/labels",
        "description": "Values, or nodes of the taxonomy: rows at or below one of them are all published.",
    },
}
"""The keys, as fragments of JSON Schema."""


@dataclass(frozen=True)
class ColumnControls:
    """What a policy asks for one column; nothing of it is a promise, and nothing of it can break one.

    `weight` makes the column dearer or cheaper than others in a loss. `at_most` is the coarsest level it may
    have, `fixed` the only one. Rows with a value at or below one of `never_suppress` are not suppressed.
    """

    weight: Fraction | None = None
    at_most: int | None = None
    fixed: int | None = None
    never_suppress: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: Mapping[str, object]) -> ColumnControls:
        """Returns the controls among the keys of a column, which fit `SCHEMA`."""
        weight, named = words.get("weight"), cast("list[object]", words.get("never-suppress", []))
        return cls(
            None if weight is None else fraction(weight, key="weight"),
            _level(words.get("at-most")),
            _level(words.get("fixed")),
            tuple(str(label) for label in named),
        )

    @property
    def words(self) -> dict[str, object]:
        """The keys as a policy writes them."""
        said: dict[str, object] = {}
        if self.weight is not None:
            said["weight"] = written(self.weight)
        if self.at_most is not None:
            said["at-most"] = self.at_most
        if self.fixed is not None:
            said["fixed"] = self.fixed
        if self.never_suppress:
            said["never-suppress"] = list(self.never_suppress)
        return said

    @property
    def ceiling(self) -> int | None:
        """The coarsest level that may be published, `None` where the policy names none."""
        return self.at_most if self.fixed is None else self.fixed


def _level(word: object) -> int | None:
    return None if word is None else int(cast("int", word))
