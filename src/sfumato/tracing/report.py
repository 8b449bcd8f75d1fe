"""A trace in words, as JSON, and in pictures."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from sfumato.show.card import Card, figure, several
from sfumato.show.chart import Chart, Figure
from sfumato.tracing.coalition import MOST
from sfumato.tracing.levels_chart import tracing_chart

if TYPE_CHECKING:
    from sfumato.tracing.coalition import Explanations
    from sfumato.tracing.suspects import ColumnMatch, Suspect
    from sfumato.tracing.trace import Trace

SHOWN = 10
"""A card names so many explanations and suspects at most."""
LISTED = 1000
"""A document lists so many explanations at most; it always says how many there are."""


def card(trace: Trace) -> Card:
    """What a trace came to: the verdict, the rows, explanations, suspects; then what it rests on."""
    lines: list[tuple[str, ...]] = _rows(trace)
    if trace.ours:
        lines += [(), *_explanations(trace), (), *(_suspect(s) for s in trace.suspects[:SHOWN])]
        if trace.suspects:
            lines += [(), *_columns(trace.suspects[0])]
        lines += _false_charge(trace)
    return Card(_title(trace), lines, notes=_notes(trace))


def _title(trace: Trace) -> str:
    if not trace.ours:
        if trace.rows["finer"]:
            return "no recipient's: every row that may be ours is finer than any version handed out"
        return "not ours: no row of the leak is about a record that was handed out"
    if trace.certain:
        beyond = any(s.without is not None and s.without.size is not None for s in trace.suspects)
        unless = f", unless more than {trace.c_max} worked together" if beyond else ""
        return f"traced to {' and '.join(trace.certain)}{unless}"
    if len(trace.explanations):
        rest = len(trace.explanations) - len(trace.alone)
        if len(trace.alone) == 1:
            return f"{trace.alone[0]} alone explains it, and so do {several(rest, 'coalition')} of others"
        return f"ours; {several(len(trace.explanations), 'explanation')}, nobody is in all of them"
    return f"ours; no {trace.c_max} recipients together can have made it"


def _rows(trace: Trace) -> list[tuple[str, ...]]:
    rows, leak = trace.rows, trace.leak
    lines: list[tuple[str, ...]] = [("rows", f"{rows['ours']:,} of {rows['all']:,} ours")]
    reasons = {
        "unreadable": "hold a value that no version could show",
        "foreign": "fit no record",
        "finer": "are finer than any version",
    }
    lines += [("", f"{rows[why]:,} left aside", words) for why, words in reasons.items() if rows[why]]
    if trace.matches is not None:
        lines.append(("", f"{trace.matches:,} exist in the original"))
    lines.append(("columns", ", ".join(leak.names)))
    lines += [("", f"{ours} is called {theirs} there") for ours, theirs in leak.renamed.items()]
    lines += [("", f"{name} left aside", "next to nothing in it can be read") for name in leak.unknown]
    lines.append(("recipients", f"{len(trace.recipients):,} considered"))
    return lines


def _explanations(trace: Trace) -> list[tuple[str, ...]]:
    found = trace.explanations
    if not len(found):
        return [("explanations", "none", f"it would take {trace.needed}")]
    first = [" + ".join(coalition) for coalition in islice(found, SHOWN)]
    lines: list[tuple[str, ...]] = [("explanations", first[0]), *(("", words) for words in first[1:])]
    if len(found) > SHOWN:
        more = len(found) - SHOWN
        lines.append(("", f"and {more:,} more" if found.complete else f"and at least {more:,} more"))
    return lines


def _suspect(suspect: Suspect) -> tuple[str, ...]:
    if suspect.certain:
        standing = "certain"
    else:
        standing = "alone" if suspect.smallest == 1 else f"with {several(suspect.smallest - 1, 'other')}"
    cells = [suspect.recipient, standing, f"release {suspect.release}"]
    cells.append("" if suspect.rows is None else f"{several(suspect.rows, 'row')} in it")
    if suspect.only:
        cells.append("nobody else alone had " + "; ".join(" with ".join(names) for names in suspect.only))
    return tuple(cells)


def _columns(suspect: Suspect) -> list[tuple[str, ...]]:
    """The first suspect's version beside the leak."""
    return [
        (
            c.column,
            f"leaked at {_level(c.leaked, c.of)}",
            f"{suspect.recipient} holds {_level(c.held, c.of)}",
            f"{several(c.as_held, 'row')} just as held",
        )
        for c in suspect.columns
    ]


def _false_charge(trace: Trace) -> list[tuple[str, ...]]:
    """Both chances, beside each other: none of them is the whole truth."""
    charge = trace.false_charge
    if charge is None:
        return []
    outside = charge.outside
    made = f"if recipients made it, at most {trace.c_max} together"
    fits = f"{outside.fitting:,} of {several(outside.rows, 'different row')} fit"
    return [
        (),
        ("false charge", f"at most {figure(charge.probability)}", made),
        ("", f"at most {figure(outside.probability)}", f"if it is somebody else's table: {fits}"),
        ("", figure(outside.as_coarse), "of the patterns as coarse as this one might charge somebody"),
    ]


def _level(level: int | None, of: int) -> str:
    return "no one level" if level is None else f"level {level} of {of}"


def _notes(trace: Trace) -> list[str]:
    notes = []
    for s in trace.suspects:
        if s.certain and s.without is not None:
            who = "no coalition at all" if s.without.size is None else f"a coalition of {s.without}"
            notes.append(f"Without {s.recipient} {who} explains it.")
        charged = s.certain or s.recipient in trace.alone
        if charged and s.framed_by is not None and (s.framed_by.size or MOST) <= trace.c_max:
            notes.append(
                f"{several(s.framed_by.size or 0, 'other recipient')} together could build the whole version"
                f" of {s.recipient}: it is not frame-proof against {s.framed_by.size}."
            )
    if trace.false_charge is not None:
        charge = trace.false_charge
        notes.append(f"A false charge, recipients: assumed is that {'; '.join(charge.assumptions)}.")
        notes.append(
            f"A false charge, somebody else: assumed is that {'; '.join(charge.outside.assumptions)}."
        )
    if trace.unread:
        notes.append(f"Not ruled out, since the pattern is not known: {', '.join(trace.unread[:SHOWN])}.")
    return notes


def document(trace: Trace) -> dict[str, Any]:
    """The trace as JSON."""
    charge = trace.false_charge
    return {
        "ours": trace.ours,
        "certain": list(trace.certain),
        "explanations": {
            "count": len(trace.explanations),
            "complete": trace.explanations.complete,
            "largest": trace.c_max,
            "coalitions": _coalitions(trace.explanations),
            "needed": None if trace.needed is None else vars(trace.needed),
        },
        "suspects": [s.as_dict() for s in trace.suspects],
        "matches": trace.matches,
        "false_charge": None if charge is None else charge.as_dict(),
        "rows": trace.rows,
        "columns": {
            "ours": list(trace.leak.names),
            "renamed": trace.leak.renamed,
            "unknown": list(trace.leak.unknown),
        },
        "recipients": len(trace.recipients),
        "unread": list(trace.unread),
    }


def _coalitions(found: Explanations) -> list[list[str]]:
    return [list(coalition) for coalition in islice(found, LISTED)]


def charts(trace: Trace) -> tuple[Figure, ...]:
    """The levels of the leak beside those of the suspects' versions, and how much fits each suspect."""
    if not trace.suspects:
        return ()
    shown, first = trace.suspects[:SHOWN], trace.suspects[0].columns
    held = {s.recipient: [(_level(c.held, c.of), _knew(c)) for c in s.columns] for s in shown}
    verdicts = {s.recipient: "certain" if s.certain else "suspect" for s in shown}
    fits = [
        (s.recipient, sum(c.as_held for c in s.columns) / max(1, len(s.columns) * trace.rows["ours"]))
        for s in trace.suspects[:30]
    ]
    return (
        tracing_chart([c.column for c in first], [_level(c.leaked, c.of) for c in first], held, verdicts),
        Chart(
            "suspects",
            "Cells of the leak that are just as the suspect holds them",
            "bars",
            ("suspect", "share of cells"),
            fits,
            percent=True,
        ),
    )


def _knew(column: ColumnMatch) -> bool:
    """Whether a version is at least as fine as the leak; where levels do not say so, by its cells."""
    if column.held is None or column.leaked is None:
        return column.as_held > 0
    return column.held <= column.leaked
