"""The searches there are, and what each can do, known without loading the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sfumato.system import plugins
from sfumato.system.errors import UsageError

GROUP = "sfumato.searches"
"""The entry-point group of other packages: name = "module:function", the function with an `ability`."""

LOSS_GROUP = "sfumato.losses"
"""The entry-point group of other packages for losses of their own: name = "module:function"."""

LOSSES: Mapping[str, str] = {
    "loss": "mean share of the values that a published value stands for",
    "geometric": "the same, as a geometric mean over the columns",
    "entropy": "bits lost, by how common each value is",
    "precision": "mean level over height",
    "discernibility": "sum of squared class sizes",
    "discernibility-star": "the same, suppressed rows not punished",
    "class-size": "average class size over k",
    "height": "sum of levels",
}


@dataclass(frozen=True)
class Ability:
    """What a search can do, and why it cannot do the rest.

    `losses` are those it can keep small; `suppresses`: it makes use of a suppression limit; `relaxes`: it
    knows `relaxed`; `any_promise`: also class promises that are not monotone; `whole_table`: also promises
    about the table as a whole; `whole_columns`: a value becomes the same in every class (global recoding);
    `ranges`: it publishes ranges of ordered columns, and nothing finer than the level that these run between;
    `weighs`: it makes use of a limit where a suppressed row has a price, and weighs that against detail;
    `levels`: it moves a column a whole level at a time; `beside_others`: its table may stand beside other
    tables of a chain, as far as promises judge them; `any_loss`: it also keeps losses of other packages
    small, which it measures. `why_not` says why other losses do not work.
    """

    losses: tuple[str, ...]
    suppresses: bool = True
    relaxes: bool = False
    any_promise: bool = True
    whole_table: bool = False
    whole_columns: bool = True
    why_not: str = ""
    ranges: bool = False
    levels: bool = False
    beside_others: bool = True
    weighs: bool = False
    any_loss: bool = False

    def can_keep_small(self, loss: str) -> bool:
        """Returns whether the search makes a loss small; one that another package offers, if it can any."""
        return loss in self.losses or (self.any_loss and loss not in LOSSES and loss in known_losses())

    def can_suppress(self, price: Fraction | None) -> bool:
        """Returns whether the search makes use of a suppression limit, at this price of a suppressed row."""
        return self.suppresses or (self.weighs and price is not None)


BUILT_IN: Mapping[str, Ability] = {
    "top-down": Ability(
        losses=("loss", "discernibility"),
        any_promise=False,
        whole_table=True,
        why_not="top-down ranks single steps, which only loss and discernibility can price",
    ),
    "lattice": Ability(losses=tuple(LOSSES), levels=True),
    "mondrian": Ability(
        losses=("loss", "discernibility"),
        suppresses=False,
        weighs=True,
        relaxes=True,
        whole_columns=False,
        why_not="Mondrian recodes each class by itself, so a column has no level to measure",
        ranges=True,
    ),
    "optimum": Ability(
        losses=tuple(name for name in LOSSES if name != "height"),
        suppresses=False,
        weighs=True,
        any_promise=False,
        whole_table=True,
        any_loss=True,
        why_not="levels are mixed within a column, which then has no height",
    ),
    "local": Ability(
        losses=("loss",),
        suppresses=False,
        weighs=True,
        any_promise=False,
        whole_columns=False,
        beside_others=False,
        why_not="local recoding adds up what each row loses, which only loss can tell",
    ),
    "best": Ability(
        losses=tuple(LOSSES),
        relaxes=True,
        whole_table=True,
        whole_columns=False,
        beside_others=False,
        any_loss=True,
    ),
}

BEST = "best"
"""The search that compares others."""
COMPARED = ("local", "lattice", "optimum", "mondrian", "top-down")
"""The searches that `best` compares; of equally good results the first is taken."""


def known_losses() -> tuple[str, ...]:
    """Returns the names of all losses, the built-in ones first."""
    return (*LOSSES, *plugins.names(LOSS_GROUP, taken=LOSSES))


def known() -> tuple[str, ...]:
    """Returns the names of all searches, the built-in ones first."""
    return (*BUILT_IN, *plugins.names(GROUP, taken=BUILT_IN))


class AbleSearch(Protocol):
    """A search that says what it can do; how it is called is for the room of searches to know."""

    ability: Ability


def offered(name: str) -> AbleSearch | None:
    """Returns the search of this name that another package offers, loaded, or `None`."""
    search: AbleSearch | None = plugins.find(GROUP, name, taken=BUILT_IN)
    # `getattr`: what another package offers may be anything.
    if search is not None and not isinstance(getattr(search, "ability", None), Ability):
        raise UsageError(
            f"the search {name} does not say what it can do.",
            where=GROUP,
            remedy="Give it an attribute `ability`, an sfumato.extend.Ability.",
        )
    return search


def ability_of(name: str) -> Ability | None:
    """Returns what the search of this name can do; `None` if there is no such search.

    >>> ability_of("mondrian").relaxes, ability_of("sideways")
    (True, None)
    """
    search = offered(name)
    return BUILT_IN.get(name) if search is None else search.ability


def usable() -> dict[str, Ability]:
    """Returns the searches that can be used, with what they can do."""
    abilities = {}
    for name in known():
        try:
            ability = ability_of(name)
        except UsageError:
            continue
        if ability is not None:
            abilities[name] = ability
    return abilities
