"""Values as JSON knows them, nothing lost: fractions stay exact, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.core.verdict import Verdict


def plain(value: Any) -> Any:
    """The JSON-ready form: mappings, lists, text, numbers; a fraction becomes `"1/5"`.

    >>> plain({"t": Fraction(1, 5), "worst": np.int64(3), "columns": ("zip", None)})
    {'t': '1/5', 'worst': 3, 'columns': ['zip', None]}
    """
    if isinstance(value, Enum | np.generic):
        return value.value if isinstance(value, Enum) else value.item()
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        return str(value) if isinstance(value, Fraction) else value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.repr}
    return [plain(item) for item in value]


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """A verdict, JSON-ready, with its margin; one that is undecided measured nothing.

    >>> found = verdict_document(Verdict("t-closeness", True, Fraction(1, 8), Fraction(1, 5)))
    >>> found["measured"], found["margin"], found["decimals"]
    ('1/8', '3/40', {'measured': 0.125, 'limit': 0.2, 'margin': 0.075})
    """
    told = replace(verdict, measured=None, worst=None) if verdict.holds is None else verdict
    numbers = {"measured": told.measured, "limit": told.limit, "margin": told.margin}
    return {**plain(told), "margin": plain(told.margin), "decimals": decimals(numbers)}


def decimals(numbers: Mapping[str, Any]) -> dict[str, float]:
    """The fractions among these, as decimals, for readers that do not calculate with text."""
    return {key: float(value) for key, value in numbers.items() if isinstance(value, Fraction)}
