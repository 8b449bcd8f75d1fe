"""Compiled loops: arrays in, arrays out, no words of the domain.

Numba is loaded here, before any of them.
"""

from importlib import import_module
from pathlib import Path

from sfumato.system.hidden_libraries import hidden_libraries

NUMBA_SETTINGS = Path(".numba_config.yaml")
"""The file with settings that numba looks for in the current folder."""

with hidden_libraries("coverage", "scipy", *(() if NUMBA_SETTINGS.exists() else ("yaml",))):
    import_module("numba")
