"""Which attacks there are."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from sfumato.attack.attack import Attack
from sfumato.terms.errors import WrongCall

GROUP = "sfumato.attacks"
"""The entry-point group through which other packages add attacks: name = "module:Class"."""

BUILT_IN = {
    "homogeneity": "sfumato.attack.homogeneity:Homogeneity",
    "linkage": "sfumato.attack.linkage:Linkage",
    "quasi-sensitive": "sfumato.attack.indirect:IndirectLabel",
    "skewness": "sfumato.attack.skewness:Skewness",
}


def known() -> tuple[str, ...]:
    """The names of all attacks, in order.

    >>> set(BUILT_IN) <= set(known())
    True
    """
    return tuple(sorted(_places()))


def make(name: str) -> Attack:
    """The attack of this name, with no knowledge beyond the published table.

    >>> make("linkage").seeks
    'which record is theirs'
    """
    place = _places().get(name)
    if place is None:
        raise WrongCall(f"there is no attack {name!r}", remedy=f"Known attacks: {', '.join(known())}.")
    module, _, attribute = place.partition(":")
    attack: Attack = getattr(import_module(module), attribute)()
    return attack


@cache
def _places() -> dict[str, str]:
    return {e.name: e.value for e in entry_points(group=GROUP)} | BUILT_IN
