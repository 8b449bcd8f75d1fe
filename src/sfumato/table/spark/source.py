"""PySpark DataFrames as sources."""

from __future__ import annotations

import os
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
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import Column as Cell
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StringType, StructField, StructType

from sfumato.system.errors import BadData, UsageError
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_arrays import to_numpy
from sfumato.table.cell_text import canonical
from sfumato.table.columns import check_names
from sfumato.table.microdata import Coding, Microdata, Missing
from sfumato.table.reading.csv import CSV_ENDINGS, CsvReader
from sfumato.table.reading.parquet import PARQUET_ENDINGS, write_parts
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.spark import row_order as checksum
from sfumato.table.spark.counting import MOST_DISTINCT_ROWS, column_codes, count
from sfumato.table.spark.recoding import Recoder, digest
from sfumato.table.spark.text import NESTED, NumberedTable, SparkValueCounts, spark_task, value_counts
from sfumato.table.survey import MOST_LISTED_VALUES, PATTERNS, ColumnSurvey, KindGuess, Survey
from sfumato.table.taxonomy import Label
from sfumato.table.writing import check_target

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
    asking = [F.count(F.lit(1)), *(F.count(F.when(_gap(opened, n), 1)) for n in [*nested, *many])]
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


def _gap(opened: NumberedTable, name: str) -> Cell:
    return F.col(opened.at(name)).isNull()


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
