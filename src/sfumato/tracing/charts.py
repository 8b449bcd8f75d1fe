"""Charts of a trace: levels of the leak beside those of versions, and how much fits each suspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.show.chart import Chart, Figure, Grid, Tone
from sfumato.tracing.result import TraceResult

MOST_ROWS = 10
"""The chart of levels shows so many suspects at most."""
MOST_BARS = 30
"""The chart of fits shows so many suspects at most."""

LEAK, KNEW, LESS, CERTAIN = "in the leak", "knew at least this", "knew less", "certain"


def tracing_chart(
    columns: Sequence[str],
    leaked: Sequence[str],
    held: Mapping[str, Sequence[tuple[str, bool]]],
    verdicts: Mapping[str, str],
    *,
    title: str = "Whose version the leak can come from",
) -> Grid:
    """Returns a grid with a line per recipient below that of the leak.

    `leaked` says for every column what leaked ("level 1", "*"); `held` the same of every recipient's version,
    and whether it is at least as fine; `verdicts` has a word for each: "certain", "suspect", or why not.

    >>> chart = tracing_chart(
    ...     ["gender", "birthdate"],
    ...     ["level 0", "level 2"],
    ...     {"U1": [("level 1", False), ("level 1", True)], "U2": [("level 0", True), ("level 2", True)]},
    ...     {"U1": "cleared", "U2": "certain"},
    ... )
    >>> chart.rows()[2]
    ('U1', 'level 1', 'level 1', 'cleared')
    """
    lines = [("leak", [*((text, LEAK) for text in leaked), ("", LEAK)])]
    for name, cells in held.items():
        line = [(text, KNEW if fine else LESS) for text, fine in cells]
        word = verdicts.get(name, "")
        lines.append((name, [*line, (word, {"certain": CERTAIN, "suspect": KNEW}.get(word, LESS))]))
    kinds: dict[str, Tone] = {LEAK: "ink", KNEW: "sand", LESS: "faint", CERTAIN: "accent"}
    return Grid("tracing", title, [*columns, "verdict"], lines, kinds)


def charts(trace: TraceResult) -> tuple[Figure, ...]:
    """Returns the levels of the leak beside those of suspects' versions, and how much fits each suspect."""
    if not trace.suspects:
        return ()
    shown, first = trace.suspects[:MOST_ROWS], trace.suspects[0].columns
    held = {s.recipient: [(c.held_level, c.covers_leak) for c in s.columns] for s in shown}
    verdicts = {s.recipient: "certain" if s.certain else "suspect" for s in shown}
    fits = [
        (s.recipient, sum(c.as_held for c in s.columns) / max(1, len(s.columns) * trace.rows["ours"]))
        for s in trace.suspects[:MOST_BARS]
    ]
    return (
        tracing_chart([c.column for c in first], [c.leaked_level for c in first], held, verdicts),
        Chart(
            "suspects",
            "Cells of the leak that are just as the suspect holds them",
            "bars",
            ("suspect", "share of cells"),
            fits,
            percent=True,
        ),
    )
