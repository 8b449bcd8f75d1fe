"""A trace in words and as JSON."""

from __future__ import annotations

from itertools import islice

from sfumato.core.json_object import JsonObject
from sfumato.show.card import Card, figure, several
from sfumato.tracing.coalition import Explanations
from sfumato.tracing.guesses import GuessChance
from sfumato.tracing.result import TraceResult
from sfumato.tracing.suspects import Suspect

MOST_SHOWN = 10
"""A card names so many explanations and suspects at most."""
MOST_READINGS = 5
"""A card names so many other readings at most."""
MOST_LISTED = 1000
"""A document lists so many explanations at most; it always says how many there are."""
_UNTRIED = "not all coalitions of at most {most} could be tried"


def card(trace: TraceResult) -> Card:
    """Returns the verdict, the rows, explanations and suspects; then the assumptions they rest on."""
    lines: list[tuple[str, ...]] = _rows(trace)
    if trace.ours:
        lines += [(), *_explanations(trace), (), *(_suspect(s) for s in trace.suspects[:MOST_SHOWN])]
        if trace.suspects:
            lines += [(), *_columns(trace.suspects[0])]
        lines += _false_charge(trace)
    return Card(_title(trace), lines, notes=_notes(trace))


def _title(trace: TraceResult) -> str:
    if not trace.ours:
        if trace.rows["finer"]:
            return "no recipient's: every row that may be ours is finer than any version handed out"
        return "not ours: no row of the leak is about a record that was handed out"
    if trace.certain:
        perhaps_more = any(s.without is not None and s.without.size is not None for s in trace.suspects)
        doubts = [f"more than {trace.c_max} worked together"] if perhaps_more else []
        doubts += _doubt_of_guesses(trace)
        unless = f", unless {' or '.join(doubts)}" if doubts else ""
        return f"traced to {' and '.join(trace.certain)}{unless}"
    if len(trace.explanations):
        return _nobody_charged(trace)
    if not trace.explanations.complete:
        return f"ours; no explanation was found, and {_UNTRIED.format(most=trace.c_max)}"
    return f"ours; no {trace.c_max} recipients together can have made it"


def _doubt_of_guesses(trace: TraceResult) -> list[str]:
    """Returns the assumption that every charge rests on which a guess could have made, with its chance."""
    chance = trace.false_charge.guessed if trace.false_charge else None
    if chance is None:
        return []
    told = f"chance at most {figure(chance.probability)}"
    if chance.probability >= 1:
        told = "which these rows do not rule out"
    return [f"others guessed what they did not hold ({told})"]


def _nobody_charged(trace: TraceResult) -> str:
    if trace.perhaps_guessed:
        how = "guessed, or made of other columns," if trace.evidence.unplaced else "guessed"
        return f"ours, and perhaps {how} in part: nobody is charged"
    if not trace.explanations.complete:
        found = several(len(trace.explanations), "explanation")
        return f"ours; {found} or more, and {_UNTRIED.format(most=trace.c_max)}: nobody is charged"
    rest = len(trace.explanations) - len(trace.alone)
    if len(trace.alone) == 1:
        verb = "does" if rest == 1 else "do"
        return f"{trace.alone[0]} alone explains it, and so {verb} {several(rest, 'coalition')} of others"
    return f"ours; {several(len(trace.explanations), 'explanation')}, nobody is in all of them"


def _rows(trace: TraceResult) -> list[tuple[str, ...]]:
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
    if trace.unchanged:
        lines.append(("", ", ".join(trace.unchanged), "published unchanged, compared together"))
    lines += [("", f"{name} left aside", "next to nothing in it can be read") for name in leak.unknown]
    lines += [
        ("", f"{one.rows:,} rows could also be read with", str(one)) for one in trace.readings[:MOST_READINGS]
    ]
    if len(trace.readings) > MOST_READINGS:
        lines.append(("", f"and in {len(trace.readings) - MOST_READINGS:,} ways more"))
    if trace.uncounted:
        lines.append(("", ", ".join(trace.uncounted), "count against nobody: they may be other columns"))
    lines.append(("recipients", f"{len(trace.recipients):,} considered"))
    return lines


def _explanations(trace: TraceResult) -> list[tuple[str, ...]]:
    explanations = trace.explanations
    if not len(explanations):
        return [("explanations", "none", f"it would take {trace.needed}")]
    first = [" + ".join(coalition) for coalition in islice(explanations, MOST_SHOWN)]
    lines: list[tuple[str, ...]] = [("explanations", first[0]), *(("", words) for words in first[1:])]
    if len(explanations) > MOST_SHOWN:
        more = len(explanations) - MOST_SHOWN
        lines.append(("", f"and {more:,} more" if explanations.complete else f"and at least {more:,} more"))
    return lines


def _suspect(suspect: Suspect) -> tuple[str, ...]:
    if suspect.certain:
        role = "certain"
    else:
        role = "alone" if suspect.smallest == 1 else f"with {several(suspect.smallest - 1, 'other')}"
    cells = [suspect.recipient, role, f"release {suspect.release}"]
    cells.append("" if suspect.rows is None else f"{several(suspect.rows, 'row')} in it")
    if suspect.only:
        cells.append("nobody else alone had " + "; ".join(" with ".join(names) for names in suspect.only))
    return tuple(cells)


def _columns(suspect: Suspect) -> list[tuple[str, ...]]:
    """Returns the first suspect's version beside the leak."""
    return [
        (
            c.column,
            f"leaked at {c.leaked_level}",
            f"{suspect.recipient} holds {c.held_level}",
            f"{several(c.as_held, 'row')} just as held",
        )
        for c in suspect.columns
    ]


def _false_charge(trace: TraceResult) -> list[tuple[str, ...]]:
    """Returns both chances, beside each other: neither is the whole truth."""
    charge = trace.false_charge
    if charge is None:
        return []
    outside = charge.outside
    made = f"if recipients made it, at most {trace.c_max} together"
    fits = f"{outside.fitting:,} of {several(outside.rows, 'different row')} fit"
    return [
        (),
        ("false charge", f"at most {figure(charge.probability)}", made),
        *_guessed(charge.guessed),
        ("", f"at most {figure(outside.probability)}", f"if it is somebody else's table: {fits}"),
        ("", figure(outside.as_coarse), "of the patterns as coarse as this one might charge somebody"),
    ]


def _guessed(chance: GuessChance | None) -> list[tuple[str, ...]]:
    if chance is None:
        return []
    fits = f"{chance.fitting:,} of {several(chance.rows, 'different row')} fit"
    columns = ", ".join(chance.columns)
    return [("", f"at most {figure(chance.probability)}", f"if others guessed {columns}: {fits}")]


def _notes(trace: TraceResult) -> list[str]:
    notes = []
    if trace.cleared:
        notes.append(
            f"If every column is what it is called, it is {' and '.join(trace.cleared)}. Read otherwise,"
            " others explain it, and the name of a column charges nobody: where it is known to be right, say"
            " so (--column NAME=NAME)."
        )
    for s in trace.suspects:
        if s.certain and s.without is not None:
            who = "no coalition at all" if s.without.size is None else f"a coalition of {s.without}"
            notes.append(f"Without {s.recipient} {who} explains it.")
        charged = s.certain or s.recipient in trace.alone
        others = s.framed_by.size if s.framed_by is not None and s.framed_by.proved else None
        if charged and others is not None and others <= trace.c_max:
            notes.append(
                f"{several(others, 'other recipient')} together could build the whole version"
                f" of {s.recipient}: it is not frame-proof against {others}."
            )
    if trace.perhaps_guessed and trace.evidence.unplaced:
        notes.append(
            "Columns that were published unchanged are missing or changed, and one may stand under the name"
            f" of another: rows would fit as often by accident. {' and '.join(trace.perhaps_guessed)}"
            " cannot be charged, unless somebody says what every column is (--column NAME=NAME)."
        )
    elif trace.perhaps_guessed:
        notes.append(
            f"Nobody else explains it without guessing, but {several(trace.rows['foreign'], 'row')} fit no"
            f" record, and no more fit than guesses would: {' and '.join(trace.perhaps_guessed)} cannot be"
            " charged."
        )
    if trace.false_charge is not None:
        charge = trace.false_charge
        notes.append(f"A false charge, recipients: assumed is that {'; '.join(charge.assumptions)}.")
        notes.append(
            f"A false charge, somebody else: assumed is that {'; '.join(charge.outside.assumptions)}."
        )
    if trace.unread:
        notes.append(
            f"Not ruled out, since the pattern is not known: {', '.join(trace.unread[:MOST_SHOWN])}."
        )
    return notes


def document(trace: TraceResult) -> JsonObject:
    """Returns the trace as JSON."""
    charge = trace.false_charge
    return {
        "ours": trace.ours,
        "certain": list(trace.certain),
        "cleared": list(trace.cleared),
        "perhaps_guessed": list(trace.perhaps_guessed),
        "unless_guessed": list(trace.unless_guessed),
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
            "uncounted": list(trace.uncounted),
            "unchanged": list(trace.unchanged),
        },
        "readings": [one.as_dict() for one in trace.readings],
        "recipients": len(trace.recipients),
        "unread": list(trace.unread),
    }


def _coalitions(explanations: Explanations) -> list[list[str]]:
    return [list(coalition) for coalition in islice(explanations, MOST_LISTED)]
