"""The audit: is a published table what its policy promises, and what could an adversary still do with it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sfumato.attacks.attack import Attack, attacks_without_target, strike_all
from sfumato.attacks.chain.cracked_classes import CrackedClasses
from sfumato.attacks.findings_card import attack_card
from sfumato.attacks.given_away import given_away
from sfumato.attacks.headline import Headline
from sfumato.attacks.judged_source import judged_when_read, surplus_of
from sfumato.attacks.objections import (
    BYTES,
    DOUBT,
    Objection,
    column_objections,
    foldings,
    label_objections,
    surplus_objections,
    unique_columns,
)
from sfumato.attacks.published_table import PublishedTable, flat
from sfumato.attacks.registry import make, make_all
from sfumato.core.errors import BadData, BadTaxonomy, SfumatoError
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Coding, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.verdict import Finding, Verdict
from sfumato.engine import open_source
from sfumato.engine.source import Source
from sfumato.engine.surveying_reader import show_first_texts, survey_on_first_pass
from sfumato.policy.policy import Policy
from sfumato.policy.set_columns import forms_of
from sfumato.policy.telling_columns import ColumnsBesideKeys
from sfumato.show.card import Card, Printable, several, verdict_lines
from sfumato.show.document import decimals, json_ready, verdict_document

BESIDE = 210
"""Bytes that judging and attacking take per different row, beside the table; 175 at a million classes."""

NOT_ALLOWED = {
    "": "only declared columns, no identifier",
    DOUBT: "only labels of the policy's taxonomies",
    BYTES: "nothing in the file beside its rows",
}
"""What every policy asks without saying so, by what an objection concerns."""

IDLE = "an attack of another package cannot be used and was not tried"


@dataclass(frozen=True)
class Beside:
    """The releases that a table was held against, and its own place among them, if it is one of them.

    `chain` is `None` where these are tables that were handed in, not those of a ledger.
    """

    chain: str | None
    releases: int
    place: int | None = None
    cracked: CrackedClasses = field(default_factory=CrackedClasses)
    """The classes in which releases together rule out rows, for whoever asked for correspondence."""

    def as_dict(self) -> JsonObject:
        """Returns JSON; the cracked classes are told to whoever asks for them."""
        return {"chain": self.chain, "releases": self.releases, "place": self.place}

    def __str__(self) -> str:
        if self.chain is None:
            return f"{several(self.releases, 'release')} held against each other, in the order given"
        own = "none of them" if self.place is None else f"release {self.place} of them"
        return f"held against {several(self.releases, 'release')} of chain {self.chain}; it is {own}"


@dataclass(frozen=True, repr=False)
class Audit(Printable):
    """What an auditor can say who holds nothing but the published table and the policy.

    `holds` is `False` if a promise is broken or something is published that must not be, `None` if something
    cannot be decided from the table, as where it has no rows, else `True`. Findings say what each adversary
    achieves; an adversary may succeed although every promise holds, where no promise speaks of it. `failed`
    says which attacks broke down and found nothing, `not_tried` which had nothing to strike, and why.
    `beside` says which releases the table was held against, if any.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    objections: tuple[Objection, ...]
    rows: int
    columns: tuple[str, ...]
    failed: tuple[str, ...] = ()
    beside: Beside | None = None
    not_tried: Mapping[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool | None:
        said = [v.holds for v in self.verdicts] + [o.holds for o in self.objections]
        return False if False in said else None if None in said else True

    @property
    def headline(self) -> Headline:
        """What was promised, what was attacked beyond it, and which of the two fails the call."""
        return Headline.of(self.holds, self.verdicts, self.findings)

    @property
    def breaches(self) -> tuple[Finding, ...]:
        """The findings that the policy does not tolerate."""
        return tuple(f for f in self.findings if f.breach)

    def as_dict(self) -> dict[str, Any]:
        """The audit as JSON: fractions exact as text, their decimals beside them, no cell values."""
        return {
            "holds": self.holds,
            **self.headline.as_dict(),
            "rows": self.rows,
            "columns": list(self.columns),
            "verdicts": [verdict_document(v) for v in self.verdicts],
            "findings": [_finding(f) for f in self.findings],
            "objections": [json_ready(o) for o in self.objections],
            "failed": list(self.failed),
            "not_tried": dict(self.not_tried),
            "beside": None if self.beside is None else self.beside.as_dict(),
        }

    def card(self) -> Card:
        """The headline, then one line per promise and per attack, worst first."""
        head = self.headline
        lines = [*head.lines, (), *verdict_lines(self.verdicts), (), *attack_card(self.findings).lines]
        notes = [str(o) for o in self.objections if o.holds is not False]
        notes += [f"an attack failed and found nothing: {what}" for what in self.failed]
        notes += _not_tried(self.not_tried)
        return Card(head.title, lines, [*notes, *([str(self.beside)] if self.beside else [])])

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
    unique: list[Objection] = []
    with judged_when_read(opened, policy, progress=progress) as (readable, judge):
        published = PublishedTable.read(
            _unique(readable, policy, unique, progress),
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
    objections = [
        *column_objections(published.columns, policy),
        *label_objections(published, policy),
        *surplus_objections(surplus_of(opened)),
        *unique,
        *foldings(published, policy),
        *(Objection(f"{IDLE}: {name}", (), True) for name in idle),
    ]
    findings, failed = strike_all(published, adversaries, policy.promises.limits, progress=progress)
    return Audit(
        (*_policy_verdicts(objections), *_doubted(verdicts, objections)),
        findings,
        tuple(objections),
        published.rows,
        published.columns,
        failed,
        not_tried=attacks_without_target(adversaries, findings, failed),
    )


def _builds(policy: Policy) -> dict[str, Callable[[Sequence[Label]], Taxonomy]]:
    """How sensitive values are told apart: by the leaves of the policy's taxonomy, where all have a place."""

    def leaves(coding: Coding) -> Callable[[Sequence[Label]], Taxonomy]:
        def tell_apart(values: Sequence[Label]) -> Taxonomy:
            try:
                tree = coding.build(values)
            except BadTaxonomy:
                tree = None
            if tree is None or any(tree.rank(value) is None for value in values):
                return policy.spelled(coding.name, flat(values))
            return tree

        return tell_apart

    return {coding.name: leaves(coding) for coding in policy.codings if not coding.role.is_key}


def _named(attacks: Sequence[str | Attack]) -> tuple[Attack, ...]:
    return tuple(make(a) if isinstance(a, str) else a for a in attacks)


def _policy_verdicts(objections: Sequence[Objection]) -> Iterator[Verdict]:
    """What must not be there breaks the policy as a promise does."""
    for concerns, promise in NOT_ALLOWED.items():
        forbidden = [o for o in objections if o.holds is False and o.concerns == concerns]
        if forbidden:
            yield Verdict(promise, False, len(forbidden), 0, reason="; ".join(map(str, forbidden)))


def _doubted(verdicts: Sequence[Verdict], objections: Sequence[Objection]) -> tuple[Verdict, ...]:
    """No promise about classes is said to hold where it is not known what the classes are."""
    doubts = "; ".join(str(o) for o in objections if o.concerns == DOUBT)
    return tuple(
        replace(v, holds=None, measured=None, worst=None, reason=doubts) if doubts and v.holds else v
        for v in verdicts
    )


def _unique(source: Source, policy: Policy, found: list[Objection], progress: Progress) -> Source:
    """Returns the source, whose first pass also finds insensitive columns that tell people apart, or keys."""
    unchanged = ColumnsBesideKeys.of(policy.columns, source.columns)
    source = show_first_texts(
        source, unchanged.names, lambda rows: found.extend(given_away(policy, unchanged, rows))
    )
    harmless = [
        name
        for name in source.columns
        if name in policy.columns and policy.columns[name].role is Role.INSENSITIVE
    ]
    if not harmless:
        return source
    surveying = survey_on_first_pass(
        source, harmless, {}, lambda survey, _: found.extend(unique_columns(survey, policy))
    )
    if surveying is not None:
        return surveying
    with suppress(SfumatoError, OSError):
        found.extend(unique_columns(source.survey(harmless, progress=progress), policy))
    return source


def _not_tried(reasons: Mapping[str, str]) -> list[str]:
    """Returns which attacks had nothing to strike, and why: a line for every reason."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return [f"not tried: {', '.join(some)}: {_of(some, why)}" for why, some in names.items()]


def _of(attacks: Sequence[str], why: str) -> str:
    return why if len(attacks) == 1 else why.replace("it needs", "they need", 1)


def _finding(finding: Finding) -> dict[str, Any]:
    """Without the values; the decimals of its own fractions and of those among the details stand beside."""
    found: dict[str, Any] = json_ready(finding)
    own = {f.name: getattr(finding, f.name) for f in fields(finding) if f.repr}
    return {**found, "decimals": decimals({**own, **finding.details})}
