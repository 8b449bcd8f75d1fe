"""Which attacks there are."""

from __future__ import annotations

from importlib import import_module

from sfumato.attacks.attack import Attack
from sfumato.core.errors import WrongCall
from sfumato.system import plugins

GROUP = "sfumato.attacks"
"""The entry-point group through which other packages add attacks: name = "module:Class"."""

BUILT_IN = {
    "composition": "sfumato.attacks.chain.composition:Composition",
    "correspondence": "sfumato.attacks.chain.adversaries:Corresponding",
    "differencing": "sfumato.attacks.chain.differencing:Differencing",
    "minimality": "sfumato.attacks.chain.minimality:Minimality",
    "freeform": "sfumato.attacks.table.freeform:FreeformAttack",
    "homogeneity": "sfumato.attacks.table.homogeneity:Homogeneity",
    "linkage": "sfumato.attacks.table.linkage:Linkage",
    "quasi-sensitive": "sfumato.attacks.table.quasi_sensitive:IndirectLabel",
    "skewness": "sfumato.attacks.table.skewness:Skewness",
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
    offered = plugins.find(GROUP, name, taken=BUILT_IN)
    if offered is None and name not in BUILT_IN:
        raise WrongCall(f"there is no attack {name!r}", remedy=f"Known attacks: {', '.join(known())}.")
    attack: Attack = _built_in(name) if offered is None else offered()
    return attack


def make_all() -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Every attack that can be made, and the names of those of other packages that cannot.

    What bears the name of a built-in attack does not keep that one from being made.
    """
    made = [_built_in(name) for name in BUILT_IN]
    failed = [offer.name for offer in plugins.offers(GROUP) if offer.name in BUILT_IN]
    for name in plugins.names(GROUP, taken=BUILT_IN):
        try:
            made.append(make(name))
        except Exception:  # whatever the code of another package raises
            failed.append(name)
    return tuple(sorted(made, key=lambda attack: attack.name)), tuple(failed)


def _built_in(name: str) -> Attack:
    module, _, attribute = BUILT_IN[name].partition(":")
    attack: Attack = getattr(import_module(module), attribute)()
    return attack
