"""What a policy says of a quasi-sensitive column: how it holds its term sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.core.policy_view import ColumnView


@dataclass(frozen=True)
class SetOptions:
    """How a quasi-sensitive column holds term sets: text with a `separator`, lists, or 0 and 1 where the
    column stands for one term of the `set` that it names."""

    separator: str | None = None
    set: str | None = None

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
    }

    @classmethod
    def read(cls, words: Mapping[str, Any]) -> SetOptions:
        return cls(words.get("separator"), words.get("set"))

    def words(self) -> dict[str, object]:
        said = {"separator": self.separator, "set": self.set}
        return {key: word for key, word in said.items() if word is not None}


def options_of(rule: ColumnView) -> SetOptions:
    """What the policy says of a column of term sets."""
    return rule.options if isinstance(rule.options, SetOptions) else SetOptions()
