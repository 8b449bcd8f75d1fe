"""An insider with a dictionary: who reads every cell of a database, and tries names and labels on it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import itertools
import json
import re
import zlib

from sqlalchemy import MetaData, create_engine, select

from sfumato.releases.ledger.notices import SALTED, mark_bytes
from sfumato.releases.ledger.tables import METADATA
from sfumato.table.keyed_hashes import label_marks
from sfumato.table.release_summary import text_marks

WORDS = re.compile(rb"[0-9A-Za-z+/=]{8,}")


def cells_of(url):
    """Every cell of every table of a database, as bytes."""
    engine = create_engine(url)
    there = MetaData()
    there.reflect(engine)
    assert set(METADATA.tables) == set(there.tables)
    with engine.connect() as connection:
        rows = [row for table in there.tables.values() for row in connection.execute(select(table))]
    engine.dispose()
    cells = [cell for row in rows for cell in row]
    return [bytes(c) if isinstance(c, bytes | memoryview) else str(c).encode() for c in cells]


def parts_of(cells):
    """The cells, and whatever can be taken out of them without a secret, however deep it is packed."""
    found, todo = set(), list(cells)
    while todo:
        part = todo.pop()
        if not part or part in found:
            continue
        found.add(part)
        for read in (zlib.decompress, binascii.unhexlify, lambda p: base64.b64decode(p, validate=True)):
            try:
                todo.append(read(part))
            except (ValueError, zlib.error):
                continue
        try:
            json.loads(part)
            todo += WORDS.findall(part)
        except ValueError:
            todo += part.split(b":") if part.isascii() else []
    return found


def marks_of_name(name):
    """What a ledger could keep of a name: the name, its mark and the halves of it, its mark as a text."""
    mark = label_marks([name])[0]
    return [
        name.encode(),
        mark.astype("<u8").tobytes(),
        mark[:1].astype("<u8").tobytes(),
        text_marks([name]).astype("<u8").tobytes(),
    ]


def found_by_name(cells, names):
    """The names of a dictionary that are in the cells, by themselves or as a mark."""
    every = b"\n".join(sorted(parts_of(cells)))
    return {name for name in names if any(word in every for word in marks_of_name(name))}


def found_marks(cells, marks):
    """How many of these marks, which whoever guesses whole trees and rows can compute, are in the cells."""
    every = b"\n".join(sorted(parts_of(cells)))
    return sum(mark.astype("<u8").tobytes() in every for mark in marks)


def found_by_digest(cells, groups):
    """The groups of people, each known but for nobody, whose marks a digest in the cells confirms.

    Everything in the cells that is as long as a salt is tried as one.
    """
    parts = parts_of(cells)
    digests = {part for part in parts if re.fullmatch(b"[0-9a-f]{64}", part)} | {
        part for part in parts if len(part) == 32
    }
    salts = {b"", *(part for part in parts if len(part) == 16)}
    salts |= {cell[at : at + 16] for cell in cells for at in range(0, min(len(cell), 256), 4)}
    confirmed = []
    for group in groups:
        marks = mark_bytes(label_marks(sorted(group)))
        tried = itertools.chain([marks], (SALTED + salt + marks for salt in salts))
        hashes = (hashlib.sha256(text) for text in tried)
        if any(h.hexdigest().encode() in digests or h.digest() in digests for h in hashes):
            confirmed.append(group)
    return confirmed
