"""Other readings of a leak: its columns as other columns of ours, whose values they could hold as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Microdata
from sfumato.core.reading_tree import UNKNOWN, text_marks
from sfumato.core.taxonomy import ROOT
from sfumato.tracing.content import rows_held_by, rows_in_original, withheld_columns
from sfumato.tracing.evidence import LeakEvidence
from sfumato.tracing.leak import Flags, Leak
from sfumato.tracing.versions import IssuedVersions

MOST_READINGS = 120
"""If there are more ways to exchange columns, none of the columns concerned counts against anybody."""
MOST_COMPARISONS = 64
"""So many contents of versions are compared with all other readings together, one of each at least."""


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
    texts, no two are the same one, and each row may have been made in a reading of its own: a leaker may have
    exchanged columns in a part of the rows. `imprints` are those that were compared, by release. Content that
    is not compared leaves a reading possible: it clears more people, and charges nobody.
    """
    leak, rows = evidence.leak, evidence.ours
    options = columns_that_fit(leak, issued)
    found = list(islice(_assignments(options), MOST_READINGS + 2))
    others = [names for names in found if any(name != leak.names[j] for j, name in names.items())]
    if len(others) > MOST_READINGS:
        return replace(evidence, uncounted=frozenset(j for j, names in options.items() if len(names) > 1))
    most = max(1, MOST_COMPARISONS // max(1, len(others)))
    read = (_read(leak, rows, names, issued, imprints[:most], original) for names in others)
    return replace(evidence, readings=tuple(one for one in read if (one.ours & rows).any()))


def columns_that_fit(leak: Leak, issued: IssuedVersions) -> dict[int, tuple[str, ...]]:
    """Returns, per column of the leak that says anything, the columns of ours that it may be; its own first.

    What the caller has said about a column is not doubted.
    """
    options = {}
    for j, own in enumerate(leak.names):
        marks = text_marks(leak.texts[j])
        missing = np.array([text is None for text in leak.texts[j]], dtype=bool)
        others = []
        for name, trees in issued.columns.items():
            read = [tree.read_marks(marks) for tree in trees]
            says_something = np.any([(nodes != UNKNOWN) & (nodes != ROOT) for nodes in read], axis=0)
            if (says_something & ~missing).any() and name != own and own not in leak.fixed:
                others.append(name)
        if any((leak.nodes(j, tree) != ROOT).any() for tree in leak.trees[own]):
            options[j] = (own, *others)
    return options


def _assignments(options: dict[int, tuple[str, ...]]) -> Iterator[dict[int, str]]:
    """Yields every way to give each column one of its names, no name twice."""
    if not options:
        yield {}
        return
    (j, names), *rest = options.items()
    for name in names:
        left = {i: tuple(n for n in some if n != name) for i, some in rest}
        if all(left.values()):
            yield from ({j: name, **more} for more in _assignments(left))


def _read(
    leak: Leak,
    rows: Flags,
    names: dict[int, str],
    issued: IssuedVersions,
    imprints: Sequence[tuple[str, Imprint]],
    original: Microdata | None,
) -> LeakEvidence:
    """Returns what the versions say about a leak whose columns have these names."""
    other = leak.read_as(names, {name: issued.columns[name] for name in names.values()})
    relevant = issued.of_columns(other.names)
    real = None if original is None else rows_in_original(other, original, other.legible & rows)
    evidence = LeakEvidence.of(other, relevant, real=real)
    place = {version.release: v for v, version in enumerate(relevant.versions)}
    held: dict[int, Flags] = {}
    absent: list[tuple[int, str]] = []
    for release, imprint in imprints:
        v = place.get(release)
        if v is not None:
            flags = rows_held_by(other, relevant.versions[v], imprint, other.legible & ~evidence.finer & rows)
            if flags is not None:
                held[v] = flags
                absent += [(v, name) for name in withheld_columns(other, relevant.versions[v], imprint)]
    return evidence.learn(held, frozenset(absent)) if held else evidence


def described(evidence: LeakEvidence) -> tuple[OtherReading, ...]:
    """Returns the other readings in which some rows of ours are ours as well; most rows first."""
    names = evidence.leak.names
    found = []
    for other in evidence.readings:
        pairs = zip(other.leak.places, other.leak.names, strict=True)
        changed = [(names[j], name) for j, name in pairs if names[j] != name]
        found.append(OtherReading(tuple(changed), evidence.rows(other.ours & evidence.ours)))
    return tuple(sorted(found, key=lambda one: (-one.rows, one.columns)))
