"""Packed files (ZIP): what one raises that is damaged, or packed in a way that is not known here."""

from zipfile import BadZipFile
from zlib import error as damaged_part

DAMAGED = (BadZipFile, damaged_part, EOFError, NotImplementedError, RuntimeError, UnicodeError)
"""Errors of the parts of a file; whoever opens it adds what its own names and folders raise."""
