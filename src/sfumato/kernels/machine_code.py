"""Machine code on disk: what came with the package, and what was compiled on this machine.

Numba keeps compiled functions by the text of their own file. Here the files that it imports count as well,
so a change of what it calls is never passed over.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar
from warnings import catch_warnings, filterwarnings

import llvmlite.binding as llvm

from sfumato.system.plugins import compilation, hidden_libraries

# What is used of numba, loaded without libraries that it imports only where they are installed.
#
# Compiled code needs none of them: numba asks `coverage` which lines were compiled, and looks up the
# version of `scipy`. It reads settings from the folder that a process happens to be in, by `yaml`: whoever
# can write there could change what is compiled. Here it takes its settings from the environment alone.

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


PACKAGE = Path(__file__).parents[1]
PREBUILT = Path(__file__).parent / "prebuilt"
"""Where machine code lies that came with the package, or that `sfumato compile` made."""
WITHOUT = "SFUMATO_WITHOUT_MACHINE_CODE"
"""Set to anything, the package is built without machine code, and what it has is not used."""
PORTABLE = {"x86_64": ("x86-64-v2", ("popcnt", "sse4.2", "ssse3")), "aarch64": ("generic", ())}
"""By architecture: the processor that the code of a wheel is made for, and features that have to be there."""
Machine = tuple[str, str, str]
_SELF = Path(__file__)
_IMPORT = re.compile(r"^from (sfumato[\w.]*) import ([^(#\n]+|\([^)]*\))", re.MULTILINE)


class MachineCode:
    """The machine code of one function, by kinds of arguments: a cache as numba asks for it."""

    to_package: ClassVar[bool] = False
    """Whether what is compiled is kept in the package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _own(self) -> _StampedCache | None:
        """The cache of numba; None if there is no folder that can be written: all is compiled again then."""
        with suppress(RuntimeError):
            return _StampedCache(self._function, stamp_of(self._source))
        return None

    @cached_property
    def _prebuilt(self) -> _PackageFile:
        """The file in the package."""
        parts = (*self._source.relative_to(PACKAGE).with_suffix("").parts, self._function.__name__)
        name = f"{'.'.join(parts)}.py{sys.version_info[0]}{sys.version_info[1]}"
        return _PackageFile(str(PREBUILT), name, stamp_of(self._source))

    @property
    def _source(self) -> Path:
        return Path(self._function.__code__.co_filename)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the compiled function for a signature; None if there is none.

        Numba prepares for compiling here, which loads half of its modules. Machine code needs only the
        addresses of its runtime; whatever else may follow prepares for itself.
        """
        _offer_runtime()
        keys = _keys(self._function, sig, target_context.codegen().magic_tuple())
        for key in () if os.environ.get(WITHOUT) else keys:
            data = self._prebuilt.load(key)
            if data is not None:
                return FunctionCache._impl_class.rebuild(None, target_context, data)
        own = None if MachineCode.to_package else self._own  # what the package lacks is made for it
        compiled = None if own is None else own.load_overload(sig, target_context)
        if compiled is None:
            compilation.begins()
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps a compiled function on disk."""
        if MachineCode.to_package:
            PREBUILT.mkdir(exist_ok=True)
            key = next(_keys(self._function, sig, data.codegen.magic_tuple()))
            self._prebuilt.save(key, _without_paths(FunctionCache._impl_class.reduce(None, data)))
        elif self._own is not None:
            self._own.save_overload(sig, data)

    @property
    def cache_path(self) -> str:
        """Where what was compiled on this machine lies; an empty text if it is not kept."""
        return "" if self._own is None else str(self._own.cache_path)

    def enable(self) -> None:
        """Nothing: it is always on."""

    def flush(self) -> None:
        """Forgets what numba's own cache holds."""
        if self._own is not None:
            self._own.flush()


class _StampedCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Numba's own cache, with a stamp of all files that a function is compiled from."""

    def __init__(self, function: Callable[..., Any], stamp: bytes) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = stamp

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the compiled function, as numba does, but prepares nothing for compiling."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _PackageFile(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """The machine code of a function in the package, read without loading the modules that it was made of."""

    def _load_data(self, name: str) -> Any:
        with Path(self._data_path(name)).open("rb") as file:
            return _Unpickler(file).load()


class _Unpickler(pickle.Unpickler):
    """Reads what numba wrote, with environments of its own making."""

    def find_class(self, module: str, name: str) -> Any:
        """Returns what is named in the file."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[object], name: str) -> Any:
    """Returns the environment of a compiled function, as numba makes it, but does not import its module.

    Machine code reads the constants alone. The names of the module are for code that runs in the interpreter,
    of which there is none here.
    """
    loaded = lookup_environment(name)
    if loaded is not None:
        return loaded
    environment = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
    environment.consts[:] = constants
    environment.env_name = name
    Environment._memo[name] = environment
    return environment


@cache
def _offer_runtime() -> None:
    """Makes the addresses of numba's runtime known to machine code, as numba does.

    What counts references is part of the machine code; numba compiles it again for code that is yet to come.
    """
    for name, address in runtime_addresses.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _keys(function: Callable[..., Any], sig: Any, machine: Machine) -> Iterator[tuple[object, ...]]:
    """Yields the keys of a signature: for this very processor, and for any that can run the portable code."""
    code = sha256(function.__code__.co_code).hexdigest()
    yield str(sig), machine, code
    portable = _portable(machine[0])
    if portable is not None:
        yield str(sig), portable, code


@cache
def _portable(triple: str) -> Machine | None:
    """Returns what portable code is made for; None if this processor cannot run it."""
    name, needed = PORTABLE.get(triple.split("-", maxsplit=1)[0], (None, ()))
    if name is None:
        return None
    has = llvm.get_host_cpu_features()
    return (triple, name, "") if all(has.get(feature, False) for feature in needed) else None


def _without_paths(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns a serialized function without its annotated text, which names folders of this machine."""
    library, descriptor, environment, signature, objectmode, lifted, _, *remainder = reduced
    return (library, descriptor, environment, signature, objectmode, lifted, "", *remainder)


@cache
def stamp_of(source: Path) -> bytes:
    """Returns a digest of a file and of all files of the package that it imports, however far."""
    together = sha256()
    files: set[Path] = set()
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in files or path == _SELF:  # where code is kept does not change it
            continue
        files.add(path)
        waiting.extend(sorted(_imported(path.read_text("utf-8"))))
    for path in sorted(files):
        together.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0")
        together.update(sha256(path.read_bytes()).digest())
    return together.digest()


def _imported(text: str) -> set[Path]:
    """Returns the files of the package that a module's text imports from."""
    paths: set[Path] = set()
    for module, names in _IMPORT.findall(text):
        folder = PACKAGE.joinpath(*module.split(".")[1:])
        single = [name.split()[0] for name in names.strip("()\n ").split(",") if name.strip()]
        candidates = [folder.with_suffix(".py"), *(folder / f"{name}.py" for name in single)]
        paths.update(path for path in candidates if path.is_file())
    return paths
