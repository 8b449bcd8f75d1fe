"""Telling columns: cells that are published unchanged and say, row by row, what a key is that is not.

Who sees a survey weight that only one province has knows the province, however coarsely it is published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from sfumato.draft.evidence import ColumnProfile, TableEvidence
from sfumato.draft.roles import quasi_rule
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies.dates import DateForm, Dates, day
from sfumato.policy.taxonomies.levels import number
from sfumato.system.errors import short
from sfumato.table.microdata import Microdata, Role
from sfumato.table.taxonomy import Label

MOST_COLUMNS = 64
"""Of so many columns of either kind every pair is looked at."""
FEWEST_VALUES = 3
"""Keys of two values are not looked at: many columns tell a sex, and that is seen as a rule."""
FEWEST_TOLD = 20
"""Fewer rows beside those of the most frequent value are told by accident."""
MOST_NAMED = 3
"""So many of the columns that tell a key together are named."""
TOLD_SHARE = (9, 10)
"""So many rows have to be told, of those that the most frequent value alone does not tell."""


@dataclass(frozen=True)
class Telling:
    """A column that tells a key: `told` of `rows` rows, from the other rows with the same cell.

    It may do so only together with the columns `beside`, and only `roughly`: in which tenth a number is.
    """

    column: str
    key: str
    told: int
    rows: int
    beside: tuple[str, ...] = ()
    roughly: bool = False

    def __str__(self) -> str:
        names = ", ".join(map(short, self.beside[:MOST_NAMED]))
        names += f" and {len(self.beside) - MOST_NAMED} more" if len(self.beside) > MOST_NAMED else ""
        what = f"roughly what {short(self.key)} is" if self.roughly else short(self.key)
        beside = f" together with {names}" if names else ""
        return f"tells {what} in {self.told:,} of {self.rows:,} rows{beside}"


@dataclass(frozen=True)
class ColumnsBesideKeys:
    """The columns that are published unchanged, and the keys that they may tell."""

    unchanged: tuple[str, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnRule], here: Iterable[str] | None = None) -> ColumnsBesideKeys:
        """Returns the columns to look at, row by row; none where there is nothing to tell.

        `here` are the columns of the table, if it may lack some, or have some twice.
        """
        times = Counter(list(columns) if here is None else here)
        own = {name: rule for name, rule in columns.items() if times[name] == 1}
        unchanged = [name for name, rule in own.items() if rule.role is Role.INSENSITIVE][:MOST_COLUMNS]
        keys = [name for name, rule in own.items() if rule.role is Role.QUASI][:MOST_COLUMNS]
        return cls(tuple(unchanged), tuple(keys)) if unchanged and keys else cls((), ())

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.unchanged, *self.keys)

    def telling(self, rows: Mapping[str, Sequence[Label]]) -> Iterator[Telling]:
        """Yields the columns that tell a key, each with the one that it tells best; then sets of columns.

        `rows` are the texts of some rows, column by column.
        """
        numbers = {name: _numbered(rows[name]) for name in self.names}
        left = list(self.unchanged)
        for column in self.unchanged:
            dependencies = [_telling(column, key, numbers) for key in self.keys]
            best = sorted(filter(None, dependencies), key=lambda t: -t.told / t.rows)[:1]
            left = [name for name in left if not best or name != column]
            yield from best
        if left:
            yield from _telling_together(left, self.keys, rows, numbers)


def telling_columns(
    columns: ColumnsBesideKeys, survey: TableEvidence, rows: Mapping[str, Sequence[Label]]
) -> dict[str, ColumnRule]:
    """Returns quasi-identifiers for columns that would be published unchanged and tell one."""
    dependencies = {}
    for telling in columns.telling(rows):
        profile = _profile(telling.column, survey)
        dependencies[telling.column] = quasi_rule(profile, f"{telling}, and would give it away")
    return dependencies


def told_by(numbers: Mapping[str, NDArray[np.int64]]) -> dict[str, tuple[str, ...]]:
    """Returns the columns that others tell, each with those; cells are numbers in order, 0 where missing."""
    tellings = {
        key: [name for name in numbers if name != key and _telling(name, key, numbers, ordered=True)]
        for key in numbers
    }
    return {key: tuple(others) for key, others in tellings.items() if others}


def told_by_neighbors(cells: NDArray[np.int64], keys: NDArray[np.int64]) -> int:
    """Returns how many rows have a key that is the most frequent one of the next cell, or of the one before.

    Hardly two people share a date of birth, and yet it tells their age: so does the date next to it.

    >>> told_by_neighbors(np.array([1, 2, 3, 4, 5, 6]), np.array([7, 7, 7, 8, 8, 9]))
    5
    """
    width = int(keys.max(initial=0)) + 1
    pairs, own = np.unique(cells * width + keys, return_counts=True)
    cell = np.unique(pairs // width, return_inverse=True)[1]
    order = np.lexsort((pairs, -own, cell))
    usual = (pairs % width)[order[np.unique(cell[order], return_index=True)[1]]]
    before, after = np.append(-1, usual[:-1])[cell], np.append(usual[1:], -1)[cell]
    key = pairs % width
    return int(own[(key == before) | (key == after)].sum())


MOST_COMPARED = 50_000
"""So many distinct rows are looked at for dependencies."""


def dependencies(table: Microdata) -> dict[str, tuple[str, ...]]:
    """Returns for quasi-identifiers by which others they can be told, as far as rows show."""
    step = -(-table.distinct // MOST_COMPARED) or 1
    counts = np.minimum(table.counts[::step], FEWEST_TOLD)
    numbers = {}
    for column in table.keys:
        missing = np.array([label is None for label in column.taxonomy.leaf_labels])
        codes = table.codes(column.name)[::step].astype(np.int64)
        numbers[column.name] = np.repeat(np.where(missing[codes], 0, codes + 1), counts)
    return told_by(numbers)


def told_rows(cells: NDArray[np.int64], keys: NDArray[np.int64]) -> int:
    """Returns how many rows are told by the others with the same cell.

    A row is told where its key is the most frequent one among the other rows that have its cell.

    >>> told_rows(np.array([1, 1, 2, 2, 2]), np.array([7, 7, 8, 8, 9]))
    2
    """
    width = int(keys.max(initial=0)) + 1
    pairs, own = np.unique(cells * width + keys, return_counts=True)
    starts = np.diff(pairs // width, prepend=-1) != 0
    cell, first = np.cumsum(starts) - 1, np.flatnonzero(starts)
    most = np.maximum.reduceat(own, first)
    is_most = own == most[cell]
    alone = np.add.reduceat(is_most, first, dtype=np.int64) == 1
    next_most = np.maximum.reduceat(np.where(is_most, 0, own), first)
    others = np.where(is_most & alone[cell], next_most[cell], most[cell])
    return int(own[own - 1 > others].sum())


def is_telling(determined: int, usual: int, rows: int) -> bool:
    """Whether so many rows are told, where `usual` of all rows have the most frequent value of the key.

    >>> is_telling(determined=93, usual=40, rows=100), is_telling(determined=95, usual=40, rows=100)
    (False, True)
    """
    share, whole = TOLD_SHARE
    return rows - usual >= FEWEST_TOLD and whole * (determined - usual) >= share * (rows - usual)


def _telling(
    column: str, key: str, numbers: Mapping[str, NDArray[np.int64]], *, ordered: bool = False
) -> Telling | None:
    """Returns how a column tells a key, of which missing cells say nothing; `None` where it does not.

    `ordered` says that cells beside each other may tell the same.
    """
    present = numbers[key] > 0
    times = np.bincount(numbers[key][present])
    rows, usual = int(times.sum()), int(times.max(initial=0))
    if rows - usual < FEWEST_TOLD or np.count_nonzero(times) < FEWEST_VALUES:
        return None
    cells, keys = numbers[column][present], numbers[key][present]
    determined = told_rows(cells, keys)
    if ordered:
        determined = max(determined, told_by_neighbors(cells, keys))
    return Telling(column, key, determined, rows) if is_telling(determined, usual, rows) else None


def _numbered(texts: Sequence[Label]) -> NDArray[np.int64]:
    """Returns a number from 1 for every text; 0 for missing cells."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys((None, *texts)))}
    return np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))


# Columns that tell a key together: dummies of a year, a total and its parts, an age and a date of birth.

SAMPLED_ROWS = 1_000
"""So many rows are enough to look for sets of columns; what is found is held against all that are shown."""
MOST_TOGETHER = 8
TENTHS = 10
MANY_VALUES = 2 * TENTHS
"""Of a number with more values it is enough to know in which tenth of the rows it is."""


def _telling_together(
    unchanged: Sequence[str],
    keys: Sequence[str],
    rows: Mapping[str, Sequence[Label]],
    numbers: Mapping[str, NDArray[np.int64]],
) -> Iterator[Telling]:
    """Yields, for every key that columns tell together, each of these; they tell no further key."""
    left = list(unchanged)
    sizes = {name: size for name in (*left, *keys) if (size := _sizes(rows[name])) is not None}
    goals = {key: _tenths(sizes[key]) if key in sizes else None for key in keys}
    codes = {key: numbers[key] if (tenths := goals[key]) is None else tenths for key in keys}
    pairs = _Pairs(left, numbers)
    for key in keys:
        if np.count_nonzero(np.bincount(codes[key])[1:]) < FEWEST_VALUES:
            continue
        fitted = [name for name in left if name in sizes] if key in sizes else []
        named = _fewest(fitted, lambda some, key=key: _told_by_fit(some, sizes[key], sizes))  # type: ignore[misc]
        if not named:
            found = pairs.best(left, codes[key])
            named = _fewest(found, lambda some, goal=codes[key]: _told_by_cells(some, goal, numbers))  # type: ignore[misc]
        if named:
            columns, told, of = named
            left = [name for name in left if name not in columns]
            for column in columns:
                others = tuple(name for name in columns if name != column)
                yield Telling(column, key, told, of, others, roughly=goals[key] is not None)


def _fewest(
    columns: Sequence[str], told: Callable[[Sequence[str]], tuple[int, int] | None]
) -> tuple[list[str], int, int] | None:
    """Returns columns of which none can be left out, how many rows they tell, and of how many."""
    least, figures = list(columns), told(columns) if columns else None
    for column in columns if figures else ():
        fewer = [name for name in least if name != column]
        without = told(fewer) if fewer else None
        if without is not None:
            least, figures = fewer, without
    return None if figures is None else (least, *figures)


def _told_by_cells(
    columns: Sequence[str], goal: NDArray[np.int64], numbers: Mapping[str, NDArray[np.int64]]
) -> tuple[int, int] | None:
    """Returns how many rows the cells of columns tell together, and of how many; `None` for too few."""
    cells = np.zeros(len(goal), np.int64)
    for column in columns:
        cells = np.unique(cells * (int(numbers[column].max()) + 1) + numbers[column], return_inverse=True)[1]
    present = goal > 0
    told, times = told_rows(cells[present], goal[present]), np.bincount(goal[present])
    enough = is_telling(told, int(times.max(initial=0)), int(times.sum()))
    return (told, int(times.sum())) if enough else None


class _Pairs:
    """The cells of all pairs of columns in some rows, where enough of them repeat to tell anything."""

    def __init__(self, columns: Sequence[str], numbers: Mapping[str, NDArray[np.int64]]) -> None:
        rows = len(numbers[columns[0]])
        self._rows = np.unique(np.linspace(0, rows - 1, min(rows, SAMPLED_ROWS)).astype(np.int64))
        few = {name: np.unique(numbers[name][self._rows], return_inverse=True)[1] for name in columns}
        self._few = {name: cells for name, cells in few.items() if 0 < cells.max(initial=0) < len(cells) // 4}
        self._pairs = {
            pair: self._joined(*(self._few[n] for n in pair)) for pair in combinations(self._few, 2)
        }

    def _joined(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        return first * (int(second.max(initial=0)) + 1) + second

    def best(self, columns: Sequence[str], goal: NDArray[np.int64]) -> list[str]:
        """Returns the pair that tells most of a key, and what else tells more of it, one by one."""
        aim = goal[self._rows]
        present, left = aim > 0, set(columns)
        share = [
            (told_rows(cells[present], aim[present]), pair)
            for pair, cells in self._pairs.items()
            if left.issuperset(pair)
        ]
        if not share:
            return []
        told, pair = max(share)
        chosen, cells = list(pair), self._pairs[pair]
        while len(chosen) < MOST_TOGETHER and told < int(present.sum()):
            cells = np.unique(cells, return_inverse=True)[1]
            more = {n: self._joined(cells, own) for n, own in self._few.items() if n in left - set(chosen)}
            gains = [(told_rows(joined[present], aim[present]), name) for name, joined in more.items()]
            best = max(gains, default=(told, ""))
            if best[0] <= told:
                break
            told, cells = best[0], more[best[1]]
            chosen.append(best[1])
        return chosen


def _told_by_fit(
    columns: Sequence[str], key: NDArray[np.float64], sizes: Mapping[str, NDArray[np.float64]]
) -> tuple[int, int] | None:
    """Returns how many rows a weighted sum of columns tells, of those that it was not fitted on.

    A total tells a part beside the others, and a date of birth an age: no cell has to come twice for that.
    """
    rows = np.flatnonzero(~np.isnan(key))
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 2 * SAMPLED_ROWS)).astype(np.int64))]
    known = np.column_stack([np.ones(len(rows)), *(_scaled(sizes[name][rows]) for name in columns)])
    aim = _scaled(key[rows])
    weights = np.linalg.lstsq(known[::2], aim[::2], rcond=None)[0]
    guess, held = known[1::2] @ weights, aim[1::2]
    values, times = np.unique(held, return_counts=True)
    if len(held) < FEWEST_TOLD or len(values) < FEWEST_VALUES:
        return None
    ends = (values[1:] + values[:-1]) / 2
    if len(values) > MANY_VALUES:
        last = np.searchsorted(values, np.quantile(held, np.arange(1, TENTHS) / TENTHS))
        ends = ends[np.unique(last[last < len(ends)])]
        times = np.bincount(np.searchsorted(ends, held))
    told = int((np.searchsorted(ends, guess) == np.searchsorted(ends, held)).sum())
    return (told, len(held)) if is_telling(told, int(times.max()), len(held)) else None


def _scaled(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns numbers around zero, of about the same size whatever they measure; nothing where one lacks."""
    middle, width = np.nanmean(sizes) if len(sizes) else 0.0, np.nanstd(sizes) if len(sizes) else 0.0
    return np.nan_to_num((sizes - middle) / (width or 1.0), posinf=0.0, neginf=0.0)


def _sizes(cells: Sequence[Label]) -> NDArray[np.float64] | None:
    """Returns cells as numbers, or as days; `None` where they are neither. Missing cells have no number."""
    read: dict[Label, float] = {None: np.nan}
    for cell in set(cells) - {None}:
        text = str(cell)
        size, date = number(text), day(text[:10])
        if size is None and date is None:
            return None
        read[cell] = float(size) if size is not None else float(date.toordinal() if date else 0)
    sizes = np.array([read[cell] for cell in cells], np.float64)
    return sizes if np.isfinite(sizes).any() else None


def _tenths(sizes: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Returns in which tenth of the rows each number is, from 1, 0 for none; `None` for few values."""
    present = ~np.isnan(sizes)
    if len(np.unique(sizes[present])) <= MANY_VALUES:
        return None
    ends = np.quantile(sizes[present], np.arange(1, TENTHS) / TENTHS)
    return np.where(present, np.searchsorted(ends, sizes) + 1, 0)


# Companion columns: numbers that rise or fall with another column, value by value, and give it away.

FEWEST_CORRELATED_VALUES = 5
FEWEST_COUNTS = 3
"""With fewer values, or fewer different counts of them, columns are alike by accident."""


def companions(columns: Mapping[str, ColumnRule], survey: TableEvidence) -> dict[str, ColumnRule]:
    """Returns the rules of columns that would be published unchanged and are another column in disguise.

    A square or a logarithm of an age has the ages' counts, in their order. Such a column gets the role of the
    one that it gives away: quasi, or sensitive.
    """
    first_with: dict[bytes, tuple[str, Role]] = {}
    for name, rule in columns.items():
        if rule.role in (Role.QUASI, Role.SENSITIVE):
            for mark in _marks(name, survey):
                first_with.setdefault(mark, (name, rule.role))
    changed = {}
    for name, rule in columns.items():
        twin = next((first_with[mark] for mark in _marks(name, survey) if mark in first_with), None)
        if rule.role is not Role.INSENSITIVE or twin is None:
            continue
        reason = f"rises or falls with {short(twin[0])}, value by value, and would give it away"
        if twin[1] is Role.SENSITIVE:
            changed[name] = ColumnRule(Role.SENSITIVE, None, reason)
        else:
            changed[name] = quasi_rule(_profile(name, survey), reason)
    return changed


def _marks(name: str, survey: TableEvidence) -> list[bytes]:
    """Returns the counts of a column of numbers in the order of the numbers, and the other way round."""
    profile = _profile(name, survey)
    if profile.distinct < FEWEST_CORRELATED_VALUES or not profile.column.complete or not profile.numbers:
        return []
    order = sorted(range(len(profile.numbers)), key=profile.numbers.__getitem__)
    counts: NDArray[np.int64] = np.asarray(profile.counts, np.int64)[order]
    if len(np.unique(counts)) < FEWEST_COUNTS:
        return []
    return [counts.tobytes(), counts[::-1].tobytes()]


def _profile(name: str, survey: TableEvidence) -> ColumnProfile:
    return ColumnProfile.of(name, survey.columns[name], survey.rows)


# Differences of dates: numbers that count the days between two columns, and give the dates away.

FEWEST_ROWS = 20
FEWEST_DIFFERENCES = 5
"""In fewer rows, or of fewer different lengths, numbers are differences by accident."""
EQUAL_SHARE = (19, 20)
"""So many of the rows have to agree: some cells of a real table are corrected by hand."""
COUNTED_FROM = (0, 1, -1)
"""Both days count, or one of them, or none."""
MOST_DATES = 12
"""Of so many columns of dates every pair is looked at."""
UNKNOWN = np.iinfo(np.int64).min


@dataclass(frozen=True)
class DatedColumns:
    """The columns that dates are in, and those whose numbers may be differences of them."""

    dates: tuple[str, ...]
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnRule], survey: TableEvidence) -> DatedColumns:
        """Returns the columns to look at, row by row; none where there cannot be a difference."""
        dates = [n for n, rule in columns.items() if rule.role is Role.QUASI and _form(rule) is not None]
        free = [name for name, rule in columns.items() if rule.role is Role.INSENSITIVE]
        numbers = [name for name in free if _may_count_days(_profile(name, survey))]
        if len(dates) < 2 or not numbers:
            return cls((), ())
        return cls(tuple(dates[:MOST_DATES]), tuple(numbers))

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.dates, *self.numbers)


def date_differences(
    columns: Mapping[str, ColumnRule],
    survey: TableEvidence,
    dated: DatedColumns,
    rows: Mapping[str, Sequence[Label]],
) -> dict[str, ColumnRule]:
    """Returns quasi-identifiers for the numbers that are the days between two columns of dates.

    `rows` are the texts of some rows, column by column. Whoever knows both dates of somebody knows their
    difference to the day, however coarsely the dates themselves are published.
    """
    days = {name: _days(columns[name], rows[name]) for name in dated.dates}
    rules = {}
    for name in dated.numbers:
        profile = _profile(name, survey)
        counted = _counted(profile, rows[name])
        for first, last in permutations(dated.dates, 2):
            if _agree(days[first], days[last], counted):
                reason = f"days from {short(first)} to {short(last)}, and would give both away"
                rules[name] = quasi_rule(profile, reason)
                break
    return rules


def _agree(first: NDArray[np.int64], last: NDArray[np.int64], counted: NDArray[np.int64]) -> bool:
    """Whether the numbers are the days from the first date to the last, but for a few rows."""
    present = (first != UNKNOWN) & (last != UNKNOWN) & (counted != UNKNOWN)
    total = int(present.sum())
    if total < FEWEST_ROWS:
        return False
    excess = counted[present] - (last[present] - first[present])
    share, whole = EQUAL_SHARE
    return len(np.unique(counted[present])) >= FEWEST_DIFFERENCES and any(
        whole * int((excess == start).sum()) >= share * total for start in COUNTED_FROM
    )


def _days(rule: ColumnRule, cells: Sequence[Label]) -> NDArray[np.int64]:
    form = _form(rule)
    assert form is not None  # noqa: S101  # only such columns are looked at
    read = {text: form.day(text) for text in set(cells) if text is not None}
    day_of = {text: UNKNOWN if day is None else day.toordinal() for text, day in read.items()}
    return np.array([UNKNOWN if cell is None else day_of[cell] for cell in cells], np.int64)


def _counted(profile: ColumnProfile, cells: Sequence[Label]) -> NDArray[np.int64]:
    assert profile.numbers is not None  # noqa: S101  # only such columns are looked at
    size_of = {text: int(size) for text, size in zip(profile.values, profile.numbers, strict=True)}
    return np.array([UNKNOWN if cell is None else size_of.get(cell, UNKNOWN) for cell in cells], np.int64)


def _form(rule: ColumnRule) -> DateForm | None:
    """Returns how a column's dates are written, if they are days."""
    if not isinstance(rule.taxonomy, Dates):
        return None
    form = DateForm(rule.taxonomy.written)
    return form if form.finest == "day" else None


def _may_count_days(profile: ColumnProfile) -> bool:
    if not profile.column.complete or not profile.whole or profile.numbers is None:
        return False
    return profile.distinct >= FEWEST_DIFFERENCES
