"""The searches and losses there are, and what each can do, known without loading the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sfumato.system import plugins
from sfumato.system.errors import UsageError
from sfumato.system.plugins import Declared, declared

GROUP = "sfumato.searches"
"""The entry-point group of other packages: name = "module:function", the function with an `ability`."""

LOSS_GROUP = "sfumato.losses"
"""The entry-point group of other packages for losses of their own: name = "module:function"."""

HOME = "sfumato.search"
"""Where the built-in searches and losses are: each says what it is in a decorator, at its function."""

BUILT_IN_LOSSES: Mapping[str, Declared] = {part.name: part for part in declared(HOME, "built_in_loss")}

LOSSES: Mapping[str, str] = {name: part.words[1] for name, part in BUILT_IN_LOSSES.items()}
"""The built-in losses, each with what it means."""


def losses_with(**flags: bool) -> tuple[str, ...]:
    """Returns the built-in losses that say this of themselves, as in `by_size=True`."""
    return tuple(
        name
        for name, part in BUILT_IN_LOSSES.items()
        if all(part.options.get(flag, False) == value for flag, value in flags.items())
    )


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


SEARCHES: Mapping[str, Declared] = {
    part.name: part
    for part in declared(HOME, "built_in_search", {"Ability": Ability, "losses_with": losses_with})
}
"""The built-in searches, in the order in which a policy's schema names them."""

BUILT_IN: Mapping[str, Ability] = {name: part.options["ability"] for name, part in SEARCHES.items()}
"""What each of them can do."""

MEANINGS: Mapping[str, str] = {name: part.words[1] for name, part in SEARCHES.items()}
"""What each of them does."""

BEST = "best"
"""The search that compares others."""
COMPARED = tuple(
    sorted(
        (name for name, part in SEARCHES.items() if "compared" in part.options),
        key=lambda name: int(SEARCHES[name].options["compared"]),
    )
)
"""The searches that `best` compares; of equally good results the first is taken."""
GLOBAL_SEARCHES = tuple(name for name, ability in BUILT_IN.items() if ability.whole_columns)
"""Searches that recode every value of a column alike, so that what a version shows is a pattern."""


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


def usable_ability(name: str) -> Ability | None:
    """Returns what a search can do; `None` if there is none of this name, or if it cannot be used."""
    with suppress(UsageError):
        return ability_of(name)
    return None


def usable() -> dict[str, Ability]:
    """Returns the searches that can be used, with what they can do."""
    abilities = {name: usable_ability(name) for name in known()}
    return {name: ability for name, ability in abilities.items() if ability is not None}
