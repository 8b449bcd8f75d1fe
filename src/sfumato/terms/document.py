"""Values as JSON knows them, nothing lost: fractions stay exact, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.terms.verdict import Verdict


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
    """A verdict, JSON-ready, with its margin."""
    return {**plain(verdict), "margin": plain(verdict.margin)}
