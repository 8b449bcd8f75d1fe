"""Texts of the JSON Schema that are put together from what the code knows."""

from __future__ import annotations

from collections.abc import Mapping


def each_told(choices: Mapping[str, str]) -> str:
    """Returns one sentence that says what each choice means.

    >>> each_told({"count": "every removal costs the same", "keep": "nothing is removed"})
    'count: every removal costs the same; keep: nothing is removed.'
    """
    return "; ".join(f"{name}: {meaning}" for name, meaning in choices.items()) + "."
