"""The quotes, lines and fields of a delimited file, followed byte by byte."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FIELD_START, PLAIN, QUOTED, QUOTE_SEEN = 0, 1, 2, 3
FINE, AFTER_QUOTE, RAGGED = 0, 1, 2
MODE, LINE, RECORD_LINE, FIELDS, QUOTE_LINE, AFTER_CR, EMPTY = 0, 1, 2, 3, 4, 5, 6


def fresh_state() -> NDArray[np.int64]:
    """The state before the first byte."""
    return np.array([FIELD_START, 1, 1, 1, 0, 0, 1], np.int64)


@njit(cache=True)
def walk(
    block: NDArray[np.uint8], delimiter: int, expected: int, state: NDArray[np.int64]
) -> int:  # pragma: no cover
    """Carry `state` over the block; stop at text after a closing quote, or at a record whose number of fields
    is not `expected` (0: any; empty lines do not count). Lines end in LF, CR LF or CR."""
    mode, line, record_line = state[MODE], state[LINE], state[RECORD_LINE]
    fields, quote_line, after_cr, empty = state[FIELDS], state[QUOTE_LINE], state[AFTER_CR], state[EMPTY]
    verdict = FINE
    for byte in block:
        if after_cr == 1 and byte == 10:
            after_cr = 0
            if mode != QUOTED:
                record_line = line
            continue
        after_cr = 0
        end = byte in (10, 13)
        if end:
            line += 1
            after_cr = 1 if byte == 13 else 0
        if mode == QUOTED:
            if byte == 34:
                mode = QUOTE_SEEN
        elif end:
            if expected > 0 and fields != expected and empty == 0:
                verdict = RAGGED
                break
            mode, fields, empty, record_line = FIELD_START, 1, 1, line
        elif byte == delimiter:
            mode, empty = FIELD_START, 0
            fields += 1
        elif mode == QUOTE_SEEN and byte != 34:
            verdict = AFTER_QUOTE
            break
        elif byte == 34 and mode != PLAIN:
            if mode == FIELD_START:
                quote_line = line
            mode, empty = QUOTED, 0
        else:
            mode, empty = PLAIN, 0
    state[MODE], state[LINE], state[RECORD_LINE] = mode, line, record_line
    state[FIELDS], state[QUOTE_LINE], state[AFTER_CR], state[EMPTY] = fields, quote_line, after_cr, empty
    return verdict
