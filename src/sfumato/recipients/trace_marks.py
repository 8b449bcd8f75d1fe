"""Tracing by marks: a leak beside the base of a chain of groups.

Every row of the leak is placed with the one group whose box it fits and that has a row with its unchanged
values. The two columns of a group's mark then tell its symbol: one of them is raised in every version. All
this is read from the base, the pairs of columns and the leak; who has which symbol has no say in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.recipients.charging import ERROR, NOTHING, Symbols, charge
from sfumato.recipients.marks import MarkedChain
from sfumato.recipients.trace import MARKS, LeakColumns, Trace, digest_of, found_by
from sfumato.system.errors import BadData, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.base import CLASS_NUMBER, GROUP, RELEASE, Base
from sfumato.table.microdata import Codes, Coding, Counts, Microdata, Role
from sfumato.table.release_summary import folded
from sfumato.table.source import Source, open_source
from sfumato.table.taxonomy import Label, Taxonomy

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bits = NDArray[np.uint8]

LEAST_FAMILIAR = 0.9
"""A column with another name is ours if this share of its cells is in exactly one of ours."""
LEAST_KNOWN = 0.5
"""Unchanged columns of which less is as published were changed, and place no row."""
CHUNK = 4096
"""So many rows of a leak are placed at a time."""
MAJORITY = 2
"""A group shows a symbol if at least so many times as many of its rows show it as show the other."""


# Texts of boxes: which of them may stand for others.

_HALF_OPEN = re.compile(r"\[(-?[0-9.]+), (-?[0-9.]+)\)")
_DASH = "–"
LAST = "\uffff"
"""Sorts behind every text."""


@dataclass(frozen=True, eq=False)
class TextSpans:
    """Texts as intervals: of numbers where they are written as `[a, b)`, else of what begins alike.

    >>> wide, narrow = TextSpans.of(["[0, 40)", "016**", None]), TextSpans.of(["[10, 20)", "0161*"])
    >>> wide.cover(narrow).tolist()
    [[True, False], [False, True], [True, True]]
    """

    numbers: NDArray[np.float64]
    texts: NDArray[np.str_]
    silent: Flags

    @classmethod
    def of(cls, labels: Sequence[Label]) -> TextSpans:
        numbers, texts = np.full((len(labels), 2), np.nan), []
        for i, label in enumerate(labels):
            text = "" if label is None else str(label)
            if match := _HALF_OPEN.fullmatch(text):
                numbers[i] = float(match[1]), float(match[2])
            first, _, last = text.partition(_DASH)
            texts.append((first.strip("* "), (last or first).strip("* ") + LAST))
        pairs = np.array(texts, dtype=np.str_).reshape(-1, 2)
        return cls(numbers, pairs, pairs[:, 1] == LAST)

    def cover(self, others: TextSpans) -> Flags:
        """Returns whether each text may stand for each of the others."""
        low, high = self.numbers[:, :1], self.numbers[:, 1:]
        numbers = (low <= others.numbers[:, 0]) & (high >= others.numbers[:, 1])
        worded = np.isnan(low) & np.isnan(others.numbers[:, 0])
        texts = (self.texts[:, :1] <= others.texts[:, 0]) & (self.texts[:, 1:] >= others.texts[:, 1])
        covering: Flags = numbers | (worded & texts) | self.silent[:, None]
        return covering


# The base as groups: the text of every box, and which groups have which unchanged values.


@dataclass(frozen=True, eq=False)
class ColumnOfBoxes:
    """A quasi-identifier of the base: its texts, that of every group, and the one that a mark makes of it.

    `own` and `raised` are places in `texts`, -1 where a group has none.
    """

    texts: tuple[Label, ...]
    own: Numbers
    raised: Numbers

    def places(self, leaked: Sequence[Label]) -> Numbers:
        """Returns the place of every leaked text, -1 for those that no group shows."""
        place = {text: i for i, text in enumerate(self.texts)}
        return np.array([place.get(text, -1) for text in leaked], np.int64)

    def fits(self, leaked: Sequence[Label]) -> tuple[Bits, Bits]:
        """Returns, for every leaked text, the groups that show it in some version, and those whose box it may
        stand for, as bits."""
        place = self.places(leaked)[:, None]
        shown = (place >= 0) & ((place == self.own) | (place == self.raised))
        wider = TextSpans.of(leaked).cover(TextSpans.of(self.texts))[:, self.own] & (self.own >= 0)
        return np.packbits(shown, axis=1), np.packbits(shown | wider, axis=1)

    def share(self, values: Sequence[Label], counts: NDArray[np.generic]) -> float:
        """Returns the share of cells that some group shows, of those that say something."""
        says = ~TextSpans.of(values).silent
        return _share(self.places(values) >= 0, says, counts)


def _share(known: Flags, says: Flags, counts: NDArray[np.generic]) -> float:
    weight = np.where(says, counts.astype(np.float64), 0.0)
    return float(weight[known].sum() / weight.sum()) if weight.any() else 0.0


@dataclass(frozen=True, eq=False)
class GroupsOfBase:
    """All groups of a base, and their marks, as a leak is read by them."""

    base: Base
    table: Microdata = field(repr=False)

    @classmethod
    def of(cls, base: Base, *, progress: Progress = silent) -> GroupsOfBase:
        everything = np.ones(len(base.rows), dtype=bool)
        shown = open_source(base.view(everything, marked=False, numbered=True))
        return cls(base, _count(shown, [*base.published, CLASS_NUMBER], progress))

    @cached_property
    def row_group(self) -> Numbers:
        """The group of every distinct row of the base."""
        labels = self.table.column(CLASS_NUMBER).taxonomy.leaf_labels
        return np.array([int(str(label)) for label in labels], np.int64)[self.table.codes(CLASS_NUMBER)]

    @cached_property
    def release(self) -> Numbers:
        """The release that first showed every group that is marked, in the order of the marks."""
        first = np.full(self.base.groups, self.base.releases, np.int64)
        np.minimum.at(first, self.base.numbers(GROUP), self.base.numbers(RELEASE))
        of_marks: Numbers = first[self.base.marks.column("group").to_numpy()]
        return of_marks

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The published columns that show no boxes."""
        return tuple(name for name in self.base.published if name not in self.base.keys)

    @cached_property
    def boxes(self) -> Mapping[str, ColumnOfBoxes]:
        """The columns of boxes, by name."""
        row_of = np.full(self.base.groups, -1, np.int64)
        row_of[self.row_group] = np.arange(len(self.row_group))
        groups, columns = self.base.marks.column("group").to_numpy(), {}
        for name in self.base.keys:
            own = np.where(row_of >= 0, self.table.codes(name)[row_of], -1).astype(np.int64)
            place = {text: i for i, text in enumerate(self.table.column(name).taxonomy.leaf_labels)}
            raised = np.full(self.base.groups, -1, np.int64)
            for side in SIDES:
                here, texts = self.side(side, name)
                raised[groups[here]] = [place.setdefault(text, len(place)) for text in texts]
            columns[name] = ColumnOfBoxes(tuple(place), own, raised)
        return columns

    def side(self, side: str, name: str) -> tuple[Flags, list[Label]]:
        """Returns the marks that raise a column for one of their two symbols, and the texts it then shows."""
        marks = self.base.marks
        columns = marks.column(f"{side}_column").to_numpy()
        here: Flags = columns == name
        return here, marks.column(f"{side}_text").to_numpy()[here].tolist()

    def share(self, name: str, values: Sequence[Label], counts: NDArray[np.generic]) -> float:
        """Returns the share of cells of a leaked column that this one of ours shows."""
        if name in self.boxes:
            return self.boxes[name].share(values, counts)
        ours = set(self.table.column(name).taxonomy.leaf_labels)
        says = np.array([text is not None and text != "" for text in values], dtype=bool)
        return _share(np.array([text in ours for text in values], dtype=bool), says, counts)

    def with_values(self, leak: MarkedLeak, names: Sequence[str]) -> tuple[Bits, Numbers]:
        """Returns the groups that have a row with the same values in these columns, as bits, and which of
        these sets every row of the leak has. Rows without any value may be bare, and fit every group."""
        coded = [_numbered(self.table, name, leak.texts[name]) for name in names]
        own = np.stack([ours for ours, _ in coded], axis=1)
        theirs = np.stack(
            [places[leak.codes[name]] for (_, places), name in zip(coded, names, strict=True)], axis=1
        )
        kinds, which = np.unique(np.concatenate([own, theirs]), axis=0, return_inverse=True)
        wanted, place = np.unique(which.ravel()[len(own) :], return_inverse=True)
        at = np.minimum(np.searchsorted(wanted, which.ravel()[: len(own)]), len(wanted) - 1)
        hit = wanted[at] == which.ravel()[: len(own)]
        flags = np.zeros((len(wanted), self.base.groups), dtype=bool)
        flags[at[hit], self.row_group[hit]] = True
        flags[(kinds[wanted] == BLANK).all(axis=1)] = True
        return np.packbits(flags, axis=1), place.ravel()


SIDES = ("first", "second")
BLANK, FOREIGN = -2, -1
"""A value that is missing, and one that the base does not have."""


def _numbered(table: Microdata, name: str, leaked: Sequence[Label]) -> tuple[Numbers, Numbers]:
    """Returns the number of every row's value in a column of the base, and that of every leaked text."""
    labels = table.column(name).taxonomy.leaf_labels
    place = {text: BLANK if text is None or text == "" else i for i, text in enumerate(labels)}
    theirs = [BLANK if text is None or text == "" else place.get(text, FOREIGN) for text in leaked]
    return np.array(list(place.values()), np.int64)[table.codes(name)], np.array(theirs, np.int64)


def _count(source: Source, names: Sequence[str], progress: Progress) -> Microdata:
    codings = [Coding(name, Role.QUASI, Taxonomy.flat) for name in names]
    return source.count(codings, progress=progress)


# The leak: which of its columns are ours, its rows in their groups, the symbols of groups.


@dataclass(frozen=True, eq=False)
class MarkedLeak:
    """The distinct rows of a leak in the columns that are ours: texts, that of every row, and its count."""

    columns: LeakColumns
    texts: Mapping[str, tuple[Label, ...]]
    codes: Mapping[str, Codes]
    counts: Counts

    @classmethod
    def of(
        cls,
        source: Source,
        groups: GroupsOfBase,
        *,
        columns: Mapping[str, str] | None = None,
        progress: Progress = silent,
    ) -> MarkedLeak:
        """Reads a leak. A column is recognized by its name, or by its cells if they are in exactly one of
        ours that is otherwise missing; `columns` maps names of the leak to ours, where that is known."""
        ours = _by_name(source.columns, groups.base.published, columns or {})
        spare = [name for name in source.columns if name not in ours.values()]
        lost = [name for name in groups.base.published if name not in ours]
        if spare and lost:
            ours |= _by_cells(source, spare, lost, groups, progress)
        names = [name for name in groups.base.published if name in ours]
        if not any(name in groups.base.keys for name in names):
            raise BadData(
                "the leak has no column that can be read as one of ours",
                remedy="Say which column is which, as columns={theirs: ours}; or it is not ours.",
            )
        table = _count(source, [ours[name] for name in names], progress)
        if not table.rows:
            raise BadData("the leak has no rows", remedy="There is nothing to trace in it.")
        texts = {name: table.column(ours[name]).taxonomy.leaf_labels for name in names}
        codes = {name: table.codes(ours[name]) for name in names}
        renamed = {name: ours[name] for name in names if ours[name] != name}
        known = [
            name
            for name in names
            if name not in groups.unchanged or _is_as_published(name, texts, codes, table, groups)
        ]
        unknown = tuple(name for name in names if name not in known)
        read = LeakColumns(tuple(known), renamed, unknown)
        return cls(read, texts, codes, table.counts)

    def placed(self, groups: GroupsOfBase) -> tuple[Numbers, Flags]:
        """Returns the group of every row, -1 where it is none or one of several, and which rows fit any.

        Rows that show just what some version does are placed by that, others by what texts may stand for.
        """
        keys = [name for name in self.columns.ours if name in groups.boxes]
        values = [name for name in self.columns.ours if name not in groups.boxes]
        sets: list[tuple[Bits, Bits, NDArray[np.integer]]] = [
            (*groups.boxes[name].fits(self.texts[name]), self.codes[name]) for name in keys
        ]
        if values:
            bits, place = groups.with_values(self, values)
            sets.append((bits, bits, place))
        group, fits = np.full(len(self.counts), -1, np.int64), np.zeros(len(self.counts), dtype=bool)
        for begin in range(0, len(self.counts), CHUNK):
            here = slice(begin, begin + CHUNK)
            shown = np.bitwise_and.reduce([exact[which[here]] for exact, _, which in sets])
            wider = np.bitwise_and.reduce([both[which[here]] for _, both, which in sets])
            fits[here] = wider.any(axis=1)
            group[here] = np.where(shown.any(axis=1), _only(shown), _only(wider))
        return group, fits

    def symbols(self, groups: GroupsOfBase, group: Numbers) -> Symbols:
        """Returns the symbol that every marked group shows.

        One of the two columns of a mark is raised in every version. A row that shows the first as the base
        does, and not the second, speaks for the symbol 1, and the other way round for 0; with both or neither
        raised it says nothing. Where a column is not in the leak the other one decides.
        """
        marks, keys = groups.base.marks, groups.boxes
        mark_of = np.full(groups.base.groups, -1, np.int64)
        mark_of[marks.column("group").to_numpy()] = np.arange(len(marks))
        mark = np.where(group >= 0, mark_of[group], -1)
        rows = np.flatnonzero(mark >= 0)
        there, as_base, raised = (np.zeros((2, len(rows)), dtype=bool) for _ in range(3))
        for side, word in enumerate(SIDES):
            for name in self.columns.ours:
                if name in keys:
                    at = np.flatnonzero(groups.side(word, name)[0][mark[rows]])
                    box, place = keys[name], keys[name].places(self.texts[name])[self.codes[name][rows[at]]]
                    there[side, at] = True
                    as_base[side, at] = place == box.own[group[rows[at]]]
                    raised[side, at] = place == box.raised[group[rows[at]]]
        speaks = [as_base[i] & ~as_base[1 - i] | ~there[i] & raised[1 - i] for i in (0, 1)]
        ones, zeros = (
            np.bincount(mark[rows], self.counts[rows] * rows_for, len(marks)) for rows_for in speaks
        )
        shown = np.full(len(marks), NOTHING, np.int8)
        shown[(ones > 0) & (ones >= MAJORITY * zeros)] = 1
        shown[(zeros > 0) & (zeros >= MAJORITY * ones)] = 0
        return shown


def _is_as_published(
    name: str,
    texts: Mapping[str, Sequence[Label]],
    codes: Mapping[str, Codes],
    table: Microdata,
    groups: GroupsOfBase,
) -> bool:
    counts = np.bincount(codes[name], weights=table.counts, minlength=len(texts[name]))
    return groups.share(name, texts[name], counts) >= LEAST_KNOWN


def _only(bits: Bits) -> Numbers:
    """Returns the only group that is flagged in each line; -1 where there are none or several."""
    byte = np.argmax(bits > 0, axis=1)
    value = bits[np.arange(len(bits)), byte]
    alone = np.bitwise_count(bits).sum(axis=1, dtype=np.int64) == 1
    bit = 7 - np.log2(np.maximum(value, 1)).astype(np.int64)
    group: Numbers = np.where(alone, 8 * byte + bit, -1)
    return group


def _by_name(theirs: Sequence[str], ours: Sequence[str], told: Mapping[str, str]) -> dict[str, str]:
    """Maps our names to theirs: those that are told, and those that are equal, whatever the case."""
    if wrong := [name for name in (*told, *told.values()) if name not in {*theirs, *ours}]:
        raise UsageError(f"there is no column {wrong[0]!r}", remedy="Say --column THEIRS=OURS.")
    matched = {name: column for column, name in told.items()}
    free = [name for name in theirs if name not in told]
    for fold in (str, folded):
        for name in ours:
            fitting = [column for column in free if fold(column) == fold(name)]
            if name not in matched and len(fitting) == 1:
                matched[name] = fitting[0]
                free.remove(fitting[0])
    return matched


def _by_cells(
    source: Source, spare: Sequence[str], lost: Sequence[str], groups: GroupsOfBase, progress: Progress
) -> dict[str, str]:
    """Maps our names to spare columns whose cells are in that column of ours and in no other one."""
    fits: dict[str, list[str]] = {name: [] for name in lost}
    for theirs, survey in source.survey(spare, progress=progress).columns.items():
        if survey.complete:
            shares = {name: groups.share(name, survey.values, survey.counts) for name in lost}
            fitting = [name for name, share in shares.items() if share >= LEAST_FAMILIAR]
            for name in fitting:
                fits[name].append(theirs if len(fitting) == 1 else "")
    return {name: theirs[0] for name, theirs in fits.items() if len(theirs) == 1 and theirs[0]}


# Who is charged.


@dataclass(frozen=True, eq=False)
class MarkedRecipients:
    """Who received versions of a chain: the symbols of all marks for each, and the last release of theirs."""

    names: tuple[str, ...]
    symbols: Flags
    received: Numbers

    @classmethod
    def of(cls, base: Base, received: Mapping[str, int]) -> MarkedRecipients:
        """Returns the recipients of a chain, by the number of the last release that each received."""
        marked = len(base.marks) > 0
        symbols = [MarkedChain.of(base).symbols(name) for name in received] if marked else []
        lines = np.array(symbols, dtype=bool).reshape(len(received), len(base.marks))
        return cls(tuple(received), lines, np.array(list(received.values()), np.int64))

    def versions(self, release: Numbers) -> Symbols:
        """Returns everybody's symbols in the groups that they got, by the release that first showed each."""
        there = self.received[:, None] >= release
        symbols: Symbols = np.where(there, self.symbols, NOTHING).astype(np.int8)
        return symbols


def trace_marks(
    source: Source,
    base: Base,
    recipients: MarkedRecipients,
    *,
    reported: Sequence[Source] = (),
    error: Fraction = ERROR,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Trace:
    """Returns who is charged with a leak of a chain of groups.

    `reported` are earlier leaks about which somebody but the owner got a report: groups that they show are no
    evidence any more, since who had which symbol in them may be known.
    """
    groups = GroupsOfBase.of(base, progress=progress)
    leak = MarkedLeak.of(source, groups, columns=columns, progress=progress)
    group, fits = leak.placed(groups)
    shown = leak.symbols(groups, group)
    seen = len(shown) - int((shown == NOTHING).sum())
    for earlier in reported:
        before = MarkedLeak.of(earlier, groups, progress=progress)
        shown[before.symbols(groups, before.placed(groups)[0]) != NOTHING] = NOTHING
    bias = base.marks.column("bias").to_numpy()
    charges = charge(shown, bias, recipients.versions(groups.release), error=error)
    left = int((shown != NOTHING).sum())
    rows = {"all": int(leak.counts.sum()), "ours": int(leak.counts[fits].sum()), "unreadable": 0}
    return found_by(
        MARKS,
        charges,
        recipients.names,
        chain=chain,
        rows=rows,
        columns=leak.columns,
        groups=left,
        reported=seen - left,
        digest=digest_of(leak.texts.values(), leak.codes.values(), leak.counts),
    )
