"""The encoding of a text file, from its bytes: UTF-8, UTF-16 by its mark, else Windows-1252."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

ASCII, UTF_8, UTF_8_MARKED, UTF_16, WINDOWS_1252 = "ascii", "utf-8", "utf-8-sig", "utf-16", "cp1252"
LATIN_1 = "iso8859-1"
"""Encodings by Python's names."""

MARKS = {codecs.BOM_UTF8: UTF_8_MARKED, codecs.BOM_UTF16_LE: UTF_16, codecs.BOM_UTF16_BE: UTF_16}

NOT_IN_WINDOWS_1252 = re.compile(rb"[\x00\x81\x8d\x8f\x90\x9d]")
_LONE_BYTE = re.compile("[\udc80-\udcff]")
_WIDE_CHARACTER = re.compile("[^\x00-\x7f\udc80-\udcff]")

SPOKEN = {WINDOWS_1252: "Windows-1252", LATIN_1: "Latin-1", UTF_8: "UTF-8", UTF_16: "UTF-16"}


def spoken(encoding: str) -> str:
    """Returns an encoding as people call it.

    >>> spoken("cp1252"), spoken("latin-1"), spoken("koi8-r")
    ('Windows-1252', 'Latin-1', 'KOI8-R')
    """
    name = codecs.lookup(encoding).name
    return SPOKEN.get(name, name.upper())


def marked_encoding(start: bytes) -> str | None:
    """Returns the encoding that a byte-order mark names, if the first bytes of a file are one."""
    return next((encoding for mark, encoding in MARKS.items() if start.startswith(mark)), None)


def detected_encoding(blocks: Iterable[bytes]) -> str | None:
    """Returns the encoding of a text that comes in blocks; ASCII, where nothing tells more than that.

    A text that is no UTF-8 is in Windows-1252, of which Latin-1 is a part, if no bytes of it make a character
    of UTF-8 beyond ASCII, all are characters of Windows-1252, and its end is not half a character. Otherwise
    it is a damaged or mixed text, or in another encoding: `None`.

    >>> detected_encoding([b"a;b", "Müller".encode("cp1252")]), detected_encoding(["ü".encode(), b" \\xfc "])
    ('cp1252', None)
    """
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    lone = wide = other = begun = False
    for block in blocks:
        if not begun and (marked := marked_encoding(block)):
            return marked
        begun = True
        if block.isascii() and not decoder.getstate()[0]:
            other = other or b"\0" in block
            continue
        other = other or NOT_IN_WINDOWS_1252.search(block) is not None
        text = decoder.decode(block)
        lone = lone or _LONE_BYTE.search(text) is not None
        wide = wide or _WIDE_CHARACTER.search(text) is not None
        if wide and lone:
            return None
    if decoder.getstate()[0] or (lone and other):
        return None
    return WINDOWS_1252 if lone else UTF_8 if wide else ASCII
