"""A reference: the distribution of a sensitive column that everybody is assumed to know."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.core.errors import BadPolicy
from sfumato.core.microdata import Counts
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.promises.parameters import Parameter, Schema
from sfumato.system.disk import LARGEST_LIST, read_document

HEADER = ["value", "count"]
MOST = 2**63


@dataclass(frozen=True)
class ReferenceDistribution:
    """How often each value occurs in a population, with a digest of where that was read.

    >>> ReferenceDistribution.of({"flu": 3, "TB": 1}).total
    4
    """

    counts: tuple[tuple[Label, int], ...]
    digest: str
    file: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        numbers = [n for _, n in self.counts]
        if not all(type(n) is int and n >= 0 for n in numbers) or not 0 < sum(numbers) < MOST:
            raise BadPolicy(
                "reference must give every value a whole number from 0 on, not all 0, below 2**63 in all",
                where="reference",
            )

    @classmethod
    def of(cls, counts: Mapping[Label, int]) -> ReferenceDistribution:
        """A reference given in place."""
        pairs = sorted(counts.items(), key=lambda pair: (pair[0] is not None, pair[0] or ""))
        text = json.dumps(pairs, ensure_ascii=False, separators=(",", ":"), default=str)
        return cls(tuple(pairs), hashlib.sha256(text.encode()).hexdigest())

    @classmethod
    def load(cls, path: Path) -> ReferenceDistribution:
        """Read a CSV file with the header `value,count`; an empty value is a missing cell."""
        try:
            data = read_document(path, most=LARGEST_LIST)
            lines = list(csv.reader(data.decode("utf-8-sig").splitlines()))
        except FileNotFoundError:
            raise BadPolicy("the reference file is not there", where=str(path)) from None
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise BadPolicy(
                f"the reference cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
            ) from None
        if not lines or lines[0] != HEADER:
            raise BadPolicy("a reference file starts with the line value,count", where=f"{path}, line 1")
        counts: dict[Label, int] = {}
        for number, line in enumerate(lines[1:], start=2):
            if len(line) != 2 or not line[1].strip().isdecimal() or len(line[1]) > 20:
                raise BadPolicy("a value and a whole number are expected", where=f"{path}, line {number}")
            if (line[0] or None) in counts:
                raise BadPolicy("the value stands in an earlier line too", where=f"{path}, line {number}")
            counts[line[0] or None] = int(line[1])
        return cls(tuple(cls.of(counts).counts), hashlib.sha256(data).hexdigest(), str(path))

    @property
    def total(self) -> int:
        return sum(n for _, n in self.counts)

    def on(self, taxonomy: Taxonomy) -> tuple[Counts, tuple[Label, ...]]:
        """Counts by leaf rank, and the values that the taxonomy lacks."""
        return _counts_on(taxonomy, self.counts)


@lru_cache(maxsize=8)
def _counts_on(taxonomy: Taxonomy, counts: tuple[tuple[Label, int], ...]) -> tuple[Counts, tuple[Label, ...]]:
    overall = np.zeros(len(taxonomy.leaves), dtype=np.int64)
    lacking = []
    for label, count in counts:
        rank = taxonomy.rank(label)
        if rank is not None:
            overall[rank] += count
        elif count:
            lacking.append(label)
    return overall, tuple(lacking)


@dataclass(frozen=True)
class ReferenceFile(Parameter):
    """The name of a reference file, or the counts themselves."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> ReferenceDistribution:
        if isinstance(value, ReferenceDistribution):
            return value
        if isinstance(value, Mapping):
            return ReferenceDistribution.of(value)
        if isinstance(value, str | Path):
            return ReferenceDistribution.load(Path(value))
        raise BadPolicy(f"{self.name} must be the name of a CSV file with value,count", where=self.name)

    def open(self, name: str, folder: Path) -> ReferenceDistribution:
        return replace(ReferenceDistribution.load(folder / name), file=name)

    def write(self, value: ReferenceDistribution) -> object:
        return dict(value.counts) if value.file is None else value.file

    def plain(self, value: ReferenceDistribution | None) -> object:
        return None if value is None else value.counts

    @property
    def schema(self) -> Schema:
        counts = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
        return {"oneOf": [{"type": "string", "minLength": 1}, counts]}
