"""Libraries that another one would load only because they are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden_libraries(*names: str) -> Iterator[None]:
    """Meanwhile an import of one of these fails as if it were not installed; later imports find it.

    A library that is loaded already stays. For libraries that try such an import and do without.
    """
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None says that there is no such module
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name, name) is None:
                del sys.modules[name]
