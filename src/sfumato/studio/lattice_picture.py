"""The picture of a small lattice: where spots and lines stand, in the units of the picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from sfumato.journey.choices import LatticeMap
from sfumato.protection.lattice_map import LatticeSpot

SPOT, ROW = 62, 56
"""Room for a spot across, and for a row of them."""
MARGIN = 30


@dataclass(frozen=True)
class DrawnSpot:
    """A spot with its middle."""

    x: float
    y: float
    spot: LatticeSpot

    @property
    def words(self) -> str:
        """The levels of its columns, in order."""
        return " ".join(map(str, self.spot.levels))


@dataclass(frozen=True)
class LatticePicture:
    """A lattice as a picture: its size, lines from spot to spot, and the spots."""

    columns: tuple[str, ...]
    width: float
    height: float
    lines: tuple[tuple[float, float, float, float], ...]
    spots: tuple[DrawnSpot, ...]

    @classmethod
    def of(
        cls, lattice: LatticeMap, k: int, suppress: Fraction, chosen: tuple[int, ...] | None
    ) -> LatticePicture:
        """Returns the picture at a k and a limit; the most general combination stands at the top."""
        widest = max(Counter(map(sum, lattice.nodes)).values())
        width, height = SPOT * (widest + 1), ROW * sum(lattice.heights) + 2 * MARGIN
        spots = tuple(
            DrawnSpot(one.across * width, MARGIN + (1 - one.up) * (height - 2 * MARGIN), one)
            for one in lattice.spots(k, suppress, chosen)
        )
        lines = tuple(
            (spots[low].x, spots[low].y, spots[high].x, spots[high].y) for low, high in lattice.links
        )
        return cls(lattice.columns, width, height, lines, spots)
