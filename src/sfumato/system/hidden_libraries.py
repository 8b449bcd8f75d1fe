"""Libraries that another one would load only because they are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden_libraries(*names: str, although_loaded: bool = False) -> Iterator[None]:
    """Meanwhile an import of one of these fails as if it were not installed; later imports find it.

    A library that is loaded already stays, unless asked for otherwise: others may use it at the same time.
    For libraries that try such an import and do without.
    """
    hidden = {name: sys.modules.get(name) for name in names if although_loaded or name not in sys.modules}
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None says that there is no such module
    try:
        yield
    finally:
        for name, loaded in hidden.items():
            if sys.modules.get(name, name) is None:
                del sys.modules[name]
            if loaded is not None:
                sys.modules[name] = loaded
