"""The prior of a promise, as a policy names it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from sfumato.core.errors import BadPolicy
from sfumato.core.prior import HEADER, Prior, share_of, share_text
from sfumato.promises.parameters import Parameter, Schema
from sfumato.system.disk import LARGEST_LIST, read_document

MADE = ("mean", "count")
"""Rules that make a prior from the original table."""
RULES = (*MADE, "uniform")


def load_prior(path: Path) -> Prior:
    """Read a CSV file with the header `label,share`; shares are exact, such as 5/8."""
    try:
        lines = list(csv.reader(read_document(path, most=LARGEST_LIST).decode("utf-8").splitlines()))
    except FileNotFoundError:
        raise BadPolicy(
            "there is no prior file of this name",
            where=str(path),
            remedy=f"Write {', '.join(RULES)}, or the name of a file that holds the prior.",
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise BadPolicy(
            f"the prior cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
        ) from None
    if not lines or lines[0] != HEADER:
        raise BadPolicy("a prior file starts with the line label,share", where=f"{path}, line 1")
    shares: dict[str, Fraction] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            label, share = line
            shares[label] = share_of(share)
        except (ValueError, ZeroDivisionError):
            raise BadPolicy("a label and a fraction are expected", where=f"{path}, line {number}") from None
    return Prior.of(shares, file=str(path))


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
