"""The recoding of a Spark table, lazily: published texts, untouched columns, canonical order."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as Cell
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType

from sfumato.system.errors import UsageError
from sfumato.table.arrow import ArrowReader
from sfumato.table.arrow_arrays import text_array, to_arrow
from sfumato.table.digest import DIGITS, SLICES, table_digest
from sfumato.table.microdata import UNIT, Microdata, SetForm
from sfumato.table.recoding import Recoding
from sfumato.table.set_columns import YES, SetReader
from sfumato.table.spark import row_order as checksum
from sfumato.table.spark.counting import (
    CodedColumn,
    RecodedByColumn,
    RecodedByRow,
    arrow_words,
    class_tables,
    packed,
    planned,
    with_person,
    without_missing,
)
from sfumato.table.spark.row_order import (
    MOST_TEXTS,
    OrderedRows,
    PartBounds,
    RankedColumn,
    ShownColumn,
    or_fail,
    part_bounds,
)
from sfumato.table.spark.text import (
    Lookup,
    NumberedTable,
    another_table,
    join_on,
    look_up,
    numbered,
    spark_task,
    text_of,
)


@dataclass(frozen=True, eq=False)
class Recoder:
    """One recoding of one Spark table."""

    opened: NumberedTable
    recoding: Recoding
    coded: tuple[CodedColumn, ...]

    @classmethod
    def of(cls, opened: NumberedTable, recoding: Recoding) -> Recoder:
        """Recognize the values of the planned table; refuse one that holds others."""
        table = recoding.table
        if table.has_person and table.person_column is None:
            raise UsageError("the planned table does not name its person column")
        opened, dropped = without_missing(opened, [c.name for c in table.keys] if table.dropped else ())
        if dropped != table.dropped:
            raise another_table()
        return cls(opened, recoding, tuple(planned(opened, table.columns)))

    @property
    def table(self) -> Microdata:
        return self.recoding.table

    def check(self) -> None:
        """Refuse a table that is not the one that was planned, row by row: one pass, one row of sums."""
        frame, words = self._keyed(self.opened.frame)
        with spark_task("the comparison with the planned table"):
            sums = [int(cell) for cell in frame.agg(*checksum.sums(words)).collect()[0]]
        if sums != checksum.expected(self.table.words, self.table.counts):
            raise another_table()

    def _keyed(
        self, frame: DataFrame, how: RecodedByColumn | RecodedByRow | None = None, *, keyed: bool = True
    ) -> tuple[DataFrame, list[str]]:
        """The rows with their packed keys, and with what `how` needs: every column is looked up once."""
        packing = self.table.packing
        codes = [f"k{i}" for i in range(len(packing.sizes))] if keyed else []
        lookups = []
        for i, (coded, more) in enumerate(zip(self.coded, self._more(how, keyed=keyed), strict=True)):
            own = {codes[i]: to_arrow(coded.ranks << packing.places[i][1])} if keyed else {}
            if own or more:
                lookups.append(Lookup(coded.cell, coded.values, {**own, **more}))
        person = self.table.person_column
        if keyed and person is not None:
            frame, people = with_person(self.opened, frame, person, rows=self.table.rows)
            if max(1, people) != packing.sizes[-1]:
                raise another_table()
            shift = packing.places[-1][1]
            frame = frame.withColumn(codes[-1], F.shiftleft(F.col("person"), shift)).drop("person", "who")
        frame = look_up(frame, lookups)
        return packed(frame, packing, codes) if keyed else (frame, [])

    def _more(self, how: RecodedByColumn | RecodedByRow | None, *, keyed: bool) -> list[dict[str, pa.Array]]:
        """What the values of each planned column become besides their part of the key."""
        becomes: list[dict[str, pa.Array]] = [{} for _ in self.coded]
        keys = [i for i, column in enumerate(self.table.columns) if column.role.is_key]
        for j, i in enumerate(keys):
            ranks = self.coded[i].ranks
            if isinstance(how, RecodedByColumn):
                becomes[i] = _label(j, how.labels[j], how.labels[j].which[ranks])
                if how.gone.shape[1]:
                    becomes[i][f"n{j}"] = to_arrow(how.nodes[j][ranks] << how.packing.places[j][1])
            elif isinstance(how, RecodedByRow) and how.packing is not None:
                becomes[i] = {f"q{j}": to_arrow(ranks << how.packing.places[j][1])}
        if how is not None and keyed:
            for i, texts in self._own.items():
                becomes[i] = {f"v{i}": to_arrow(texts.which)}
        return becomes

    @cached_property
    def _own(self) -> dict[int, ShownColumn]:
        """Planned columns of text that publish what they hold, by their place, with their values in order."""
        columns = {}
        for i, (column, coded) in enumerate(zip(self.table.columns, self.coded, strict=True)):
            plain = not column.role.is_key and column.form is None and pa.types.is_string(coded.values.type)
            if plain and len(coded.values) <= MOST_TEXTS and column.name not in self.recoding.rewritten:
                columns[i] = ShownColumn.of(coded.values.to_pylist(), np.arange(len(coded.values)))
        return columns

    def rows(self, drop: Sequence[str], last: Sequence[str] = (), *, keyed: bool = False) -> OrderedRows:
        """The published rows; `keyed` asks for their packed keys beside them."""
        names = self._published(drop, last)
        table, keys = self.table, {c.name: j for j, c in enumerate(self.table.keys)}
        how = class_tables(self.recoding)
        sets = {p: c.name for c in table.columns if c.form for p in (c.form.parts or (c.name,))}
        rewritten = [name for name in self.recoding.rewritten if name in {sets.get(n, n) for n in names}]
        keyed = keyed or len(rewritten) > 0 or (isinstance(how, RecodedByRow) and how.packing is None)
        frame, _ = self._keyed(self.opened.frame, how, keyed=keyed)
        frame = self._by_column(frame, how) if isinstance(how, RecodedByColumn) else self._by_row(frame, how)
        cells = {name: F.col(self.opened.at(name)) for name in names}
        ranked = self._ranked(names, how, keyed=keyed)
        for name in set(keys) & set(names):
            rank, label = F.col(f"r{keys[name]}"), F.col(f"l{keys[name]}")
            cells[name] = rank if name in ranked else or_fail(label, rank)
        others = [cells[n] for n in names if n not in keys and sets.get(n, n) not in rewritten]
        for name in rewritten:
            frame = self._rewritten(frame, name, others, cells)
        for column in table.columns:
            if column.form and column.form.parts and column.name not in rewritten:
                cells |= {p: self._zero_or_one(p, column.form) for p in column.form.parts if p in names}
        order = {name: self._order(name, cells[name]) for name in names if name in self._sets}
        for i, name in enumerate(last):
            frame = self._numbers(frame, name, f"number{i}")
            cells[name] = F.col(f"number{i}")
            ranked.pop(name, None)
        return OrderedRows(frame, cells, order, ranked)

    def _ranked(
        self, names: Sequence[str], how: RecodedByColumn | RecodedByRow, *, keyed: bool
    ) -> dict[str, RankedColumn]:
        """The published columns that come as numbers: recoded keys, and planned text if it is looked up."""
        columns = {c.name: (f"r{j}", how.labels[j]) for j, c in enumerate(self.table.keys)}
        if keyed:
            columns |= {self.table.columns[i].name: (f"v{i}", own) for i, own in self._own.items()}
        return {
            name: RankedColumn(F.col(rank), own.texts)
            for name, (rank, own) in columns.items()
            if name in names and own.is_short
        }

    def part_bounds(self, rows: OrderedRows) -> PartBounds | None:
        """The bounds of the parts in which the published rows are written, if the plan gives them."""
        lead, keys = [], {c.name: j for j, c in enumerate(self.table.keys)}
        for name in rows.cells:
            if name not in keys or name not in rows.ranked:
                break
            texts, which = self.recoding.texts(keys[name])
            place = {text: i for i, text in enumerate(rows.ranked[name].texts)}
            moved = np.array([place[text] for text in texts], np.int64)
            lead.append((len(place), moved[which]))
        return part_bounds(self.opened.frame, self.recoding, lead)

    def _published(self, drop: Sequence[str], last: Sequence[str]) -> list[str]:
        for name in (*drop, *last):
            self.opened.place(name)
        names = [name for name in self.opened.names if name not in drop and name not in last]
        if not names and not last:
            raise UsageError("no column is left to publish")
        sets = {part for c in self.table.columns if c.form for part in (c.form.parts or (c.name,))}
        self.opened.refuse_nested([name for name in names if name not in sets])
        return [*names, *last]

    def _by_column(self, frame: DataFrame, how: RecodedByColumn) -> DataFrame:
        if how.gone.shape[1] == 0:
            return frame
        nodes = [f"n{j}" for j in range(len(how.nodes))]
        frame, words = packed(frame, how.packing, nodes, into="g")
        return join_on(frame, arrow_words(how.gone, words), on=words, how="left_anti")

    def _by_row(self, frame: DataFrame, how: RecodedByRow) -> DataFrame:
        words = [f"w{i}" for i in range(len(how.words))]
        if how.packing is not None:
            codes = [f"q{j}" for j in range(len(how.packing.sizes))]
            frame, words = packed(frame, how.packing, codes, into="g")
        class_of = {**arrow_words(how.words, words), "class": to_arrow(how.classes)}
        frame = join_on(frame, class_of, on=words, how="inner")
        every: dict[str, pa.Array] = {"class": to_arrow(np.arange(self.recoding.count))}
        for j, texts in enumerate(how.labels):
            every |= _label(j, texts, texts.which)
        return join_on(frame, every, on=["class"], how="inner") if how.labels else frame

    def _rewritten(
        self, frame: DataFrame, name: str, others: Sequence[Cell], cells: dict[str, Cell]
    ) -> DataFrame:
        """Copies of a planned row are told apart by their other cells, and each is given its own text."""
        table, new = self.table, self.recoding.rewritten[name]
        words = [f"w{i}" for i in range(table.packing.words)]
        by = Window.partitionBy(*words).orderBy(*(cell.asc_nulls_last() for cell in others))
        frame = frame.withColumn("copy", (F.row_number().over(by) - 1).cast("long"))
        start = np.cumsum(table.counts) - table.counts
        owner = np.repeat(np.arange(table.distinct), table.counts)
        copy = np.arange(len(owner)) - start[owner]
        copies = arrow_words(table.words[:, owner], words)
        copies |= {"copy": to_arrow(copy), "new": to_arrow(new.codes.astype(np.int64))}
        frame = join_on(frame, copies, on=[*words, "copy"], how="inner").drop("copy")
        form = table.column(name).form
        texts = pa.array(list(new.taxonomy.leaf_labels), pa.large_string())
        native = self._native(texts, name, form)
        columns = {f"t{self.opened.place(part)}": array for part, array in native.items()}
        texts_of = {"new": to_arrow(np.arange(len(texts))), **columns}
        cells |= {part: F.col(f"t{self.opened.place(part)}") for part in native if part in cells}
        return join_on(frame, texts_of, on=["new"], how="inner").drop("new")

    def _native(self, texts: pa.Array, name: str, form: SetForm | None) -> dict[str, pa.Array]:
        """Texts of term sets in the source's own columns."""
        if form is None:
            return {name: texts.cast(pa.string())}
        with spark_task("reading the schema"):
            empty = self.opened.frame.limit(0).toArrow().rename_columns(list(self.opened.names))
        return SetReader(ArrowReader(empty), {name: form}).native_columns(texts, name)

    def _zero_or_one(self, part: str, form: SetForm) -> Cell:
        cell, how = F.col(self.opened.at(part)), form.form_of(part)
        if how.marks is None and not how.values and isinstance(self.opened.kind(part), StringType):
            return F.when(cell.isin(*YES), F.lit("1")).otherwise(F.lit("0"))
        return cell

    def _order(self, name: str, cell: Cell) -> Cell:
        """What rows are ordered by: term sets by their text, whatever joins the terms in the source."""
        if isinstance(self.opened.kind(name), ArrayType):
            return F.array_join(cell, UNIT)
        return F.replace(cell, F.lit(self._sets[name].separator), F.lit(UNIT))

    @property
    def _sets(self) -> dict[str, SetForm]:
        """The columns of term sets that are one column of the source."""
        return {c.name: c.form for c in self.table.columns if c.form and not c.form.parts}

    def _numbers(self, frame: DataFrame, name: str, into: str) -> DataFrame:
        """Numbers that tell which cells are equal and nothing else: in the order of a salted hash."""
        text = text_of(F.col(self.opened.at(name)), self.opened.kind(name), name)
        mixed = F.when(text.isNotNull(), F.sha2(F.concat(F.lit(secrets.token_hex(16)), text), 256))
        named = frame.withColumn("mixed", mixed)
        with_numbers, _ = numbered(named, "mixed", into, rows=self.table.rows, what="the numbering of people")
        return with_numbers.drop("mixed")


def _label(key: int, column: ShownColumn, which: NDArray[np.int64]) -> dict[str, pa.Array]:
    """What a key publishes: a number, and beside it the text where texts are many."""
    columns = {f"r{key}": to_arrow(which)}
    if not column.is_short:
        columns[f"l{key}"] = text_array(column.texts, pa.string()).take(columns[f"r{key}"])
    return columns


# The digest of a table, added up in Spark.


def digest(opened: NumberedTable) -> str:
    """One pass; one row of sums leaves Spark."""
    cells = []
    for name, kind in zip(opened.names, opened.kinds, strict=True):
        text = text_of(F.col(opened.at(name)), kind, name)
        cells.append(F.coalesce(F.concat(F.octet_length(text).cast("string"), F.lit(":"), text), F.lit("-")))
    rows = opened.frame.select(F.sha2(F.concat(F.lit(""), *cells), 256).alias("h"))
    slices = [
        F.coalesce(F.sum(F.conv(F.substring("h", 1 + i * DIGITS, DIGITS), 16, 10).cast("long")), F.lit(0))
        for i in range(SLICES)
    ]
    with spark_task("the digest"):
        count, *sums = rows.agg(F.count(F.lit(1)), *slices).collect()[0]
    return table_digest(opened.names, int(count), [int(part) for part in sums])
