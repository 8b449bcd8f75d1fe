"""A discovery: which columns single people out, how strongly, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.identifiers import Identifier, direct_finding, identifiers
from sfumato.discovery.quasi_identifiers.coded import (
    NULL_RULE,
    Coded,
    Limits,
    OutOfTime,
    Reading,
    check_names,
)
from sfumato.discovery.quasi_identifiers.descent import DescentStep
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets
from sfumato.discovery.quasi_identifiers.measures import Measures, Partition, k_test, measure
from sfumato.discovery.quasi_identifiers.minimum import SearchMethod, Smallest, search_by
from sfumato.draft.draft import draft
from sfumato.draft.evidence import ColumnFinding, TableEvidence
from sfumato.kernels.sample_uniques import count_minimal_uniques
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.memory import Memory
from sfumato.system.presentation.cards import Card, Printable, decimals, format_number, json_ready, pluralize
from sfumato.system.presentation.charts import Chart
from sfumato.system.progress import Progress, silent
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.observers import survey_on_first_pass
from sfumato.table.source import CanSample, Source, SurveysFirstRows
from sfumato.table.survey import Survey

# The risk of records: minimal sample uniques, and the SUDA scores made of them.

MOST_BYTES = 1 << 32
"""Bytes that the sets of unique rows may take."""


@dataclass(frozen=True, eq=False)
class RecordRisk:
    """Minimal sample uniques of every record: sets of columns that make it unique, no subset of which does.

    `uniques[i, s-1]` counts those of s columns of record i, `by_column[c, s-1]` over all records those
    that column c is in. A record that another one equals in every column has none.

    The **SUDA score** of a record adds up (m - s)! over its minimal sample uniques of s columns, m being
    the number of columns (Elliot, Manning and Ford 2002): the fewer values suffice, the more it counts.
    It is often printed as the product of m - i for i from s to m - 1.
    """

    names: tuple[str, ...]
    max_size: int
    uniques: NDArray[np.int32]
    by_column: NDArray[np.int64]
    nulls: str = NULL_RULE

    @property
    def weights(self) -> tuple[int, ...]:
        """What a minimal sample unique of 1, 2, ... columns counts."""
        columns = len(self.names)
        return tuple(factorial(columns - s) for s in range(1, self.max_size + 1))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The SUDA score of every record."""
        scores: NDArray[np.float64] = self.uniques.astype(np.float64) @ np.array(self.weights, np.float64)
        return scores

    def score(self, record: int) -> int:
        """The SUDA score of one record, exactly."""
        return sum(w * int(c) for w, c in zip(self.weights, self.uniques[record], strict=True))

    @property
    def at_risk(self) -> int:
        """How many records have a minimal sample unique."""
        return int(np.count_nonzero(self.uniques.any(axis=1)))

    @property
    def smallest(self) -> NDArray[np.int32]:
        """The size of each record's smallest unique combination, 0 if it has none."""
        has = self.uniques > 0
        return np.where(has.any(axis=1), has.argmax(axis=1) + 1, 0).astype(np.int32)

    @property
    def contribution(self) -> dict[str, Fraction]:
        """For every column, the share of the total score that comes from combinations it is in."""
        weights = self.weights
        sums = [sum(w * int(c) for w, c in zip(weights, row, strict=True)) for row in self.by_column]
        counts = self.uniques.sum(axis=0, dtype=np.int64)
        total = sum(w * int(c) for w, c in zip(weights, counts, strict=True))
        return {name: Fraction(part, total or 1) for name, part in zip(self.names, sums, strict=True)}


def record_risk(
    table: Coded,
    *,
    max_size: int,
    memory: Memory | None = None,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> RecordRisk:
    """Count the minimal sample uniques of every record, up to `max_size` columns, within some memory.

    Half of the counts would mean nothing: where the time of `limits` is up first, OutOfTime is raised.

    >>> risk = record_risk(Coded.of_columns({"sex": "ffm", "zip": "112"}), max_size=2)
    >>> risk.uniques.tolist(), risk.scores.tolist()
    ([[0, 0], [0, 0], [2, 0]], [0.0, 0.0, 2.0])
    """
    columns, rows = len(table.names), table.rows
    if max_size < 1:
        raise UsageError("max_size must be at least 1")
    size = min(max_size, columns)
    if memory is not None:
        sets = sum(comb(columns, s) for s in range(1, size))
        memory.check(
            sets * rows // 8 + 4 * rows * (columns + 3 * size + 4),
            f"the risk of {rows:,} records by up to {size} of {columns} columns",
            "ask for a smaller --record-risk, or leave columns out with --without.",
        )
    per_row = np.zeros((rows, size), np.int32)
    per_column = np.zeros((columns, size), np.int64)
    if size and rows:
        choose, first = _ranks(columns, size)
        unique = _bitsets(int(first[size]), rows)
        stack = np.empty((size + 1) * rows, np.int32)
        stack[:rows] = np.arange(rows, dtype=np.int32)
        bounds = np.empty(2 + (size + 1) * (rows // 2 + 2), np.int32)
        bounds[:2] = 0, rows
        count = np.zeros(4 * max(table.sizes), np.int32)
        local = np.empty(max(rows, 32), np.int32)
        order = sorted(range(columns), key=lambda j: -table.sizes[j])
        codes, sizes = table.codes[order], np.array(table.sizes, np.int64)[order]
        counted = np.zeros_like(per_column)
        for top in range(columns):
            if limits is not None:
                limits.check()
            room = stack, bounds, count, local
            count_minimal_uniques(codes, sizes, top, size, choose, first, unique, per_row, counted, *room)
            progress("columns combined", top + 1, columns)
        per_column[order] = counted
    return RecordRisk(table.names, size, per_row, per_column)


def _ranks(columns: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Binomial coefficients, and where the sets of each size begin; `first[size]` is one past the last."""
    choose = np.array([[comb(c, s) for s in range(size + 1)] for c in range(columns)], np.int64)
    first = np.zeros(size + 1, np.int64)
    first[1:] = np.cumsum([0, *(comb(columns, s) for s in range(1, size))])
    return choose, first


def _bitsets(sets: int, rows: int) -> NDArray[np.uint64]:
    words = (rows + 63) // 64
    if 8 * sets * words > MOST_BYTES:
        raise UsageError(
            f"{sets} sets of columns over {rows} rows need more than {MOST_BYTES >> 30} GiB",
            remedy="Lower max_size, or choose fewer columns.",
        )
    return np.zeros((max(sets, 1), words), np.uint64)


# The evidence of a discovery: which columns single people out, and how strongly.

MOST_MEASURED, FEWEST_MEASURED, MOST_GROUPED_CELLS = 1000, 50, 300_000_000
"""At most a thousand minimal sets are measured, the smallest first; fewer, but at least fifty, where so many
cells would have to be grouped."""
FEWEST_IN_TIME = 3
"""So many sets are measured even where the deadline is over."""


@dataclass(frozen=True, eq=False, repr=False)
class Discovery(Printable):
    """What `sf.discover` found. Numbers are exact, names are those of columns, no cell value is shown.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"zip": ["1", "1", "2", "2"], "sex": ["f", "m", "f", "m"], "alive": [True] * 4})
    >>> scan = sf.discover(people, k=2, mode="any")
    >>> scan.minimal, scan.minimum, scan.proved, scan.exposed
    ([('zip', 'sex')], ('zip', 'sex'), True, 4)
    """

    whole: Measures
    found: MinimalSets
    smallest: Smallest
    identifiers: tuple[Identifier, ...]
    risk: RecordRisk | None = None
    table: Coded = field(repr=False, kw_only=True)
    survey: TableEvidence = field(repr=False, kw_only=True)
    method: str = field(default="exact", kw_only=True)
    assurance: str = field(default="", repr=False, kw_only=True)
    """What the method vouches for, where not all minimal sets are listed."""
    steps: tuple[DescentStep, ...] = field(default=(), repr=False, kw_only=True)
    """The tests of "descend" in one order: which columns remained, and whether they suffice."""
    limits: Limits | None = field(default=None, repr=False, kw_only=True)
    """What the search was held to; under a deadline also how long sets may be measured."""
    risk_in_time: bool = field(default=True, repr=False, kw_only=True)
    """Whether the risk of records was counted, if it was asked for, before the deadline."""
    sample_of: int | None = field(default=None, repr=False, kw_only=True)
    """How many rows the table has, if only a sample was looked at. All figures are then the sample's: a
    record that k share there is shared by k in the table, but one that stands out there need not."""
    source: SourceForm = field(default=NO_FORM, repr=False, kw_only=True)
    """How the table was read, for the policy that is suggested."""

    @property
    def rows(self) -> int:
        return self.whole.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were searched."""
        return self.table.names

    @property
    def k(self) -> int:
        return self.found.terms.k

    @property
    def t(self) -> int:
        """So many exposed records make a set of columns a quasi-identifier."""
        return self.found.terms.t

    @property
    def reading(self) -> str:
        return self.found.terms.reading

    @property
    def null_rule(self) -> str:
        """How missing cells compare: `equal` to each other, different from all else."""
        return NULL_RULE

    @property
    def k_anonymous(self) -> bool:
        """Whether nobody is exposed under all columns, and hence under any."""
        return self.whole.k_anonymous

    @property
    def exposed(self) -> int:
        """How many records share all their values with fewer than k, themselves included."""
        return self.whole.exposed

    @property
    def minimal(self) -> Sequence[tuple[str, ...]]:
        """The minimal quasi-identifiers, smallest first; all up to `max_size` if `complete`.

        Each is made when it is looked at: millions of sets may have been found, and `len` knows how many.
        """
        return self.found.sets

    @property
    def complete(self) -> bool:
        return self.found.complete

    @property
    def max_size(self) -> int | None:
        return self.found.max_size

    @property
    def minimum(self) -> tuple[str, ...] | None:
        """The smallest quasi-identifier, or the smallest known if not `proved`; `None` if there is none."""
        return self.smallest.columns

    @property
    def minima(self) -> list[tuple[str, ...]]:
        """The smallest quasi-identifiers known: all there are, if `proved` and `all_minima`."""
        return list(self.smallest.sets)

    @property
    def all_minima(self) -> bool:
        return self.smallest.complete

    @property
    def complete_to(self) -> int | None:
        """No minimal set of at most so many columns is missing; `None` if none of any size is."""
        if self.complete:
            return self.max_size
        return self.found.complete_to

    @property
    def proved(self) -> bool:
        return self.smallest.proved

    @property
    def lower_bound(self) -> int:
        """No quasi-identifier has fewer columns."""
        return self.smallest.lower_bound

    @property
    def reason(self) -> str:
        """Why there is no quasi-identifier, or why the empty set is one; else empty."""
        return self.found.reason

    @property
    def duplicates(self) -> int:
        """How many rows repeat another one, where that matters to the reading."""
        return self.found.duplicates

    @cached_property
    def sets(self) -> tuple[Measures, ...]:
        """How strong each minimal set is, on all rows; of very many, or in a very long table, the first."""
        most = min(MOST_MEASURED, max(FEWEST_MEASURED, MOST_GROUPED_CELLS // max(self.rows, 1)))
        return self.measured(most)

    def measured(self, most: int) -> tuple[Measures, ...]:
        """Returns how strongly each of the first sets singles people out.

        Args:
            most: how many sets are looked at.
        """
        done: list[Measures] = []
        for columns in self.found.sets[:most]:
            if len(done) >= FEWEST_IN_TIME and self.limits is not None and self.limits.late:
                break
            done.append(measure(self.table, columns, k=self.k))
        return tuple(done)

    def under(self, columns: Sequence[str]) -> Measures:
        """Returns how strongly searched columns single people out together, minimal or not.

        Args:
            columns: the names of the columns.
        """
        return measure(self.table, columns, k=self.k)

    @cached_property
    def within(self) -> Counter[str]:
        """In how many minimal sets each column is."""
        return Counter(self.found.sets.within())

    @cached_property
    def alone(self) -> dict[str, int]:
        """How many records each column exposes by itself."""
        return {name: measure(self.table, [name], k=self.k).exposed for name in self.columns}

    @property
    def contribution(self) -> dict[str, Fraction]:
        """How much each column has to do with it, largest first.

        With record risk: its share of the total score. Else the share of the minimal sets it is in.
        """
        if self.risk is not None:
            shares = self.risk.contribution
        else:
            total = len(self.found.sets) or 1
            shares = {name: Fraction(self.within[name], total) for name in self.columns}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def record_risk(self, max_size: int, *, progress: Progress = silent) -> RecordRisk:
        """Returns which records stand out by how few of their values.

        Args:
            max_size: the most values that are looked at together.
            progress: receives the phase, how much is done, and out of how much.
        """
        return record_risk(self.table, max_size=max_size, progress=progress)

    def suggest(self, preset: str | None = None) -> Policy:
        """Proposes a policy from all this evidence, each role with its reason; to be read before it is used.

        Args:
            preset: the name of a preset whose promises the policy takes over.
        """
        return draft(
            self.survey,
            preset=preset,
            findings={name: finding_of(self, name) for name in self.survey.columns},
            least=self.k,
            note=_note(self),
            source=self.source,
        )

    def charts(self) -> tuple[Chart, ...]:
        """What can be drawn: the exposed share by the size of the set, the contribution of each column."""
        steps = growth(self)
        shares = tuple((_label(s), float(Fraction(s.exposed, self.rows or 1))) for s in steps)
        exposed = Chart(
            "exposed-by-size",
            f"Records in groups smaller than {self.k}, by how many columns are known",
            "line",
            ("columns known, the strongest first", "exposed share of all records"),
            shares,
            tuple(", ".join(s.columns) or "nothing" for s in steps),
            percent=True,
        )
        score = self.risk is not None
        parts = [(name, float(share)) for name, share in self.contribution.items()][:MOST_BARS]
        contribution = Chart(
            "contribution-by-column",
            "Share of the risk score that a column is part of"
            if score
            else "Minimal sets that a column is in",
            "bars",
            ("column", "share of the score" if score else "share of the minimal sets"),
            tuple(parts),
            tuple(f"alone it exposes {self.alone[name]:,} records" for name, _ in parts),
            percent=True,
        )
        return exposed, contribution

    def card(self) -> Card:
        """The discovery in a few lines: the whole table, the smallest set, sets, identifiers and risk."""
        lines = [
            *_answers(self),
            (),
            *_steps(self),
            (),
            *_sets(self),
            (),
            *_identifiers(self),
            (),
            *_risk(self),
        ]
        target = f"at least {format_number(self.t)} of {pluralize(self.found.terms.rows, 'row')} exposed"
        return Card(f"quasi-identifiers, k = {self.k}, reading {self.reading}: {target}", lines, _notes(self))

    def as_dict(self) -> JsonObject:
        """The discovery as JSON: the same names, fractions exact as text, no cell values."""
        return {
            "rows": self.rows,
            "sample_of": self.sample_of,
            "columns": list(self.columns),
            "k": self.k,
            "t": self.t,
            "reading": self.reading,
            "null_rule": self.null_rule,
            "k_anonymous": self.k_anonymous,
            "exposed": self.exposed,
            "smallest_group": self.whole.smallest,
            "max_size": self.max_size,
            "minimal": [list(columns) for columns in self.found.sets[:MOST_LISTED]],
            "minimal_sets": len(self.found.sets),
            "complete": self.complete,
            "stopped": self.found.stopped or None,
            "complete_to": self.complete_to,
            "method": self.method,
            "assurance": self.assurance,
            "steps": [{"columns": list(step.remaining), "holds": step.holds} for step in self.steps],
            "minima": [list(columns) for columns in self.minima],
            "all_minima": self.all_minima,
            "minimum": None if self.minimum is None else list(self.minimum),
            "proved": self.proved,
            "lower_bound": self.lower_bound,
            "reason": self.reason,
            "duplicates": self.duplicates,
            "sets": [_measures(m) for m in self.sets],
            "identifiers": [json_ready(sign) for sign in self.identifiers],
            "record_risk": None if self.risk is None else _record_risk(self.risk),
        }

    def __repr__(self) -> str:
        size = f"{self.rows} rows, {len(self.columns)} columns"
        return f"Discovery({size}, k={self.k}, {self.reading}, {len(self.found.sets)} sets)"


# The policy that a discovery suggests: its evidence per column, handed to the draft.


def finding_of(scan: Discovery, name: str) -> ColumnFinding:
    """What the search says about one column."""
    evidence = [sign for sign in scan.identifiers if sign.column == name]
    finding = direct_finding(evidence)
    if finding.identifies:
        return finding
    remarks = [
        f"{sign.kind} ({sign.confidence}): {sign.reason}" for sign in evidence if sign.kind != "unique"
    ]
    return ColumnFinding(remark="; ".join([*remarks, *_strength(scan, name)]))


def _strength(scan: Discovery, name: str) -> list[str]:
    """How a column singles people out: alone, and together with others."""
    if name not in scan.columns:
        return ["left out of the search"]
    notes = []
    if alone := scan.alone[name]:
        notes.append(f"alone it exposes {alone:,} of {pluralize(scan.rows, 'row')}")
    if within := scan.within[name]:
        notes.append(f"in {within:,} of {pluralize(len(scan.found.sets), 'minimal set')}")
    elif scan.complete and scan.max_size is None:
        notes.append("in no minimal set")
    return notes


def _note(scan: Discovery) -> str:
    bound = "" if scan.max_size is None else f", sets of at most {pluralize(scan.max_size, 'column')}"
    state = "complete" if scan.complete else "stopped early"
    return (
        f"Proposed from the data: quasi-identifiers at k = {scan.k}, reading {scan.reading}{bound}, {state}. "
        "Roles are guesses; read the reasons, correct what is wrong, and only then publish."
    )


# The evidence of a discovery as a card, for people, and as a JSON document, for programs.

MOST_SHOWN = 12
"""Sets, and columns, that a card lists at most."""
MOST_LISTED = 100_000
"""Sets that a document lists at most; it counts all of them."""
Lines = list[tuple[str, ...]]


def _answers(scan: Discovery) -> Lines:
    whole = scan.whole
    state = f"{'' if scan.k_anonymous else 'not '}{scan.k}-anonymous"
    group = f"smallest group {format_number(whole.smallest)}" if whole.rows else "no rows"
    lines: Lines = [
        (pluralize(len(scan.columns), "column"), f"{format_number(whole.exposed)} exposed", state, group)
    ]
    if scan.minimum is None:
        return [*lines, ("smallest set", "none")]
    size = pluralize(len(scan.minimum), "column")
    needed = pluralize(scan.lower_bound, "column")
    proof = "proved" if scan.proved else f"best found; at least {needed} needed"
    lines.append(("smallest set", _named(scan.minimum), size, proof))
    further = scan.minima[1:MOST_SHOWN]
    lines += [("  just as small", _named(columns)) for columns in further]
    more = len(scan.minima) - 1 - len(further)
    return [*lines, (f"  and {format_number(more)} more",)] if more else lines


def _steps(scan: Discovery) -> Lines:
    tests: list[tuple[str, ...]] = [
        (f"without {step.without}", _named(step.remaining), "still one" if step.holds else "needed")
        for step in scan.steps[:MOST_SHOWN]
    ]
    more = len(scan.steps) - len(tests)
    return [*tests, (f"and {pluralize(more, 'test')} more",)] if more else tests


def _sets(scan: Discovery) -> Lines:
    lines: Lines = [("minimal set", "exposed", "share", "groups", "pairs told apart")]
    for m in scan.measured(MOST_SHOWN):
        apart = "–" if m.separation is None else percent(m.separation)
        counts = format_number(m.exposed), percent(m.share), format_number(m.groups)
        lines.append((_named(m.columns), *counts, apart))
    return lines if scan.found.sets else []


def _identifiers(scan: Discovery) -> Lines:
    lines = [(sign.column, sign.kind, sign.confidence, sign.reason) for sign in scan.identifiers]
    return [("column", "evidence", "confidence", "reason"), *lines] if lines else []


def _risk(scan: Discovery) -> Lines:
    risk = scan.risk
    if risk is None:
        return []
    size = pluralize(risk.max_size, "column")
    head = (f"unique by up to {size}", f"{format_number(risk.at_risk)} of {pluralize(scan.rows, 'row')}")
    parts = [
        (f"  with {name}", f"{percent(share)} of the score") for name, share in scan.contribution.items()
    ]
    return [head, *parts[:MOST_SHOWN]]


def _notes(scan: Discovery) -> list[str]:
    count = pluralize(len(scan.found.sets), "minimal set")
    extent = STOPPED.get(scan.found.stopped, "stopped before all were found")
    if scan.complete:
        most = scan.max_size
        extent = "all there are" if most is None else f"all of at most {pluralize(most, 'column')}"
    notes = [f"{count}, {extent}"]
    if scan.assurance:
        notes.append(scan.assurance)
    if scan.proved and len(scan.minima) > 1 and not scan.all_minima:
        notes.append("there may be more sets as small as the smallest")
    if len(scan.found.sets) > MOST_SHOWN:
        notes[0] += f"; {MOST_SHOWN} are shown"
    if scan.reason:
        notes.append(scan.reason)
    if any(len(columns) == 1 for columns in scan.found.sets[:1]) and len(scan.columns) > 1:
        notes.append("a column that suffices alone hides the sets it is in; leave it out to see the others")
    sizes = zip(scan.columns, scan.table.sizes, strict=True)
    near = [name for name, size in sizes if _mostly_distinct(scan, name, size)]
    if near:
        notes.append(f"nearly every number differs in {', '.join(near)}: round them to learn more")
    if not scan.risk_in_time:
        notes.append("the risk of records was not counted: the deadline was over before")
    if scan.sample_of is not None:
        notes.append(
            f"a sample of a table of {pluralize(scan.sample_of, 'row')}: what k share here, k share there; "
            "one that stands out here need not stand out there"
        )
    return [*notes, "missing cells count as equal to each other"]


STOPPED = {
    "results": "as many as were asked for",
    "deadline": "stopped at the deadline before all were found",
    "steps": "stopped after its budget of steps before all were found",
    "memory": "stopped where the memory ended before all were found",
}
"""Why there may be more sets, in words."""


def _mostly_distinct(scan: Discovery, name: str, size: int) -> bool:
    return scan.survey.columns[name].kind == "decimal" and scan.rows >= 50 and size * 10 >= scan.rows * 9


def _named(columns: tuple[str, ...]) -> str:
    return ", ".join(columns) or "(no column at all)"


def percent(share: Fraction) -> str:
    """A share for people; 100% and 0% only where it is exactly so.

    >>> [percent(Fraction(n, 3000)) for n in (3000, 2999, 1000, 1)]
    ['100%', '99.9%', '33.3%', 'under 0.1%']
    """
    if share in (0, 1):
        return f"{int(share * 100)}%"
    tenths = int(share * 1000)
    return f"{tenths // 10}.{tenths % 10}%" if tenths else "under 0.1%"


def _measures(m: Measures) -> JsonObject:
    shares = {"share": m.share, "distinct_ratio": m.distinct_ratio, "separation": m.separation}
    return {
        "columns": list(m.columns),
        "exposed": m.exposed,
        "groups": m.groups,
        "smallest_group": m.smallest,
        **json_ready(shares),
        "decimals": decimals(shares),
    }


def _record_risk(risk: RecordRisk) -> JsonObject:
    sizes = {str(s): int((risk.smallest == s).sum()) for s in range(1, risk.max_size + 1)}
    return {
        "max_size": risk.max_size,
        "at_risk": risk.at_risk,
        "records_by_smallest_size": sizes,
        "contribution": {name: float(share) for name, share in risk.contribution.items()},
    }


# The charts of a discovery: exposure by columns known, contribution by column.

MOST_STEPS = 8
"""Columns that are added one after the other."""
MOST_BARS = 30
"""Columns that one chart shows."""


@dataclass(frozen=True)
class GrowthStep:
    """So many records are exposed to somebody who knows these columns."""

    columns: tuple[str, ...]
    exposed: int


def growth(scan: Discovery) -> tuple[GrowthStep, ...]:
    """How fast exposure grows with what somebody knows: the strongest next column, one at a time.

    Columns that name people by themselves, or tell all rows apart, are left out: they end the story at once.
    Of equally strong columns the first in the table is taken.
    """
    table = scan.table
    gone = {f.column for f in scan.identifiers if (f.direct and f.convincing) or f.kind == "unique"}
    left = [j for j, name in enumerate(table.names) if name not in gone] or list(range(len(table.names)))
    current = Partition.whole(table.rows, scan.k)
    chosen: list[int] = []
    steps = [GrowthStep((), current.exposed)]
    while left and len(steps) <= MOST_STEPS and len(current.rows):
        options = [(j, current.refined(table.codes[j], table.sizes[j])) for j in left]
        best, finer = max(options, key=lambda option: (_exposed(option[1]), -option[0]))
        if finer is None or (finer.exposed, len(finer.bounds)) == (current.exposed, len(current.bounds)):
            break
        current = finer
        chosen.append(best)
        left.remove(best)
        steps.append(GrowthStep(tuple(table.names[j] for j in chosen), current.exposed))
    return tuple(steps)


def _exposed(groups: Partition | None) -> int:
    return -1 if groups is None else groups.exposed


def _label(step: GrowthStep) -> str:
    return f"{len(step.columns)}: + {step.columns[-1]}" if step.columns else "0"


# The scan of a source: its survey, its codes, and the searches that a discovery is made of.


def scan(
    source: Source,
    reading: Reading,
    *,
    method: SearchMethod | None = None,
    risk_size: int | None = None,
    without: Sequence[str] = (),
    progress: Progress = silent,
) -> Discovery:
    """The discovery of a table: surveyed, coded, searched. Columns in `without` are surveyed only.

    The seconds of a deadline begin before the table is read, and memory is what the source allows.
    """
    if not source.columns:
        raise BadData("the table has no columns")
    check_names(without, source.columns)
    chosen = method or SearchMethod()
    limits = chosen.limits(source.memory)
    names = [name for name in source.columns if name not in set(without)]
    survey, table = _survey_and_code(source, names, progress)
    long = [name for name, column in survey.columns.items() if not column.complete and column.kind != "list"]
    sizes = dict(zip(table.names, table.sizes, strict=True))
    exact = {name: size - (survey.columns[name].missing > 0) for name, size in sizes.items()}
    first_rows = source.survey_first(long) if long and isinstance(source, SurveysFirstRows) else None
    progress("grouping", 0)
    answer = search_by(chosen, table, reading, progress=progress, limits=limits)
    risk = None
    if risk_size is not None:
        with suppress(OutOfTime):
            memory = source.memory
            risk = record_risk(table, max_size=risk_size, memory=memory, progress=progress, limits=limits)
    return Discovery(
        k_test(table, k=reading.k),
        answer.found,
        answer.smallest,
        identifiers(survey, distinct=exact, first_rows=first_rows),
        risk,
        table=table,
        limits=limits,
        risk_in_time=risk_size is None or risk is not None,
        survey=survey,
        method=chosen.name,
        assurance=answer.assurance,
        steps=answer.steps,
        sample_of=source.sample_of if isinstance(source, CanSample) else None,
    )


def _survey_and_code(source: Source, names: Sequence[str], progress: Progress) -> tuple[Survey, Coded]:
    """A survey of all columns, and these columns coded: in one pass, if there is room for both at a time."""
    surveys: list[Survey] = []
    surveying = survey_on_first_pass(source, source.columns, {}, lambda columns, _: surveys.append(columns))
    if surveying is None:
        survey = source.survey(progress=progress)
        return survey, Coded.from_source(source, names, progress=progress)
    table = Coded.from_source(surveying, names, progress=progress)
    return surveys[0] if surveys else source.survey(progress=progress), table
