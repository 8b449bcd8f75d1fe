"""The internal report: for whoever has to sign that a table may be handed on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sfumato.attacks.audit import Audit
from sfumato.attacks.registry import make_all
from sfumato.core.verdict import Finding
from sfumato.policy.policy import Policy
from sfumato.policy.published_forms import example_of
from sfumato.reports import parts
from sfumato.reports.evidence import InternalEvidence, chance
from sfumato.reports.words import ReportWords as W
from sfumato.show.article import (
    Article,
    BarFigure,
    Block,
    Callout,
    Cell,
    Listing,
    Paragraph,
    Phrase,
    Section,
    Signatures,
    Text,
    Verbatim,
)
from sfumato.show.article_page import article_page
from sfumato.show.chart import Chart, PairedBars
from sfumato.usefulness.usefulness import Usefulness

FIGURES = {
    "source_rows": W.SOURCE_ROWS,
    "rows": W.ROWS,
    "suppressed": W.SUPPRESSED,
    "classes": W.CLASSES,
    "smallest": W.SMALLEST,
    "loss": W.LOSS,
    "search": W.SEARCH,
}


def internal_page(evidence: InternalEvidence, *, made: str, fingerprint: str, by_criteria: bool) -> str:
    """Returns the page of an internal report; it holds figures of the original, and no cell of it."""
    return article_page(
        internal_article(evidence, made=made, fingerprint=fingerprint, by_criteria=by_criteria)
    )


def internal_article(
    evidence: InternalEvidence, *, made: str, fingerprint: str, by_criteria: bool = False
) -> Article:
    """Returns the internal report as data."""
    holds = _holds(evidence)
    assessed = parts.criterion_sections(evidence.promises, evidence.after) if by_criteria else []
    beyond = evidence.after is not None and bool(evidence.after.breaches)
    return Article(
        W.NAME,
        Phrase(W.TITLE, {"subject": evidence.subject}),
        "open" if holds and beyond else parts.MOOD[holds],
        parts.headline(holds, evidence.after),
        (*parts.summary(evidence.promises, evidence.after), *evidence.remarks),
        (
            _context(evidence),
            _data(evidence),
            *assessed,
            _identifiability(evidence),
            *_losses(evidence),
            _governance(evidence, made, fingerprint),
        ),
        kicker=Phrase(W.INTERNAL),
        footer=Phrase(W.FOOTER),
    )


def _holds(evidence: InternalEvidence) -> bool | None:
    """Whether every promise holds; nothing that is not decided counts as kept."""
    said = [promise.holds for promise in evidence.promises]
    said += [] if evidence.after is None else [objection.holds for objection in evidence.after.objections]
    return False if False in said else None if None in said or not evidence.promises else True


def _context(evidence: InternalEvidence) -> Section:
    struck = [f.attack for audit in (evidence.before, evidence.after) if audit for f in audit.findings]
    attacks = [attack for attack in make_all()[0] if not struck or attack.name in struck]
    blocks: list[Block] = [
        parts.promised(evidence.promises),
        parts.adversaries(attacks),
        Paragraph(Phrase(W.ADVERSARY_NOTE), small=True),
    ]
    return Section(Phrase(W.CONTEXT), blocks, Phrase(W.CONTEXT_LEAD))


def _data(evidence: InternalEvidence) -> Section:
    policy = evidence.policy
    pairs: list[tuple[Text, Text]] = [
        (Phrase(word), evidence.figures[name]) for name, word in FIGURES.items() if name in evidence.figures
    ]
    if policy is not None:
        pairs.append(
            (Phrase(W.ROWS_ARE), Phrase(W.IN_WORDS_ROW if policy.person is None else W.IN_WORDS_ROWS))
        )
    blocks: list[Block] = [parts.facts(pairs)]
    if policy is not None:
        blocks += [_columns(policy, dict(evidence.columns)), Paragraph(Phrase(W.EXAMPLE_NOTE), small=True)]
    return Section(Phrase(W.DATA), blocks, Phrase(W.DATA_LEAD))


def _columns(policy: Policy, became: dict[str, str]) -> Listing:
    """Returns every declared column, what became of it, and an example that is of no row."""
    lines = []
    for name, rule in policy.columns.items():
        path = example_of(rule.taxonomy) if rule.role.is_key else ()
        published = became.get(name, "")
        if not published:
            word = W.GENERALIZED if rule.role.is_key else W.UNCHANGED
            published = str(word if name in policy.published else W.DROPPED)
        lines.append((Cell(name), Cell(rule.role.value), Cell(published), Cell(" → ".join(path) or "–")))
    return Listing(parts.heads(W.COLUMN, W.ROLE, W.CHANGE, W.EXAMPLE), lines)


def _identifiability(evidence: InternalEvidence) -> Section:
    blocks: list[Block] = [parts.verdicts(evidence.promises)]
    if evidence.after is not None or evidence.before is not None:
        blocks.append(before_and_after(evidence.before, evidence.after))
    if evidence.before is None:
        blocks.append(Paragraph(Phrase(W.NO_ORIGINAL), small=True))
    if evidence.after is not None:
        blocks += [Callout(str(objection)) for objection in evidence.after.objections]
    return Section(Phrase(W.IDENTIFIABILITY), blocks, Phrase(W.IDENTIFIABILITY_LEAD))


def before_and_after(before: Audit | None, after: Audit | None) -> Listing:
    """Returns every attack with what it gets from the original, and from the published table."""
    found: dict[str, tuple[list[Finding], list[Finding]]] = {}
    for side, audit in enumerate((before, after)):
        for finding in audit.findings if audit else ():
            key = ", ".join([parts.attack_name(finding), *finding.columns])
            found.setdefault(key, ([], []))[side].append(finding)
    lines = []
    for name, (first, second) in sorted(found.items(), key=lambda pair: (_severity(pair[1][1]), pair[0])):
        for one, other in zip_longest(first, second):
            result = Cell("–") if other is None else parts.result_cell(other)
            lines.append((Cell(name), Cell(_told(one)), Cell(_told(other)), result))
    return Listing(parts.heads(W.WHO, W.BEFORE, W.AFTER, W.RESULT), lines)


def _severity(findings: Sequence[Finding]) -> tuple[bool, float]:
    return not any(f.breach for f in findings), -max((float(f.confidence) for f in findings), default=0.0)


def _told(finding: Finding | None) -> str:
    return "–" if finding is None else f"best chance {chance(finding)}: {finding.sentence}"


def _losses(evidence: InternalEvidence) -> list[Section]:
    blocks: list[Block] = []
    if evidence.usefulness is not None:
        blocks += _use(evidence.usefulness)
    elif evidence.published is not None:
        chart = parts.kept_chart(evidence.published.columns)
        blocks += [] if chart is None else [chart, Paragraph(Phrase(W.KEPT_NOTE), small=True)]
    if evidence.usefulness is None:
        blocks.append(Paragraph(Phrase(W.NOT_COMPARED), small=True))
    return [Section(Phrase(W.LOST), blocks)]


def _use(use: Usefulness) -> list[Block]:
    """Returns what the published table kept of the original: figures, then charts."""
    pairs: list[tuple[Text, Text]] = [(Phrase(W.CELLS_LOST), f"{use.table.share_lost:.1%}")]
    if use.queries is not None:
        pairs.append((Phrase(W.QUERIES), f"{use.queries.median:.1%}, {use.queries.worst_tenth:.1%}"))
    if use.model is not None:
        told = f"{use.model.score} {use.model.safe:.3g} ({use.model.raw:.3g} with the original)"
        pairs.append((Phrase(W.MODEL), f"{use.model.target}: {told}"))
    charts = [chart for chart in use.charts() if isinstance(chart, Chart | PairedBars) and chart.points]
    return [parts.facts(pairs), *(BarFigure(chart, chart.title) for chart in charts)]


def _governance(evidence: InternalEvidence, made: str, fingerprint: str) -> Section:
    published, certified = evidence.published, evidence.certified
    pairs: list[tuple[Text, Text]] = [
        (Phrase(W.POLICY_DIGEST), evidence.policy_digest),
        (Phrase(W.FILE_DIGEST), "" if published is None else published.digest),
        *parts.certificate_facts(certified),
        (Phrase(W.VERSIONS), evidence.figures.get("versions", "")),
        (Phrase(W.MADE), made),
        (Phrase(W.FINGERPRINT), fingerprint),
    ]
    blocks: list[Block] = [parts.facts(pairs)]
    if certified is not None:
        blocks.append(Callout(Phrase(W.CERTIFIED), "open"))
    blocks += [*parts.limits(), Signatures([Phrase(W.SIGN_OFFICER), Phrase(W.SIGN_OWNER)])]
    if evidence.policy is not None:
        blocks += [Callout(Phrase(W.POLICY_TEXT), "plain"), Verbatim(evidence.policy.to_yaml())]
    return Section(Phrase(W.GOVERNANCE), blocks, Phrase(W.GOVERNANCE_LEAD))
