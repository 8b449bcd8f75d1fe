"""What a policy says of a quasi-sensitive column: how it holds its term sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.core.errors import BadPolicy
from sfumato.core.policy_view import ColumnView
from sfumato.core.term_sets import PartForm


@dataclass(frozen=True)
class SetOptions:
    """How a quasi-sensitive column holds term sets: text with a `separator`, lists, or 0 and 1 where the
    column stands for one term of the `set` that it names.

    `marks` are what stands for 0 and 1 in such a column. With `values` each of its values is a term.
    """

    separator: str | None = None
    set: str | None = None
    marks: tuple[str, str] | None = None
    values: bool = False

    schema: ClassVar[Mapping[str, Any]] = {
        "separator": {
            "type": "string",
            "minLength": 1,
            "default": ";",
            "description": "What stands between the terms of a quasi-sensitive column of text.",
        },
        "set": {
            "type": "string",
            "minLength": 1,
            "description": "The set that this quasi-sensitive column of 0 and 1 is one term of.",
        },
        "marks": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "description": 'What such a column holds instead of 0 and 1, such as ["no", "yes"].',
        },
        "values": {
            "type": "boolean",
            "default": False,
            "description": "Whether each value of such a column is a term, written column=value.",
        },
    }

    @classmethod
    def read(cls, words: Mapping[str, Any]) -> SetOptions:
        marks = words.get("marks")
        if marks is not None:
            texts = marks if isinstance(marks, list | tuple) else ()
            if len(set(texts)) != 2 or not all(isinstance(text, str) and text for text in texts):
                raise BadPolicy(
                    "marks are two texts, of absence and of presence",
                    where="marks",
                    remedy='Write them in quotes: ["no", "yes"].',
                )
        absent_present = None if marks is None else (str(marks[0]), str(marks[1]))
        return cls(words.get("separator"), words.get("set"), absent_present, words.get("values") is True)

    def words(self) -> dict[str, object]:
        said = {"separator": self.separator, "set": self.set, "values": self.values or None}
        marks = {} if self.marks is None else {"marks": list(self.marks)}
        return {**{key: word for key, word in said.items() if word is not None}, **marks}

    @property
    def part_form(self) -> PartForm:
        """How the column is read where it is part of a set."""
        return PartForm(self.marks, self.values)


def options_of(rule: ColumnView) -> SetOptions:
    """What the policy says of a column of term sets."""
    return rule.options if isinstance(rule.options, SetOptions) else SetOptions()
