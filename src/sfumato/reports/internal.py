"""The internal report: for whoever has to sign that a table may be handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.attacks.audit import Audit
from sfumato.models.attack_contract import make_all
from sfumato.policy.policy import ROLES, Policy
from sfumato.policy.published_forms import example_of
from sfumato.reports import report as parts
from sfumato.reports.report import InternalEvidence, W
from sfumato.reports.usefulness import Usefulness
from sfumato.system.presentation.article import (
    Article,
    BarFigure,
    Block,
    Callout,
    Cell,
    Heading,
    Listing,
    Paragraph,
    Phrase,
    Section,
    Signatures,
    Text,
    Verbatim,
)
from sfumato.system.presentation.charts import Chart, PairedBars
from sfumato.system.presentation.pages import article_page
from sfumato.system.verdict import Finding

MOST_BARS = 10
"""So many bars a chart of a report has; the verb `utility` draws all of them."""
FIGURES = {
    "source_rows": W.SOURCE_ROWS,
    "rows": W.ROWS,
    "suppressed": W.SUPPRESSED,
    "classes": W.CLASSES,
    "smallest": W.SMALLEST,
    "loss": W.LOSS,
    "search": W.SEARCH,
}


def internal_page(evidence: InternalEvidence, *, written_at: str, fingerprint: str, by_criteria: bool) -> str:
    """Returns the page of an internal report; it holds figures of the original, and no cell of it."""
    return article_page(
        internal_article(evidence, written_at=written_at, fingerprint=fingerprint, by_criteria=by_criteria)
    )


def internal_article(
    evidence: InternalEvidence, *, written_at: str, fingerprint: str, by_criteria: bool = False
) -> Article:
    """Returns the internal report as data."""
    holds = _holds(evidence)
    assessed = (
        parts.criterion_sections(evidence.promises, evidence.after, _keys(evidence)) if by_criteria else []
    )
    beyond = evidence.after is not None and bool(evidence.after.breaches)
    return Article(
        W.NAME,
        Phrase(W.TITLE, {"subject": evidence.subject}),
        "open" if holds and beyond else parts.MOOD[holds],
        parts.headline(holds, evidence.after),
        (
            *parts.summary(evidence.promises, evidence.after, _keys(evidence)),
            *_before(evidence.before, _keys(evidence)),
            *evidence.remarks,
        ),
        (
            _context(evidence),
            _data(evidence),
            *assessed,
            _identifiability(evidence),
            *_losses(evidence),
            _governance(evidence, written_at, fingerprint),
        ),
        kicker=Phrase(W.INTERNAL),
        footer=Phrase(W.FOOTER),
    )


def _keys(evidence: InternalEvidence) -> tuple[str, ...]:
    """Returns the key columns, which attacks are not named by."""
    columns = {} if evidence.policy is None else evidence.policy.columns
    return tuple(name for name, rule in columns.items() if rule.role.is_key)


def _before(audit: Audit | None, keys: Sequence[str]) -> tuple[Phrase, ...]:
    if audit is None:
        return ()
    struck = parts.by_name(audit, keys).values()
    counts = {"attacks": str(len(struck)), "won": str(sum(finding.breach for finding in struck))}
    return (Phrase(W.BEFORE_SUMMARY, counts),)


def _holds(evidence: InternalEvidence) -> bool | None:
    """Whether every promise holds; nothing that is not decided counts as kept."""
    answers = [promise.holds for promise in evidence.promises]
    answers += [] if evidence.after is None else [objection.holds for objection in evidence.after.objections]
    return False if False in answers else None if None in answers or not evidence.promises else True


def _context(evidence: InternalEvidence) -> Section:
    struck = [f.attack for audit in (evidence.before, evidence.after) if audit for f in audit.findings]
    attacks = [attack for attack in make_all()[0] if not struck or attack.name in struck]
    blocks: list[Block] = [
        Heading(Phrase(W.PROMISED)),
        parts.promised(evidence.promises),
        Heading(Phrase(W.ADVERSARIES)),
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
        pairs.append((Phrase(W.ROWS_ARE), parts.row_is(policy)))
    blocks: list[Block] = [parts.facts(pairs)]
    if policy is not None:
        blocks += [Heading(Phrase(W.COLUMNS_HEAD)), _columns(policy, dict(evidence.columns))]
        blocks += [Paragraph(Phrase(W.EXAMPLE_NOTE), small=True)]
    return Section(Phrase(W.DATA), blocks, Phrase(W.DATA_LEAD))


def _columns(policy: Policy, became: dict[str, str]) -> Listing:
    """Returns every declared column, what became of it, and an example that is of no row."""
    lines = []
    for name, rule in policy.columns.items():
        path = example_of(rule.taxonomy) if rule.role.is_key else ()
        published = became.get(name, "")
        if not published:
            word = W.GENERALIZED if rule.role.is_key else rule.rewritten or W.UNCHANGED
            published = str(word if name in policy.published else W.DROPPED)
        if rule.role.is_key and rule.rewritten:
            published += f"; {rule.rewritten}"
        lines.append((Cell(name), Cell(ROLES[rule.role]), Cell(published), Cell(" → ".join(path) or "–")))
    return Listing(parts.heads(W.COLUMN, W.ROLE, W.CHANGE, W.EXAMPLE), lines)


def _identifiability(evidence: InternalEvidence) -> Section:
    blocks: list[Block] = [Heading(Phrase(W.OUTCOME)), parts.verdicts(evidence.promises)]
    if evidence.after is not None or evidence.before is not None:
        blocks.append(Heading(Phrase(W.STRUCK if evidence.before is None else W.BEFORE_AND_AFTER)))
        blocks.append(before_and_after(evidence.before, evidence.after, _keys(evidence)))
    if evidence.before is None:
        blocks.append(Paragraph(Phrase(W.NO_ORIGINAL), small=True))
    if evidence.after is not None:
        blocks += [Callout(str(objection)) for objection in evidence.after.objections]
    return Section(Phrase(W.IDENTIFIABILITY), blocks, Phrase(W.IDENTIFIABILITY_LEAD))


def before_and_after(before: Audit | None, after: Audit | None, keys: Sequence[str] = ()) -> Listing:
    """Returns every attack with what it gets from the original, and from the published table."""
    first, second = parts.by_name(before, keys), parts.by_name(after, keys)
    lines = []
    for name in (*second, *(name for name in first if name not in second)):
        worst_before, worst_after = first.get(name), second.get(name)
        result = Cell("–") if worst_after is None else parts.result_cell(worst_after)
        lines.append((Cell(name), Cell(_told(worst_before)), Cell(_told(worst_after)), result))
    return Listing(parts.heads(W.WHO, W.BEFORE, W.AFTER, W.RESULT), lines)


def _told(finding: Finding | None) -> str:
    return "–" if finding is None else finding.told


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
        scores = f"{use.model.score} {use.model.safe:.3g} ({use.model.raw:.3g} with the original)"
        pairs.append((Phrase(W.MODEL), f"{use.model.target}: {scores}"))
    charts = [chart for chart in use.charts() if isinstance(chart, Chart | PairedBars) and chart.points]
    return [parts.facts(pairs), *(BarFigure(_short(chart), chart.title) for chart in charts)]


def _short(chart: Chart | PairedBars) -> Chart | PairedBars:
    if isinstance(chart, Chart):
        return replace(chart, points=chart.points[:MOST_BARS])
    return replace(chart, points=chart.points[:MOST_BARS])


def _governance(evidence: InternalEvidence, written_at: str, fingerprint: str) -> Section:
    published, certified = evidence.published, evidence.certified
    pairs: list[tuple[Text, Text]] = [
        (Phrase(W.POLICY_DIGEST), evidence.policy_digest),
        (Phrase(W.FILE_DIGEST), "" if published is None else published.digest),
        *parts.certificate_facts(certified),
        (Phrase(W.VERSIONS), evidence.figures.get("versions", "")),
        (Phrase(W.MADE), written_at),
        (Phrase(W.FINGERPRINT), fingerprint),
    ]
    blocks: list[Block] = [parts.facts(pairs)]
    if certified is not None:
        blocks.append(Callout(Phrase(W.CERTIFIED), "open"))
    blocks += [*parts.limits(certified), Signatures([Phrase(W.SIGN_OFFICER), Phrase(W.SIGN_OWNER)])]
    if evidence.policy is not None:
        blocks += [Heading(Phrase(W.POLICY_TEXT)), Verbatim(evidence.policy.to_yaml())]
    return Section(Phrase(W.GOVERNANCE), blocks, Phrase(W.GOVERNANCE_LEAD))
