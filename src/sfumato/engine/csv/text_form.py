"""The form of a CSV file: in which encoding it is written, and what separates its cells."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from sfumato.core.errors import BadData
from sfumato.engine.csv.charset import UTF_8, spoken

DELIMITERS = (",", ";", "\t", "|")
USUAL_NAMES = {"cp1252": "windows-1252", "iso8859-1": "latin-1", "iso8859-15": "latin-9"}
"""What encodings are called by people, and understood by Python."""


@dataclass(frozen=True)
class TextForm:
    """An encoding, by any name that Python knows, and a delimiter.

    >>> TextForm("windows-1252", ";").words
    {'encoding': 'windows-1252', 'delimiter': ';'}
    >>> TextForm().words
    {}
    """

    encoding: str = UTF_8
    delimiter: str = ","

    @property
    def words(self) -> dict[str, str]:
        """What differs from UTF-8 with commas, as plain data."""
        name = codecs.lookup(self.encoding).name
        words = {} if name == UTF_8 else {"encoding": USUAL_NAMES.get(name, name)}
        return words if self.delimiter == "," else {**words, "delimiter": self.delimiter}

    def encoder(self) -> TextEncoder:
        """Returns what turns the UTF-8 bytes of one file into this encoding."""
        return TextEncoder(self.encoding)


PLAIN_FORM = TextForm()


class TextEncoder:
    """Turns UTF-8, in pieces of whole characters, into the bytes of a file; its mark comes first."""

    def __init__(self, encoding: str) -> None:
        self._plain = codecs.lookup(encoding).name == UTF_8
        self._name = encoding
        self._encoder = codecs.getincrementalencoder(encoding)("strict")

    def __call__(self, text: bytes | memoryview) -> bytes | memoryview:
        if self._plain:
            return text
        try:
            return self._encoder.encode(bytes(text).decode(UTF_8))
        except UnicodeEncodeError:
            raise BadData(
                f"a published text has a character that {spoken(self._name)} lacks",
                remedy="Write a Parquet or XLSX file, or hand in the data in UTF-8.",
            ) from None
