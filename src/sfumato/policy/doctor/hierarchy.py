"""Problems of a hierarchy file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadInput
from sfumato.core.taxonomy import ANY
from sfumato.policy.column_evidence import look_alikes
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity, look_alike_spellings
from sfumato.policy.taxonomies.arx import as_line
from sfumato.policy.taxonomies.file import HierarchyFile, parse, read_bytes
from sfumato.policy.taxonomies.rows import Row
from sfumato.show.card import several


def examine_file(path: str | Path) -> list[Diagnosis]:
    """Returns everything that is wrong with a hierarchy file on its own; never raises for its content."""
    file = Path(path)
    try:
        return examine_hierarchy(read_bytes(file), name=file.name)
    except BadInput as wrong:
        return [_unreadable(wrong, file.name)]


def examine_hierarchy(content: bytes, *, name: str) -> list[Diagnosis]:
    """Returns the same for the content of a file."""
    try:
        rows, lines = parse(content, name=name)
    except BadInput as wrong:
        return [_unreadable(wrong, name)]
    diagnoses = [diagnosis for check in CHECKS for diagnosis in check(_Lines(rows, lines, name))]
    if not any(diagnosis.gravity is Severity.ERROR for diagnosis in diagnoses):
        try:
            HierarchyFile(name, content).build([])
        except BadInput as wrong:
            diagnoses.append(_unreadable(wrong, name))
    return diagnoses


def _unreadable(wrong: BadInput, name: str) -> Diagnosis:
    return Diagnosis(
        "unreadable", Severity.ERROR, wrong.where or name, wrong.message, 1, wrong.remedy, wrong.values
    )


@dataclass(frozen=True)
class _Lines:
    """The lines of a hierarchy file, and where each stands."""

    rows: Sequence[Row]
    numbers: Sequence[int]
    name: str

    def place(self, i: int) -> str:
        return f"{self.name}, line {self.numbers[i]}"

    def diagnosis(
        self, kind: str, gravity: Severity, which: Sequence[int], what: str, fix: str
    ) -> Iterator[Diagnosis]:
        """Yields one diagnosis of all these lines, placed at the first; none if there are no such lines."""
        if which:
            values = tuple(self.rows[i][0] for i in which)
            yield Diagnosis(kind, gravity, self.place(which[0]), what, len(which), fix, values)


def _repeated(file: _Lines) -> Iterator[Diagnosis]:
    first: dict[str, int] = {}
    same: list[int] = []
    other: list[int] = []
    for i, row in enumerate(file.rows):
        earlier = first.setdefault(row[0], i)
        if earlier != i:
            (same if file.rows[earlier] == row else other).append(i)
    what = several(len(same), "line repeats an earlier one", "lines repeat an earlier one")
    yield from file.diagnosis("repeated", Severity.NOTE, same, what, "Harmless; delete them.")
    what = several(len(other), "line contradicts an earlier one", "lines contradict an earlier one")
    yield from file.diagnosis("contradicting", Severity.ERROR, other, what, "Keep one line per value.")


def _circles(file: _Lines) -> Iterator[Diagnosis]:
    circular = []
    for i, row in enumerate(file.rows):
        steps = [label for j, label in enumerate(row) if j == 0 or label != row[j - 1]]
        if len(set(steps)) < len(steps):
            circular.append(i)
    what = several(len(circular), "line runs in a circle", "lines run in a circle")
    yield from file.diagnosis("circle", Severity.ERROR, circular, what, "Give the upper one another name.")


def _two_parents(file: _Lines) -> Iterator[Diagnosis]:
    """Yields groups whose leaves go on to different groups."""
    above: dict[str, dict[str, int]] = {}
    for i, row in enumerate(file.rows):
        for j in range(1, len(row) - 1):
            if row[j] != row[j + 1]:
                above.setdefault(row[j], {}).setdefault(row[j + 1], i)
    for label, parents in above.items():
        if len(parents) > 1 and label != ANY:
            yield Diagnosis(
                "two-parents",
                Severity.ERROR,
                file.place(list(parents.values())[1]),
                f"a label stands below {several(len(parents), 'different label')}",
                len(parents),
                "Rename it, for example with what it becomes in brackets behind it.",
                (label, *parents),
                tuple(_renamed(row, label) for row in file.rows if label in row[1:]),
            )


def _renamed(row: Row, label: str) -> str:
    """Returns the row with the label renamed by what it becomes."""
    parent = next((up for up in row[row.index(label, 1) :] if up != label), ANY)
    return as_line([row[0], *(f"{label} ({parent})" if x == label else x for x in row[1:])])


def _value_and_group(file: _Lines) -> Iterator[Diagnosis]:
    groups = {label for row in file.rows for label in row[1:] if label != row[0]}
    last = {row[0]: i for i, row in enumerate(file.rows)}
    both = [i for value, i in last.items() if value in groups]
    if both:
        what = several(len(both), "value bears the name of a group", "values bear the name of a group")
        fix = "Rename the group, for example with `(all)` behind it: readers could not tell the two apart."
        yield from file.diagnosis("value-and-group", Severity.WARNING, both, what, fix)


def _ragged(file: _Lines) -> Iterator[Diagnosis]:
    lengths = [len(row) for row in file.rows]
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    odd = [i for i, length in enumerate(lengths) if length != usual]
    what = f"{several(len(odd), 'line')} with more or fewer than {several(usual, 'level')}"
    fix = "Lines are aligned at the root; a shorter one keeps its value longer."
    yield from file.diagnosis("ragged", Severity.NOTE, odd, what, fix)


def _no_root(file: _Lines) -> Iterator[Diagnosis]:
    open_ends = [i for i, row in enumerate(file.rows) if row[-1] != ANY]
    if len({row[-1] for row in file.rows}) > 1:
        what = several(len(open_ends), f"line does not end in {ANY!r}", f"lines do not end in {ANY!r}")
        yield from file.diagnosis("no-root", Severity.NOTE, open_ends, what, f"{ANY!r} is added above them.")


def _look_alikes(file: _Lines) -> Iterator[Diagnosis]:
    pairs = look_alikes(list(dict.fromkeys(label for row in file.rows for label in row)))
    if pairs:
        yield look_alike_spellings(file.name, "label", pairs)


CHECKS = (_repeated, _circles, _two_parents, _value_and_group, _ragged, _no_root, _look_alikes)
