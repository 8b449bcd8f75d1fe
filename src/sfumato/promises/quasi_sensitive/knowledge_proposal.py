"""A knowledge table proposed from reference records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from sfumato.core.errors import BadData
from sfumato.core.knowledge import Knowledge

Record = tuple[str, Sequence[str], int]
"""A label, its terms, and how often they occur together."""


def by_document(rows: Iterable[tuple[str, Sequence[str], int, str | None]]) -> list[Record]:
    """One record per label and document: all terms that the document's rows have for the label.

    A row without a document is a record of its own; one that stands for no occurrence tells nothing.

    >>> by_document([("Flu", ["fever"], 2, "a"), ("Flu", ["cough"], 1, "a"), ("Flu", ["fever"], 1, "b")])
    [('Flu', ('cough', 'fever'), 1), ('Flu', ('fever',), 1)]
    """
    held: dict[tuple[str, str], set[str]] = {}
    alone: list[Record] = []
    for label, terms, count, document in rows:
        if document is None:
            alone.append((label, terms, count))
        elif count:
            held.setdefault((label, document), set()).update(terms)
    return [(label, tuple(sorted(terms)), 1) for (label, _), terms in held.items()] + alone


def propose(records: Iterable[Record], *, support: int = 2, share: Fraction = Fraction(0)) -> Knowledge:
    """One row per label: the terms that occur in `support` of its records or more, and in this share of them.

    A record is a label, its terms, and how often it occurs. Labels without such a term are left out.

    >>> proposed = propose([("Flu", ["fever", "cough"], 3), ("Flu", ["rash"], 1), ("Cold", ["cough"], 2)])
    >>> [(label, sorted(terms)) for label, terms in proposed.rows]
    [('Cold', ['cough']), ('Flu', ['cough', 'fever'])]
    """
    seen: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    for label, terms, count in records:
        total[label] += count
        held = seen.setdefault(label, Counter())
        for term in set(terms):
            held[term] += count
    rows = []
    for label, held in seen.items():
        kept = [t for t, n in held.items() if n >= support and n >= share * total[label]]
        if kept:
            rows.append((label, kept))
    if not rows:
        raise BadData(
            f"no term of any label occurs in {support} of its records",
            remedy="Ask for less support, or bring more records.",
        )
    return Knowledge.of(rows)
