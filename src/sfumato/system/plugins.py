"""Parts that other packages add, found by entry point.

A part is loaded when it is needed. One that cannot be loaded, or that takes a name which is taken, is left
aside; whoever asks for it by name is told which distribution it came from and what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from sfumato.core.errors import WrongCall

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

PACKAGE = "sfumato"


@dataclass(frozen=True)
class Offer:
    """One part of another package, not loaded yet."""

    point: EntryPoint

    @property
    def name(self) -> str:
        return self.point.name

    @property
    def distribution(self) -> str:
        return self.point.dist.name if self.point.dist is not None else "an unknown distribution"

    def load(self) -> Any:  # whatever the package put there: who asked for it checks what it is
        """The part; raises `WrongCall` if its package cannot be imported, whatever it raises itself."""
        try:
            return self.point.load()
        except Exception as problem:
            module = (problem.name or "") if isinstance(problem, ImportError) else ""
            if module == PACKAGE or module.startswith(f"{PACKAGE}."):
                raise self._written_for_another_version(module) from problem
            raise self.refusal(f"cannot be loaded: {type(problem).__name__}") from problem

    def _written_for_another_version(self, module: str) -> WrongCall:
        return self.refusal(
            f"cannot be loaded: what it imports from {module} is not there in this version",
            remedy="Let it import from sfumato.extend: the names that other packages use now live there.",
        )

    def refusal(self, reason: str, *, remedy: str = "Mend that distribution, or uninstall it.") -> WrongCall:
        """Why this part is not used."""
        return WrongCall(
            f"{self.name} of the distribution {self.distribution} {reason}.",
            where=self.point.group,
            remedy=remedy,
        )


@cache
def offers(group: str) -> tuple[Offer, ...]:
    """What other packages offer under this entry-point group, by name."""
    offered = [Offer(point) for point in all_entry_points().select(group=group)]
    return tuple(sorted(offered, key=lambda offer: (offer.name, offer.distribution)))


@cache
def all_entry_points() -> EntryPoints:
    """Returns what every installed distribution offers to anybody: the system is searched once."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to import, seldom needed

    return cast("EntryPoints", entry_points())  # before Python 3.12 another class, which selects alike


def names(group: str, *, taken: Collection[str]) -> tuple[str, ...]:
    """The names under which other packages offer something, without those that are taken."""
    return tuple(dict.fromkeys(offer.name for offer in offers(group) if offer.name not in taken))


def find(group: str, name: str, *, taken: Collection[str]) -> Any:  # as `load`
    """The part of this name, loaded; `None` if nobody offers it, or if it is built in and only that.

    Raises `WrongCall` where it cannot be loaded, or where a name is offered twice: nothing replaces a part
    in silence.
    """
    offered = [offer for offer in offers(group) if offer.name == name]
    if not offered:
        return None
    if name in taken:
        raise offered[0].refusal("would replace a built-in part")
    if len(offered) > 1:
        raise offered[1].refusal(f"bears the same name as one of {offered[0].distribution}")
    return offered[0].load()
