"""A source in the hands of the second judge: as the file that it reads, else as its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.core.errors import BadData
from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonMapping
from sfumato.core.progress import Progress, silent
from sfumato.core.verdict import Verdict
from sfumato.engine.arrow_rows import HandingReader, arrow_rows, file_of, form_of
from sfumato.engine.rows import RowSource
from sfumato.engine.source import PARQUET, Source
from sfumato.judge.chain.shown_counts import ShownRows, file_shows
from sfumato.judge.file_bytes.csv_forms import csv_surplus
from sfumato.judge.file_bytes.parquet_surplus import Surplus, parquet_surplus
from sfumato.judge.published_table import JudgedRows, judge_file
from sfumato.judge.tables.file_form import FileForm
from sfumato.policy.judge_data import judge_data
from sfumato.policy.policy import Policy
from sfumato.policy.set_columns import forms_of

Verdicts = Callable[[], tuple[Verdict, ...]]


@contextmanager
def judged_when_read(
    source: Source, policy: Policy, *, progress: Progress = silent
) -> Iterator[tuple[Source, Verdicts]]:
    """Yields the source to be read for other purposes, and what then gives the second judge's verdicts.

    A file in the form that releases have is judged from its bytes, by a pass of its own. Rows of a table in
    memory are handed over while they are read. A file in another form (another separator, compressed) is read
    again for that, and so is a source that hands out no batches.
    """
    told, path = judge_data(policy), file_of(source)
    if path is not None or not isinstance(source, RowSource):
        yield source, lambda: _from_bytes(path, source, told) or _from_rows(source, policy, told, progress)
        return
    with JudgedRows(source.columns, told, memory=source.memory) as rows:
        handing = HandingReader(source.reader, rows.wanted, rows.restart, rows.add)
        yield (
            RowSource(handing, source.memory),
            lambda: rows.verdicts() if handing.complete else _from_rows(source, policy, told, progress),
        )


def _from_bytes(path: Path | None, source: Source, told: JsonMapping) -> tuple[Verdict, ...] | None:
    """Returns the verdicts on a file in the form of releases; `None` where there is no such file."""
    if path is None:
        return None
    try:
        return judge_file(path, source.columns, told, form=form_of(source), memory=source.memory)
    except BadData:  # the engine has read it, so its rows can be judged
        return None


def _from_rows(source: Source, policy: Policy, told: JsonMapping, progress: Progress) -> tuple[Verdict, ...]:
    """Returns the verdicts on all rows of a source, read for that alone."""
    with JudgedRows(source.columns, told, memory=source.memory) as rows:
        sets = forms_of(policy)
        for batch, counts in arrow_rows(
            source, rows.wanted, person=policy.person, sets=sets, progress=progress
        ):
            rows.add(batch, counts)
        return rows.verdicts()


def surplus_of(source: Source) -> tuple[Surplus, ...]:
    """Returns what the bytes of a source tell beyond its rows; nothing where it is no file."""
    path = file_of(source)
    if path is None:
        return ()
    try:
        if source.kind == PARQUET:
            return parquet_surplus(path, memory=source.memory)
        return csv_surplus(path, source.columns, memory=source.memory, form=FileForm.of(form_of(source)))
    except BadData:
        return (Surplus("the bytes of the file could not be followed", certain=False),)


Shows = Callable[[Imprint], bool]


@contextmanager
def compared_when_read(
    source: Source, like: Imprint, *, progress: Progress = silent
) -> Iterator[tuple[Source, Shows]]:
    """Yields the source to be read for other purposes, and what then says whether it shows a release.

    That is what the second judge says, who reads a file from its bytes and is handed other rows, as above.
    `like` is a release with the same columns.
    """
    path, document = file_of(source), like.as_dict()
    if path is not None or not isinstance(source, RowSource):
        yield source, lambda release: _bytes_show(path, source, release, progress)
        return
    with ShownRows(source.columns, document, memory=source.memory) as rows:
        handing = HandingReader(source.reader, rows.wanted, rows.restart, rows.add)

        def show(release: Imprint) -> bool:
            return rows.show(release.as_dict()) if handing.complete else _rows_show(source, release, progress)

        yield RowSource(handing, source.memory), show


def _bytes_show(path: Path | None, source: Source, release: Imprint, progress: Progress) -> bool:
    """Returns whether a file shows a release; one in another form than releases have is read as rows."""
    try:
        if path is not None:
            return file_shows(path, release.as_dict(), notes=True, form=form_of(source), memory=source.memory)
    except BadData:  # the engine has read it, so its rows can be compared
        pass
    return _rows_show(source, release, progress)


def _rows_show(source: Source, release: Imprint, progress: Progress) -> bool:
    with ShownRows(source.columns, release.as_dict(), memory=source.memory) as rows:
        for batch, counts in arrow_rows(source, rows.wanted, progress=progress):
            rows.add(batch, counts)
        return rows.show(release.as_dict())
