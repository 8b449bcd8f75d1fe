"""Figures of experiments as SVG files, drawn by the charts that the library draws with."""

from __future__ import annotations

from pathlib import Path

from sfumato.system.presentation.charts import Figure, svg


def draw_figure(figure: Figure, folder: Path) -> Path:
    """Draws a figure into the file of its name; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{figure.name}.svg"
    path.write_text(svg(figure) + "\n", encoding="utf-8")
    return path
