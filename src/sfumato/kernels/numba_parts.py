"""What is used of numba, loaded without libraries that it imports only where they are installed.

Compiled code needs none of them: numba asks `coverage` which lines were compiled, and looks up the version of
`scipy`. It needs `yaml` where there is a file with its settings.
"""

from pathlib import Path
from typing import Any

from sfumato.system.hidden_libraries import hidden_libraries

SETTINGS = Path(".numba_config.yaml")
"""The file with settings that numba looks for in the current folder."""

with hidden_libraries("coverage", "scipy", *(() if SETTINGS.exists() else ("yaml",))):
    from numba.core import types as numba_types
    from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
    from numba.core.environment import Environment, lookup_environment
    from numba.core.registry import CPUDispatcher
    from numba.core.runtime import _nrt_python

__all__ = [
    "CPUDispatcher",
    "Environment",
    "FunctionCache",
    "IndexDataCacheFile",
    "NullCache",
    "lookup_environment",
    "runtime_addresses",
    "types",
]

types: Any = numba_types  # its stubs leave out what is used here
runtime_addresses: dict[str, int] = _nrt_python.c_helpers
"""The functions of numba's runtime, by their names without a prefix."""
