"""Files of numbers that a policy names: a label and a number on every line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from sfumato.core.errors import BadPolicy
from sfumato.system.disk import read_start

MOST_BYTES = 4 << 20
"""A file of numbers is at most so long."""


def numbers_in(path: Path) -> dict[str, str]:
    """Returns what a file says of nodes: a label and a number on every line, separated by `;` or `,`."""
    try:
        content = read_start(path, MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise BadPolicy(
            f"the file of numbers {path.name!r} cannot be read as UTF-8 text",
            remedy="Paths are relative to the policy file.",
        ) from None
    if len(content) > MOST_BYTES:
        raise BadPolicy(f"the file {path.name!r} is larger than {MOST_BYTES >> 20} MiB")
    separator = ";" if ";" in text else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:
        raise BadPolicy(f"the file {path.name!r} is no list of labels and numbers") from None
    for line, row in enumerate(rows, 1):
        if len(row) != 2:
            raise BadPolicy(f"line {line} of {path.name!r} is not a label and a number")
    return {label.strip(): number.strip() for label, number in rows}
