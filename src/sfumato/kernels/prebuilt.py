"""Machine code of all kernels, made before anybody calls one: for a wheel, a container, tests."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from sfumato.kernels.machine_code import PORTABLE, PREBUILT, MachineCode, NumbaError
from sfumato.kernels.signatures import as_type, kernel_named, recorded


@dataclass(frozen=True)
class Built:
    """How many signatures of a module have machine code, how many were compiled now, which have none."""

    module: str
    ready: int
    compiled: int
    failed: tuple[str, ...]


def build(*, jobs: int | None = None, portable: bool = False, into_package: bool = False) -> Iterator[Built]:
    """Compiles every recorded signature that has no machine code yet; yields modules as they are done.

    Portable code runs on any processor of the kind, not on this one alone: for a wheel. It is kept in the
    package, other code there only on demand: else in numba's cache (NUMBA_CACHE_DIR, or the user's).
    """
    if portable:
        name, _ = PORTABLE[platform.machine().replace("AMD64", "x86_64").replace("arm64", "aarch64")]
        os.environ.update(NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="")
    tasks = _by_module()
    count = min(jobs or os.cpu_count() or 1, len(tasks))
    # A process of its own even for one job: what numba compiles for is settled when it is loaded.
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(build_module, names, portable or into_package) for names in tasks]
        for future in futures:
            yield future.result()


def _by_module() -> list[tuple[str, ...]]:
    """Returns the names of the kernels, those of one module together, the longest first."""
    modules: dict[str, list[str]] = {}
    for name in recorded():
        modules.setdefault(name.rsplit(".", 1)[0], []).append(name)
    dearest = ("local_moves", "medians", "quasi_sensitive", "hitting", "continuous", "local")
    order = sorted(modules, key=lambda each: next((i for i, part in enumerate(dearest) if part in each), 9))
    return [tuple(modules[module]) for module in order]


def build_module(names: Sequence[str], into_package: bool) -> Built:
    """Compiles the recorded signatures of these kernels, all of one module."""
    MachineCode.to_package = into_package
    signatures = recorded()
    ready = compiled = 0
    failed = []
    for name in names:
        try:
            kernel = kernel_named(name)
            for plain in signatures[name]:
                kernel.compile(tuple(map(as_type, plain)))
                ready += 1
            compiled += sum(kernel.stats.cache_misses.values())
        except (ImportError, AttributeError, NumbaError):  # the kernel has changed since it was recorded
            failed.append(name)
    return Built(names[0].rsplit(".", 1)[0], ready, compiled, tuple(failed))


def can_write_package() -> bool:
    """Returns whether machine code can be kept in the package, so that every user of it has it."""
    return os.access(PREBUILT if PREBUILT.is_dir() else PREBUILT.parent, os.W_OK)


def main(arguments: Sequence[str]) -> int:
    """Builds into the package, portable with `--portable`: what the build of a wheel calls."""
    built = list(build(portable="--portable" in arguments, into_package=True))
    ready, compiled = sum(module.ready for module in built), sum(module.compiled for module in built)
    print(f"{ready} functions, {compiled} compiled now")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
