"""The format of a release where nobody names one: that of the data, if it is written."""

from __future__ import annotations

from sfumato.engine.files.formats import FORMATS
from sfumato.engine.files.loaded_file import LoadedFileReader
from sfumato.engine.form_of_source import first_reader
from sfumato.engine.rows import RowSource
from sfumato.engine.source import PARQUET, SPARK, Source

WRITTEN_AS = {SPARK: PARQUET, "xlsm": "xlsx", "zsav": "sav", "feather": "arrow", "ipc": "arrow"}
WRITTEN_AS |= {"arrows": "arrow", "ndjson": "jsonl"}
"""Kinds of data by the format that their releases have, where it has another name."""


def release_format(source: Source) -> str:
    """Returns the format of the data, where it is written; else CSV, which the owner of a file is told."""
    kind = WRITTEN_AS.get(source.kind, source.kind)
    if kind in FORMATS:
        return kind
    reader = first_reader(source.reader) if isinstance(source, RowSource) else None
    if isinstance(reader, LoadedFileReader):
        reader.tell(f"what is released is a CSV file, since no {reader.kind} is written")
    return "csv"
