"""How rows become counts, and counts become rows again."""

from __future__ import annotations

from sfumato.engine.source import Source, open_source

__all__ = ["Source", "open_source"]
