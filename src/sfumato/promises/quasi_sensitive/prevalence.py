"""How common labels are, as a policy says it: in a file, or in place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from sfumato.core.errors import BadPolicy
from sfumato.core.prior import share_of, share_text
from sfumato.promises.parameters import Parameter, Schema
from sfumato.promises.quasi_sensitive.label_shares import load_shares

HEADER = ["label", "prevalence"]


@dataclass(frozen=True)
class Prevalence:
    """How common each label is among the people of the table, in any unit: shares, or cases per year.

    >>> Prevalence.of({"Flu": 30, "Plague": 1})
    Prevalence(2 labels)
    """

    shares: tuple[tuple[str, Fraction], ...]
    file: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, shares: Mapping[str, Fraction | int], *, file: str | None = None) -> Prevalence:
        return cls(tuple(sorted((label, Fraction(share)) for label, share in shares.items())), file)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the shares."""
        text = "\n".join(f"{label}\t{share_text(share)}" for label, share in self.shares)
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Prevalence({len(self.shares)} labels)"


@dataclass(frozen=True)
class PrevalenceFile(Parameter):
    """The name of a file with the header `label,prevalence`, or a number for every label."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> Prevalence | None:
        if value is None or isinstance(value, Prevalence):
            return value
        if isinstance(value, Mapping):
            try:
                return Prevalence.of({str(label): share_of(str(share)) for label, share in value.items()})
            except (ValueError, ZeroDivisionError):
                raise BadPolicy("each label takes a number such as 3/100", where=self.name) from None
        if isinstance(value, str | Path):
            return Prevalence.of(load_shares(Path(value), HEADER), file=str(value))
        raise BadPolicy(f"{self.name} must be a number per label, or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> Prevalence:
        return replace(Prevalence.of(load_shares(folder / name, HEADER)), file=name)

    def write(self, value: Prevalence) -> object:
        if value.file is not None:
            return value.file
        return {label: share_text(share) for label, share in value.shares}

    def plain(self, value: Prevalence | None) -> object:
        return () if value is None else value.shares

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}
