"""What is used of numba, loaded without libraries that it imports only where they are installed.

Compiled code needs none of them: numba asks `coverage` which lines were compiled, and looks up the version of
`scipy`. It reads settings from the folder that a process happens to be in, by `yaml`: whoever can write there
could change what is compiled. Here it takes its settings from the environment alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from warnings import catch_warnings, filterwarnings

from sfumato.system.hidden_libraries import hidden_libraries

SETTINGS = Path(".numba_config.yaml")
"""The file with settings that numba looks for in the current folder."""


@contextmanager
def _settings_unread() -> Iterator[None]:
    """Meanwhile numba is loaded without the file of its settings, and does not remark upon it."""
    if not SETTINGS.exists():
        with hidden_libraries("yaml"):
            yield
        return
    with hidden_libraries("yaml", although_loaded=True), catch_warnings():
        filterwarnings("ignore", "A Numba config file")
        yield


with hidden_libraries("coverage", "scipy"), _settings_unread():
    from numba.core import config
    from numba.core import types as numba_types
    from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
    from numba.core.environment import Environment, lookup_environment
    from numba.core.errors import NumbaError
    from numba.core.registry import CPUDispatcher
    from numba.core.runtime import _nrt_python
    from numba.np.numpy_support import from_dtype

config._config_fname = ""  # read again whenever something is compiled, wherever the process is then
config.reload_config()  # somebody may have loaded numba before

__all__ = [
    "CPUDispatcher",
    "Environment",
    "FunctionCache",
    "IndexDataCacheFile",
    "NullCache",
    "NumbaError",
    "from_dtype",
    "lookup_environment",
    "runtime_addresses",
    "types",
]

types: Any = numba_types  # its stubs leave out what is used here
runtime_addresses: dict[str, int] = _nrt_python.c_helpers
"""The functions of numba's runtime, by their names without a prefix."""
