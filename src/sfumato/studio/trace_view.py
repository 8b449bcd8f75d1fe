"""The work of the page Trace: whose copy a leak is, with what evidence, and how often that would be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sfumato.core.progress import Progress, one_step
from sfumato.journey.trace import trace
from sfumato.show.card import Lines, figure
from sfumato.studio.question import Question
from sfumato.studio.table_view import ChartView
from sfumato.tracing.trace import Trace

MOST_SHOWN = 20
"""So many explanations and suspects are shown."""


@dataclass(frozen=True)
class SuspectView:
    """A recipient in an explanation, and what incriminates them."""

    recipient: str
    certain: bool
    alone: bool
    rows: int | None
    release: str
    only: tuple[str, ...]
    columns: tuple[tuple[str, str, str, int], ...]


@dataclass(frozen=True)
class ChargeView:
    """The chance that a charge is false: if recipients made the leak, and if it is somebody else's table.

    `open` says that nothing is known of the second: any table so coarse would fit.
    """

    recipients: str
    outside: str
    open: bool
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class TraceView:
    """What a leak tells: names of recipients and columns, levels and counts; `verdict` in a sentence."""

    ours: bool
    verdict: str
    certain: tuple[str, ...]
    explanations: tuple[tuple[str, ...], ...]
    count: int
    complete: bool
    rows: Mapping[str, int]
    suspects: tuple[SuspectView, ...]
    charge: ChargeView | None
    notes: tuple[str, ...]
    lines: Lines
    charts: tuple[ChartView, ...]


def trace_leak(leak: Path, question: Question | None, ledger: str, *, progress: Progress) -> TraceView:
    """Returns who can have made a leak; with a question its rows are also looked up in the original."""
    original = None if question is None else question.data
    policy = None if question is None else question.policy()
    found = trace(leak, ledger=ledger, original=original, policy=policy, progress=progress)
    with one_step(progress, "drawing"):
        return _view(found)


def _view(found: Trace) -> TraceView:
    card, charge = found.card(), found.false_charge
    return TraceView(
        found.ours,
        card.title,
        found.certain,
        tuple(tuple(coalition) for coalition in islice(found.explanations, MOST_SHOWN)),
        len(found.explanations),
        found.explanations.complete,
        dict(found.rows),
        tuple(
            SuspectView(
                one.recipient,
                one.certain,
                one.smallest == 1,
                one.rows,
                str(one.release),
                tuple(" + ".join(names) for names in one.only),
                tuple((c.column, c.leaked_level, c.held_level, c.as_held) for c in one.columns),
            )
            for one in found.suspects[:MOST_SHOWN]
        ),
        None
        if charge is None
        else ChargeView(
            figure(charge.probability),
            figure(charge.outside.probability),
            charge.outside.probability >= 1,
            (*charge.assumptions, *charge.outside.assumptions),
        ),
        tuple(card.notes),
        tuple(tuple(line) for line in card.lines),
        tuple(ChartView.of(chart) for chart in found.charts()),
    )
