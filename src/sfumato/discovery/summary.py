"""The evidence of a discovery as a card, for people, and as a JSON document, for programs."""

from __future__ import annotations

from fractions import Fraction

from sfumato.core.json_object import JsonObject
from sfumato.discovery.evidence import DiscoveryEvidence
from sfumato.discovery.quasi_identifiers.measures import Measures
from sfumato.discovery.record_risk import RecordRisk
from sfumato.show.card import Card, figure, several
from sfumato.show.document import decimals, json_ready

MOST_SHOWN = 12
"""Sets, and columns, that a card lists at most."""
MOST_LISTED = 100_000
"""Sets that a document lists at most; it counts all of them."""
Lines = list[tuple[str, ...]]


def card(scan: DiscoveryEvidence) -> Card:
    """The card: the whole table, the smallest set, then sets, identifiers and record risk."""
    lines = [*_answers(scan), (), *_sets(scan), (), *_identifiers(scan), (), *_risk(scan)]
    asked = f"at least {figure(scan.t)} of {several(scan.found.terms.rows, 'row')} exposed"
    return Card(f"quasi-identifiers, k = {scan.k}, reading {scan.reading}: {asked}", lines, _notes(scan))


def _answers(scan: DiscoveryEvidence) -> Lines:
    whole = scan.whole
    state = f"{'' if scan.k_anonymous else 'not '}{scan.k}-anonymous"
    group = f"smallest group {figure(whole.smallest)}" if whole.rows else "no rows"
    lines: Lines = [(several(len(scan.columns), "column"), f"{figure(whole.exposed)} exposed", state, group)]
    if scan.minimum is None:
        return [*lines, ("smallest set", "none")]
    size = several(len(scan.minimum), "column")
    proof = "proved" if scan.proved else f"best found; at least {several(scan.lower_bound, 'column')} needed"
    lines.append(("smallest set", _named(scan.minimum), size, proof))
    shown = scan.minima[1:MOST_SHOWN]
    lines += [("  just as small", _named(columns)) for columns in shown]
    more = len(scan.minima) - 1 - len(shown)
    return [*lines, (f"  and {figure(more)} more",)] if more else lines


def _sets(scan: DiscoveryEvidence) -> Lines:
    lines: Lines = [("minimal set", "exposed", "share", "groups", "pairs told apart")]
    for m in scan.measured(MOST_SHOWN):
        apart = "–" if m.separation is None else percent(m.separation)
        lines.append((_named(m.columns), figure(m.exposed), percent(m.share), figure(m.groups), apart))
    return lines if scan.found.sets else []


def _identifiers(scan: DiscoveryEvidence) -> Lines:
    lines = [(found.column, found.kind, found.confidence, found.reason) for found in scan.identifiers]
    return [("column", "evidence", "confidence", "reason"), *lines] if lines else []


def _risk(scan: DiscoveryEvidence) -> Lines:
    risk = scan.risk
    if risk is None:
        return []
    size = several(risk.max_size, "column")
    head = (f"unique by up to {size}", f"{figure(risk.at_risk)} of {several(scan.rows, 'row')}")
    parts = [
        (f"  with {name}", f"{percent(share)} of the score") for name, share in scan.contribution.items()
    ]
    return [head, *parts[:MOST_SHOWN]]


def _notes(scan: DiscoveryEvidence) -> list[str]:
    count = several(len(scan.found.sets), "minimal set")
    upto = "all there are" if scan.max_size is None else f"all of at most {several(scan.max_size, 'column')}"
    notes = [f"{count}, {upto if scan.complete else _stopped(scan)}"]
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
    near = [
        name
        for name, size in zip(scan.columns, scan.table.sizes, strict=True)
        if _mostly_distinct(scan, name, size)
    ]
    if near:
        notes.append(f"nearly every number differs in {', '.join(near)}: round them to learn more")
    if not scan.risk_in_time:
        notes.append("the risk of records was not counted: the deadline was over before")
    if scan.sample_of is not None:
        notes.append(
            f"a sample of a table of {several(scan.sample_of, 'row')}: what k share here, k share there; "
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


def _stopped(scan: DiscoveryEvidence) -> str:
    return STOPPED.get(scan.found.stopped, "stopped before all were found")


def _mostly_distinct(scan: DiscoveryEvidence, name: str, size: int) -> bool:
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


def document(scan: DiscoveryEvidence) -> JsonObject:
    """The document with every answer under the name that the library gives it."""
    return {
        "rows": scan.rows,
        "sample_of": scan.sample_of,
        "columns": list(scan.columns),
        "k": scan.k,
        "t": scan.t,
        "reading": scan.reading,
        "null_rule": scan.null_rule,
        "k_anonymous": scan.k_anonymous,
        "exposed": scan.exposed,
        "smallest_group": scan.whole.smallest,
        "max_size": scan.max_size,
        "minimal": [list(columns) for columns in scan.found.sets[:MOST_LISTED]],
        "minimal_sets": len(scan.found.sets),
        "complete": scan.complete,
        "stopped": scan.found.stopped or None,
        "complete_to": scan.complete_to,
        "method": scan.method,
        "assurance": scan.assurance,
        "minima": [list(columns) for columns in scan.minima],
        "all_minima": scan.all_minima,
        "minimum": None if scan.minimum is None else list(scan.minimum),
        "proved": scan.proved,
        "lower_bound": scan.lower_bound,
        "reason": scan.reason,
        "duplicates": scan.duplicates,
        "sets": [_measures(m) for m in scan.sets],
        "identifiers": [json_ready(found) for found in scan.identifiers],
        "record_risk": None if scan.risk is None else _record_risk(scan.risk),
    }


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
