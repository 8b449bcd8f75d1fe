"""The text of a cell, as taxonomies know it: written a second time, from its definition.

Text stays as it is. Whole numbers are decimal digits, truths are `true` and `false`. Other numbers take the
shortest text that reads back as the same number, without a fraction where there is none; there is one zero,
and what is not a number is a missing cell. Dates are ISO dates. A point in time has a `T` between its parts,
no more decimals than needed, and is in UTC (`+00:00`) where it has a zone; midnight without one is the date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from math import isnan
from typing import TYPE_CHECKING, Any
from unicodedata import category, name, normalize

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.verify.trees import Text

if TYPE_CHECKING:
    import pyarrow as pa


def label(cell: object) -> Text:
    """Returns the text that a taxonomy has for this cell.

    >>> [label(cell) for cell in ("02138", 7, 7.0, 2.5, True, date(2026, 3, 1), Decimal("1.50"), None)]
    ['02138', '7', '7', '2.5', 'true', '2026-03-01', '1.50', None]
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, Decimal):
        return format(cell, "f")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def moment(text: str) -> str:
    """Returns a moment as SQL writes it in the form of a label: `T` between the parts, no bare midnight.

    >>> moment("2026-03-01 00:00:00"), moment("2026-03-01 08:30:00.5"), moment("2026-03-01 08:30:00+02")
    ('2026-03-01', '2026-03-01T08:30:00.5', '2026-03-01T08:30:00+02:00')
    """
    day, _, clock = text.partition(" ")
    if clock == "00:00:00":
        return day
    if len(clock) > 3 and clock[-3] in "+-":
        clock += ":00"
    return f"{day}T{clock}"


# Spellings of one value, told a second time: character by character, from the rule in decision 0019.

UNKNOWN = -1
"""Stands for cells that say nothing."""

SAY_NOTHING = (
    "na",
    "nan",
    "nat",
    "nil",
    "none",
    "null",
    "missing",
    "unknown",
    "notknown",
    "notavailable",
    "notapplicable",
    "notstated",
    "#na",
)
BETWEEN = frozenset("._,;:/\\'\"`()[]{}|-\u2018\u2019\u201c\u201d\u00b4\u00b7")
DASH = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")


def one_value_each(texts: Sequence[Text], spelling: str) -> NDArray[np.int64]:
    """Returns the number of the value that each text is a spelling of; `UNKNOWN` where it says nothing.

    >>> one_value_each(["H.I.V.", "flu", "hiv ", "n/a", None], "folded").tolist()
    [0, 1, 0, -1, -1]
    """
    numbers: dict[str, int] = {}
    value_numbers = []
    for text in texts:
        value = text if spelling == "exact" else folded(text)
        value_numbers.append(UNKNOWN if value is None else numbers.setdefault(value, len(numbers)))
    return np.array(value_numbers, dtype=np.int64)


def folded(text: Text) -> Text:
    """Returns one spelling for all spellings of a value; `None` where the text says nothing."""
    if text is None:
        return None
    letters = ["-" if letter in DASH else letter for letter in _plain(text)]
    plain = "".join(letters).strip()
    short = _short_number(plain)
    if short is None:
        short = _joined(plain)
    return None if short in SAY_NOTHING or not short.strip("-?*#") else short


def _plain(text: str) -> str:
    """Returns small letters without accents (Latin, Greek) and without what cannot be seen."""
    left: list[str] = []
    accented = False
    for letter in normalize("NFKD", normalize("NFKC", text).casefold()):
        sort = category(letter)
        if sort == "Mn" and accented:
            continue
        if sort not in ("Mn", "Cf"):
            accented = name(letter, "").split(" ")[0] in ("LATIN", "GREEK")
        if letter.isspace() or sort not in ("Cf", "Cc"):
            left.append(letter)
    return normalize("NFC", "".join(left)).casefold()


def _short_number(text: str) -> str | None:
    """Returns a decimal number without idle zeros and plus; `None` for whatever else."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    whole, _, part = digits.partition(".")
    if not whole or not set(whole + part) <= set("0123456789") or (whole[0] == "0" and whole != "0"):
        return None
    size = whole + ("." + part.rstrip("0") if part.rstrip("0") else "")
    return "-" + size if sign == "-" and size != "0" else size


def _joined(text: str) -> str:
    """Returns the text without separators that mean nothing."""
    out: list[str] = []
    place = 0
    while place < len(text):
        stop = place
        while stop < len(text) and (text[stop] in BETWEEN or text[stop].isspace()):
            stop += 1
        if stop == place:
            out.append(text[place])
            stop += 1
        else:
            out.append(_left_of(text[place - 1] if place else "", text[place:stop], text[stop : stop + 1]))
        place = stop
    return "".join(out)


def _left_of(before: str, run: str, after: str) -> str:
    """Returns what stays of separators between two characters, or at an end."""
    tight = "".join(mark for mark in run if not mark.isspace())
    numbers = before.isdigit() and after.isdigit()
    if "-" not in tight:
        if numbers:
            return tight or " "
        return "." if before == "" and after.isdigit() and run[-1] == "." else ""
    in_word = before.isalnum() and after.isalnum() and (before.isalpha() or after.isalpha())
    minus = after.isdigit() and run[0].isspace()
    if in_word and not minus:
        return ""
    return tight if numbers else "-"


# Exact comparisons for the judge: quotients of integers, and powers through their prime factors.

Integers = NDArray[np.int64]

DOUBT = 1e-9
"""Quotients nearer to each other than this, relatively, are compared as fractions."""


def over(above: NDArray[np.generic], below: NDArray[np.generic], limit: Fraction) -> NDArray[np.bool_]:
    """Returns where above / below > limit.

    >>> over(np.array([1, 1]), np.array([3, 2]), Fraction(1, 3)).tolist()
    [False, True]
    """
    quotient, border = above.astype(float) / below.astype(float), float(limit)
    truth = np.asarray(quotient > border)
    doubtful = np.flatnonzero(abs(quotient - border) <= DOUBT * max(border, 1.0))
    for a, b, places in _alike(above, below, doubtful):
        truth[places] = Fraction(a, b) > limit
    return truth


def greatest(
    above: NDArray[np.generic], below: NDArray[np.generic]
) -> tuple[int, Fraction] | tuple[None, None]:
    """Returns the place of the largest quotient and the quotient, nothing of none.

    >>> greatest(np.array([1, 2, 4]), np.array([3, 3, 7]))
    (1, Fraction(2, 3))
    """
    if not len(above):
        return None, None
    quotient = above.astype(float) / below.astype(float)
    leading = np.flatnonzero(quotient >= quotient.max() * (1 - DOUBT))
    exact = [(Fraction(a, b), -int(places[0])) for a, b, places in _alike(above, below, leading)]
    largest, place = max(exact)
    return -place, largest


def _alike(
    above: NDArray[np.generic], below: NDArray[np.generic], places: NDArray[np.intp]
) -> Iterable[tuple[int, int, NDArray[np.intp]]]:
    """Yields the different pairs at these places, each with its places."""
    where: dict[tuple[int, int], list[int]] = {}
    for place in places.tolist():
        where.setdefault((int(above[place]), int(below[place])), []).append(place)
    for (a, b), places_of in where.items():
        yield a, b, np.array(places_of, dtype=np.intp)


def sign_of_entropy_margin(counts: Iterable[int], diversity: Fraction) -> int:
    """Returns the sign of entropy(counts) - log(diversity).

    With n people it is the sign of log(n**n) - log(diversity**n) - sum of log(c**c). Whether that is zero is
    a question about prime exponents; if it is not, enough digits tell the sign.

    >>> [sign_of_entropy_margin([5, 5, 5], Fraction(l)) for l in (2, 3, 4)]
    [1, 0, -1]
    """
    times_of = Counter(counts)
    everyone = sum(count * times for count, times in times_of.items())
    powers = Counter({everyone: everyone})
    powers.subtract({diversity.numerator: everyone})
    powers.update({diversity.denominator: everyone})
    powers.subtract({count: count * times for count, times in times_of.items()})
    if not any(_prime_exponents(powers).values()):
        return 0
    digits = 30
    while True:
        with localcontext(prec=digits + 20):
            margin = sum((Decimal(base).ln() * times for base, times in powers.items()), Decimal(0))
            if abs(margin) > Decimal(10) ** -digits * everyone:
                return 1 if margin > 0 else -1
        digits *= 2


def _prime_exponents(powers: Counter[int]) -> Counter[int]:
    """Returns the exponents of the primes in a product of powers."""
    exponents: Counter[int] = Counter()
    for base, times in powers.items():
        remainder, prime = base, 2
        while prime * prime <= remainder:
            while remainder % prime == 0:
                exponents[prime] += times
                remainder //= prime
            prime += 1
        if remainder > 1:
            exponents[remainder] += times
    return exponents


# Columns of a table in memory as texts: Arrow arrays in, Arrow arrays of text out.

TERM_END = "\x1f"
"""Stands between the terms of a set."""

EXACT = 2**53
"""Below this, every whole number is a float of its own."""
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
ORDINARY, MISSING = np.uint64(1), np.uint64(2)
"""Stand for other bits; as bits they would be numbers that need no mark."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def texts_of(column: pa.Array) -> pa.Array:
    """Returns the text of every cell; each different value is put into words once."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.cast(pa.large_string())
    if column.type == pa.string_view():
        return column.cast(pa.large_string())
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_string())
    if pa.types.is_nested(column.type):
        return pa.array([_terms(cell) for cell in column.to_pylist()], pa.large_string())
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    coded = column.dictionary_encode()
    words = pa.array(_words(coded.dictionary), pa.large_string())
    return words.take(coded.indices)


def float_marks(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    """Returns, per row, what tells zeros, missing cells and what is not a number apart in these columns."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    there = set(batch.schema.names)
    here = [batch.column(name) for name in names if name in there]
    marks = np.full(batch.num_rows, "", dtype=object)
    for cells in here:
        if not pa.types.is_floating(cells.type):
            continue
        numbers = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        missing = cells.is_null().to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers) | (numbers == 0), numbers.view(np.uint64), ORDINARY)
        odd, which = np.unique(np.where(missing, MISSING, bits), return_inverse=True)
        marks = marks + np.array([f"{value:x}|" for value in odd.tolist()], dtype=object)[which.ravel()]
    return pa.array(marks.tolist(), pa.large_string())


def _terms(cell: Any) -> Text:  # a list or a record, whatever the library makes of it
    """Returns a list of terms as one text."""
    if cell is None:
        return None
    if not isinstance(cell, list):
        raise BadData("a column holds records", remedy="Leave it out or turn it into text.")
    return TERM_END.join(label(term) or "" for term in cell)


def _words(values: pa.Array) -> list[Text]:
    """Returns the text of each of some different values."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    kind = values.type
    if pa.types.is_floating(kind):
        return [_number(cell) for cell in values.to_numpy(zero_copy_only=False)]
    if pa.types.is_timestamp(kind):
        each, zoned = PER_SECOND[kind.unit], kind.tz is not None
        return [_moment(cell, each, zoned=zoned) for cell in values.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [None if cell is None else date.isoformat(cell) for cell in values.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        raise BadData(f"a column has the type {kind}, whose values have no text")
    return [label(cell) for cell in values.to_pylist()]


def _number(cell: Any) -> Text:  # a number of numpy's, single or double
    if cell is None or isnan(cell):
        return None
    whole = float(cell).is_integer() and abs(cell) < EXACT
    return str(int(cell)) if whole else str(cell)


def _moment(ticks: int | None, per_second: int, *, zoned: bool) -> Text:
    """Returns a point in time, so many ticks after the beginning of 1970; in UTC where it has a zone."""
    if ticks is None:
        return None
    seconds, part = divmod(ticks, per_second)
    try:
        at = EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise BadData("a point in time lies outside the years 1 to 9999") from None
    if not zoned and not part and (at.hour, at.minute, at.second) == (0, 0, 0):
        return at.date().isoformat()
    digits = str(part).zfill(len(str(per_second)) - 1).rstrip("0") if part else ""
    text = at.replace(tzinfo=None).isoformat(timespec="seconds") + (f".{digits}" if digits else "")
    return text + "+00:00" if zoned else text
