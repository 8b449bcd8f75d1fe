"""What a public report may say: computed from the published bytes, the policy's promises and the certificate.

It is written apart from the report, and looks at what anybody can gather who has the published files.
Nothing here knows the original table: no figure of it can get on the list. Figures of which another could be
solved are not on it either: numbers of rows before, of rows left out, of values that a column had, losses.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.attacks.registry import make_all
from sfumato.policy.published_forms import READINGS, PublishedForms
from sfumato.reports.evidence import PublishedEvidence, chance
from sfumato.reports.words import ReportWords
from sfumato.show.allow_list import AllowList
from sfumato.show.article import fragments
from sfumato.show.card import figure


def public_allow_list(evidence: PublishedEvidence, *, made: str, fingerprint: str) -> AllowList:
    """Returns the texts, numbers and shares that are published; `made` and `fingerprint` are the report's."""
    texts = {evidence.file, evidence.digest, made, fingerprint}
    texts |= {*_of_promises(evidence), *_of_attacks(evidence), *_of_the_table(evidence)}
    texts |= {*_of_the_certificate(evidence)}
    shares = dict(_shares(evidence))
    return AllowList({*fragments(list(ReportWords)), ", "}, texts | {*shares}, {*shares.values()})


def _of_promises(evidence: PublishedEvidence) -> Iterator[str]:
    yield evidence.policy.digest
    stated = [str(promise) for promise in evidence.policy.promises]
    yield from (str(count) for count in range(len(evidence.audit.verdicts) + 1))
    for promise in evidence.policy.promises:
        yield from (str(promise), promise.in_words(), promise.silent_on)
    for verdict in evidence.audit.verdicts:
        yield verdict.promise
        if verdict.promise in stated:
            yield figure(verdict.limit)
            if verdict.evidence.name == "PUBLISHED" and verdict.holds is not None:
                yield figure(verdict.measured)


def _of_attacks(evidence: PublishedEvidence) -> Iterator[str]:
    findings = evidence.audit.findings
    yield from (str(count) for count in (len(findings), len(evidence.audit.breaches)))
    struck = {finding.attack for finding in findings}
    for attack in make_all()[0]:
        if attack.name in struck:
            yield from (attack.name, attack.knows, attack.seeks)
    for finding in findings:
        who, colon, _ = finding.adversary.partition(":")
        yield f"{finding.attack}, {who}" if colon else finding.attack
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
            yield f"{share:.1%}", round(100 * share)


def _of_the_certificate(evidence: PublishedEvidence) -> Iterator[str]:
    certified = evidence.certified
    if certified is None:
        return
    yield from (certified.chain, certified.released, certified.hash, certified.signer, certified.manifest)
    yield from (f"{certified.sequence:,}", f"{certified.number:,}")
    yield certified.recipient or ""
    yield ", ".join(f"{name} {number}" for name, number in certified.versions.items())
