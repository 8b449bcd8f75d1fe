"""A search for a canary in everything that a steward hands out: unpacked, decompressed, in every encoding."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pypdf

MADE = "policy.yaml"
"""What a steward may keep: names of columns, and nothing of the rows either."""


def everything_in(path):
    """All bytes of a file, and all that is packed in it."""
    found = [path.read_bytes()]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            found += [file.read(name) for name in file.namelist()]
    if path.suffix == ".arrow":
        with pa.OSFile(str(path)) as file:
            found += _buffers(pa.ipc.open_file(file).read_all())
    if path.suffix == ".parquet":
        found += [*_buffers(pq.read_table(path)), str(pq.read_metadata(path).metadata).encode()]
    if path.suffix == ".pdf":
        found += _in_pdf(path)
    if path.suffix == ".gz":
        found.append(gzip.decompress(found[0]))
    return b"\0".join(found)


def _buffers(table):
    return [bytes(b) for column in table.columns for chunk in column.chunks for b in chunk.buffers() if b]


def _in_pdf(path):
    """The text of every page, and every stream of the file, decompressed."""
    reader = pypdf.PdfReader(path)
    found = [page.extract_text().encode() for page in reader.pages]
    for number in range(1, len(reader.xref[0]) + 1 if 0 in reader.xref else 1):
        part = reader.get_object(number)
        if hasattr(part, "get_data"):
            found.append(part.get_data())
    for piece in path.read_bytes().split(b"stream")[1:]:
        try:
            found.append(zlib.decompressobj().decompress(piece.lstrip(b"\r\n")))
        except zlib.error:
            continue
    assert b"".join(found), "a PDF without text"
    return [*found, str(reader.metadata).encode()]


def files_with(canary, *places):
    """The files below some places that hold a canary, in one of the encodings that formats have."""
    spellings = [canary.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    searched = [file for file in files if file.is_file()]
    assert searched, "nothing to search"
    return [file for file in searched if any(text in everything_in(file) for text in spellings)]


def handed_out(folder, *raw):
    """Everything in a folder but the raw data."""
    return [path for path in sorted(Path(folder).iterdir()) if path.name not in raw]
