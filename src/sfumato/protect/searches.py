"""The searches by name: three built in, more through the entry-point group `sfumato.searches`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import cast

from sfumato.protect.search import Search
from sfumato.terms.errors import WrongCall

GROUP = "sfumato.searches"
BUILT_IN = {
    "top-down": "sfumato.protect.top_down:top_down",
    "lattice": "sfumato.protect.lattice:lattice",
    "mondrian": "sfumato.protect.mondrian:mondrian",
}


def known() -> tuple[str, ...]:
    """The names of all searches."""
    return tuple(dict.fromkeys((*BUILT_IN, *sorted(entry_points(group=GROUP).names))))


def find(name: str) -> Search:
    """The search with this name; its module is loaded now.

    >>> find("sideways")
    Traceback (most recent call last):
    ...
    sfumato.terms.errors.WrongCall: there is no search of this name. Pick one of top-down, lattice, mondrian.
    """
    if name in BUILT_IN:
        return cast(Search, EntryPoint(name, BUILT_IN[name], GROUP).load())
    for point in entry_points(group=GROUP, name=name):
        return cast(Search, point.load())
    raise WrongCall("there is no search of this name.", remedy=f"Pick one of {', '.join(known())}.")
