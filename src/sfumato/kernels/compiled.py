"""Functions that numba compiles: each once, whatever width its whole numbers arrive in.

A function is compiled when it is first asked for, which is dear: most of the time goes into working out
types. Numba would do it again for every mixture of 32 and 64 bits, and make every function callable from
Python. Here whole numbers arrive as 64 bits, and inner functions, which only compiled code calls, have no
wrapper.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from sfumato.kernels.machine_code import CPUDispatcher, MachineCode, NullCache, types
from sfumato.system.progress import stop_request

Function = TypeVar("Function", bound=Callable[..., Any])
Kinds = tuple[Any, ...]  # numba's types have no types


class Kernel(CPUDispatcher):  # type: ignore[misc]  # numba has no types
    """A compiled function; `asked` collects what Python code called, by kernel, in this process."""

    asked: ClassVar[dict[Kernel, set[Kinds]]] = {}
    _depth: ClassVar[int] = 0

    def get_call_template(self, args: Sequence[Any], kws: dict[str, Any]) -> Any:
        """Returns the one signature for these kinds of arguments, for a caller that is being compiled."""
        _, folded = self._compiler.fold_argument_types(args, kws)
        return super().get_call_template(_widened(folded), {})

    def compile(self, sig: Any) -> Any:
        """Returns the machine code for a signature, compiled if there is none.

        A request to stop is heeded afterwards: code that was loaded in part crashes.
        """
        kinds = _widened(sig if isinstance(sig, tuple) else sig.args)
        if not Kernel._depth:
            Kernel.asked.setdefault(self, set()).add(kinds)
        Kernel._depth += 1
        try:
            with stop_request.hold(), _without_garbage_collection():
                return super().compile(kinds)
        finally:
            Kernel._depth -= 1


class Subroutine(Kernel):
    """A function for compiled code alone; a call from Python compiles it again, with a wrapper."""

    def __call__(self, *args: Any, **kws: Any) -> Any:
        if not hasattr(self, "_callable"):
            self._callable = _dispatcher(Kernel, self.py_func, **_OPTIONS)
        return self._callable(*args, **kws)


_OPTIONS: dict[str, object] = {"nopython": True, "boundscheck": None}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def njit(
    *,
    cache: bool = True,
    nogil: bool = False,
    inline: str = "never",
    inner: bool | None = None,
    borrows: bool = False,
) -> Callable[[Function], Function]:
    """Compiles a function when it is first asked for, and keeps its machine code on disk.

    Compiled code alone calls an inner function: unless said otherwise, one that begins with an underscore.
    A function that `borrows` makes no arrays, and does not count who holds those that it is given: counting
    takes longer than a short function itself, since processors have to agree on every count.
    """

    def compiled(function: Function) -> Function:
        alone = function.__name__.startswith("_") if inner is None else inner
        options: dict[str, object] = {**_OPTIONS, "nogil": nogil, **(_NO_WRAPPERS if alone else {})}
        if inline != "never":
            options["inline"] = inline
        if borrows:
            options["_nrt"] = False
        dispatcher = _dispatcher(Subroutine if alone else Kernel, function, **options)
        dispatcher._cache = MachineCode(function) if cache and not alone else NullCache()
        return dispatcher  # type: ignore[no-any-return]  # called like the function

    return compiled


def _dispatcher(kind: type[Kernel], function: Callable[..., Any], **options: Any) -> Any:
    return kind(function, locals={}, targetoptions=options)


def _widened(kinds: Sequence[Any]) -> Kinds:
    """Returns the kinds of arguments with signed whole numbers as 64 bits, and no constants."""
    return tuple(map(_wide, kinds))


def _wide(kind: Any) -> Any:
    plain = types.unliteral(kind)
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Compiling makes millions of objects that stay: looking through them for garbage finds none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
