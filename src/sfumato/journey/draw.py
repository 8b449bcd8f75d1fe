"""The verb `draw`: a result's charts, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sfumato.show.chart import Figure
from sfumato.show.charts import save


class Drawable(Protocol):
    """A result that has charts."""

    def charts(self) -> Sequence[Figure]: ...


def draw(result: Drawable, folder: str | Path) -> tuple[Path, ...]:
    """Draw a result's charts into a folder: SVG files, and one page with all of them; nothing is fetched."""
    return save(result.charts(), folder)
