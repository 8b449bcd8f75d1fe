"""Libraries that read and write files beyond CSV and Parquet: extras, named where they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from sfumato.core.errors import WrongCall

EXTRAS = {
    "fastexcel": "excel",
    "pyreadstat": "stats",
    "adbc_driver_sqlite.dbapi": "sql",
    "adbc_driver_postgresql.dbapi": "sql",
}


def extra_library(name: str, what: str) -> ModuleType:
    """Returns a library; raises `WrongCall` with the extra to install where it is missing."""
    try:
        return import_module(name)
    except ImportError:
        raise WrongCall(
            f"{what} needs the library {name.partition('.')[0]}, which is not installed",
            remedy=f"Run `pip install 'sfumato[{EXTRAS[name]}]'`.",
        ) from None


def is_panic(error: BaseException) -> bool:
    """Tells whether a library that is written in Rust gave up; what it raises is no `Exception`, and has no
    name that could be imported."""
    return type(error).__name__ == "PanicException"
