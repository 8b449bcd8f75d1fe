"""The result of a trace: explanations, suspects, and the chance that a charge is false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from sfumato.recipients.collusion import Coalitions, Explanations, SmallestCoalition
from sfumato.recipients.evidence import FalseCharge, GuessChance, LeakEvidence, false_charge_of, guess_chance
from sfumato.recipients.leak import Leak
from sfumato.recipients.readings import OtherReading, described
from sfumato.recipients.suspects import Suspect, suspects
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, format_number, pluralize
from sfumato.system.presentation.charts import Chart, Figure, Grid, Tone
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import Imprint


@dataclass(frozen=True, eq=False)
class TraceResult:
    """Who could have made a leak: names of recipients and columns, levels and counts; no cell value.

    `explanations` are all minimal coalitions of at most `max_coalition_size` recipients; `certain` are those
    in every one of them. `matches` counts the rows that exist in the original, if that was given. `cleared`
    are those who would be certain if every column were what it is called, and are not: the leak can be read
    otherwise.
    """

    explanations: Explanations
    max_coalition_size: int
    evidence: LeakEvidence = field(repr=False)
    coalitions: Coalitions = field(repr=False)
    imprints: Mapping[int, Imprint | None] = field(repr=False)
    original: Microdata | None = field(repr=False, default=None)
    cleared: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether a row of the leak is about a record that was issued, in detail that somebody received."""
        return bool(self.evidence.ours.any())

    @cached_property
    def _unless_guessed(self) -> Mapping[str, SmallestCoalition]:
        """Who is in every explanation, each with the smallest coalition that explains it without them."""
        return self.coalitions.certain(self.explanations, self.max_coalition_size)

    @cached_property
    def _guesses(self) -> Mapping[str, GuessChance]:
        """Per person in every explanation: the chance that others guessed."""
        versions = self.evidence.knowledge.issued.versions
        rows_by_version = self.evidence.held
        pairs = [(versions[v], i) for v, i in self.imprints.items() if i is not None and v in rows_by_version]
        whole = {version.event for version, _ in pairs if version.whole}
        pairs = [pair for pair in pairs if pair[0].whole or pair[0].event not in whole]
        chances = {
            name: guess_chance(self.evidence, name, self.max_coalition_size, pairs, self.original)
            for name in self._unless_guessed
        }
        return {name: chance for name, chance in chances.items() if chance is not None}

    @property
    def perhaps_guessed(self) -> tuple[str, ...]:
        """Those in every explanation who are not charged: the leak looks as if others had guessed it.

        So do values of a column published unchanged that stand under the name of a key column.
        """
        unplaced = self.evidence.unplaced
        doubted = {
            name: chance.likely or (unplaced and chance.possible) for name, chance in self._guesses.items()
        }
        return tuple(name for name, doubt in doubted.items() if doubt)

    @cached_property
    def _certain(self) -> Mapping[str, SmallestCoalition]:
        doubted = self.perhaps_guessed
        return {name: small for name, small in self._unless_guessed.items() if name not in doubted}

    @property
    def certain(self) -> tuple[str, ...]:
        return tuple(self._certain)

    @property
    def unless_guessed(self) -> tuple[str, ...]:
        """Those among the certain whom others could have got charged by guessing, with a chance above 5 %."""
        return tuple(name for name in self.certain if name in self._guesses and self._guesses[name].possible)

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """Everybody in an explanation, the most suspicious first, with what incriminates them."""
        if not len(self.explanations):
            return ()
        return suspects(self.evidence, self.explanations, self._certain, imprints=self.imprints)

    @cached_property
    def needed(self) -> SmallestCoalition | None:
        """How many recipients had to work together, where no explanation was found.

        These are more than `max_coalition_size` where every coalition of so many was tried.
        """
        if not self.ours or self.explanations.sets:
            return None
        return self.coalitions.smallest(
            least=self.max_coalition_size + 1 if self.explanations.complete else 1
        )

    @cached_property
    def false_charge(self) -> FalseCharge | None:
        """The chance that those who are certain have nothing to do with it; `None` if nobody is certain.

        Its `probability` is about leaks that recipients made, its `outside` about tables of somebody else.
        """
        if not self.certain:
            return None
        guesses = [chance for name, chance in self._guesses.items() if name in self.certain]
        return false_charge_of(
            self.evidence,
            self.explanations,
            charged=self.certain,
            guessed=max(guesses, key=lambda chance: chance.probability, default=None),
            imprints=self.imprints,
            original=self.original,
        )

    @property
    def matches(self) -> int | None:
        real = self.evidence.real
        return None if real is None else self.evidence.rows(real)

    @property
    def leak(self) -> Leak:
        return self.evidence.leak

    @property
    def rows(self) -> dict[str, int]:
        """The rows of the leak, those of them that are ours, and those left aside for three reasons."""
        e = self.evidence
        return {
            "all": e.leak.rows,
            "ours": e.rows(e.ours),
            "unreadable": e.rows(~e.leak.legible | e.never_shown),
            "foreign": e.rows(e.foreign),
            "finer": e.rows(e.finer),
        }

    @property
    def alone(self) -> tuple[str, ...]:
        """The recipients who could have made it by themselves."""
        return tuple(s.recipient for s in self.suspects if s.smallest == 1)

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who was considered."""
        return self.evidence.recipients

    @cached_property
    def readings(self) -> tuple[OtherReading, ...]:
        """The other ways to read the columns of the leak that were taken into account."""
        return described(self.evidence)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns, published unchanged, that were compared jointly."""
        return tuple(name for name in self.leak.unchanged if name in self.evidence.unchanged.names)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Columns that may be others, in more ways than can be looked at: they count against nobody."""
        return tuple(self.leak.names[j] for j in sorted(self.evidence.uncounted))

    @property
    def unread(self) -> tuple[str, ...]:
        """The recipients who cannot be ruled out, since the pattern of what they received is not known."""
        return self.evidence.knowledge.issued.unread

    def values(self) -> list[str]:
        """Returns the texts that could not be read, for whoever asked to see them; no card shows them."""
        return [
            f"{name}: {', '.join(map(repr, texts))}" for name, texts in self.leak.unreadable_texts().items()
        ]


# A trace in words and as JSON.

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
        doubts = [f"more than {trace.max_coalition_size} worked together"] if perhaps_more else []
        doubts += _doubt_of_guesses(trace)
        unless = f", unless {' or '.join(doubts)}" if doubts else ""
        return f"traced to {' and '.join(trace.certain)}{unless}"
    if len(trace.explanations):
        return _nobody_charged(trace)
    if not trace.explanations.complete:
        return f"ours; no explanation was found, and {_UNTRIED.format(most=trace.max_coalition_size)}"
    return f"ours; no {trace.max_coalition_size} recipients together can have made it"


def _doubt_of_guesses(trace: TraceResult) -> list[str]:
    """Returns the assumption that every charge rests on which a guess could have made, with its chance."""
    chance = trace.false_charge.guessed if trace.false_charge else None
    if chance is None:
        return []
    doubt = f"chance at most {format_number(chance.probability)}"
    if chance.probability >= 1:
        doubt = "which these rows do not rule out"
    return [f"others guessed what they did not hold ({doubt})"]


def _nobody_charged(trace: TraceResult) -> str:
    if trace.perhaps_guessed:
        how = "guessed, or made of other columns," if trace.evidence.unplaced else "guessed"
        return f"ours, and perhaps {how} in part: nobody is charged"
    if not trace.explanations.complete:
        count = pluralize(len(trace.explanations), "explanation")
        return (
            f"ours; {count} or more, and {_UNTRIED.format(most=trace.max_coalition_size)}: nobody is charged"
        )
    coalitions = len(trace.explanations) - len(trace.alone)
    if len(trace.alone) == 1:
        verb = "does" if coalitions == 1 else "do"
        others = pluralize(coalitions, "coalition")
        return f"{trace.alone[0]} alone explains it, and so {verb} {others} of others"
    return f"ours; {pluralize(len(trace.explanations), 'explanation')}, nobody is in all of them"


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
        ("", f"{reading.rows:,} rows could also be read with", str(reading))
        for reading in trace.readings[:MOST_READINGS]
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
        role = "alone" if suspect.smallest == 1 else f"with {pluralize(suspect.smallest - 1, 'other')}"
    cells = [suspect.recipient, role, f"release {suspect.release}"]
    cells.append("" if suspect.rows is None else f"{pluralize(suspect.rows, 'row')} in it")
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
            f"{pluralize(c.as_held, 'row')} just as held",
        )
        for c in suspect.columns
    ]


def _false_charge(trace: TraceResult) -> list[tuple[str, ...]]:
    """Returns both chances, beside each other: neither is the whole truth."""
    charge = trace.false_charge
    if charge is None:
        return []
    outside = charge.outside
    condition = f"if recipients made it, at most {trace.max_coalition_size} together"
    fits = f"{outside.fitting:,} of {pluralize(outside.rows, 'different row')} fit"
    return [
        (),
        ("false charge", f"at most {format_number(charge.probability)}", condition),
        *_guessed(charge.guessed),
        ("", f"at most {format_number(outside.probability)}", f"if it is somebody else's table: {fits}"),
        ("", format_number(outside.as_coarse), "of the patterns as coarse as this one might charge somebody"),
    ]


def _guessed(chance: GuessChance | None) -> list[tuple[str, ...]]:
    if chance is None:
        return []
    fits = f"{chance.fitting:,} of {pluralize(chance.rows, 'different row')} fit"
    columns = ", ".join(chance.columns)
    return [("", f"at most {format_number(chance.probability)}", f"if others guessed {columns}: {fits}")]


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
        if charged and others is not None and others <= trace.max_coalition_size:
            notes.append(
                f"{pluralize(others, 'other recipient')} together could build the whole version"
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
            f"Nobody else explains it without guessing, but {pluralize(trace.rows['foreign'], 'row')} fit no"
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
            "largest": trace.max_coalition_size,
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
        "readings": [reading.as_dict() for reading in trace.readings],
        "recipients": len(trace.recipients),
        "unread": list(trace.unread),
    }


def _coalitions(explanations: Explanations) -> list[list[str]]:
    return [list(coalition) for coalition in islice(explanations, MOST_LISTED)]


# Charts of a trace: levels of the leak beside those of versions, and how much fits each suspect.

MOST_ROWS = 10
"""The chart of levels shows so many suspects at most."""
MOST_BARS = 30
"""The chart of fits shows so many suspects at most."""

LEAK, KNEW, LESS, CERTAIN = "in the leak", "knew at least this", "knew less", "certain"


def tracing_chart(
    columns: Sequence[str],
    leaked: Sequence[str],
    cells_by_recipient: Mapping[str, Sequence[tuple[str, bool]]],
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
    for name, cells in cells_by_recipient.items():
        line = [(text, KNEW if fine else LESS) for text, fine in cells]
        word = verdicts.get(name, "")
        lines.append((name, [*line, (word, {"certain": CERTAIN, "suspect": KNEW}.get(word, LESS))]))
    kinds: dict[str, Tone] = {LEAK: "ink", KNEW: "sand", LESS: "faint", CERTAIN: "accent"}
    return Grid("tracing", title, [*columns, "verdict"], lines, kinds)


def charts(trace: TraceResult) -> tuple[Figure, ...]:
    """Returns the levels of the leak beside those of suspects' versions, and how much fits each suspect."""
    if not trace.suspects:
        return ()
    suspects, first = trace.suspects[:MOST_ROWS], trace.suspects[0].columns
    cells_by_recipient = {s.recipient: [(c.held_level, c.covers_leak) for c in s.columns] for s in suspects}
    verdicts = {s.recipient: "certain" if s.certain else "suspect" for s in suspects}
    fits = [
        (s.recipient, sum(c.as_held for c in s.columns) / max(1, len(s.columns) * trace.rows["ours"]))
        for s in trace.suspects[:MOST_BARS]
    ]
    return (
        tracing_chart(
            [c.column for c in first], [c.leaked_level for c in first], cells_by_recipient, verdicts
        ),
        Chart(
            "suspects",
            "Cells of the leak that are just as the suspect holds them",
            "bars",
            ("suspect", "share of cells"),
            fits,
            percent=True,
        ),
    )
