"""The catalogue of sentences: what audits and reports say of a table by themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files


@cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Returns all sentences, by section and key."""
    return tomllib.loads(
        files("sfumato.system.presentation").joinpath("sentences.toml").read_text(encoding="utf-8")
    )


class Sentences:
    """The sentences of some sections, each an attribute in capitals; names in braces are filled in.

    >>> Sentences("claims").ONE_BROKEN
    '1 promise is BROKEN.'
    """

    def __init__(self, *sections: str) -> None:
        self._sections = sections

    def __getattr__(self, name: str) -> str:
        for section in self._sections:
            if name.lower() in catalogue()[section]:
                return catalogue()[section][name.lower()]
        raise AttributeError(f"the catalogue has no sentence {name.lower()}")

    def __iter__(self) -> Iterator[str]:
        for section in self._sections:
            yield from catalogue()[section].values()
