"""Patterns in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfumato.core.json_object import JsonObject
from sfumato.protection.patterns.antichain import MOST_COMPARED
from sfumato.protection.patterns.pattern_table import PatternTable
from sfumato.protection.patterns.quality import (
    QualityClass,
    best_class,
    expected_capacity,
    quality_classes,
)
from sfumato.show.card import Card, figure, several
from sfumato.show.document import json_ready

MOST_SHOWN, MOST_LISTED = 5, 100
"""So many quality classes are listed one by one: on a card, in a document."""
WIDER_TOLERANCES = (1, 5, 10, 20)
"""Tolerances in percent, beyond the asked one, to show what they would bring."""


def card(patterns: PatternTable) -> Card:
    """Returns counts, the best quality classes, and what a wider tolerance would bring."""
    allowed, classes = int(patterns.allowed.sum()), _classes(patterns)
    shape = " x ".join(map(str, patterns.shape))
    promised = " and ".join(map(str, patterns.promises))
    lines: list[tuple[str, ...]] = [
        (several(patterns.count, "pattern"), f"{shape} levels of {', '.join(patterns.names)}"),
        (f"{allowed:,} allowed", f"keep {promised}" if promised else "nothing is promised"),
        (),
        *((f"{patterns.quality} {_range(one)}", *_counts(one)) for one in classes[:MOST_SHOWN]),
        *(
            [(f"{several(len(classes) - MOST_SHOWN, 'more class', 'more classes')}",)]
            if len(classes) > MOST_SHOWN
            else []
        ),
        (),
        *((f"within {share} % of the best", *_counts(one)) for share, one in _wider(patterns)),
    ]
    most = expected_capacity(patterns.shape)
    apart = f"apart: none can be made from another; of all patterns at most {most:,} are"
    notes = [apart if allowed else "nothing can be published: relax a promise, or let rows be suppressed"]
    return Card(f"patterns of {several(len(patterns.names), 'column')}", lines, notes)


def as_dict(patterns: PatternTable) -> JsonObject:
    """JSON-ready; of many quality classes the best are listed."""
    classes = _classes(patterns)
    apart = [] if not classes or _apart(classes[0]) is None else classes[0].antichain().tolist()
    return {
        "columns": dict(zip(patterns.names, patterns.shape, strict=True)),
        "patterns": patterns.count,
        "allowed": int(patterns.allowed.sum()),
        "expected": expected_capacity(patterns.shape),
        "quality": patterns.quality,
        "tolerance": json_ready(patterns.tolerance),
        "class_count": len(classes),
        "classes": [_document(one) for one in classes[:MOST_LISTED]],
        "within": {f"{share}%": _document(one) for share, one in _wider(patterns)},
        "apart": [patterns.named(at) for at in apart],
    }


def _classes(patterns: PatternTable) -> tuple[QualityClass, ...]:
    return quality_classes(patterns, patterns.quality, tolerance=patterns.tolerance)


def _wider(patterns: PatternTable) -> Iterator[tuple[int, QualityClass]]:
    for percent in WIDER_TOLERANCES:
        share = Fraction(percent, 100)
        if share > patterns.tolerance and (one := best_class(patterns, patterns.quality, tolerance=share)):
            yield percent, one


def _apart(one: QualityClass) -> int | None:
    """Returns how many members none of which can be made from another; `None` where they are too many."""
    return len(one.antichain()) if len(one) <= MOST_COMPARED else None


def _range(one: QualityClass) -> str:
    return (
        figure(one.quality) if one.quality == one.worst else f"{figure(one.quality)} to {figure(one.worst)}"
    )


def _counts(one: QualityClass) -> tuple[str, str]:
    return several(len(one), "pattern"), f"{figure(_apart(one))} apart"


def _document(one: QualityClass) -> JsonObject:
    return {
        "best": float(one.quality),
        "worst": float(one.worst),
        "patterns": len(one),
        "apart": _apart(one),
    }
