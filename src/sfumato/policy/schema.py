"""The JSON Schema of a policy file: for editors, and for loading."""

from __future__ import annotations

from sfumato import promises
from sfumato.core.exact_numbers import written
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Missing, Role
from sfumato.core.rounded_number import MOST_DIGITS
from sfumato.core.spelling import Spelling
from sfumato.policy import column_controls, searches, source_words
from sfumato.policy.compatibility.objections import options_of, roles
from sfumato.policy.confirmation import schema as confirm
from sfumato.policy.content import NO_PRICE, Formulas, Knows, ProtectRule
from sfumato.policy.recipients import schema as recipients
from sfumato.policy.safe_harbor import SAFE_HARBOR
from sfumato.policy.schema_text import each_told
from sfumato.policy.set_columns import schema as term_rule
from sfumato.policy.taxonomies import BUILDERS

DEFS: JsonObject = {
    "fraction": {
        "oneOf": [
            {"type": "number", "minimum": 0},
            {
                "type": "string",
                "pattern": r"^\s*[0-9]{1,30}(\.[0-9]{0,30})?(\s*/\s*[0-9]{1,30}|\s*%)?\s*$",
            },
        ],
        "errorMessage": "must be a fraction such as 1/5, 5% or 0.2",
    },
    "number": {
        "oneOf": [
            {"type": "number"},
            {
                "type": "string",
                "pattern": r"^[+-]?[0-9]+(\.[0-9]*)?$",
            },
        ],
        "errorMessage": "must be a number such as 5 or 2.5",
    },
    "labels": {
        "type": "array",
        "minItems": 1,
        "items": {"type": ["string", "number"]},
    },
}


def schema() -> JsonObject:
    """Returns the schema of a whole policy file.

    >>> sorted(schema()["properties"])[:6]
    ['columns', 'confirm', 'formulas', 'missing', 'person', 'promises']
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
            "missing": {
                "enum": [m.value for m in Missing],
                "default": Missing.OWN_VALUE.value,
                "description": (
                    "What an empty cell of a key column means. own-value: a value like any other; suppress:"
                    " the row is not published; refuse: the table is not accepted."
                ),
            },
            "person": _person(),
            "recipients": recipients(),
            "confirm": confirm(),
            source_words.KEY: source_words.schema(),
            "preset": {
                "enum": [SAFE_HARBOR],
                "description": (
                    "The preset whose rules for columns the policy keeps: it is refused where one is broken,"
                    " by what headers say, and by what cells hold when data are protected."
                ),
            },
            "formulas": {
                "enum": [choice.value for choice in Formulas],
                "default": Formulas.REFUSE.value,
                "description": "Cells of a CSV file that a spreadsheet would run: refuse them, or keep them.",
            },
        },
        "required": ["columns", "promises"],
        "additionalProperties": False,
    }


def column() -> JsonObject:
    """Returns the schema of one column."""
    return {
        "type": "object",
        "properties": {
            "role": {
                "enum": [r.value for r in roles()],
                "description": (
                    "identifier: never published; quasi: generalized; sensitive: what promises protect; "
                    "free: generalized, sensitive value by value; quasi-sensitive: sets of terms that say "
                    "something together; insensitive: published unchanged."
                ),
            },
            "taxonomy": taxonomy(),
            "start": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "The finest level that a quasi-identifier may have; rows are counted there.",
            },
            "spelling": {
                "enum": [spelling.value for spelling in Spelling],
                "description": (
                    "folded: spellings of a sensitive value (case, accents, points) count as one, those of a "
                    "quasi-identifier are published as one; exact: every text is a value of its own. Unless "
                    "said, folded for sensitive columns, exact for quasi-identifiers."
                ),
            },
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


def _person() -> JsonObject:
    column = {"type": "string", "minLength": 1}
    return {
        "oneOf": [
            column,
            {
                "type": "object",
                "properties": {
                    "column": {**column, "description": "The column that tells people apart."},
                    "knows": {
                        "enum": [k.value for k in Knows],
                        "description": (
                            "row: others know one row of a person (k-anonymity alone); profile: all of them."
                            " Unless said, row where only k-anonymity is promised, else profile."
                        ),
                    },
                },
                "required": ["column"],
                "additionalProperties": False,
            },
        ],
        "description": "The column that tells people apart, where one person has several rows.",
    }


def _protect() -> JsonObject:
    rule = ProtectRule()
    return {
        "type": "object",
        "description": "How the recoding is searched for; nothing here is a promise.",
        "properties": {
            "search": {
                "enum": list(searches.known()),
                "default": rule.search,
                "description": "How a recoding is searched for.",
            },
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
            "loss": {
                "enum": list(searches.known_losses()),
                "default": rule.loss,
                "description": f"What is kept small. {each_told(searches.LOSSES)}",
            },
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
