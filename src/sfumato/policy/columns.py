"""Controls of a column: what an expert asks of a search beyond the promises."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import cast

from sfumato.models.contract import PolicyView
from sfumato.models.quasi_sensitive.promise import options_of
from sfumato.system.disk import read_start
from sfumato.system.errors import BadPolicy
from sfumato.system.json_object import JsonObject
from sfumato.table.arrays import fraction, written
from sfumato.table.microdata import Role, SetForm

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
        entries = {
            "weight": None if self.weight is None else written(self.weight),
            "at-most": self.at_most,
            "fixed": self.fixed,
            "never-suppress": list(self.never_suppress) or None,
        }
        return {key: value for key, value in entries.items() if value is not None}

    @property
    def ceiling(self) -> int | None:
        """The coarsest level that may be published, `None` where the policy names none."""
        return self.at_most if self.fixed is None else self.fixed


def _level(word: object) -> int | None:
    return None if word is None else int(cast("int", word))


def changed_words(rule: object, default: object) -> dict[str, object]:
    """Returns what of a rule differs from its default, as a policy writes it: names of fields are keys."""
    changed = {name: value for name, value in vars(rule).items() if value != vars(default)[name]}
    return {name.replace("_", "-"): _plain_word(value) for name, value in changed.items()}


def _plain_word(value: object) -> object:
    if isinstance(value, Fraction):
        return written(value)
    return list(value) if isinstance(value, tuple) else value.value if isinstance(value, Enum) else value


# Words in the names of columns that suggest what a column is.


def word_set(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


IDENTIFIERS = word_set("""
    id ids uid uuid guid name firstname forename surname lastname fullname email mail phone telephone mobile
    fax ssn nhs mrn iban bic passport address street url ip mac account username login license licence plate
    vin serial token
""")
PEOPLE = word_set("id ids uid uuid guid ssn nhs mrn person patient subject participant member customer")
ONE_PERSON = word_set("ssn nhs mrn person patient subject participant member customer")
"""Words of columns in which equal values mean the same person, and different ones different people."""
SENSITIVE = word_set("""
    diagnosis diagnoses disease illness condition icd icd9 icd10 income salary wage wages earnings pay debt
    credit hiv drug drugs medication treatment therapy symptom symptoms religion faith party offence offense
    conviction disability pregnancy result outcome
""")
PLACES = word_set("zip zipcode postcode postal plz postalcode")
AGES = word_set("age ages")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_]+")


def words(name: str) -> frozenset[str]:
    """Returns the words of a column's name.

    >>> sorted(words("patientID")), sorted(words("zip-code"))
    (['id', 'patient', 'patientid'], ['code', 'zip', 'zip-code'])
    """
    return frozenset(word.lower() for word in _WORD.findall(name)) | {name.lower()}


# Texts of the JSON Schema that are put together from what the code knows.


def each_told(choices: Mapping[str, str]) -> str:
    """Returns one sentence that says what each choice means.

    >>> each_told({"count": "every removal costs the same", "keep": "nothing is removed"})
    'count: every removal costs the same; keep: nothing is removed.'
    """
    return "; ".join(f"{name}: {meaning}" for name, meaning in choices.items()) + "."


# Set-valued columns in a policy: which there are, and how terms are to be removed from their rows.

METHODS = {
    "exact": "the cheapest removal, with proof, as far as time allows",
    "adaptive": "depth-first over removed cells, most promising first",
    "plain": "depth-first over removed cells",
    "keep": "no term is removed: generalization alone keeps the promise",
}
COSTS = {
    "inverse": "a removal from a row that still holds w terms costs 1/w",
    "count": "every removal costs the same",
    "pairs": "a removal costs the terms and pairs of terms that its row no longer shows",
    "rarity": "a removal costs one over the number of rows with this term: rare terms are dear",
}


SCOPES = {
    "row": "a term is removed from single rows: cheaper",
    "class": "a term that goes from one row goes from all rows of its class: the method tells less",
}


@dataclass(frozen=True)
class TermRule:
    """The method, the seconds all classes share, the cost, from which rows a term goes, and a share of terms
    to remove beyond need."""

    method: str = "exact"
    seconds: int = 60
    cost: str = "inverse"
    scope: str = "row"
    margin: Fraction = Fraction(0)

    @property
    def words(self) -> dict[str, object]:
        """The rule as a policy file holds it; what stands at its default is left out."""
        return changed_words(self, TermRule())


def choice_schema(choices: Iterable[str], description: str, default: str | None = None) -> JsonObject:
    """Returns the schema of a word that is one of several."""
    by_default = {} if default is None else {"default": str(default)}
    return {"enum": [str(choice) for choice in choices], **by_default, "description": description}


def schema() -> JsonObject:
    """Returns the rule as a fragment of JSON Schema."""
    plain = TermRule()
    return {
        "type": "object",
        "description": "How terms are removed where a quasi-sensitive promise asks for it.",
        "properties": {
            "method": choice_schema(METHODS, each_told(METHODS), plain.method),
            "seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": 86_400,
                "default": plain.seconds,
                "description": "How long all classes together may take.",
            },
            "cost": choice_schema(COSTS, each_told(COSTS), plain.cost),
            "margin": {
                "$ref": "#/$defs/fraction",
                "default": written(plain.margin),
                "description": "A share of the remaining terms to remove at random, beyond need.",
            },
            "scope": choice_schema(SCOPES, each_told(SCOPES), plain.scope),
        },
        "additionalProperties": False,
    }


def forms_of(policy: PolicyView) -> dict[str, SetForm]:
    """Returns the set-valued columns, by the name that promises use: a column, or a set of columns."""
    forms: dict[str, SetForm] = {}
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        options = options_of(rule)
        if options.set is None:
            forms[name] = SetForm(options.separator or ";")
        else:
            before = forms.get(options.set, SetForm())
            forms[options.set] = SetForm(
                parts=(*before.parts, name), part_forms=(*before.part_forms, options.part_form)
            )
    return forms


# Files of numbers that a policy names: a label and a number on every line.

MOST_BYTES = 4 << 20
"""A file of numbers is at most so long."""


def numbers_in(path: Path) -> dict[str, str]:
    """Returns what a file says of nodes: a label and a number on every line, separated by `;` or `,`."""
    try:
        content = read_start(path, MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise BadPolicy(
            f"the file of numbers {path.name!r} cannot be read as UTF-8 text",
            remedy="Paths are relative to the policy file.",
        ) from None
    if len(content) > MOST_BYTES:
        raise BadPolicy(f"the file {path.name!r} is larger than {MOST_BYTES >> 20} MiB")
    separator = ";" if ";" in text else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:
        raise BadPolicy(f"the file {path.name!r} is no list of labels and numbers") from None
    for line, row in enumerate(rows, 1):
        if len(row) != 2:
            raise BadPolicy(f"line {line} of {path.name!r} is not a label and a number")
    return {label.strip(): number.strip() for label, number in rows}
