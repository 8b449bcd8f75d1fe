"""The public report: made of what is published, and attacked before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.models.attack_contract import Attack, make_all
from sfumato.policy.published_forms import READINGS, PublishedForms
from sfumato.reports import report as parts
from sfumato.reports.report import ColumnUse, PublishedEvidence, W, chance
from sfumato.system.errors import BadData, BrokenPromise
from sfumato.system.presentation.article import (
    Article,
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
    fragments,
)
from sfumato.system.presentation.cards import format_number
from sfumato.system.presentation.pages import AllowList, article_page

# What a public report may say: computed from the published bytes, the policy's promises and the
# certificate.
#
# It is written apart from the report, and looks at what anybody can gather who has the published files.
# Nothing here knows the original table: no figure of it can get on the list. Figures of which another could
# be
# solved are not on it either: numbers of rows before, of rows left out, of values that a column had,
# losses.


def public_allow_list(evidence: PublishedEvidence, *, written_at: str, fingerprint: str) -> AllowList:
    """Returns the texts, numbers and shares that are published; `made` and `fingerprint` are the report's."""
    texts = {evidence.file, evidence.digest, written_at, fingerprint}
    texts |= {*_of_promises(evidence), *_of_attacks(evidence), *_of_the_table(evidence)}
    texts |= {*_of_the_certificate(evidence)}
    shares = dict(_shares(evidence))
    return AllowList({*fragments(list(W)), ", "}, texts | {*shares}, {*shares.values()})


def _of_promises(evidence: PublishedEvidence) -> Iterator[str]:
    yield evidence.policy.digest
    stated = [str(promise) for promise in evidence.policy.promises]
    yield from (str(count) for count in range(len(evidence.audit.verdicts) + 1))
    for promise in evidence.policy.promises:
        yield from (str(promise), promise.in_words(), promise.silent_on)
    for verdict in evidence.audit.verdicts:
        yield verdict.promise
        if verdict.promise in stated:
            yield format_number(verdict.limit)
            if verdict.evidence.name == "PUBLISHED" and verdict.holds is not None:
                yield format_number(verdict.measured)


def _of_attacks(evidence: PublishedEvidence) -> Iterator[str]:
    findings = evidence.audit.findings
    yield from (str(count) for count in range(len(findings) + 1))
    for name, why in evidence.audit.not_tried.items():
        yield from (name, why)
    struck = {finding.attack for finding in findings}
    for attack in make_all()[0]:
        if attack.name in struck:
            yield from (attack.name, attack.knows, attack.seeks)
    for finding in findings:
        who, colon, _ = finding.adversary.partition(":")
        name = f"{finding.attack}, {who}" if colon else finding.attack
        yield from (name, *(f"{name}, {column}" for column in finding.columns))
        yield chance(finding)


def _of_the_table(evidence: PublishedEvidence) -> Iterator[str]:
    yield f"{evidence.shown.rows:,}"
    yield str(len(evidence.shown.columns))
    yield from READINGS.values()
    for column in evidence.shown.columns:
        yield column.name
        rule = evidence.policy.columns.get(column.name)
        if rule is not None and rule.rewritten:
            yield rule.rewritten
        if rule is not None and rule.role.is_key:
            forms = PublishedForms(rule.taxonomy)
            yield from (text for text, _ in column.texts or ())
            yield from (str(forms.of(text)) for text, _ in column.texts or ())
            yield str(forms.of(None))


def _shares(evidence: PublishedEvidence) -> Iterator[tuple[str, int]]:
    """Yields the share of rows whose cell is not `*`, per generalized column, and its whole percent."""
    for column in evidence.shown.columns:
        if column.texts is not None and evidence.shown.rows:
            telling = sum(rows for text, rows in column.texts if set(text) != {"*"}) + column.empty
            share = telling / evidence.shown.rows
            if len(column.texts) == 1 and not column.empty:
                yield "0.0%", 0
            yield f"{share:.1%}", round(100 * share)


def _of_the_certificate(evidence: PublishedEvidence) -> Iterator[str]:
    certified = evidence.certified
    if certified is None:
        return
    yield from (certified.chain, certified.released, certified.hash, certified.signer, certified.manifest)
    yield from (f"{certified.sequence:,}", f"{certified.number:,}")
    yield certified.recipient or ""
    yield from (str(told[key]) for told in certified.adversaries for key in ("who", "state", "sentence"))
    yield ", ".join(f"{name} {number}" for name, number in certified.versions.items())


def public_page(
    evidence: PublishedEvidence, *, written_at: str, fingerprint: str, by_criteria: bool = False
) -> str:
    """Returns the page of a public report.

    Raises `BrokenPromise` where a promise does not hold, or is not decided: then there is nothing to show in
    public. Raises `BadData` where the page would say anything that its allow-list does not hold.
    """
    undecided = [p.promise for p in evidence.promises if p.holds is not True]
    if undecided or evidence.audit.holds is False:
        raise BrokenPromise(
            "a public report tells of promises that hold, and here one is broken or not decided",
            where=evidence.file,
            remedy="The internal report says which; audit the table before it is handed on.",
        )
    page = article_page(
        public_article(evidence, written_at=written_at, fingerprint=fingerprint, by_criteria=by_criteria)
    )
    check_public(page, evidence, written_at=written_at, fingerprint=fingerprint)
    return page


def check_public(page: str, evidence: PublishedEvidence, *, written_at: str, fingerprint: str) -> None:
    """Raises `BadData` where a page says something that is neither fixed nor published."""
    wrong = public_allow_list(evidence, written_at=written_at, fingerprint=fingerprint).faults(page)
    if wrong:
        raise BadData(
            f"the public report would say what is not published: {wrong[0]}",
            where=evidence.file,
            remedy="Please report this; nothing was written.",
        )


def public_article(
    evidence: PublishedEvidence, *, written_at: str, fingerprint: str, by_criteria: bool = False
) -> Article:
    """Returns the public report as data."""
    attacks = attacks_of(evidence)
    assessed = (
        parts.criterion_sections(evidence.promises, evidence.audit, _keys(evidence))
        if by_criteria
        else [_identifiability(evidence)]
    )
    return Article(
        W.NAME,
        Phrase(W.TITLE, {"subject": evidence.file}),
        "open" if evidence.audit.breaches else "good",
        parts.headline(True, evidence.audit),
        parts.summary(evidence.promises, evidence.audit, _keys(evidence)),
        (
            _context(evidence, attacks),
            _data(evidence),
            *assessed,
            _governance(evidence, written_at, fingerprint),
        ),
        kicker=Phrase(W.PUBLIC),
        footer=Phrase(W.FOOTER),
    )


def attacks_of(evidence: PublishedEvidence) -> list[Attack]:
    """Returns the attacks that struck the published table, in the order of their findings."""
    by_name = {attack.name: attack for attack in make_all()[0]}
    names = dict.fromkeys(finding.attack for finding in evidence.audit.findings)
    return [by_name[name] for name in names if name in by_name]


def _keys(evidence: PublishedEvidence) -> tuple[str, ...]:
    return tuple(name for name, rule in evidence.policy.columns.items() if rule.role.is_key)


def _context(evidence: PublishedEvidence, attacks: list[Attack]) -> Section:
    blocks: list[Block] = [Heading(Phrase(W.PROMISED)), parts.promised(evidence.promises)]
    if attacks:
        blocks += [Heading(Phrase(W.ADVERSARIES)), parts.adversaries(attacks)]
        blocks += [Paragraph(Phrase(W.ADVERSARY_NOTE), small=True)]
    return Section(Phrase(W.CONTEXT), blocks, Phrase(W.CONTEXT_LEAD))


def _data(evidence: PublishedEvidence) -> Section:
    facts = parts.facts(
        [
            (Phrase(W.FILE), evidence.file),
            (Phrase(W.ROWS), f"{evidence.shown.rows:,}"),
            (Phrase(W.COLUMNS), str(len(evidence.shown.columns))),
            (Phrase(W.ROWS_ARE), parts.row_is(evidence.policy)),
        ]
    )
    blocks: list[Block] = [facts, Heading(Phrase(W.COLUMNS_HEAD)), columns_listing(evidence.columns)]
    blocks.append(Paragraph(Phrase(W.PUBLIC_EXAMPLE_NOTE), small=True))
    return Section(Phrase(W.DATA), blocks, Phrase(W.DATA_LEAD))


def columns_listing(columns: tuple[ColumnUse, ...]) -> Listing:
    """Returns what became of every published column, with a published text as example."""
    lines = []
    for column in columns:
        form = column.forms[0][0] if column.forms else None
        example = column.example or Phrase(W.NONE)
        lines.append(
            (
                Cell(column.name),
                Cell(_published(column)),
                Cell(_forms(column)),
                Cell(example),
                Cell(Phrase(W.NONE) if form is None else form.form.reading),
            )
        )
    return Listing(parts.heads(W.COLUMN, W.PUBLISHED, W.FORM, W.EXAMPLE, W.READING), lines)


def _published(column: ColumnUse) -> Text:
    """Returns what was done to a column."""
    if column.rewritten and column.made_coarser:
        return Phrase(W.GENERALIZED_SO, {"how": column.rewritten})
    return column.rewritten or Phrase(W.GENERALIZED if column.made_coarser else W.UNCHANGED)


def _forms(column: ColumnUse) -> Text:
    """Returns the forms of a column; how many rows have each is for the table to tell."""
    names = [str(form) for form, _ in column.forms]
    if not names:
        return Phrase(W.NONE)
    places = {f"f{i}": name for i, name in enumerate(names)}
    return Phrase(", ".join(f"{{{place}}}" for place in places), places)


def _identifiability(evidence: PublishedEvidence) -> Section:
    chart = parts.kept_chart(evidence.columns)
    blocks: list[Block] = [Heading(Phrase(W.OUTCOME)), parts.verdicts(evidence.promises)]
    if evidence.audit.findings:
        blocks += [Heading(Phrase(W.STRUCK)), parts.struck(evidence.audit, _keys(evidence))]
    if chart is not None:
        blocks += [chart, Paragraph(Phrase(W.KEPT_NOTE), small=True)]
    return Section(Phrase(W.IDENTIFIABILITY), blocks, Phrase(W.IDENTIFIABILITY_LEAD))


def _governance(evidence: PublishedEvidence, written_at: str, fingerprint: str) -> Section:
    certified = evidence.certified
    versions = certified.versions if certified is not None else {}
    pairs: list[tuple[Text, Text]] = [
        (Phrase(W.POLICY_DIGEST), evidence.policy.digest),
        (Phrase(W.FILE_DIGEST), evidence.digest),
        *parts.certificate_facts(certified),
        (Phrase(W.VERSIONS), ", ".join(f"{name} {number}" for name, number in versions.items())),
        (Phrase(W.MADE), written_at),
        (Phrase(W.FINGERPRINT), fingerprint),
    ]
    blocks: list[Block] = [
        parts.facts(pairs),
        Callout(Phrase(W.UNSIGNED if certified is None else W.CERTIFIED), "open"),
        *parts.limits(certified),
        Paragraph(Phrase(W.PUBLIC_NOTE), small=True),
        Signatures([Phrase(W.SIGN_OFFICER), Phrase(W.SIGN_OWNER)]),
    ]
    return Section(Phrase(W.GOVERNANCE), blocks, Phrase(W.GOVERNANCE_LEAD))
