"""Signatures that compiled functions are called with, as plain data: what is compiled before anybody asks.

A scalar is the name of its dtype, an array its dtype, dimensions and layout (`int32 2 C`, `int64 1 C
readonly`), a tuple a list, and a named tuple its class with its fields.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sfumato.kernels.compiled import Kernel, Subroutine
from sfumato.kernels.machine_code import from_dtype, types

Plain: TypeAlias = "str | list[Plain] | dict[str, list[Plain]]"
RECORDED = Path(__file__).with_name("signatures.json")


def recorded(path: Path = RECORDED) -> dict[str, list[list[Plain]]]:
    """Returns the signatures of every kernel, by its full name."""
    return json.loads(path.read_text("utf-8"))  # type: ignore[no-any-return]


def kernel_named(name: str) -> Kernel:
    """Returns a kernel by its full name; an ImportError or AttributeError if it is gone."""
    module, function = name.rsplit(".", 1)
    kernel = getattr(import_module(module), function)
    if not isinstance(kernel, Kernel) or isinstance(kernel, Subroutine):
        raise AttributeError(f"{name} is not a kernel that Python code calls.")
    return kernel


def name_of(kernel: Kernel) -> str:
    """Returns the full name of a kernel."""
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"


def as_plain(kind: Any) -> Plain:
    """Returns a type of numba as plain data."""
    if isinstance(kind, types.Array):
        return f"{kind.dtype} {kind.ndim} {kind.layout}{'' if kind.mutable else ' readonly'}"
    if isinstance(kind, types.BaseNamedTuple):
        named_tuple = kind.instance_class
        return {
            f"{named_tuple.__module__}:{named_tuple.__qualname__}": [as_plain(each) for each in kind.types]
        }
    if isinstance(kind, types.BaseTuple):
        return [as_plain(each) for each in kind.types]
    return str(np.dtype(str(kind)))  # raises TypeError for what no kernel should be given


def as_type(plain: Plain) -> Any:
    """Returns plain data as a type of numba."""
    if isinstance(plain, dict):
        ((name, fields),) = plain.items()
        module, class_name = name.split(":")
        return types.BaseTuple.from_types(
            [as_type(each) for each in fields], getattr(import_module(module), class_name)
        )
    if isinstance(plain, list):
        return types.BaseTuple.from_types([as_type(each) for each in plain])
    dtype, *array = plain.split()
    scalar = from_dtype(np.dtype(dtype))
    if not array:
        return scalar
    return types.Array(scalar, int(array[0]), array[1], readonly="readonly" in array)


def asked() -> dict[str, list[list[Plain]]]:
    """Returns the signatures that Python code of this process has called its kernels with."""
    return {
        name_of(kernel): [[as_plain(each) for each in kinds] for kinds in several]
        for kernel, several in Kernel.asked.items()
        if not isinstance(kernel, Subroutine) and kernel.py_func.__module__.startswith("sfumato.")
    }


def record_asked(folder: Path) -> None:
    """Writes what this process asked for into a folder, beside what other processes write there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{os.getpid()}.json").write_text(json.dumps(asked()), "utf-8")


def merged(several: Iterable[dict[str, list[list[Plain]]]]) -> dict[str, list[list[Plain]]]:
    """Returns all signatures together, each once, in order; those of kernels that are gone are left out."""
    together: dict[str, dict[str, list[Plain]]] = {}
    for process in several:
        for name, signatures in process.items():
            together.setdefault(name, {}).update((json.dumps(each), each) for each in signatures)
    return {
        name: [together[name][text] for text in sorted(together[name])]
        for name in sorted(together)
        if _exists(name)
    }


def _exists(name: str) -> bool:
    try:
        kernel_named(name)
    except (ImportError, AttributeError):
        return False
    return True


def main(arguments: Sequence[str]) -> int:
    """Replaces the recorded signatures by those found in the folder named: `make signatures` does it."""
    together = merged(
        json.loads(path.read_text("utf-8")) for path in sorted(Path(arguments[0]).glob("*.json"))
    )
    lines = [
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"    {json.dumps(each)}" for each in signatures) + "\n  ]"
        for name, signatures in together.items()
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{sum(map(len, together.values()))} signatures of {len(together)} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
