"""Problems of a knowledge table, alone and beside the term sets it is meant for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.knowledge import Knowledge
from sfumato.core.problem import short
from sfumato.core.taxonomy import Label
from sfumato.core.term_sets import terms_of
from sfumato.policy.column_evidence import look_alikes
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity, look_alike_spellings
from sfumato.show.card import several

DISTINCT = "Write each in one way: they count as different."

MOST_PAIRS = 2_000_000
"""So many pairs of a label and another one that shares its rarest term are compared."""


@dataclass(frozen=True, eq=False)
class HeldTermSets:
    """The term sets of a column, as texts of a coded column, and how often each occurs."""

    texts: tuple[Label, ...]
    counts: NDArray[np.int64]


def examine_knowledge(knowledge: Knowledge, *, name: str = "knowledge") -> Iterator[Diagnosis]:
    """Yields the problems that show without data."""
    empty = [label for label, terms in knowledge.rows if not terms]
    if empty:
        what = several(len(empty), "label has a row without terms", "labels have rows without terms")
        remedy = "Only a person without any term links to them."
        yield Diagnosis("no-terms", Severity.WARNING, name, what, len(empty), remedy, tuple(empty))
    if alike := look_alikes(knowledge.terms):
        yield look_alike_spellings(name, "term", alike, remedy=DISTINCT)
    if alike := look_alikes(knowledge.labels):
        yield look_alike_spellings(name, "label", alike, remedy=DISTINCT)
    inside = list(subsumed(knowledge))
    if inside:
        what = several(
            len(inside), "label has all its terms in another label", "labels have all their terms in others"
        )
        remedy = "Whoever links to such a label links to the other one too; are both meant?"
        yield Diagnosis("subsumed", Severity.NOTE, name, what, len(inside), remedy, tuple(inside))


def subsumed(knowledge: Knowledge) -> Iterator[str]:
    """Yields the labels every row of which is contained in a row of another label.

    >>> list(subsumed(Knowledge.of([("Cold", ["cough"]), ("Flu", ["cough", "fever"])])))
    ['Cold']
    """
    first, holders = knowledge.holders
    often = np.diff(first)
    number, group = knowledge.number_of, knowledge.label_of_row
    compared = 0
    inside: dict[str, bool] = {}
    for i, (label, terms) in enumerate(knowledge.rows):
        if not terms or inside.get(label) is False:
            inside[label] = False
            continue
        rarest = min(terms, key=lambda t: (int(often[number[t]]), t))
        near = holders[first[number[rarest]] : first[number[rarest] + 1]].tolist()
        compared += len(near)
        if compared > MOST_PAIRS:
            return
        inside[label] = any(group[r] != group[i] and terms <= knowledge.rows[r][1] for r in near)
    yield from (label for label, truth in inside.items() if truth)


def examine_sets(column: str, knowledge: Knowledge, held: HeldTermSets) -> Iterator[Diagnosis]:
    """Yields the problems that show beside the data."""
    where = f"column {short(column)}"
    sets = [terms_of(text) for text in held.texts]
    rows = int(held.counts.sum())
    seen = {term for terms in sets for term in terms}
    unknown = sorted(seen - set(knowledge.terms))
    if unknown:
        what = several(len(unknown), "term that no label has", "terms that no label has")
        remedy = (
            "A row with such a term links to nothing: correct the data, or add the term to the knowledge."
        )
        yield Diagnosis("unknown-terms", Severity.WARNING, where, what, len(unknown), remedy, tuple(unknown))
    if alike := look_alikes(sorted(seen | set(knowledge.terms))):
        mixed = [group for group in alike if seen & set(group)]
        if mixed:
            yield look_alike_spellings(where, "term", mixed, remedy=DISTINCT)
    bare = int(held.counts[[not terms for terms in sets]].sum())
    if bare:
        what = several(bare, "row has no terms", "rows have no terms")
        yield Diagnosis("no-terms", Severity.NOTE, where, what, bare, "They link to every label alike.")
    if not rows:
        return
    from sfumato.kernels.term_sets.knowledge import links_of_texts  # noqa: PLC0415  # compiled

    number = links_of_texts(knowledge, held.texts).number
    lost = int(held.counts[number == 0].sum())
    if lost:
        what = f"{several(lost, 'row links', 'rows link')} to no label, of {rows:,}"
        remedy = "The knowledge says nothing about them, so nothing is promised about them."
        yield Diagnosis("unlinked", Severity.WARNING, where, what, lost, remedy)
    order = np.argsort(number, kind="stable")
    typical = int(number[order][np.searchsorted(np.cumsum(held.counts[order]), (rows + 1) // 2)])
    alone = int(held.counts[number == 1].sum())
    what = (
        f"a typical row links to {several(typical, 'label')} of {len(knowledge.labels):,}; "
        f"{several(alone, 'row links', 'rows link')} to a single one"
    )
    yield Diagnosis("links", Severity.NOTE, where, what, typical)
