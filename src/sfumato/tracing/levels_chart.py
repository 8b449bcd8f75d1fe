"""How a leak is traced: its levels beside those of everybody who got a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.show.chart import Grid, Tone

LEAK, KNEW, LESS, CERTAIN = "in the leak", "knew at least this", "knew less", "certain"


def tracing_chart(
    columns: Sequence[str],
    leaked: Sequence[str],
    held: Mapping[str, Sequence[tuple[str, bool]]],
    verdicts: Mapping[str, str],
    *,
    title: str = "Whose version the leak can come from",
) -> Grid:
    """A line per recipient below that of the leak.

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
