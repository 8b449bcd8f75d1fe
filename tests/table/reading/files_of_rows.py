"""The same rows as files of every kind that people have, written by libraries of others."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from pathlib import Path

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyreadstat

KINDS = (
    "csv",
    "latin-1",
    "xlsx",
    "ods",
    "sav",
    "dta",
    "xpt",
    "arrow",
    "feather",
    "parquet",
    "jsonl",
    "sqlite",
)
QUERY = "SELECT * FROM people"


def write(kind: str, rows: list[dict[str, object]], folder: Path) -> Path:
    """Writes rows of texts, whole numbers, decimals and missing cells; returns the file."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    path = folder / f"people.{'csv' if kind == 'latin-1' else kind}"
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "latin-1":
        path.write_bytes(frame.write_csv(separator=";").encode("latin-1"))
    elif kind == "xlsx":
        book = openpyxl.Workbook()
        book.active.title = "People"
        book.active.append(frame.columns)
        for row in frame.rows():
            book.active.append(row)
        book.save(path)
    elif kind == "ods":
        write_ods(frame, path)
    elif kind in ("sav", "dta"):
        getattr(pyreadstat, f"write_{kind}")(frame, str(path))
    elif kind == "xpt":
        pyreadstat.write_xport(frame, str(path), file_format_version=8)
    elif kind == "arrow":
        frame.write_ipc(path, compat_level=pl.CompatLevel.oldest())
    elif kind == "feather":
        pyarrow.feather.write_feather(frame.to_arrow().cast(oldest(frame)), str(path))
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    elif kind == "sqlite":
        write_sqlite(frame, path)
    return path


def oldest(frame: pl.DataFrame) -> pa.Schema:
    """The types of a frame without views, which Feather has not."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).schema


def write_sqlite(frame: pl.DataFrame, path: Path) -> None:
    base = sqlite3.connect(path)
    names = {pl.String: "TEXT", pl.Int64: "INTEGER", pl.Float64: "REAL", pl.Date: "TEXT"}
    made = ", ".join(f'"{name}" {names[kind]}' for name, kind in frame.schema.items())
    base.execute(f"CREATE TABLE people ({made})")
    marks = ", ".join("?" * frame.width)
    cells = [[str(c) if isinstance(c, dt.date) else c for c in row] for row in frame.rows()]
    base.executemany(f"INSERT INTO people VALUES ({marks})", cells)
    base.commit()
    base.close()


def write_ods(frame: pl.DataFrame, path: Path) -> None:
    """A small OpenDocument file: types of cells in their attributes."""
    from xml.sax.saxutils import escape
    from zipfile import ZIP_STORED, ZipFile

    def cell(value: object) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, dt.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        text = escape(str(value))
        return f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'

    lines = [frame.columns, *frame.rows()]
    table = "".join(f"<table:table-row>{''.join(map(cell, line))}</table:table-row>" for line in lines)
    space = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{space}office:1.0" '
        f'xmlns:table="{space}table:1.0" xmlns:text="{space}text:1.0" office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="People">{table}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with ZipFile(path, "w", ZIP_STORED) as out:
        out.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        out.writestr("content.xml", content)
        kind = "application/vnd.oasis.opendocument.spreadsheet"
        out.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{space}manifest:1.0"><manifest:file-entry '
            f'manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>',
        )
