"""JSON documents as Python holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
"""A document that is made here. `Any`: JSON nests without end; a reader checks what it takes from it."""

ReadJson = Mapping[str, Any]
"""A document that came from outside. `Any`: nothing is known of it until it has been checked."""
