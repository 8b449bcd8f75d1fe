"""The quotes, lines and fields of a delimited file, followed byte by byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

FIELD_START, PLAIN, QUOTED, QUOTE_SEEN = 0, 1, 2, 3
FINE, AFTER_QUOTE, RAGGED, TOO_LONG = 0, 1, 2, 3
MODE, LINE, RECORD_LINE, FIELDS, QUOTE_LINE, AFTER_CR, EMPTY, CELL, END = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What the state holds: `CELL` the bytes of the cell so far, `END` where the last whole record ends."""


def fresh_state() -> NDArray[np.int64]:
    """The state before the first byte."""
    return np.array([FIELD_START, 1, 1, 1, 0, 0, 1, 0, 0], np.int64)


@njit(cache=True)
def walk(
    block: NDArray[np.uint8], delimiter: int, expected: int, longest: int, state: NDArray[np.int64]
) -> int:  # pragma: no cover
    """Carry `state` over the block; stop at text after a closing quote, at a record whose number of fields
    is not `expected` (0: any; empty lines do not count), or at a cell of more than `longest` bytes (0: any).
    Lines end in LF, CR LF or CR; a record whose CR is the last byte of the block is not whole yet."""
    mode, line, record_line = state[MODE], state[LINE], state[RECORD_LINE]
    fields, quote_line, after_cr, empty = state[FIELDS], state[QUOTE_LINE], state[AFTER_CR], state[EMPTY]
    cell, whole, before = state[CELL], 0, 0
    verdict = FINE
    for place in range(len(block)):
        byte = block[place]
        if after_cr == 1 and byte == 10:
            after_cr = 0
            if mode != QUOTED:
                record_line = line
                whole = place + 1
            continue
        cell += 1
        if longest > 0 and cell > longest and byte not in (10, 13, delimiter):
            verdict = TOO_LONG
            break
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
            mode, fields, empty, record_line, cell = FIELD_START, 1, 1, line, 0
            before, whole = whole, place + 1
        elif byte == delimiter:
            mode, empty, cell = FIELD_START, 0, 0
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
    state[CELL] = cell
    state[END] = before if after_cr == 1 and whole == len(block) else whole
    state[MODE], state[LINE], state[RECORD_LINE] = mode, line, record_line
    state[FIELDS], state[QUOTE_LINE], state[AFTER_CR], state[EMPTY] = fields, quote_line, after_cr, empty
    return verdict
