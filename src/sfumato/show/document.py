"""Results as JSON documents, nothing lost: fractions stay exact, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.core.errors import WrongCall
from sfumato.core.json_object import JsonObject
from sfumato.core.verdict import Verdict


def json_ready(value: object) -> Any:  # what JSON holds: the caller knows which of it
    """The value as mappings, lists, text and numbers; a fraction becomes `"1/5"`.

    Of a dataclass, the fields that its repr shows.

    >>> json_ready({"t": Fraction(1, 5), "worst": np.int64(3), "columns": ("zip", None)})
    {'t': '1/5', 'worst': 3, 'columns': ['zip', None]}
    """
    if isinstance(value, Enum | np.generic):
        return value.value if isinstance(value, Enum) else value.item()
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        return str(value) if isinstance(value, Fraction) else value
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if is_dataclass(value):  # `getattr`: any dataclass may come, and its fields are known by name only
        return {f.name: json_ready(getattr(value, f.name)) for f in fields(value) if f.repr}
    if not isinstance(value, Iterable):
        raise WrongCall(f"a {type(value).__name__} has no place in a JSON document")
    return [json_ready(item) for item in value]


def verdict_document(verdict: Verdict) -> JsonObject:
    """A verdict with its margin, as JSON; one that is undecided measured nothing.

    >>> document = verdict_document(Verdict("t-closeness", True, Fraction(1, 8), Fraction(1, 5)))
    >>> document["measured"], document["margin"], document["decimals"]
    ('1/8', '3/40', {'measured': 0.125, 'limit': 0.2, 'margin': 0.075})
    """
    shown = replace(verdict, measured=None, worst=None) if verdict.holds is None else verdict
    numbers = {"measured": shown.measured, "limit": shown.limit, "margin": shown.margin}
    return {**json_ready(shown), "margin": json_ready(shown.margin), "decimals": decimals(numbers)}


def decimals(numbers: Mapping[str, object]) -> dict[str, float]:
    """The fractions among these, as decimals, for readers that do not calculate with text."""
    return {key: float(value) for key, value in numbers.items() if isinstance(value, Fraction)}
