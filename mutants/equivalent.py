"""Mutants that no test can notice, each with the reason why."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

PLACE = Path(__file__).with_name("equivalent.txt")


def read(text: str) -> dict[str, str]:
    """Return the names of mutants with the reason why each is equivalent.

    A name stands at the beginning of a line, its reason in the indented lines below; `#` begins a remark.

    >>> read("# remark\\na.py | f | x < 1 | x <= 1\\n    x is never 1:\\n    it is even\\n")
    {'a.py | f | x < 1 | x <= 1': 'x is never 1: it is even'}
    """
    found: dict[str, str] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            name = line.strip()
            if name in found:
                raise ValueError(f"line {number}: named twice: {name}")
            found[name] = ""
        elif not name:
            raise ValueError(f"line {number}: a reason without a mutant")
        else:
            found[name] = f"{found[name]} {line.strip()}".strip()
    for name, reason in found.items():
        if not reason:
            raise ValueError(f"no reason is given: {name}")
    return found


def unknown(named: Collection[str], mutants: Collection[str]) -> list[str]:
    """Return the names that no mutant has any more: the code has changed, and the reason with it."""
    return [name for name in named if name not in mutants]
