"""Steps that change rows where they are read, before all else: rounded numbers, and term sets as one text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.table.cell_text import canonical, comparable, published_type, safe_name
from sfumato.table.microdata import UNIT, PartForm, SetForm, terms_of
from sfumato.table.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.table.published_texts import rounded, rounded_number
from sfumato.table.reader import PassingReader
from sfumato.table.spill import Spill

# Columns of numbers that are published with fewer digits.
#
# Whatever counts, surveys, writes or compares these rows sees rounded numbers, so that nothing depends on the
# digits that a policy does not publish. Numbers keep their type, but for decimals, which lose the digits, and
# whole numbers that are rounded to tens, which may need more room. In texts a number has its shortest form.

TEXT = pa.large_string()
WIDEST = 38
"""The digits of a decimal number of 128 bits."""


@dataclass(eq=False)
class RoundingReader(PassingReader):
    """A reader whose columns of numbers have so many digits behind the point, and no more.

    Raises `BadData` where a column holds something else than numbers: by its type at once, by its texts when
    they are read.
    """

    digits: Mapping[str, int]

    def __post_init__(self) -> None:
        self._schema = pa.schema([self._field(field) for field in self.reader.schema])

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def _field(self, field: pa.Field) -> pa.Field:
        places = self.digits.get(field.name)
        return field if places is None else field.with_type(_rounded_type(field.type, places, field.name))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in self.reader.batches(names):
            if not any(name in self.digits for name in names):
                yield batch
                continue
            cells = [self._cells(batch.column(name), name) for name in names]
            yield pa.RecordBatch.from_arrays(cells, names=list(names))

    def _cells(self, cells: pa.Array, name: str) -> pa.Array:
        places = self.digits.get(name)
        return cells if places is None else _rounded_cells(cells, places, name)


def _rounded_type(kind: pa.DataType, digits: int, column: str) -> pa.DataType:
    """The type of a rounded column; raises where it is none of numbers or texts."""
    kind, types = published_type(kind), pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return TEXT
    if _has_no_more(kind, digits) or types.is_floating(kind):
        return kind
    if types.is_integer(kind):
        return pa.int64() if types.is_signed_integer(kind) else pa.uint64()
    if types.is_decimal(kind):
        width = kind.precision + 1
        wide = pa.decimal256 if width > WIDEST or types.is_decimal256(kind) else pa.decimal128
        return wide(min(width, 76), max(digits, 0))
    raise BadData(
        f"column {safe_name(column)} has the type {kind}, whose cells are no numbers to be rounded",
        remedy="Drop `digits`; a date is made less exact as a key with a taxonomy, such as date.",
    )


def _rounded_cells(cells: pa.Array, digits: int, column: str) -> pa.Array:
    """The cells, rounded; every different one is rounded once."""
    kind = _rounded_type(cells.type, digits, column)
    plain = comparable(cells, column)
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    if _has_no_more(plain.type, digits):
        return plain
    coded = plain.dictionary_encode()
    values = _rounded_values(coded.dictionary, kind, digits, column)
    return values.take(coded.indices)


def _has_no_more(kind: pa.DataType, digits: int) -> bool:
    """Whether numbers of this type never have more digits behind the point."""
    if pa.types.is_decimal(kind):
        return bool(kind.scale <= digits)
    return pa.types.is_null(kind) or (pa.types.is_integer(kind) and digits >= 0)


def _rounded_values(values: pa.Array, kind: pa.DataType, digits: int, column: str) -> pa.Array:
    if pa.types.is_decimal(kind):
        return _as(kind, [None if v is None else rounded(v, digits) for v in values.to_pylist()], column)
    texts = canonical(values, column).to_pylist()
    numbers = [None if text is None else rounded_number(text, digits) for text in texts]
    wrong = sum(text is not None and number is None for text, number in zip(texts, numbers, strict=True))
    if wrong:
        raise BadData(
            f"column {safe_name(column)} holds {wrong:,} different cells that are no numbers such as 1234.5",
            remedy="`digits` rounds numbers. Drop it, or write all cells as numbers; a text that means that"
            " nothing is known is read as an empty cell with --empty.",
        )
    if kind == TEXT:
        return pa.array(numbers, TEXT)
    if pa.types.is_integer(kind):
        return _as(kind, [None if number is None else int(number) for number in numbers], column)
    return _as(kind, [None if number is None else float(number) for number in numbers], column)


def _as(kind: pa.DataType, numbers: Sequence[Decimal | int | float | None], column: str) -> pa.Array:
    try:
        return pc.cast(pa.array(numbers, kind), kind)
    except (pa.ArrowException, OverflowError):  # the message would quote a cell
        raise BadData(
            f"a number of column {safe_name(column)} has no room in its type once it is rounded",
            remedy="Write the column in a wider type, or drop `digits`.",
        ) from None


# Set-valued columns: delimited text, lists, or several columns, read as one text and written back.

YES, NO = ("1", "true", "1.0"), ("0", "false", "0.0")


@dataclass(eq=False)
class SetReader(PassingReader):
    """A reader that shows term sets as text; the columns of a set appear as one, where the first one is."""

    forms: Mapping[str, SetForm]

    @cached_property
    def schema(self) -> pa.Schema:
        whose = {part: name for name, form in self.forms.items() for part in form.parts}
        fields: dict[str, pa.Field] = {}
        for field in self.reader.schema:
            name = whose.get(field.name, field.name)
            fields.setdefault(name, pa.field(name, TEXT) if name in self.forms else field)
        return pa.schema(list(fields.values()))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        source: list[str] = []
        for name in names:
            form = self.forms.get(name)
            source += form.parts if form and form.parts else [name]
        for batch in self.reader.batches(source):
            columns = [self.cells(batch, name) for name in names]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    def cells(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """The cells of a column in a batch of the reader; term sets as text."""
        form = self.forms.get(name)
        if form is None:
            return batch.column(name)
        if form.parts:
            return _joined(batch, form)
        cells = batch.column(name)
        if pa.types.is_nested(cells.type):
            return _from_lists(cells, name)
        text = canonical(cells, name)
        _refuse_mark(text, name)
        return pc.replace_substring(text, form.separator, UNIT)

    def written_back(self, published: PublishedRows, spill: Spill) -> PublishedRows:
        """The published table in the source's own representation, its rows in the order of their values."""
        for name, form in self.forms.items():
            if name not in published.names:
                continue
            if form.parts:
                published = self._apart(published, name, form, spill)
            else:
                j = published.names.index(name)
                published = published.with_values(j, self._values(published.values[j], name, form))
        return published

    def native_columns(self, texts: pa.Array, name: str) -> dict[str, pa.Array]:
        """Texts of term sets in the source's own columns."""
        form = self.forms[name]
        if not form.parts:
            return {name: self._values(texts, name, form)}
        term_sets = [terms_of(text) for text in texts.to_pylist()]
        apart = {part: self._part(part, form.form_of(part), term_sets) for part in form.parts}
        return {part: values.take(pa.array(which)) for part, (values, which) in apart.items()}

    def _values(self, texts: pa.Array, name: str, form: SetForm) -> pa.Array:
        kind = published_type(self.reader.schema.field(name).type)
        if pa.types.is_nested(kind):
            return pa.array(
                [None if t is None else t.split(UNIT) if t else [] for t in texts.to_pylist()], kind
            )
        return pc.replace_substring(texts, UNIT, form.separator).cast(_or_text(kind))

    def _part(
        self, part: str, form: PartForm, term_sets: Sequence[tuple[str, ...]]
    ) -> tuple[pa.Array, NDArray[np.int64]]:
        """What a part publishes, and which of these every set has."""
        kind = published_type(self.reader.schema.field(part).type)
        if not form.values:
            which = np.array([part in terms for terms in term_sets], np.int64)
            return _absent_and_present(kind, part, form), which
        values = [form.value(part, terms) for terms in term_sets]
        texts = sorted({value for value in values if value is not None})
        place: dict[str | None, int] = {None: 0, **{text: i for i, text in enumerate(texts, start=1)}}
        which = np.array([place[value] for value in values], np.int64)
        return pa.array([None, *texts], TEXT).cast(_or_text(kind)), which

    def _apart(self, published: PublishedRows, name: str, form: SetForm, spill: Spill) -> PublishedRows:
        """One column per part, in the place of the column of sets."""
        j, parts = published.names.index(name), form.parts
        term_sets = [terms_of(text) for text in [*published.values[j].to_pylist(), None]]
        apart = [self._part(part, form.form_of(part), term_sets) for part in parts]
        kinds, has = [values for values, _ in apart], [which for _, which in apart]
        names = [*published.names[:j], *parts, *published.names[j + 1 :]]
        values = [*published.values[:j], *kinds, *published.values[j + 1 :]]
        place = {name: i for i, name in enumerate(self.reader.schema.names)}
        order = sorted(range(len(names)), key=lambda k: place.get(names[k], place[parts[0]]))
        builder = PublishedRowsBuilder([names[k] for k in order], [values[k] for k in order], spill)
        for codes in published.blocks():
            held_by = [table[codes[j]] for table in has]
            columns: list[NDArray[np.integer]] = [*codes[:j], *held_by, *codes[j + 1 :]]
            builder.add(len(codes[0]), [columns[k] for k in order])
        return builder.finish()


def _or_text(kind: pa.DataType) -> pa.DataType:
    """The type of a column; text where all its cells are missing, so that it has none."""
    return TEXT if pa.types.is_null(kind) else kind


def _absent_and_present(kind: pa.DataType, name: str, form: PartForm) -> pa.Array:
    """What a part publishes for "not held" and "held", in its own type."""
    if form.marks is not None:
        return pa.array(form.marks, TEXT).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array([False, True], kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array(["0", "1"], kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pa.array([0, 1]).cast(kind)
    raise BadData(f"column {safe_name(name)} is part of a set and must hold 0 and 1")


def _joined(batch: pa.RecordBatch, form: SetForm) -> pa.Array:
    """The terms of all parts, joined."""
    joined: pa.Array | None = None
    for part in form.parts:
        how = form.form_of(part)
        terms = (_value_terms if how.values else _marked_terms)(batch.column(part), part, how)
        joined = terms if joined is None else pc.binary_join_element_wise(joined, terms, pa.scalar("", TEXT))
    return pc.utf8_rtrim(joined, UNIT)


def _marked_terms(cells: pa.Array, part: str, form: PartForm) -> pa.Array:
    """The name of the part where it holds the mark of presence, and the end of a term; else nothing."""
    text = canonical(cells, part)
    absent, present = (NO, YES) if form.marks is None else ((form.marks[0],), (form.marks[1],))
    yes = pc.is_in(text, value_set=pa.array(present, TEXT))
    is_mark = pc.or_(yes, pc.is_in(text, value_set=pa.array(absent, TEXT)))
    if text.null_count or not pc.all(is_mark, min_count=0).as_py():
        raise BadData(
            f"column {safe_name(part)} is part of a set and must hold {_marks(form)}",
            remedy="Fill missing cells; for other words say marks, or values: true, of this column.",
        )
    return pc.if_else(yes, pa.scalar(part + UNIT, TEXT), pa.scalar("", TEXT))


def _marks(form: PartForm) -> str:
    return "0 and 1" if form.marks is None else "the marks that the policy names"


def _value_terms(cells: pa.Array, part: str, form: PartForm) -> pa.Array:
    """The term of every value, and the end of a term; nothing where a cell is missing or empty."""
    kind = published_type(cells.type)
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_null)
    if not any(fits(kind) for fits in kinds):
        raise BadData(
            f"column {safe_name(part)} is part of a set by its values and must hold text or whole numbers",
            remedy="Turn it into text, or into groups of values.",
        )
    text = canonical(cells, part).fill_null("")
    _refuse_mark(text, part)
    before, after = pa.scalar(form.term(part, ""), TEXT), pa.scalar(UNIT, TEXT)
    terms = pc.binary_join_element_wise(before, text, after, pa.scalar("", TEXT))
    return pc.if_else(pc.equal(text, ""), pa.scalar("", TEXT), terms)


def _from_lists(cells: pa.Array, name: str) -> pa.Array:
    kind = cells.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise BadData(f"column {safe_name(name)} holds records", remedy="Term sets are lists of texts.")
    flat = canonical(cells.flatten(), name)
    if flat.null_count or pc.any(pc.equal(flat, ""), min_count=0).as_py():
        raise BadData(f"column {safe_name(name)} holds lists with empty terms", remedy="Leave them out.")
    _refuse_mark(flat, name)
    lengths = pc.list_value_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    joined = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), flat), pa.scalar(UNIT, TEXT))
    return pc.if_else(cells.is_valid(), joined, pa.scalar(None, TEXT))


def _refuse_mark(texts: pa.Array, name: str) -> None:
    if pc.any(pc.match_substring(texts, UNIT), min_count=0).as_py():
        raise BadData(f"column {safe_name(name)} holds the control character U+001F", remedy="Remove it.")
