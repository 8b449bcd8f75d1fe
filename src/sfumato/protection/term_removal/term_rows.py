"""The term sets of a table, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
    def tree(self) -> Taxonomy:
        return self.table.column(self.column).taxonomy

    def members(self, recoding: Recoding) -> list[NDArray[np.int64]]:
        """Returns the rows of every class."""
        owner = recoding.class_of[self.row]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(recoding.count + 1))
        return [order[bounds[c] : bounds[c + 1]] for c in range(recoding.count)]

    def rewriting(self, gone: Mapping[int, Terms]) -> Rewriting:
        """Returns what rows publish when these terms of these rows are gone."""
        texts = [self.texts[c] for c in self.code.tolist()]
        for row, terms in gone.items():
            texts[row] = shortened(texts[row], terms)
        labels = sorted(set(texts), key=lambda text: (text is None, text or ""))
        rank = {label: i for i, label in enumerate(labels)}
        return Rewriting(Taxonomy.flat(labels), np.array([rank[text] for text in texts], np.int32))
