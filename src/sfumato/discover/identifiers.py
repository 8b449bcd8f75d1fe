"""Direct identifiers: columns that name people, by the evidence of their cells, and never the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.discovery.identifiers.cells import ColumnCells
from sfumato.discovery.identifiers.kinds import EMBEDDED_KINDS, KINDS, Kind
from sfumato.discovery.identifiers.people_kinds import birth_dates, coordinates, free_text, names
from sfumato.policy.column_evidence import (
    FEWEST_CELLS,
    NEARLY_UNIQUE_SHARE,
    ColumnEvidence,
    ColumnFinding,
    TableEvidence,
)
from sfumato.policy.column_names import words

Confidence = Literal["certain", "likely", "possible"]

NEARLY_ALL_CELLS = Fraction(9, 10)
HALF_OF_CELLS = Fraction(1, 2)
SOME_CELLS = Fraction(1, 5)


@dataclass(frozen=True)
class Identifier:
    """Evidence that a column identifies people.

    `share` is the share of the non-empty cells that bear it out. A `direct` kind names people by itself and
    is not to be published; the others (dates of birth, coordinates, being unique) help to find them.
    `person` says that equal cells mean the same person. `reason` is a sentence without values.
    """

    column: str
    kind: str
    share: Fraction
    confidence: Confidence
    reason: str
    direct: bool = True
    person: bool = False

    @property
    def convincing(self) -> bool:
        """Whether it is enough to act on."""
        return self.confidence != "possible"


def identifiers(
    survey: TableEvidence,
    *,
    distinct: Mapping[str, int] | None = None,
    first_rows: TableEvidence | None = None,
) -> tuple[Identifier, ...]:
    """What every column gives away, in the order of the columns.

    `distinct` has exact numbers of different values where the survey stopped counting; `first_rows` surveys
    the first rows of columns whose values it did not list.

    >>> from sfumato.engine import open_source
    >>> import pyarrow as pa
    >>> table = pa.table({"contact": ["ada@example.org", "bo@example.org"], "sex": ["f", "m"]})
    >>> [(found.column, found.kind, found.confidence) for found in identifiers(open_source(table).survey())]
    [('contact', 'e-mail', 'certain'), ('contact', 'unique', 'certain'), ('sex', 'unique', 'certain')]
    """
    found: list[Identifier] = []
    for name, column in survey.columns.items():
        cells = _cells_of(name, column, survey, first_rows)
        if cells is not None and cells.present:
            for detect in DETECTORS:
                found += detect(name, cells)
        found += _unique(name, column, survey.rows, (distinct or {}).get(name, column.distinct))
    return tuple(found)


def _cells_of(
    name: str, column: ColumnEvidence, survey: TableEvidence, first_rows: TableEvidence | None
) -> ColumnCells | None:
    if column.complete:
        return ColumnCells.of(column, survey.rows)
    if first_rows is None or not first_rows.columns[name].complete:
        return None
    return ColumnCells.of(first_rows.columns[name], first_rows.rows, part=True)


def _by_shape(name: str, cells: ColumnCells) -> Iterator[Identifier]:
    """The first kind that the cells have the shape of."""
    known = words(name)
    for kind in KINDS:
        named = bool(known & kind.named)
        if kind.needs_name and not named:
            continue
        if not cells.worth_a_look(kind.test, least=SOME_CELLS):
            continue
        share, different = cells.share(kind.test)
        confidence = _confidence(kind, share, different, named)
        if confidence is not None:
            why = f"{cells.spoken(share)} {kind.phrase}"
            yield Identifier(name, kind.name, share, confidence, why, person=kind.person)
            return


def _confidence(kind: Kind, share: Fraction, different: int, named: bool) -> Confidence | None:
    """Many different cells cannot all pass by accident; a fitting name helps."""
    accident = kind.chance**different
    if share >= NEARLY_ALL_CELLS and accident <= 1e-6:
        return "certain"
    if (share >= NEARLY_ALL_CELLS and accident <= 1e-2) or (
        share >= HALF_OF_CELLS and (named or accident <= 1e-6)
    ):
        return "likely"
    return "possible" if share >= HALF_OF_CELLS or (named and share >= SOME_CELLS) else None


def _by_shape_and_parts(name: str, cells: ColumnCells) -> Iterator[Identifier]:
    """What whole cells are; else what stands in some of them: a few are enough to name somebody."""
    known = list(_by_shape(name, cells))
    yield from known
    for inside in EMBEDDED_KINDS if cells.kind == "text" else ():
        if any(found.kind == inside.name for found in known):
            continue
        share, different = cells.share(inside.within)
        if share:
            confidence: Confidence = "likely" if different > 1 else "possible"
            why = f"{cells.spoken(share)} texts with {inside.phrase} inside"
            yield Identifier(name, f"{inside.name}-inside", share, confidence, why)


def _by_name_and_shape(name: str, cells: ColumnCells) -> Iterator[Identifier]:
    """Names, dates of birth, places, free text: by the column's name and the shape of its cells."""
    called = names(name, cells)
    if called is not None:
        yield Identifier(name, "name", called.share, called.confidence, called.reason)
    for kind, detect, direct in (
        ("free-text", free_text, True),
        ("birth-date", birth_dates, False),
        ("coordinates", coordinates, False),
    ):
        sign = detect(words(name), cells)
        if sign is not None:
            yield Identifier(name, kind, sign.share, sign.confidence, sign.reason, direct)


def _unique(name: str, column: ColumnEvidence, rows: int, distinct: int) -> Iterator[Identifier]:
    if rows > 1 and distinct == rows:
        yield Identifier(
            name, "unique", Fraction(1), "certain", f"each of the {rows:,} rows has a value of its own", False
        )
    elif rows - column.missing >= FEWEST_CELLS and distinct >= NEARLY_UNIQUE_SHARE * (rows - column.missing):
        present = rows - column.missing
        why = f"{distinct:,} different values in {present:,} cells"
        yield Identifier(name, "nearly-unique", Fraction(distinct, present), "likely", why, False)


DETECTORS: Sequence[Callable[[str, ColumnCells], Iterator[Identifier]]] = (
    _by_shape_and_parts,
    _by_name_and_shape,
)


def findings(survey: TableEvidence, *, first_rows: TableEvidence | None = None) -> dict[str, ColumnFinding]:
    """What the cells of every column give away, for a draft to decide by; what is unique it sees itself."""
    found: dict[str, list[Identifier]] = {name: [] for name in survey.columns}
    for one in identifiers(survey, first_rows=first_rows):
        if one.direct and one.convincing:
            found[one.column].append(one)
    return {
        name: ColumnFinding(
            "; ".join(f"{one.kind}: {one.reason}" for one in direct), person=any(one.person for one in direct)
        )
        for name, direct in found.items()
    }
