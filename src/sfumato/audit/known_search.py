"""The search as adversaries know it: handed in by the caller, for attacks share no code with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sfumato.attacks.worlds.published_boxes import Builds, PublishedBoxes, Republish

STEPS = 20_000
"""So many times the search is run at most, for each attack."""

ALL_WORLDS = "all worlds"
"""The method of a finding in which nothing was left out."""
SINGLE_CLASSES = "what several classes tell together (a part of the table, or more --steps)"
"""What is left out where the worlds of single classes are looked at."""


@dataclass(frozen=True)
class KnownSearch:
    """What everybody may know of how a table came about.

    `republish` is the search with the policy's promises; `builds` makes the trees of the key columns;
    `recodes_locally` says that classes are recoded one by one, `by_level` that a column moves by levels;
    `classes_silent` says why worlds of single classes tell nothing, if so. `others` may have made the table
    as well: a class stays as it is where one of them leaves it. `by_shape` says what is known of single
    classes by whoever has seen the table, where that is more than is known before. All worlds are listed up
    to `most_listed` of them, or up to `steps`; otherwise worlds are drawn, until about `steps` searches were
    made. `seed` fixes what is drawn. `suppress` is the share of the rows that may stay unpublished, where
    people with equal keys are published or suppressed together.
    """

    republish: Republish
    builds: Builds = field(default_factory=dict)
    recodes_locally: bool = False
    by_level: bool = False
    classes_silent: str = ""
    others: tuple[Republish, ...] = ()
    by_shape: Callable[[PublishedBoxes], KnownSearch] | None = None
    steps: int = STEPS
    seed: int = 0
    most_listed: int | None = None
    suppress: Fraction = Fraction(0)

    def of_classes(self, boxes: PublishedBoxes) -> KnownSearch:
        """Returns what is known of single classes of this table."""
        return self if self.by_shape is None else self.by_shape(boxes)

    @property
    def list_up_to(self) -> int:
        """How many worlds are listed at most."""
        return self.steps if self.most_listed is None else self.most_listed
