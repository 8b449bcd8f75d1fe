"""What a trace found: who is charged with a leak, who cannot be told apart, and on how much evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b

import numpy as np

from sfumato.recipients.charging import Charges
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, Printable, pluralize
from sfumato.system.presentation.charts import Chart, Figure
from sfumato.table.microdata import Codes, Counts
from sfumato.table.taxonomy import Label

MARKS, PATTERNS = "marks", "patterns"
"""What versions differ by."""
MOST_SHOWN = 10
"""A card names so many recipients at most."""
MOST_BARS = 30
"""The chart shows so many recipients at most."""
RAREST = 1_000_000
"""Rarer accidents are said to be rarer than one in so many."""


@dataclass(frozen=True)
class Suspect:
    """A recipient beside a leak.

    By marks, `agree` of the `groups` whose mark the leak shows, and that are in the recipient's version, have
    the mark that it has. By patterns it is a score: cells of the leak that are just as in the version count
    for it, those that are finer against it. `tail` is how often an innocent fits the leak as well.
    """

    recipient: str
    agree: int
    groups: int
    tail: Fraction
    charged: bool

    @property
    def chance(self) -> str:
        """The tail in words."""
        if self.tail >= Fraction(1, 2):
            return "an innocent fits as well"
        one_in = int(1 / self.tail) if self.tail else RAREST
        if one_in >= RAREST:
            return f"an innocent fits as well in less than 1 of {RAREST:,} traces"
        return f"an innocent fits as well in 1 of {one_in:,} traces"

    def as_dict(self) -> JsonObject:
        return {**vars(self), "tail": float(self.tail)}


@dataclass(frozen=True)
class LeakColumns:
    """How the columns of a leak were read: our names, those that differ there, and those left aside."""

    ours: tuple[str, ...]
    renamed: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Printable):
    """Who is charged with a leak; names of recipients and columns, and counts, but no cell value.

    `suspects` are all recipients, those first who fit best. An innocent one is among the `charged` in at most
    `error` of all traces, whatever was done to the leak by people who do not know the coins of the ledger.
    `rows` counts those of the leak: all, and those that are `ours`, which fit what was published. `groups` is
    the evidence: by marks, how many groups show theirs; by patterns, from how many patterns versions were
    drawn. `alone` could have made all rows from what they hold, and `sources` says the same of every column:
    that is no evidence, since whoever guesses may hold less.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> with TemporaryDirectory() as home:
    ...     ledger = f"sqlite:///{home}/ledger.db"
    ...     receipt = sf.release(people, policy, ledger=ledger, into=f"{home}/first", to="north")
    ...     trace = sf.trace(f"{home}/first/data.csv", ledger=ledger)
    >>> trace.rows["ours"], trace.charged, trace.alone
    (4, (), ('north',))
    """

    by: str
    chain: str | None
    rows: Mapping[str, int]
    columns: LeakColumns
    suspects: tuple[Suspect, ...]
    groups: int
    error: Fraction
    reported: int = 0
    traces: int | None = None
    digest: str = field(default="", repr=False)
    alone: tuple[str, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @property
    def reading(self) -> str:
        """A digest of the leak and of how it was read: another chain, other names of columns, another error
        or other reports make another trace of it."""
        columns = self.columns.ours, sorted(self.columns.renamed.items()), self.columns.unknown
        how = self.digest, self.by, self.chain, columns, self.error, self.groups, self.reported
        return blake2b(repr(how).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def ours(self) -> bool:
        """Whether any row fits what was published."""
        return self.rows["ours"] > 0

    @property
    def charged(self) -> tuple[str, ...]:
        """The recipients who are charged."""
        return tuple(s.recipient for s in self.suspects if s.charged)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The others: they cannot be told apart."""
        return tuple(s.recipient for s in self.suspects if not s.charged)

    def values(self) -> list[str]:
        """Returns the texts that could not be read, for whoever asked to see them; no card shows them."""
        return [f"{name}: {', '.join(map(repr, texts))}" for name, texts in self.unreadable.items()]

    def charts(self) -> tuple[Figure, ...]:
        """Returns how well every recipient fits the leak."""
        if not self.ours or not self.groups:
            return ()
        fits = [(s.recipient, float(1 - s.tail)) for s in self.suspects[:MOST_BARS]]
        axes = ("recipient", "share of innocents who fit less well")
        return (Chart("suspects", "How well each recipient fits the leak", "bars", axes, fits, percent=True),)

    def card(self) -> Card:
        """Returns the trace in a few lines."""
        return Card(self._title(), self._lines(), notes=self._notes())

    def as_dict(self) -> JsonObject:
        """Returns the trace as JSON."""
        return {
            "ours": self.ours,
            "by": self.by,
            "chain": self.chain,
            "charged": list(self.charged),
            "undecided": list(self.undecided),
            "error": str(self.error),
            "suspects": [s.as_dict() for s in self.suspects],
            "groups": self.groups,
            "reported": self.reported,
            "traces": self.traces,
            "rows": dict(self.rows),
            "columns": {
                "ours": list(self.columns.ours),
                "renamed": dict(self.columns.renamed),
                "unknown": list(self.columns.unknown),
            },
            "alone": list(self.alone),
            "sources": {name: list(recipients) for name, recipients in self.sources.items()},
        }

    def __repr__(self) -> str:
        return f"Trace({'ours' if self.ours else 'not ours'}, {len(self.charged)} charged)"

    def _title(self) -> str:
        if not self.ours:
            return "not ours: no row of the leak fits what was published"
        if not self.suspects:
            return "ours, and handed to nobody by name"
        if not self.charged:
            return "ours, but nobody is charged: the recipients cannot be told apart"
        bound = f"{self.error.numerator} of {self.error.denominator:,} traces"
        return f"traced to {' and '.join(self.charged)}: an innocent is charged in at most {bound}"

    def _lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = [
            ("rows", f"{self.rows['ours']:,} of {self.rows['all']:,} fit what was published")
        ]
        lines.append(("columns", ", ".join(self.columns.ours)))
        lines += [("", f"{ours} is called {theirs} there") for ours, theirs in self.columns.renamed.items()]
        lines += [
            ("", f"{name} left aside", "next to nothing in it can be read") for name in self.columns.unknown
        ]
        if not self.ours:
            return lines
        lines.append(("evidence", self._evidence()))
        for suspect in self.suspects[:MOST_SHOWN]:
            word = "charged" if suspect.charged else "not charged"
            lines.append((suspect.recipient, word, self._fit(suspect), suspect.chance))
        if len(self.suspects) > MOST_SHOWN:
            lines.append(("", f"and {len(self.suspects) - MOST_SHOWN:,} more, not charged"))
        return lines

    def _evidence(self) -> str:
        if self.by == PATTERNS:
            return f"versions drawn from {pluralize(self.groups, 'pattern')}"
        left = f", {self.reported:,} left out: reported before" if self.reported else ""
        return f"marks of {pluralize(self.groups, 'group')}{left}"

    def _fit(self, suspect: Suspect) -> str:
        if self.by == PATTERNS:
            return f"score {suspect.agree:,}"
        return f"{suspect.agree:,} of {suspect.groups:,} marks agree"

    def _notes(self) -> list[str]:
        notes = []
        if self.charged:
            notes.append("A charge says whose copy it is, not who acted: a copy can be stolen.")
        if self.ours and self.by == PATTERNS and not self.charged:
            notes.append(self._few_patterns())
        if self.alone and self.by == PATTERNS and self.ours:
            notes.append(
                f"Without a guess these could have made all rows alone: {', '.join(self.alone[:MOST_SHOWN])}."
            )
        if self.traces is not None:
            notes.append(
                f"{pluralize(self.traces, 'trace has', 'traces have')} been made with this ledger: the error"
                " counts anew for each of them."
            )
        return notes

    def _few_patterns(self) -> str:
        drawable = self.groups - len(self.suspects) + 1
        if self.groups == 0:
            return "These versions were not drawn by coins, so nobody can be charged."
        least = Fraction(len(self.suspects), max(1, drawable))
        return (
            f"{self.groups:,} patterns for {pluralize(len(self.suspects), 'recipient')} charge nobody"
            f" unless an error of {least} is allowed. Marks can (recipients: by: marks)."
        )


def digest_of(texts: Iterable[Sequence[Label]], codes: Iterable[Codes], counts: Counts) -> str:
    """Returns a digest of the rows of a leak, by which it is known again."""
    digest = blake2b(np.ascontiguousarray(counts).tobytes(), digest_size=16)
    for words, numbers in zip(texts, codes, strict=True):
        digest.update(repr(tuple(words)).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(numbers).tobytes())
    return digest.hexdigest()


def found_by(
    by: str,
    charges: Charges,
    names: Sequence[str],
    *,
    chain: str | None,
    rows: Mapping[str, int],
    columns: LeakColumns,
    groups: int,
    reported: int = 0,
    digest: str,
) -> Trace:
    """Returns the trace that charges come to; whoever fits best is first."""
    charged = set(charges.charged)
    order = sorted(range(len(names)), key=lambda i: (charges.tails[i], -charges.agree[i], i))
    suspects = tuple(
        Suspect(names[i], charges.agree[i], charges.groups[i], charges.tails[i], i in charged) for i in order
    )
    return Trace(by, chain, rows, columns, suspects, groups, charges.error, reported, digest=digest)
