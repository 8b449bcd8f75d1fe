"""Direct identifiers: columns that name people, by the evidence of their cells, and never the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.discovery.identifiers.cells import Seen
from sfumato.discovery.identifiers.kinds import HIDDEN, KINDS, Kind
from sfumato.discovery.identifiers.people_kinds import birth_dates, coordinates, free_text, names
from sfumato.policy.column_evidence import FEWEST_CELLS, NEARLY_UNIQUE_SHARE, ColumnEvidence, TableEvidence
from sfumato.policy.column_names import words

Confidence = Literal["certain", "likely", "possible"]

MOST = Fraction(9, 10)
HALF = Fraction(1, 2)
SOME = Fraction(1, 5)


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
    glance: TableEvidence | None = None,
) -> tuple[Identifier, ...]:
    """What every column gives away, in the order of the columns.

    `distinct` are exact numbers of different values where the survey stopped counting, and `glance` a survey
    of some rows for the columns whose values it did not list.

    >>> from sfumato.engine import open_source
    >>> import pyarrow as pa
    >>> table = pa.table({"contact": ["ada@example.org", "bo@example.org"], "sex": ["f", "m"]})
    >>> [(found.column, found.kind, found.confidence) for found in identifiers(open_source(table).survey())]
    [('contact', 'e-mail', 'certain'), ('contact', 'unique', 'certain'), ('sex', 'unique', 'certain')]
    """
    found: list[Identifier] = []
    for name, column in survey.columns.items():
        seen = _seen(name, column, survey, glance)
        if seen is not None and seen.present:
            for look in LOOKS:
                found += look(name, seen)
        found += _unique(name, column, survey.rows, (distinct or {}).get(name, column.distinct))
    return tuple(found)


def _seen(
    name: str, column: ColumnEvidence, survey: TableEvidence, glance: TableEvidence | None
) -> Seen | None:
    if column.complete:
        return Seen.of(column, survey.rows)
    if glance is None or not glance.columns[name].complete:
        return None
    return Seen.of(glance.columns[name], glance.rows, part=True)


def _cells(name: str, seen: Seen) -> Iterator[Identifier]:
    """The first kind that the cells have the shape of."""
    known = words(name)
    for kind in KINDS:
        named = bool(known & kind.named)
        if kind.needs_name and not named:
            continue
        if not seen.worth_a_look(kind.test, least=SOME):
            continue
        share, different = seen.share(kind.test)
        confidence = _confidence(kind, share, different, named)
        if confidence is not None:
            why = f"{seen.spoken(share)} {kind.phrase}"
            yield Identifier(name, kind.name, share, confidence, why, person=kind.person)
            return


def _confidence(kind: Kind, share: Fraction, different: int, named: bool) -> Confidence | None:
    """Many different cells cannot all pass by accident; a fitting name helps."""
    accident = kind.chance**different
    if share >= MOST and accident <= 1e-6:
        return "certain"
    if (share >= MOST and accident <= 1e-2) or (share >= HALF and (named or accident <= 1e-6)):
        return "likely"
    return "possible" if share >= HALF or (named and share >= SOME) else None


def _cells_and_parts(name: str, seen: Seen) -> Iterator[Identifier]:
    """What whole cells are; else what stands in some of them: a few are enough to name somebody."""
    known = list(_cells(name, seen))
    yield from known
    for hidden in HIDDEN if seen.kind == "text" else ():
        if any(found.kind == hidden.name for found in known):
            continue
        share, different = seen.share(hidden.within)
        if share:
            confidence: Confidence = "likely" if different > 1 else "possible"
            why = f"{seen.spoken(share)} texts with {hidden.phrase} inside"
            yield Identifier(name, f"{hidden.name}-inside", share, confidence, why)


def _people(name: str, seen: Seen) -> Iterator[Identifier]:
    """Names, dates of birth, places, free text: by the column's name and the shape of its cells."""
    for kind, look, direct in (
        ("name", names, True),
        ("free-text", free_text, True),
        ("birth-date", birth_dates, False),
        ("coordinates", coordinates, False),
    ):
        sign = look(words(name), seen)
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


LOOKS: Sequence[Callable[[str, Seen], Iterator[Identifier]]] = (_cells_and_parts, _people)
