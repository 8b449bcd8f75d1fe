"""Whose rows they are: which column tells people apart, and how many rows of a person show values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.system.json_object import JsonObject

KEY = "person"
EACH_ROW = "each-row"
"""The word of a publisher who states that every row is about another person."""
ALL = "all"
"""The word for a person who shows values in every row."""


@dataclass(frozen=True)
class PersonRule:
    """How rows of one person are published, beside the column that tells people apart.

    `rows` is how many rows of a person show values, `None` where all do: further rows show none. `by` names
    the column that orders a person's rows. `each_row` is the statement that every row is another person.
    """

    rows: int | None = 1
    by: str | None = None
    each_row: bool = False

    def words(self, column: str | None) -> object:
        """Returns the rule as a policy has it."""
        if self.each_row:
            return EACH_ROW
        more: JsonObject = {} if self.rows == 1 else {"rows": ALL if self.rows is None else self.rows}
        more |= {} if self.by is None else {"by": self.by}
        return {"column": column, **more} if more else column


def schema() -> JsonObject:
    """Returns the rule as a fragment of JSON Schema."""
    column = {"type": "string", "minLength": 1}
    return {
        "oneOf": [
            column,
            {
                "type": "object",
                "properties": {
                    "column": {**column, "description": "The column that tells people apart."},
                    "rows": {
                        "oneOf": [{"type": "integer", "minimum": 1}, {"const": ALL}],
                        "default": 1,
                        "errorMessage": "must be a whole number from 1 on, or all",
                        "description": "In how many rows a person shows values; further rows show none.",
                    },
                    "by": {
                        **column,
                        "description": "The column that orders a person's rows; the first ones show values.",
                    },
                },
                "required": ["column"],
                "additionalProperties": False,
            },
        ],
        "description": "The column that tells people apart, where one person has several rows; or the word"
        f" {EACH_ROW}, which states that every row is another person.",
    }


def read(words: object) -> tuple[str | None, PersonRule]:
    """Returns the column and the rule that these words describe; their shape was checked."""
    if words == EACH_ROW:
        return None, PersonRule(each_row=True)
    if isinstance(words, str):
        return words, PersonRule()
    if not isinstance(words, Mapping):
        return None, PersonRule()
    rows = words.get("rows", 1)
    return str(words["column"]), PersonRule(None if rows == ALL else int(rows), words.get("by"))
