"""What ails a hierarchy file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.declare.ailment import Ailment, Gravity, plural
from sfumato.declare.builders.arx import as_line
from sfumato.declare.builders.file import HierarchyFile, parse, read_bytes
from sfumato.declare.builders.rows import Row
from sfumato.declare.evidence import twins
from sfumato.terms.errors import BadInput
from sfumato.terms.taxonomy import ANY


def examine_file(path: str | Path) -> list[Ailment]:
    """Everything that is wrong with a hierarchy file, looked at alone; never raises for its content."""
    place = Path(path)
    try:
        return examine_hierarchy(read_bytes(place), name=place.name)
    except BadInput as wrong:
        return [_unreadable(wrong, place.name)]


def examine_hierarchy(content: bytes, *, name: str) -> list[Ailment]:
    """The same for what a file holds."""
    try:
        rows, lines = parse(content, name=name)
    except BadInput as wrong:
        return [_unreadable(wrong, name)]
    found = [ailment for check in CHECKS for ailment in check(rows, lines, name)]
    if not any(ailment.gravity is Gravity.ERROR for ailment in found):
        try:
            HierarchyFile(name, content).build([])
        except BadInput as wrong:
            found.append(_unreadable(wrong, name))
    return found


def _unreadable(wrong: BadInput, name: str) -> Ailment:
    return Ailment("unreadable", Gravity.ERROR, wrong.where or name, wrong.message, 1, wrong.remedy)


def _repeated(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    first: dict[str, int] = {}
    same: list[int] = []
    other: list[int] = []
    for i, row in enumerate(rows):
        earlier = first.setdefault(row[0], i)
        if earlier != i:
            (same if rows[earlier] == row else other).append(i)
    if same:
        yield Ailment(
            "repeated",
            Gravity.NOTE,
            f"{name}, line {lines[same[0]]}",
            plural(len(same), "line repeats an earlier one", "lines repeat an earlier one"),
            len(same),
            "Harmless; delete them.",
            tuple(rows[i][0] for i in same),
        )
    if other:
        yield Ailment(
            "contradicting",
            Gravity.ERROR,
            f"{name}, line {lines[other[0]]}",
            plural(len(other), "line contradicts an earlier one", "lines contradict an earlier one"),
            len(other),
            "Keep one line per value.",
            tuple(rows[i][0] for i in other),
        )


def _circles(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    round_trips = []
    for i, row in enumerate(rows):
        steps = [label for j, label in enumerate(row) if j == 0 or label != row[j - 1]]
        if len(set(steps)) < len(steps):
            round_trips.append(i)
    if round_trips:
        yield Ailment(
            "circle",
            Gravity.ERROR,
            f"{name}, line {lines[round_trips[0]]}",
            plural(len(round_trips), "line runs in a circle", "lines run in a circle"),
            len(round_trips),
            "Give the upper one another name.",
            tuple(rows[i][0] for i in round_trips),
        )


def _two_parents(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    """A group whose leaves go on to different groups."""
    above: dict[str, dict[str, int]] = {}
    for i, row in enumerate(rows):
        for j in range(1, len(row) - 1):
            if row[j] != row[j + 1]:
                above.setdefault(row[j], {}).setdefault(row[j + 1], i)
    for label, parents in above.items():
        if len(parents) > 1 and label != ANY:
            new = [f"{label} ({parent})" for parent in parents]
            yield Ailment(
                "two-parents",
                Gravity.ERROR,
                f"{name}, line {lines[list(parents.values())[1]]}",
                f"the label {label!r} stands below {plural(len(parents), 'different label')}",
                len(parents),
                f"Rename it, for example to {new[-1]!r}.",
                tuple(parents),
                tuple(_renamed(row, label) for row in rows if label in row[1:]),
            )


def _renamed(row: Row, label: str) -> str:
    """The row with the label told apart by what it becomes."""
    parent = next((up for up in row[row.index(label, 1) :] if up != label), ANY)
    return as_line([row[0], *(f"{label} ({parent})" if x == label else x for x in row[1:])])


def _value_and_group(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    values = {row[0]: i for i, row in enumerate(rows)}
    groups = {label for row in rows for label in row[1:] if label != row[0]}
    both = [value for value in values if value in groups]
    if both:
        yield Ailment(
            "value-and-group",
            Gravity.WARNING,
            f"{name}, line {lines[values[both[0]]]}",
            plural(len(both), "value bears the name of a group", "values bear the name of a group"),
            len(both),
            f"Rename the group, for example to {f'{both[0]} (all)'!r}: readers could not tell the two apart.",
            tuple(both),
        )


def _ragged(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    lengths = [len(row) for row in rows]
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    odd = [i for i, length in enumerate(lengths) if length != usual]
    if odd:
        yield Ailment(
            "ragged",
            Gravity.NOTE,
            f"{name}, line {lines[odd[0]]}",
            f"{plural(len(odd), 'line')} with more or fewer than {plural(usual, 'level')}",
            len(odd),
            "Lines are aligned at the root; a shorter one keeps its value longer.",
            tuple(rows[i][0] for i in odd),
        )


def _no_root(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    ends = {row[-1] for row in rows}
    open_ends = [i for i, row in enumerate(rows) if row[-1] != ANY]
    if len(ends) > 1 and open_ends:
        yield Ailment(
            "no-root",
            Gravity.NOTE,
            f"{name}, line {lines[open_ends[0]]}",
            plural(len(open_ends), f"line does not end in {ANY!r}", f"lines do not end in {ANY!r}"),
            len(open_ends),
            f"{ANY!r} is added above them.",
        )


def _look_alikes(rows: Sequence[Row], lines: Sequence[int], name: str) -> Iterator[Ailment]:
    del lines
    pairs = twins(list(dict.fromkeys(label for row in rows for label in row)))
    if pairs:
        yield Ailment(
            "look-alikes",
            Gravity.WARNING,
            name,
            f"{plural(len(pairs), 'label')} in spellings that look alike (case, blanks, accents)",
            len(pairs),
            "Write each in one way.",
            tuple(label for pair in pairs for label in pair),
        )


CHECKS = (_repeated, _circles, _two_parents, _value_and_group, _ragged, _no_root, _look_alikes)
