"""The types of JSON objects, as they are written and as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
"""A JSON object that is being made. `Any`: whoever reads a document checks what is taken from it."""

JsonMapping = Mapping[str, Any]
"""A JSON object that is only read."""
