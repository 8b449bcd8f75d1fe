"""`--charts`: the charts of a result, drawn into a folder."""
# ruff: noqa: PLC0415  # what draws is loaded when something is to be drawn

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.terminal import talk

if TYPE_CHECKING:
    from sfumato.journey.draw import Drawable


def draw_charts(result: Drawable, folder: Path | None) -> tuple[Path, ...]:
    """Draw a result's charts if a folder is named; returns the files."""
    if folder is None:
        return ()
    from sfumato.journey.draw import draw

    return draw(result, folder)


def tell_drawn(files: tuple[Path, ...]) -> None:
    """Say which files were drawn, if any."""
    if files:
        talk(f"drew {', '.join(str(file) for file in files)}")
