"""A table known again: its digest and marks of its people, taken while rows are read for something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.errors import SfumatoError
from sfumato.table.cell_text import canonical
from sfumato.table.digest import RowSums
from sfumato.table.form_of_source import RowSource
from sfumato.table.keyed_hashes import Marks, label_marks, order_of_marks
from sfumato.table.microdata import Coding, Role, SetForm
from sfumato.table.reader import PassingReader
from sfumato.table.set_columns import SetReader
from sfumato.table.source import Source
from sfumato.table.taxonomy import Label, Taxonomy

NOBODY: Marks = np.zeros((0, 2), np.uint64)


@dataclass
class TableFingerprint:
    """The digest of all rows, and a mark for everybody whom one of the person columns names.

    Both are empty until the rows were read, and where the cells have no text that could be told again.
    """

    digest: str = ""
    people: Marks = field(default_factory=lambda: NOBODY)


def with_fingerprint(source: Source, person_columns: Sequence[str]) -> tuple[Source, TableFingerprint]:
    """Returns the source to read from now on, and the fingerprint that its first whole pass fills in.

    A source that hands out no rows is asked for its digest, and to count its people, at once.
    """
    taken = TableFingerprint()
    persons = [name for name in dict.fromkeys(person_columns) if name in source.columns]
    if isinstance(source, RowSource):
        reader = FingerprintingReader(source.reader, persons, taken)
        return RowSource(reader, source.memory), taken
    taken.digest = source.digest()
    for name in persons:
        counted = source.count([Coding(name, Role.IDENTIFIER, _flat)])
        labels = counted.column(name).taxonomy.leaf_labels
        taken.people = _joined(taken.people, [_marks_of(labels)])
    return source, taken


@dataclass(eq=False)
class FingerprintingReader(PassingReader):
    """A reader whose first whole pass also takes the fingerprint of the table."""

    persons: Sequence[str]
    taken: TableFingerprint
    _done: bool = field(default=False, init=False)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self._done:
            yield from self.reader.batches(names)
            return
        every = list(self.schema.names)
        sets = {f.name: SetForm() for f in self.schema if pa.types.is_nested(f.type)}
        as_text = SetReader(self.reader, sets)
        people = NOBODY
        with ExitStack() as stack:
            sums: RowSums | None = stack.enter_context(RowSums(every))
            for batch in self.reader.batches(every):
                try:
                    if sums is not None:
                        sums.add(_with_texts(batch, as_text, list(sets)))
                        people = _joined(people, [_marks_of(_texts(batch, name)) for name in self.persons])
                except (SfumatoError, pa.ArrowException):  # whoever reads these rows runs into it
                    sums = None
                yield batch.select(list(names))
            self._done = True
            if sums is not None:
                self.taken.digest, self.taken.people = sums.result(), people


def _texts(batch: pa.RecordBatch, name: str) -> list[str]:
    """The different texts of a column in one batch."""
    texts: list[str] = pc.unique(canonical(batch.column(name), name)).to_pylist()
    return texts


def _with_texts(batch: pa.RecordBatch, as_text: SetReader, names: Sequence[str]) -> pa.RecordBatch:
    """The batch with lists as the texts of their term sets, as every digest takes them."""
    if not names:
        return batch
    cells = {
        name: as_text.cells(batch, name) if name in names else batch.column(name)
        for name in batch.schema.names
    }
    return pa.RecordBatch.from_pydict(cells)


def _marks_of(labels: Sequence[Label]) -> Marks:
    return label_marks([label for label in labels if label is not None])


def _joined(people: Marks, more: Sequence[Marks]) -> Marks:
    """The marks of everybody, each once, in order: no text of anybody is held longer than its batch."""
    if not any(len(marks) for marks in more):
        return people
    every = np.concatenate([people, *more])
    order, fresh = order_of_marks(every)
    distinct: Marks = every[order[fresh]]
    return distinct


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))
