"""The term sets of a table, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.joint_columns import untagged
from sfumato.core.microdata import Microdata
from sfumato.core.recoding import Recoding, Rewriting
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.term_sets import shortened, terms_of
from sfumato.protection.term_removal.one_class import Terms


@dataclass(frozen=True, eq=False)
class TermRows:
    """The term sets of a table's rows, one entry per row (copies of a distinct row one after the other)."""

    table: Microdata
    column: str

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """The distinct row of every row."""
        return np.repeat(np.arange(self.table.distinct), self.table.counts)

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        return self.table.column(self.column).taxonomy.leaf_labels

    @cached_property
    def terms(self) -> tuple[Terms, ...]:
        """The terms of every leaf of the column."""
        return tuple(terms_of(text) for text in self.texts)

    @cached_property
    def code(self) -> NDArray[np.int64]:
        """The leaf of every row."""
        return self.table.codes(self.column)[self.row].astype(np.int64)

    @cached_property
    def rows_of_leaf(self) -> list[int]:
        """How many rows have each leaf of the column."""
        counted: list[int] = np.bincount(self.code, minlength=len(self.texts)).tolist()
        return counted

    @cached_property
    def tree(self) -> Taxonomy:
        return self.table.column(self.column).taxonomy

    def members(self, recoding: Recoding) -> list[NDArray[np.int64]]:
        """Returns the rows of every class."""
        owner = recoding.class_of[self.row]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(recoding.count + 1))
        return [order[bounds[c] : bounds[c + 1]] for c in range(recoding.count)]

    def rewritten(self, gone: Mapping[int, Terms]) -> dict[str, Rewriting]:
        """Returns what rows publish, column by column, when these terms of these rows are gone."""
        joint = next((j for j in self.table.joints if j.name == self.column), None)
        if joint is None:
            return {self.column: _rewriting(self.table, self.column, self.row, gone)} if gone else {}
        written = {}
        for number, part in enumerate(joint.parts):
            own = {row: tuple(untagged(number, terms)) for row, terms in gone.items()}
            if any(own.values()):
                written[part] = _rewriting(self.table, part, self.row, own)
        return written


def _rewriting(table: Microdata, column: str, row: NDArray[np.int64], gone: Mapping[int, Terms]) -> Rewriting:
    """Returns what rows publish in one column when these terms of these rows are gone."""
    leaves = table.column(column).taxonomy.leaf_labels
    texts = [leaves[c] for c in table.codes(column)[row].tolist()]
    for place, terms in gone.items():
        texts[place] = shortened(texts[place], terms)
    labels = sorted(set(texts), key=lambda text: (text is None, text or ""))
    rank = {label: i for i, label in enumerate(labels)}
    return Rewriting(Taxonomy.flat(labels), np.array([rank[text] for text in texts], np.int32))
