"""The engine: tables of many kinds as sources, counted, recoded and written."""

from __future__ import annotations

from sfumato.engine.source import Source, open_source

__all__ = ["Source", "open_source"]
