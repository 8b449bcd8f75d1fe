"""The search as adversaries know it: handed in by the caller, for attacks share no code with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.attacks.worlds.published_boxes import Builds, Republish

STEPS = 20_000
"""So many times the search is run at most."""


@dataclass(frozen=True)
class KnownSearch:
    """What everybody may know of how a table came about.

    `republish` is the search with the policy's promises; `builds` makes the trees of the key columns;
    `recodes_locally` says that classes are recoded one by one, `by_level` that a column moves by levels;
    `class_by_class` that every promise judges a class by itself, so that worlds of single classes mean
    something. At most `steps` searches are made; `seed` fixes what is drawn.
    """

    republish: Republish
    builds: Builds = field(default_factory=dict)
    recodes_locally: bool = False
    by_level: bool = False
    class_by_class: bool = True
    steps: int = STEPS
    seed: int = 0
