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
    `classes_silent` says why worlds of single classes tell nothing, if so. All worlds are listed up to
    `most_listed` of them, or up to `steps`; otherwise worlds are drawn, until about `steps` searches were
    made. `seed` fixes what is drawn.
    """

    republish: Republish
    builds: Builds = field(default_factory=dict)
    recodes_locally: bool = False
    by_level: bool = False
    classes_silent: str = ""
    steps: int = STEPS
    seed: int = 0
    most_listed: int | None = None

    @property
    def list_up_to(self) -> int:
        """How many worlds are listed at most."""
        return self.steps if self.most_listed is None else self.most_listed
