"""The prior of a promise, as a policy names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from sfumato.core.errors import BadPolicy
from sfumato.core.prior import HEADER, Prior, share_of, share_text
from sfumato.promises.parameters import Parameter, Schema
from sfumato.promises.quasi_sensitive.label_shares import load_shares

MADE = ("mean", "count")
"""Rules that make a prior from the original table."""
RULES = (*MADE, "uniform", "prevalence")


def load_prior(path: Path) -> Prior:
    """Read a CSV file with the header `label,share`; shares are exact, such as 5/8."""
    remedy = f"Write {', '.join(RULES)}, or the name of a file that holds the prior."
    return Prior.of(load_shares(path, HEADER, remedy=remedy), file=str(path))


@dataclass(frozen=True)
class PriorRule(Parameter):
    """How a prior is made from the original table, or the prior itself."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> str | Prior:
        if isinstance(value, Prior):
            return value
        if isinstance(value, Mapping):
            try:
                return Prior.of({str(k): share_of(str(v)) for k, v in value.items()})
            except (ValueError, ZeroDivisionError):
                raise BadPolicy("each label takes a fraction such as 5/8", where=self.name) from None
        if value in RULES:
            return str(value)
        if isinstance(value, str | Path):
            return load_prior(Path(value))
        raise BadPolicy(f"{self.name} must be {', '.join(RULES)} or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> str | Prior:
        return name if name in RULES else replace(load_prior(folder / name), file=name)

    def write(self, value: str | Prior) -> object:
        if isinstance(value, str):
            return value
        return {k: share_text(v) for k, v in value.shares} if value.file is None else value.file

    def plain(self, value: str | Prior) -> object:
        return value if isinstance(value, str) else value.shares

    def identify(self, value: str | Prior) -> str:
        return value if isinstance(value, str) else super().identify(value)

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}
