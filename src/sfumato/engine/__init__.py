"""The engine: tables of many kinds as sources, counted, recoded and written."""

from __future__ import annotations

from sfumato.engine.source import AnyTable, Source, open_source

__all__ = ["AnyTable", "Source", "open_source"]
