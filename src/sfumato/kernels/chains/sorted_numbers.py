"""Looking up numbers in sorted arrays, for compiled code.

Numba's own functions on arrays are quicker to write, but machine code that holds one of them loads the module
it is from, and SciPy where that is installed: a quarter of a second at the start of a process.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sfumato.kernels.compiled import njit


@njit(cache=True, inner=True)
def first_place(numbers: NDArray[Any], wanted: int) -> int:
    """Returns how many of the ascending numbers are below the wanted one, as `np.searchsorted` does."""
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
