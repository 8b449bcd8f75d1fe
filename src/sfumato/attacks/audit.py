"""The audit: is a published table what its policy promises, and what could an adversary still do with it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sfumato.attacks.attack import Attack, strike_all
from sfumato.attacks.findings_card import attack_card
from sfumato.attacks.judged_source import judged_when_read
from sfumato.attacks.objections import Objection, column_objections, label_objections
from sfumato.attacks.published_table import PublishedTable, flat
from sfumato.attacks.registry import make, make_all
from sfumato.core.errors import BadData, BadTaxonomy
from sfumato.core.progress import Progress, silent
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.verdict import Finding, Verdict
from sfumato.engine import open_source
from sfumato.policy.policy import Policy
from sfumato.policy.set_columns import forms_of
from sfumato.show.card import Card, Printable, several, verdict_lines
from sfumato.show.document import decimals, json_ready, verdict_document

BESIDE = 210
"""Bytes that judging and attacking take per different row, beside the table; 175 at a million classes."""

IDLE = "an attack of another package cannot be used and was not tried"


@dataclass(frozen=True)
class Beside:
    """The releases that a table was held against, and its own place among them, if it is one of them."""

    chain: str
    releases: int
    place: int | None = None

    def __str__(self) -> str:
        own = "none of them" if self.place is None else f"release {self.place} of them"
        return f"held against {several(self.releases, 'release')} of chain {self.chain}; it is {own}"


@dataclass(frozen=True, repr=False)
class Audit(Printable):
    """What an auditor can say who holds nothing but the published table and the policy.

    `holds` is `False` if a promise is broken or a column is published that must not be, `None` if something
    cannot be decided from the table, else `True`. Findings say what each adversary achieves; an adversary
    may succeed although every promise holds, where no promise speaks of it. `failed` says which attacks
    broke down and found nothing. `beside` says which releases the table was held against, if any.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    objections: tuple[Objection, ...]
    rows: int
    columns: tuple[str, ...]
    failed: tuple[str, ...] = ()
    beside: Beside | None = None

    @property
    def holds(self) -> bool | None:
        said = [v.holds for v in self.verdicts] + [o.holds for o in self.objections]
        return False if False in said else None if None in said else True

    @property
    def breaches(self) -> tuple[Finding, ...]:
        """The findings that the policy does not tolerate."""
        return tuple(f for f in self.findings if f.breach)

    def as_dict(self) -> dict[str, Any]:
        """The audit as JSON: fractions exact as text, their decimals beside them, no cell values."""
        return {
            "holds": self.holds,
            "rows": self.rows,
            "columns": list(self.columns),
            "verdicts": [verdict_document(v) for v in self.verdicts],
            "findings": [_finding(f) for f in self.findings],
            "objections": [json_ready(o) for o in self.objections],
            "failed": list(self.failed),
            "beside": None if self.beside is None else json_ready(self.beside),
        }

    def card(self) -> Card:
        """One line per promise and per attack, worst first."""
        title = "every promise holds"
        for holds, words in ((None, "not decidable from this file"), (False, "broken")):
            if count := sum(v.holds is holds for v in self.verdicts):
                title = f"{several(count, 'promise')} of {len(self.verdicts)} {words}"
        lines = [*verdict_lines(self.verdicts), (), *attack_card(self.findings).lines]
        notes = [_spoken(o) for o in self.objections if o.holds is not False]
        notes += [f"an attack failed and found nothing: {what}" for what in self.failed]
        return Card(title, lines, [*notes, *([str(self.beside)] if self.beside else [])])

    def __repr__(self) -> str:
        won = len(self.breaches)
        return f"Audit({self.rows} rows, holds={self.holds}, {won} of {len(self.findings)} attacks succeeded)"


def audit(
    source: Any,
    policy: Policy,
    *,
    attacks: Sequence[str | Attack] | None = None,
    progress: Progress = silent,
) -> Audit:
    """Judge a published table, and attack it; nothing else is looked at.

    `source` is a dataframe, a path, or an opened source. `attacks` are names or attacks with knowledge of
    their own; all known ones by default. A raw table can be audited too: then the findings tell what
    would leak if it were published as it is.
    """
    opened = open_source(source)
    if not set(opened.columns) & set(policy.columns):
        # The names may be the cells of a first row in a file without a header: not to be shown.
        raise BadData(
            f"none of the {len(opened.columns)} columns is declared in the policy",
            remedy="Has the file a header? Is it the right policy?",
        )
    adversaries, idle = make_all() if attacks is None else (_named(attacks), ())
    roles = {name: rule.role for name, rule in policy.columns.items()}
    with judged_when_read(opened, policy, progress=progress) as (readable, judge):
        published = PublishedTable.read(
            readable,
            roles,
            person=policy.person,
            builds=_builds(policy),
            forms=forms_of(policy),
            rules={n: r.taxonomy for n, r in policy.columns.items() if r.role.is_key and r.taxonomy},
            progress=progress,
        )
        rows = published.table.distinct
        remedy = "have a release with fewer classes audited."
        opened.memory.check(rows * BESIDE, f"auditing {rows:,} different rows", remedy)
        verdicts = judge()
    objections = [*column_objections(published.columns, policy), *label_objections(published, policy)]
    objections += [Objection(f"{IDLE}: {name}", (), True) for name in idle]
    findings, failed = strike_all(published, adversaries, policy.promises.limits, progress=progress)
    forbidden = [o for o in objections if o.holds is False]
    return Audit(
        (*_columns_verdict(forbidden), *verdicts),
        findings,
        tuple(objections),
        published.rows,
        published.columns,
        failed,
    )


def _builds(policy: Policy) -> dict[str, Callable[[Sequence[Label]], Taxonomy]]:
    """How sensitive values are told apart: by the leaves of the policy's taxonomy, where all have a place."""

    def leaves(build: Callable[[Sequence[Label]], Taxonomy]) -> Callable[[Sequence[Label]], Taxonomy]:
        def tell_apart(values: Sequence[Label]) -> Taxonomy:
            try:
                tree = build(values)
            except BadTaxonomy:
                return flat(values)
            return flat(values) if any(tree.rank(value) is None for value in values) else tree

        return tell_apart

    return {coding.name: leaves(coding.build) for coding in policy.codings if not coding.role.is_key}


def _named(attacks: Sequence[str | Attack]) -> tuple[Attack, ...]:
    return tuple(make(a) if isinstance(a, str) else a for a in attacks)


def _columns_verdict(forbidden: list[Objection]) -> list[Verdict]:
    """Columns that must not be there break the policy as a promise does."""
    if not forbidden:
        return []
    reason = "; ".join(_spoken(o) for o in forbidden)
    return [Verdict("only declared columns, no identifier", False, len(forbidden), 0, reason=reason)]


def _spoken(objection: Objection) -> str:
    named = f": {', '.join(objection.columns)}" if objection.columns else ""
    return objection.sentence + named


def _finding(finding: Finding) -> dict[str, Any]:
    """Without the values; the decimals of its own fractions and of those among the details stand beside."""
    found: dict[str, Any] = json_ready(finding)
    own = {f.name: getattr(finding, f.name) for f in fields(finding) if f.repr}
    return {**found, "decimals": decimals({**own, **finding.details})}
