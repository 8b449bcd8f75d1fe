"""Other readings of a leak: its columns as other columns of ours, whose values they could hold as well."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from sfumato.recipients.evidence import LeakEvidence
from sfumato.recipients.leak import (
    Flags,
    Leak,
    rows_held_by,
    rows_held_jointly,
    rows_in_original,
    rows_shown_with,
    withheld_columns,
)
from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.json_object import JsonObject
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import UNKNOWN, Imprint, text_marks
from sfumato.table.taxonomy import ROOT, Label

MOST_READINGS = 120
"""If there are more ways to exchange columns, none of the columns concerned counts against anybody."""
MOST_COMPARISONS = 64
"""So many contents of versions are compared with all other readings together, one of each at least."""


COPY = "a copy of another column"
"""What a column may be whose text another one has as well."""


@dataclass(frozen=True)
class OtherReading:
    """A way to read a leak in which some columns are others than they are called.

    `columns` maps the names by which they are read otherwise to those that they would have here; `rows` of
    the leak that are ours can be read like this, too.
    """

    columns: tuple[tuple[str, str], ...]
    rows: int

    def __str__(self) -> str:
        return ", ".join(f"{called} as {name}" for called, name in self.columns)

    def as_dict(self) -> JsonObject:
        return {"columns": dict(self.columns), "rows": self.rows}


def with_other_readings(
    evidence: LeakEvidence,
    issued: IssuedVersions,
    imprints: Sequence[tuple[str, Imprint]],
    original: Microdata | None = None,
) -> LeakEvidence:
    """Returns the evidence after every other reading of the leak was looked at.

    In one reading a column of the leak that says something is a column of ours whose trees read some of its
    texts, or one that is published unchanged and shows them in some row, no two the same one; or, in rows
    where another column has the same text, a copy of that. Each row may have been made in a reading of its
    own: a leaker may have exchanged columns in a part of the rows. Where a column is taken for an unchanged
    one, a record must hold all unchanged texts of a row. `imprints` are those that were compared, by release.
    Content that is not compared leaves a reading possible: it clears more people, and charges nobody. Where
    columns are in doubt altogether, none of them counts against anybody.
    """
    leak, rows = evidence.leak, evidence.ours
    evidence = replace(evidence, unplaced=_has_unplaced_columns(evidence, imprints))
    if evidence.unplaced and _mostly_misses(evidence):
        return replace(
            evidence, uncounted=frozenset(j for j, name in enumerate(leak.names) if name not in leak.fixed)
        )
    copies = _copies(leak)
    options = columns_that_fit(leak, issued, evidence.unchanged.exchangeable)
    options = {j: (*names, COPY) if j in copies else names for j, names in options.items()}
    called = (*leak.names, *leak.unchanged)
    assignments = list(islice(_assignments(options), MOST_READINGS + 2))
    others = [
        names
        for names in assignments
        if any(name != called[j] for j, name in names.items()) and set(names.values()) & set(issued.columns)
    ]
    if len(others) > MOST_READINGS:
        several = {j for j, names in options.items() if len(names) > 1 and j < len(leak.names)}
        return replace(evidence, uncounted=frozenset(several))
    most = max(1, MOST_COMPARISONS // max(1, len(others)))
    read = (_read(leak, rows, names, copies, issued, imprints[:most], original) for names in others)
    return replace(evidence, readings=tuple(reading for reading in read if (reading.ours & rows).any()))


def columns_that_fit(
    leak: Leak, issued: IssuedVersions, exchangeable: Collection[tuple[int, str]] = ()
) -> dict[int, tuple[str, ...]]:
    """Returns, per column of the leak that says anything, the columns of ours that it may be; its own first.

    What the caller has said about a column is not doubted. `exchangeable` are columns that may be unchanged
    ones; then the column that has such a name may be a key column, and is among the answers.
    """
    options = {}
    for j, own in enumerate(leak.names):
        if any((leak.nodes(j, tree) != ROOT).any() for tree in leak.trees[own]):
            fixed = own in leak.fixed
            others = () if fixed else _names_that_read(leak.texts[j], issued, own)
            unchanged = () if fixed else (name for k, name in sorted(exchangeable) if k == j)
            options[j] = (own, *others, *unchanged)
    for place, (name, (texts, _)) in enumerate(leak.unchanged.items(), len(leak.names)):
        if any(name == second for _, second in exchangeable):
            options[place] = (name, *_names_that_read(texts, issued, name))
    return options


def _has_unplaced_columns(evidence: LeakEvidence, imprints: Sequence[tuple[str, Imprint]]) -> bool:
    """Whether it cannot be told that no column of the leak is one of several unchanged ones.

    Unchanged columns are remembered together alone. Where some of them are not in the leak by their names,
    each of the others may stand under the name of a key column, unless the caller says what every column is.
    """
    if set(evidence.leak.names) <= set(evidence.leak.fixed):
        return False
    events = {version.release: version.event for version in evidence.knowledge.issued.versions}
    several = {events.get(release) for release, imprint in imprints if len(imprint.unchanged) > 1}
    return bool(several - set(evidence.unchanged.shown))


def _mostly_misses(evidence: LeakEvidence) -> bool:
    """Whether at most half of the rows fit: others fit no record, or are finer than any version."""
    counts = evidence.leak.counts
    fitting, read = counts[evidence.ours].sum(), counts[evidence.leak.legible].sum()
    return 2 * int(fitting) <= int(read)


def _copies(leak: Leak) -> dict[int, Flags]:
    """Flags, per column, the rows in which another column has the same text; columns with such rows only.

    Of columns that were published unchanged also rows in which they say nothing.
    """
    numbers: dict[Label, int] = {}
    every = [*zip(leak.texts, leak.codes, strict=True), *leak.unchanged.values()]
    columns = [
        np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.intp)[codes]
        for texts, codes in every
    ]
    copies = {}
    for j, own in enumerate(leak.names):
        says_something = np.any([leak.nodes(j, tree) != ROOT for tree in leak.trees[own]], axis=0)
        equal = np.logical_or.reduce(
            [columns[j] == column for i, column in enumerate(columns) if i != j] or [False]
        )
        rows = np.asarray(says_something[leak.codes[j]] & equal)
        if rows.any() and own not in leak.fixed:
            copies[j] = rows
    trees = [tree for group in leak.trees.values() for tree in group]
    for j, (texts, codes) in enumerate(leak.unchanged.values(), len(leak.names)):
        silent = np.any([tree.read(texts) == ROOT for tree in trees], axis=0)[codes]
        copies[j] = np.logical_or.reduce(
            [silent, *(columns[j] == columns[i] for i in range(len(columns)) if i != j)]
        )
    return copies


def _names_that_read(texts: Sequence[Label], issued: IssuedVersions, own: str) -> tuple[str, ...]:
    """Returns the other key columns whose trees find something said in some of the texts."""
    marks = text_marks(texts)
    missing = np.array([text is None for text in texts], dtype=bool)
    readable = []
    for name, trees in issued.columns.items():
        read = [tree.read_marks(marks) for tree in trees]
        says_something = np.any([(nodes != UNKNOWN) & (nodes != ROOT) for nodes in read], axis=0)
        if (says_something & ~missing).any() and name != own:
            readable.append(name)
    return tuple(readable)


def _assignments(options: dict[int, tuple[str, ...]]) -> Iterator[dict[int, str]]:
    """Yields every way to give each column one of its names, no name twice."""
    if not options:
        yield {}
        return
    (j, names), *remaining = options.items()
    for name in names:
        left = {i: tuple(n for n in choices if n != name or n == COPY) for i, choices in remaining}
        if all(left.values()):
            yield from ({j: name, **more} for more in _assignments(left))


def _read(
    leak: Leak,
    rows: Flags,
    names: dict[int, str],
    copies: Mapping[int, Flags],
    issued: IssuedVersions,
    imprints: Sequence[tuple[str, Imprint]],
    original: Microdata | None,
) -> LeakEvidence:
    """Returns what the versions say about a leak whose columns have these names."""
    trees = {name: issued.columns[name] for name in names.values() if name in issued.columns}
    called = (*leak.names, *leak.unchanged)
    copied = [j for j, name in names.items() if name == COPY]
    rows = np.logical_and.reduce([rows, *(copies[j] for j in copied)])
    reread = leak.read_as({j: name for j, name in names.items() if name != COPY}, trees)
    reread = replace(reread, exchanged=(*reread.exchanged, *((called[j], COPY) for j in copied)))
    relevant = issued.of_columns(reread.names)
    real = None if original is None else rows_in_original(reread, original, reread.legible & rows)
    evidence = LeakEvidence.of(reread, relevant, real=real)
    place = {version.release: v for v, version in enumerate(relevant.versions)}
    rows_by_version: dict[int, Flags] = {}
    absent: list[tuple[int, str]] = []
    for release, imprint in imprints:
        v = place.get(release)
        if v is not None:
            flags = rows_held_by(
                reread, relevant.versions[v], imprint, reread.legible & ~evidence.finer & rows
            )
            if flags is not None:
                rows_by_version[v] = _with_unchanged(reread, relevant.versions[v], imprint, flags)
                absent += [(v, name) for name in withheld_columns(reread, relevant.versions[v], imprint)]
    return evidence.learn(rows_by_version, frozenset(absent)) if rows_by_version else evidence


def _with_unchanged(leak: Leak, version: HeldVersion, imprint: Imprint, rows: Flags) -> Flags:
    """Returns the rows that a version holds with their texts in unchanged columns, if it is known which."""
    compared = rows_shown_with(leak, imprint) if leak.exchanged else None
    return rows if compared is None else rows_held_jointly(leak, version, imprint, rows & compared)


def described(evidence: LeakEvidence) -> tuple[OtherReading, ...]:
    """Returns the other readings in which some rows of ours are ours as well; most rows first."""
    names = evidence.leak.names
    readings = []
    for evidence_of_reading in evidence.readings:
        pairs = zip(evidence_of_reading.leak.places, evidence_of_reading.leak.names, strict=True)
        called = (*names, *evidence.leak.unchanged)
        changed = [(called[j], name) for j, name in pairs if called[j] != name]
        changed += evidence_of_reading.leak.exchanged
        readings.append(OtherReading(tuple(changed), evidence.rows(evidence_of_reading.ours & evidence.ours)))
    return tuple(sorted(readings, key=lambda reading: (-reading.rows, reading.columns)))
