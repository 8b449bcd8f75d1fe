"""Files of one number per label: priors, and how common labels are."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from sfumato.core.errors import BadPolicy
from sfumato.core.prior import share_of
from sfumato.system.disk import LARGEST_LIST, read_document


def load_shares(path: Path, header: Sequence[str], *, remedy: str = "") -> dict[str, Fraction]:
    """Reads a UTF-8 CSV file of a label and an exact number per line, such as 5/8."""
    what = header[1] if header[1] != "share" else "prior"
    try:
        lines = list(csv.reader(read_document(path, most=LARGEST_LIST).decode("utf-8").splitlines()))
    except FileNotFoundError:
        raise BadPolicy(f"there is no {what} file of this name", where=str(path), remedy=remedy) from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise BadPolicy(
            f"the {what} cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
        ) from None
    if not lines or lines[0] != list(header):
        raise BadPolicy(f"a {what} file starts with the line {','.join(header)}", where=f"{path}, line 1")
    shares: dict[str, Fraction] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            label, share = line
            shares[label] = share_of(share)
        except (ValueError, ZeroDivisionError):
            raise BadPolicy("a label and a fraction are expected", where=f"{path}, line {number}") from None
    return shares
