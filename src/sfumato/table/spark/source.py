"""PySpark DataFrames as sources."""

from __future__ import annotations

import os
import secrets
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import Column as Cell
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from sfumato.system.errors import BadData, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import text_array, to_arrow, to_numpy
from sfumato.table.cell_text import canonical, check_names
from sfumato.table.digest import DIGITS, SLICES, table_digest
from sfumato.table.microdata import UNIT, Coding, Microdata, Missing, SetForm
from sfumato.table.reader import ArrowReader
from sfumato.table.reading.csv import CSV_ENDINGS, CsvReader
from sfumato.table.reading.parquet import PARQUET_ENDINGS, write_parts
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.row_steps import YES, SetReader
from sfumato.table.spark import row_order as checksum
from sfumato.table.spark.counting import (
    MOST_DISTINCT_ROWS,
    CodedColumn,
    RecodedByColumn,
    RecodedByRow,
    arrow_words,
    class_tables,
    column_codes,
    count,
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
    NESTED,
    Lookup,
    NumberedTable,
    SparkValueCounts,
    another_table,
    join_on,
    look_up,
    numbered,
    spark_task,
    text_of,
    value_counts,
)
from sfumato.table.survey import MOST_LISTED_VALUES, PATTERNS, ColumnSurvey, KindGuess, Survey
from sfumato.table.taxonomy import Label
from sfumato.table.writing import check_target

# The recoding of a Spark table, lazily: published texts, untouched columns, canonical order.


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


# A table that Spark reads, named on a command line.


def spark_table(name: str) -> DataFrame:
    """The Parquet files or the CSV file at a path or URI, else the table of that name in Spark's catalogue.

    The session is the one that is there (under `spark-submit`), or a new one with Spark's own settings.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        # PySpark says of every newer pandas that it may not work; nothing here goes through pandas.
        warnings.filterwarnings("ignore", category=FutureWarning)
        builder = SparkSession.builder.appName("sfumato").config("spark.ui.showConsoleProgress", "false")
        session = builder.getOrCreate()
        if name.lower().endswith(CSV_ENDINGS):
            return _csv(session, name)
    try:
        if "/" in name or name.lower().endswith(PARQUET_ENDINGS):
            return session.read.parquet(name)
        return session.table(name)
    except PySparkException:
        raise BadData(
            "Spark cannot read this table",
            where=name,
            remedy="Name a Parquet folder, a CSV file, or a table of Spark's catalogue.",
        ) from None


def _csv(session: SparkSession, name: str) -> DataFrame:
    """A CSV file, read in one task by the reader of files.

    Spark's own reader drops empty lines of a single column, and replaces bytes that are no text.
    """
    place = name.removeprefix("file://")
    if "://" in place:
        raise UsageError(
            "a CSV file is read from a folder that driver and workers share",
            where=name,
            remedy="Copy it there, or have Spark turn it into Parquet first.",
        )
    if not Path(place).is_file():
        raise BadData("there is no such CSV file", where=name, remedy="Check the path.")
    reader = CsvReader(Path(place).absolute())
    names = reader.schema.names

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            for batch in reader.batches(names):
                cells = [column.dictionary_decode() for column in batch.columns]
                yield pa.RecordBatch.from_arrays(cells, names=names)

    text = StructType([StructField(column, StringType()) for column in names])
    return session.range(0, 1, 1, 1).mapInArrow(rows, text)


# A sample that is told by the rows themselves: no chance, no order, the same after a task ran twice.
#
# What it suggests about a set of columns is then counted on all rows, in Spark.

STEPS = 1 << 30
"""A share of the rows is a whole number of such parts of all hashes."""


def sampled(opened: NumberedTable, rows: int, *, by: str | None, seed: int) -> tuple[DataFrame, int]:
    """About so many rows of a table, and how many it has; all of them where it has no more."""
    if rows < 1:
        raise UsageError("a sample has at least one row")
    with spark_task("the count of rows"):
        total = opened.frame.count()
    if total <= rows:
        return opened.frame, total
    names = opened.names if by is None else (by,)
    cells = [_hashed(opened, name) for name in names]
    place = F.pmod(F.xxhash64(F.lit(seed).cast("long"), *cells), F.lit(STEPS))
    return opened.frame.where(place < F.lit(rows * STEPS // total)), total


def exposed(opened: NumberedTable, columns: Sequence[str], *, k: int) -> int:
    """How many rows share their cells in these columns with fewer than k, themselves included."""
    opened.refuse_nested(columns)
    groups = opened.frame.groupBy(*(opened.at(name) for name in columns)).agg(F.count(F.lit(1)).alias("n"))
    with spark_task("the count of exposed rows"):
        rows = groups.where(F.col("n") < k).agg(F.coalesce(F.sum("n"), F.lit(0))).collect()[0][0]
    return int(rows)


def _hashed(opened: NumberedTable, name: str) -> Column:
    """A cell that has a hash: Spark has none for maps. A missing one differs from all others."""
    cell = F.col(opened.at(name))
    if isinstance(opened.kind(name), MapType):
        cell = F.sort_array(F.map_entries(cell))
    return F.struct(cell.isNull(), cell)


# A survey taken in Spark: every column grouped by itself, and only columns with few values listed.

NO_COUNTS = np.zeros(0, np.int64)


def survey(opened: NumberedTable, names: Sequence[str], *, limit: int, progress: Progress = silent) -> Survey:
    """What these columns hold."""
    progress("surveying", 0)
    nested = [name for name in names if isinstance(opened.kind(name), NESTED)]
    cells = {name: F.col(opened.at(name)) for name in names if name not in nested}
    counts_of = value_counts(opened.frame, cells, limit=limit, what="the survey")
    many = [name for name in cells if _distinct(counts_of[name]) > limit]
    uncounted = [F.col(opened.at(name)) for name in [*nested, *many]]
    asking = [F.count(F.lit(1)), *(F.count(F.when(cell.isNull(), 1)) for cell in uncounted)]
    guessed = [name for name in many if isinstance(opened.kind(name), StringType)]
    fits = [F.min(_fits(F.col(opened.at(name)), kind)) for name in guessed for kind in PATTERNS]
    with spark_task("the survey"):
        rows, *more = opened.frame.agg(*asking, *fits).collect()[0]
    gaps = dict(zip([*nested, *many], more, strict=False))
    holds = more[len(gaps) :]
    columns: dict[str, ColumnSurvey] = {}
    for name in names:
        if name in nested:
            columns[name] = ColumnSurvey(name, "list", 0, gaps[name], (), NO_COUNTS, False)
        elif name in many:
            kind = KindGuess(counts_of[name].values.type).kind
            if name in guessed:
                at = guessed.index(name) * len(PATTERNS)
                kind = next((k for k, yes in zip(PATTERNS, holds[at:], strict=False) if yes), "text")
            columns[name] = ColumnSurvey(name, kind, limit + 1, gaps[name], (), NO_COUNTS, False)
        else:
            columns[name] = _listed(name, counts_of[name])
    progress("surveying", rows, rows)
    return Survey(int(rows), columns)


def _distinct(occurring: SparkValueCounts) -> int:
    return len(occurring.values) - int(occurring.values.null_count)


def _fits(cell: Cell, kind: str) -> Cell:
    """Whether a text is of this kind, as `KindGuess` would see it."""
    matches = cell.rlike(rf"\A(?:{PATTERNS[kind]})\z")
    if kind == "date":
        day = F.substring(cell, 1, 10)
        return matches & F.try_to_date(day, "yyyy-MM-dd").isNotNull() & ~day.startswith("0000")
    return matches


def _listed(name: str, occurring: SparkValueCounts) -> ColumnSurvey:
    texts = canonical(occurring.values, name)
    counts = to_numpy(occurring.counts)
    order = to_numpy(pc.sort_indices(texts)).astype(np.int64)
    labels: list[Label] = [texts[i].as_py() for i in order.tolist()]
    missing = int(counts[order][-1]) if labels and labels[-1] is None else 0
    guess = KindGuess(occurring.values.type)
    guess.observe([label for label in labels if label is not None])
    distinct = len(labels) - (missing > 0)
    sorted_counts = counts[order].astype(np.int64)
    repeats = int(sorted_counts[:distinct].max(initial=0)) > 1
    return ColumnSurvey(
        name,
        guess.kind,
        distinct,
        missing,
        tuple(labels),
        sorted_counts,
        repeats=repeats,
        is_text=not guess.fixed,
    )


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A Spark table. Its rows stay in Spark; the driver sees distinct values and packed counts.

    Every pass reads the table again, and a survey reads each column by itself: an expensive query is best
    persisted before. `limit` is how many distinct coded rows the driver takes; `sample_of` is how many rows
    a table has that this one is a sample of.
    """

    frame: DataFrame
    limit: int = MOST_DISTINCT_ROWS
    kind: str = "spark"
    sample_of: int | None = None
    memory: Memory = field(default_factory=Memory)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        check_names(self.frame.columns)
        return tuple(self.frame.columns)

    @cached_property
    def _opened(self) -> NumberedTable:
        check_names(self.columns)
        return NumberedTable.of(self.frame)

    def survey(
        self,
        names: Sequence[str] | None = None,
        *,
        limit: int = MOST_LISTED_VALUES,
        progress: Progress = silent,
    ) -> Survey:
        """What the columns hold."""
        return survey(self._opened, self.columns if names is None else names, limit=limit, progress=progress)

    def count(
        self,
        codings: Sequence[Coding],
        *,
        missing: Missing = Missing.OWN_VALUE,
        person: str | None = None,
        progress: Progress = silent,
    ) -> Microdata:
        """All rows as leaf ranks, equal rows once."""
        return count(
            self._opened, codings, missing=missing, person=person, limit=self.limit, progress=progress
        )

    def recode(
        self, recoding: Recoding, *, drop: Sequence[str] = (), progress: Progress = silent
    ) -> DataFrame:
        """The published table as a DataFrame that has not run yet; one pass tells that it is as planned."""
        progress("recoding", 0)
        recoder = Recoder.of(self._opened, recoding)
        recoder.check()
        rows = recoder.rows(drop)
        return rows.ordered().toDF(*rows.cells)

    def write(
        self,
        recoding: Recoding,
        path: str | PathLike[str],
        *,
        drop: Sequence[str] = (),
        overwrite: bool = False,
        formula_safe: bool = False,
        numbered: Sequence[str] = (),
        progress: Progress = silent,
    ) -> Path:
        """The published table as a folder of Parquet files, written by Spark, with a manifest.

        What was written is compared with the plan on the way. The columns `numbered` come last, and a number
        stands for each of their values; only its owner may read such a folder.
        """
        target = Path(path)
        if target.suffix.lower() not in (".parquet", ".pq"):
            raise UsageError("Spark writes Parquet", remedy="End the path in .parquet.")
        if overwrite and target.exists():
            raise UsageError("a folder is not overwritten", remedy="Name a new one.")
        if formula_safe:
            raise UsageError("formulas are a matter of CSV files", remedy="Leave formula_safe out.")
        check_target(target)
        progress("recoding", 0, recoding.table.rows)
        recoder = Recoder.of(self._opened, recoding)
        last = [name for name in dict.fromkeys(numbered) if name not in drop]
        published = int(recoding.rows.sum())

        def fill(folder: Path) -> None:
            self._fill(recoder, folder, drop, last)

        write_parts(target, fill, rows=published, private=len(numbered) > 0)
        progress("writing", published, published)
        return target

    def digest(self, *, progress: Progress = silent) -> str:
        """The digest of all rows, whatever their order; lists are taken for term sets."""
        progress("digest", 0)
        return digest(self._opened)

    def column_codes(
        self, names: Sequence[str], *, progress: Progress = silent
    ) -> tuple[NDArray[np.int32], tuple[int, ...]]:
        """The codes of each of these columns, row by row, and how many codes each has; missing cells last."""
        return column_codes(self._opened, names, limit=self.limit, progress=progress)

    def sampled(self, rows: int, *, by: str | None = None, seed: int = 0) -> SparkSource:
        """About so many of the rows, told by a hash of their cells: the same ones whenever it runs.

        Rows that are equal are all in it or all out of it; so are those that are equal in the column `by`, if
        one is named, such as a person's. Another `seed` gives other rows.
        """
        chosen, total = sampled(self._opened, rows, by=by, seed=seed)
        if total <= rows:
            return self
        return replace(self, frame=chosen.toDF(*self.columns), sample_of=total)

    def exposed(self, columns: Sequence[str], *, k: int) -> int:
        """How many rows share their cells in these columns with fewer than `k`, themselves included.

        All rows are read, in Spark: so is checked what a sample suggests. Missing cells are alike.
        """
        return exposed(self._opened, columns, k=k)

    def _fill(self, recoder: Recoder, folder: Path, drop: Sequence[str], last: Sequence[str]) -> None:
        """Write, and compare the packed keys of what was written with the planned ones."""
        table = recoder.table
        people = table.has_person
        if people:
            recoder.check()
        rows = recoder.rows(drop, last, keyed=not people)
        words = [] if people else [f"w{i}" for i in range(table.packing.words)]
        observation = Observation()
        frame = rows.ordered(words=words, observation=observation, bounds=recoder.part_bounds(rows))
        with _plain_timestamps(self.frame), spark_task("writing"):
            frame.toDF(*rows.cells).write.option("compression", "zstd").parquet(f"file://{folder.absolute()}")
            sums = [int(cell) for cell in observation.get.values()] if words else []
        published = recoder.recoding.class_of != SUPPRESSED
        if words and sums != checksum.expected(table.words, table.counts * published):
            recoder.check()  # a task that ran twice is observed twice: the source itself decides

    def __repr__(self) -> str:
        return f"<{self.kind} source, {len(self.columns)} columns>"


@contextmanager
def _plain_timestamps(frame: DataFrame) -> Iterator[None]:
    """Points in time as Parquet has them today, not as old Hive tables had them."""
    setting = "spark.sql.parquet.outputTimestampType"
    conf = frame.sparkSession.conf
    before = conf.get(setting)
    conf.set(setting, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        conf.set(setting, str(before))
