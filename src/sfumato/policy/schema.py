"""The JSON Schema of a policy file: for editors, and for loading."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import SupportsIndex

from sfumato.models import registry as promises
from sfumato.policy import chain, person, searches
from sfumato.policy import columns as column_controls
from sfumato.policy.columns import choice_schema, each_told
from sfumato.policy.columns import schema as term_rule
from sfumato.policy.compatibility import options_of, roles
from sfumato.policy.content import GROUPINGS, NO_PRICE, Formulas, ProtectRule, confirm_schema
from sfumato.policy.other_tools import said_elsewhere
from sfumato.policy.presets import SAFE_HARBOR
from sfumato.policy.recipients import schema as recipients
from sfumato.policy.taxonomies import BUILDERS
from sfumato.policy.taxonomies.dates import DATE_FORMS
from sfumato.system.errors import Place, Problem, did_you_mean
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.table.arrays import written
from sfumato.table.data_file import DECIMAL_MARKS
from sfumato.table.microdata import Missing, Role
from sfumato.table.published_texts import MOST_DIGITS
from sfumato.table.spelling import Spelling

# The key `source` of a policy: how its data are read, so that no verb has to be told again.

KEY = "source"


def _text(description: str) -> JsonObject:
    return {"type": "string", "minLength": 1, "description": description}


def source_schema() -> JsonObject:
    """Returns the schema of the key."""
    return {
        "type": "object",
        "properties": {
            "encoding": _text("Of a text file: windows-1252."),
            "delimiter": _text("What separates cells: ;"),
            "decimal": choice_schema(DECIMAL_MARKS, "The decimal mark of numbers in texts."),
            "date-format": choice_schema(DATE_FORMS, "How texts write a date."),
            "sheet": _text("The sheet of a spreadsheet."),
            "query": _text("What is asked of a database."),
            "longest-cell": {
                "type": ["integer", "string"],
                "minimum": 1,
                "description": "How many bytes a cell of a text file may have; 1048576 unless it is said.",
            },
            "empty": _text("Texts of a CSV file that stand for an empty cell, commas between: NA,NULL."),
            "catalog": _text("The file of SAS that holds the labels of codes: formats.sas7bcat."),
        },
        "additionalProperties": False,
        "description": "How the data are read. It is no promise, and no part of the policy's digest.",
    }


DEFS: JsonObject = {
    "fraction": {
        "oneOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^\s*[0-9]{1,30}(\.[0-9]{0,30})?(\s*/\s*[0-9]{1,30}|\s*%)?\s*$"},
        ],
        "errorMessage": "must be a fraction such as 1/5, 5% or 0.2",
    },
    "number": {
        "oneOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9]+(\.[0-9]*)?$"}],
        "errorMessage": "must be a number such as 5 or 2.5",
    },
    "labels": {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}},
}


def schema() -> JsonObject:
    """Returns the schema of a whole policy file.

    >>> sorted(schema()["properties"])[:6]
    ['chain', 'columns', 'confirm', 'follows', 'formulas', 'missing']
    """
    whole = top()
    whole["properties"]["columns"]["additionalProperties"] = column()
    whole["properties"]["promises"]["items"] = promises.schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sfumato policy",
        **whole,
        "$defs": DEFS,
    }


def top() -> JsonObject:
    """Returns the schema of the keys of a policy, without what stands below `columns` and `promises`."""
    return {
        "type": "object",
        "properties": {
            "columns": {"type": "object", "minProperties": 1, "description": "Every column of the data."},
            "promises": {
                "type": "array",
                "minItems": 1,
                "description": "What is promised; every entry names one promise, and all of them are kept.",
            },
            "protect": _protect(),
            "missing": choice_schema(
                Missing,
                "What an empty cell of a key column means. own-value: a value like any other; suppress:"
                " the row is not published; refuse: the table is not accepted.",
                Missing.OWN_VALUE,
            ),
            person.KEY: person.schema(),
            "recipients": recipients(),
            chain.KEY: chain.schema(),
            "follows": _follows(),
            "confirm": confirm_schema(),
            KEY: source_schema(),
            "preset": choice_schema(
                [SAFE_HARBOR],
                "The preset whose rules for columns the policy keeps: it is refused where one is broken,"
                " by what headers say, and by what cells hold when data are protected.",
            ),
            "formulas": choice_schema(
                Formulas,
                "Cells of a CSV file that a spreadsheet would run: refuse them, or keep them.",
                Formulas.REFUSE,
            ),
        },
        "required": ["columns", "promises"],
        "additionalProperties": False,
    }


def _follows() -> JsonObject:
    column = {"type": "string", "minLength": 1}
    return {
        "type": "object",
        "additionalProperties": {"oneOf": [column, {"type": "array", "minItems": 1, "items": column}]},
        "description": "Quasi-identifiers that others tell: `{town: zip}` says that the town follows from the"
        " postal code. Versions for recipients differ last in what other columns give away.",
    }


def column() -> JsonObject:
    """Returns the schema of one column."""
    return {
        "type": "object",
        "properties": {
            "role": choice_schema(
                roles(),
                "identifier: never published; quasi: generalized; sensitive: what promises protect; "
                "free: generalized, sensitive value by value; quasi-sensitive: sets of terms that say "
                "something together; insensitive: published unchanged.",
            ),
            "taxonomy": taxonomy(),
            "start": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "The finest level that a quasi-identifier may have; rows are counted there.",
            },
            "spelling": choice_schema(
                Spelling,
                "folded: spellings of a sensitive value (case, accents, points) count as one, those of a "
                "quasi-identifier are published as one; exact: every text is a value of its own. Unless "
                "said, folded for sensitive columns, exact for quasi-identifiers.",
            ),
            "digits": {
                "type": "integer",
                "minimum": -MOST_DIGITS,
                "maximum": MOST_DIGITS,
                "description": (
                    "How many digits behind the point are published of a number that is not generalized; -1: "
                    "whole tens. It is rounded as it is written, halves to the even digit."
                ),
            },
            **column_controls.SCHEMA,
            **{key: form for role in roles() for key, form in column_keys(role).items()},
        },
        "required": ["role"],
        "additionalProperties": False,
    }


def column_keys(role: Role) -> JsonObject:
    """Returns the schema of the keys that only columns of this role have."""
    options = options_of(role)
    return {} if options is None else dict(options.schema)


def taxonomy() -> JsonObject:
    """Returns the schema of a taxonomy: the word `flat`, or the key of one builder."""
    return {
        "oneOf": [{"const": "flat"}, *(dict(b.schema) for b in BUILDERS.values())],
        "default": "flat",
        "description": "What a value may become: the value tree of the column.",
    }


def _protect() -> JsonObject:
    rule = ProtectRule()
    return {
        "type": "object",
        "description": "How the recoding is searched for; nothing here is a promise.",
        "properties": {
            "search": choice_schema(
                searches.known(),
                f"How a recoding is searched for. {each_told(searches.MEANINGS)}",
                rule.search,
            ),
            "suppress": {
                "$ref": "#/$defs/fraction",
                "default": written(rule.suppress),
                "description": "The largest share of the rows that may stay unpublished; none unless said for"
                " recipients, by promises about the table as a whole, and by searches that cannot suppress.",
            },
            "price": {
                "oneOf": [{"$ref": "#/$defs/fraction"}, {"const": NO_PRICE}],
                "errorMessage": "must be a number such as 3 or 5/2, or none",
                "default": 3,
                "description": "As how many fully generalized rows a suppressed one counts. none: as one, and"
                " searches do not weigh it against detail.",
            },
            "loss": choice_schema(
                searches.known_losses(), f"What is kept small. {each_told(searches.LOSSES)}", rule.loss
            ),
            "weights": {
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/fraction"},
                "description": "How dear each key column is; 1 unless said otherwise.",
            },
            "relaxed": {
                "type": "boolean",
                "default": rule.relaxed,
                "description": "Mondrian may put equal values on both sides.",
            },
            "grouping": {
                "enum": list(GROUPINGS),
                "default": rule.grouping,
                "description": "How people are put into classes where promises are about sensitive values."
                f" {each_told(GROUPINGS)}",
            },
            "terms": term_rule(),
            "together": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "description": "Groups of key columns that are published at the same level.",
            },
        },
        "additionalProperties": False,
    }


@cache
def retired_words() -> dict[str, tuple[str, str]]:
    """Returns, by the last two parts of its place, why a word is refused that a policy had once."""
    table = tomllib.loads(files("sfumato.policy").joinpath("retired.toml").read_text("utf-8"))
    return {place: (why, remedy) for place, (why, remedy) in table.items()}


def retired(place: Place) -> Problem | None:
    """Returns why the key at this place is refused; `None` where there never was such a key."""
    gone = retired_words().get(".".join(map(str, place[-2:])))
    return None if gone is None else Problem(place, *gone)


# The check of a piece of a policy against its JSON Schema.
#
# The schema that editors use is the one that loading enforces. Only the keywords that our schemas use are
# understood, and every complaint is a sentence with a place.


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
        if (mismatch := _unlisted(value, schema, place) or _mistyped(value, schema, place)) is not None:
            return [mismatch]
        if isinstance(value, Mapping):
            return self._mapping(value, schema, place)
        if _is_list(value) and isinstance(value, Sequence):
            return self._list(value, schema, place)
        return _out_of_bounds(value, schema, place)

    def _mapping(self, value: Mapping[object, object], schema: JsonMapping, place: Place) -> list[Problem]:
        properties: JsonMapping = schema.get("properties", {})
        additional = schema.get("additionalProperties", True)
        wrong: list[Problem] = []
        for key, child in value.items():
            here = (*place, str(key))
            if not isinstance(key, str):
                wrong.append(Problem(here, "a key must be text"))
            elif key in properties:
                wrong += self.visit(child, properties[key], here)
            elif additional is False and (gone := retired(here)) is not None:
                wrong.append(gone)
            elif additional is False:
                near = did_you_mean(key, list(properties), otherwise=f"There is {', '.join(properties)}.")
                wrong.append(Problem(here, "unknown key.", said_elsewhere(key) or near))
            elif isinstance(additional, Mapping):
                wrong += self.visit(child, additional, here)
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
