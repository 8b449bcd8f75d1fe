"""The check of a piece of a policy against its JSON Schema.

The schema that editors use is the one that loading enforces. Only the keywords that our schemas use are
understood, and every complaint is a sentence with a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from sfumato.core.json_object import JsonMapping
from sfumato.core.problem import Place, Problem, did_you_mean
from sfumato.policy.other_tools import said_elsewhere
from sfumato.policy.retired_words import retired


def _is_whole(value: object) -> bool:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float | Decimal | Fraction)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


TYPES: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "object": ("a mapping (key: value)", lambda x: isinstance(x, Mapping)),
    "array": ("a list", _is_list),
    "string": ("text", lambda x: isinstance(x, str)),
    "integer": ("a whole number", _is_whole),
    "number": ("a number", _is_number),
    "boolean": ("true or false", lambda x: isinstance(x, bool)),
    "null": ("empty", lambda x: x is None),
}


def problems(value: object, schema: JsonMapping, *, defs: JsonMapping | None = None) -> list[Problem]:
    """Returns every way in which the value does not fit the schema."""
    return _SchemaCheck(defs or {}).visit(value, schema, ())


class _SchemaCheck:
    def __init__(self, defs: JsonMapping) -> None:
        self.defs = defs

    def visit(self, value: object, schema: JsonMapping, place: Place) -> list[Problem]:
        if "$ref" in schema:
            schema = self.defs[schema["$ref"].rpartition("/")[2]]
        if choices := schema.get("oneOf") or schema.get("anyOf"):
            wrong = self._one_of(value, choices, place)
            message = schema.get("errorMessage")
            return [Problem(place, message)] if wrong and message else wrong
        if (one := _unlisted(value, schema, place) or _mistyped(value, schema, place)) is not None:
            return [one]
        if isinstance(value, Mapping):
            return self._mapping(value, schema, place)
        if _is_list(value) and isinstance(value, Sequence):
            return self._list(value, schema, place)
        return _out_of_bounds(value, schema, place)

    def _mapping(self, value: Mapping[object, object], schema: JsonMapping, place: Place) -> list[Problem]:
        known: JsonMapping = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        wrong: list[Problem] = []
        for key, child in value.items():
            here = (*place, str(key))
            if not isinstance(key, str):
                wrong.append(Problem(here, "a key must be text"))
            elif key in known:
                wrong += self.visit(child, known[key], here)
            elif rest is False and (gone := retired(here)) is not None:
                wrong.append(gone)
            elif rest is False:
                near = did_you_mean(key, list(known), otherwise=f"There is {', '.join(known)}.")
                wrong.append(Problem(here, "unknown key.", said_elsewhere(key) or near))
            elif isinstance(rest, Mapping):
                wrong += self.visit(child, rest, here)
        wrong += [
            Problem(place, f"{key} is missing") for key in schema.get("required", ()) if key not in value
        ]
        if len(value) < schema.get("minProperties", 0):
            wrong.append(Problem(place, "must not be empty"))
        return wrong

    def _list(self, value: Sequence[object], schema: JsonMapping, place: Place) -> list[Problem]:
        if len(value) < schema.get("minItems", 0):
            return [Problem(place, "must not be empty")]
        items = schema.get("items", {})
        return [p for i, child in enumerate(value) for p in self.visit(child, items, (*place, i))]

    def _one_of(self, value: object, choices: Sequence[JsonMapping], place: Place) -> list[Problem]:
        """Returns the problems of the choice that fits best; of mappings, one whose key is there."""
        if isinstance(value, Mapping):
            choices = [c for c in choices if c.get("type") == "object"] or choices
            named = [c for c in choices if all(key in value for key in c.get("required", ())[:1])]
            if not named and all("required" in c for c in choices):
                keys = [c["required"][0] for c in choices]
                hints = (said_elsewhere(key) or did_you_mean(key, keys) for key in value)
                near = next((hint for hint in hints if hint), "")
                return [Problem(place, f"must name one of {', '.join(keys)}.", near)]
            choices = named or choices
        return min((self.visit(value, c, place) for c in choices), key=len)


def _unlisted(value: object, schema: JsonMapping, place: Place) -> Problem | None:
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        return Problem(place, f"must be {_shown(schema['const'])}")
    if "enum" in schema and not ((isinstance(value, str) or _is_whole(value)) and value in schema["enum"]):
        choices = [str(x) for x in schema["enum"]]
        return Problem(
            place,
            f"must be one of {', '.join(choices)}.",
            said_elsewhere(value) or did_you_mean(value, choices),
        )
    return None


def _mistyped(value: object, schema: JsonMapping, place: Place) -> Problem | None:
    wanted = schema.get("type")
    if wanted is None:
        return None
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if any(TYPES[name][1](value) for name in names):
        return None
    words = " or ".join(TYPES[name][0] for name in names)
    return Problem(place, f"must be {words}{_range(schema)}")


def _out_of_bounds(value: object, schema: JsonMapping, place: Place) -> list[Problem]:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            return [Problem(place, "must not be empty")]
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return [Problem(place, "is not written as expected")]
        return []
    if not _is_number(value):
        return []
    size = Fraction(str(value)) if not isinstance(value, Fraction) else value
    low = size < schema["minimum"] if "minimum" in schema else False
    low = low or ("exclusiveMinimum" in schema and size <= schema["exclusiveMinimum"])
    if low or ("maximum" in schema and size > schema["maximum"]):
        kind = "a whole number" if schema.get("type") == "integer" else "a number"
        return [Problem(place, f"must be {kind}{_range(schema)}")]
    return []


def _range(schema: JsonMapping) -> str:
    low = f" from {schema['minimum']}" if "minimum" in schema else ""
    low = low or (f" above {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else "")
    return low + (f" to {schema['maximum']}" if "maximum" in schema else "")


def _shown(value: object) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
