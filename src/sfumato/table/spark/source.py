"""PySpark DataFrames as sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Observation

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Coding, Microdata, Missing
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.engine.column_names import check_names
from sfumato.engine.files.parts import write_parts
from sfumato.engine.files.writer import check_target
from sfumato.engine.spark import checksum
from sfumato.engine.spark.column_codes import column_codes
from sfumato.engine.spark.counts import count
from sfumato.engine.spark.digest import digest
from sfumato.engine.spark.errors import spark_task
from sfumato.engine.spark.numbered_table import NumberedTable
from sfumato.engine.spark.packed_table import MOST_DISTINCT_ROWS
from sfumato.engine.spark.recoder import Recoder
from sfumato.engine.spark.sample import exposed, sampled
from sfumato.engine.spark.survey import survey
from sfumato.engine.survey import MOST_LISTED_VALUES, Survey
from sfumato.system.memory import Memory


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
            raise WrongCall("Spark writes Parquet", remedy="End the path in .parquet.")
        if overwrite and target.exists():
            raise WrongCall("a folder is not overwritten", remedy="Name a new one.")
        if formula_safe:
            raise WrongCall("formulas are a matter of CSV files", remedy="Leave formula_safe out.")
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
        seen = Observation()
        frame = rows.ordered(words=words, seen=seen, bounds=recoder.part_bounds(rows))
        with _plain_timestamps(self.frame), spark_task("writing"):
            frame.toDF(*rows.cells).write.option("compression", "zstd").parquet(f"file://{folder.absolute()}")
            sums = [int(cell) for cell in seen.get.values()] if words else []
        kept = recoder.recoding.class_of != SUPPRESSED
        if words and sums != checksum.expected(table.words, table.counts * kept):
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
