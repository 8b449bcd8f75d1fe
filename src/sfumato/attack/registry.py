"""Which attacks there are."""

from __future__ import annotations

from importlib import import_module

from sfumato.attack.attack import Attack
from sfumato.terms import plugins
from sfumato.terms.errors import WrongCall

GROUP = "sfumato.attacks"
"""The entry-point group through which other packages add attacks: name = "module:Class"."""

BUILT_IN = {
    "freeform": "sfumato.attack.freeform:FreeformAttack",
    "homogeneity": "sfumato.attack.homogeneity:Homogeneity",
    "linkage": "sfumato.attack.linkage:Linkage",
    "skewness": "sfumato.attack.skewness:Skewness",
}


def known() -> tuple[str, ...]:
    """The names of all attacks, in order.

    >>> set(BUILT_IN) <= set(known())
    True
    """
    return tuple(sorted((*BUILT_IN, *plugins.names(GROUP, taken=BUILT_IN))))


def make(name: str) -> Attack:
    """The attack of this name, with no knowledge beyond the published table.

    Raises `WrongCall` where there is none, or where the package that offers it cannot be used.

    >>> make("linkage").seeks
    'which record is theirs'
    """
    maker = plugins.find(GROUP, name, taken=BUILT_IN)
    if maker is None and name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        maker = getattr(import_module(module), attribute)
    if maker is None:
        raise WrongCall(f"there is no attack {name!r}", remedy=f"Known attacks: {', '.join(known())}.")
    attack: Attack = maker()
    return attack


def make_all() -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Every attack that can be made, and the names of those that cannot."""
    made, failed = [], []
    for name in known():
        try:
            made.append(make(name))
        except WrongCall:
            failed.append(name)
    return tuple(made), tuple(failed)
