"""The demo for tests of other things than searches: one quick search instead of all of them."""

from __future__ import annotations

from pathlib import Path

from sfumato import demo


def write_quick_demo(folder: Path, rows: int) -> None:
    """Writes what the demo writes; its policy asks for the lattice alone."""
    demo.write(folder, rows)
    policy = folder / "policy.yaml"
    words = policy.read_text(encoding="utf-8")
    assert "search: best" in words
    policy.write_text(words.replace("search: best", "search: lattice"), encoding="utf-8")
