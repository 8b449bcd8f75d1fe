"""Matching values column by column: what a release needs to be compared with one that shows other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import packed, unpacked
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.core.marks import Marks, label_marks, mixed_marks
from sfumato.core.microdata import Codes, Microdata


@dataclass(frozen=True, eq=False)
class ValueParts:
    """The matching value of every group of a release, in each of its unchanged columns, as marks.

    `marks[c]` tells the values of column `names[c]` apart, `codes[c]` says which of them each group has.
    Names are sorted. Mixed in this order, the marks of a group give that of its matching value.
    """

    names: tuple[str, ...] = ()
    marks: tuple[Marks, ...] = ()
    codes: tuple[Codes, ...] = ()

    @classmethod
    def of(cls, table: Microdata, names: Sequence[str], rows: NDArray[np.integer]) -> ValueParts:
        """The parts of groups that each have one of these rows of a table; none where one column is all."""
        ordered = tuple(sorted(names))
        if len(ordered) < 2:
            return cls()
        marks, codes = [], []
        for name in ordered:
            used, code = np.unique(table.codes(name)[rows], return_inverse=True)
            labels = table.column(name).taxonomy.leaf_labels
            marks.append(label_marks([labels[leaf] for leaf in used.tolist()]))
            codes.append(code.ravel().astype(np.int32))
        return cls(ordered, tuple(marks), tuple(codes))

    def joined(self, names: Sequence[str]) -> Marks:
        """The mark of every group's value in these columns alone.

        Raises `KeyError` where one of them is not known by itself.
        """
        place = {name: c for c, name in enumerate(self.names)}
        chosen = [place[name] for name in sorted(names)]
        rows = len(self.codes[0]) if self.codes else 0
        return mixed_marks([self.marks[c][self.codes[c]] for c in chosen], rows)

    def as_list(self) -> list[JsonObject]:
        """JSON-ready; arrays are packed as text."""
        columns = zip(self.names, self.marks, self.codes, strict=True)
        return [{"name": name, "marks": packed(m), "codes": packed(c)} for name, m, c in columns]

    @classmethod
    def from_list(cls, words: Sequence[JsonMapping]) -> ValueParts:
        """From its JSON form; raises `ValueError` where that is not whole."""
        names = tuple(str(column["name"]) for column in words)
        marks = tuple(unpacked(column["marks"], np.uint64).reshape(-1, 2) for column in words)
        codes = tuple(unpacked(column["codes"], np.int32) for column in words)
        for some, code in zip(marks, codes, strict=True):
            if np.any((code < 0) | (code >= len(some))) or len(code) != len(codes[0]):
                raise ValueError
        return cls(names, marks, codes)
