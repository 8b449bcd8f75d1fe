"""Parts that internal and public reports share: listings of promises, attacks and columns, and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sfumato.attacks.attack import Attack
from sfumato.attacks.audit import Audit
from sfumato.core.verdict import Finding
from sfumato.reports.criteria import Criterion, criterion_of
from sfumato.reports.evidence import Certified, ColumnUse, PromiseLine, chance
from sfumato.reports.words import ReportWords as W
from sfumato.show.article import (
    BarFigure,
    Block,
    Callout,
    Cell,
    Facts,
    Heading,
    Listing,
    Mood,
    Paragraph,
    Phrase,
    Section,
    Text,
)
from sfumato.show.chart import Chart

MOOD: Mapping[bool | None, Mood] = {True: "good", False: "bad", None: "open"}
WORD = {True: W.HOLDS_WORD, False: W.BROKEN_WORD, None: W.OPEN_WORD}
CRITERIA = {
    Criterion.SINGLING_OUT: W.SINGLING_OUT,
    Criterion.LINKABILITY: W.LINKABILITY,
    Criterion.INFERENCE: W.INFERENCE,
}


def heads(*words: W) -> list[Text]:
    """Returns fixed words as the heads of a listing."""
    return [Phrase(word) for word in words]


def promised(promises: Sequence[PromiseLine]) -> Listing:
    """Returns what was promised, in plain words, and what that leaves open."""
    lines = [(Cell(p.promise), Cell(p.in_words), Cell(p.leaves_open)) for p in promises]
    return Listing(heads(W.PROMISE, W.IN_WORDS, W.LEFT_OPEN), lines)


def verdicts(promises: Sequence[PromiseLine]) -> Listing:
    """Returns what the promises came to."""
    lines = [
        (
            Cell(p.promise),
            Cell(Phrase(WORD[p.holds]), MOOD[p.holds]),
            Cell(p.measured or Phrase(W.NONE)),
            Cell(p.asked or Phrase(W.NONE)),
        )
        for p in promises
    ]
    return Listing(heads(W.PROMISE, W.VERDICT, W.MEASURED, W.ASKED), lines)


def adversaries(attacks: Iterable[Attack]) -> Listing:
    """Returns who could attack: what each knows, and what they seek."""
    lines = [(Cell(a.name), Cell(a.knows), Cell(a.seeks)) for a in attacks]
    return Listing(heads(W.WHO, W.KNOWS, W.SEEKS), lines)


def result_cell(finding: Finding) -> Cell:
    """Returns whether an attack got more than is allowed."""
    if finding.breach:
        return Cell(Phrase(W.BREACH), "bad")
    return (
        Cell(Phrase(W.WITHSTOOD_IN_PART), "open") if finding.not_tried else Cell(Phrase(W.WITHSTOOD), "good")
    )


def attack_name(finding: Finding) -> str:
    """Returns an attack and, where it has several, its adversary, such as `linkage, prosecutor`."""
    who, colon, _ = finding.adversary.partition(":")
    return f"{finding.attack}, {who}" if colon else finding.attack


def struck(audit: Audit, among: Criterion | None = None) -> Listing:
    """Returns what every attack on the published table came to, without a count of people.

    Where one strikes several columns with the same result, it stands there once.
    """
    lines = [
        (Cell(attack_name(f)), Cell(chance(f)), result_cell(f))
        for f in audit.findings
        if among is None or criterion_of(f.attack) is among
    ]
    return Listing(heads(W.WHO, W.CHANCE, W.RESULT), list(dict.fromkeys(lines)))


def kept_chart(columns: Sequence[ColumnUse]) -> BarFigure | None:
    """Returns the share of rows whose cell still tells something, per generalized column."""
    points = [(c.name, float(c.telling)) for c in columns if c.telling is not None]
    if not points:
        return None
    chart = Chart("kept", "", "bars", ("column", "share"), points, percent=True)
    return BarFigure(chart, Phrase(W.KEPT_CHART))


def certificate_facts(certified: Certified | None) -> list[tuple[Text, Text]]:
    """Returns what a certificate attests."""
    if certified is None:
        return []
    place = {"sequence": f"{certified.sequence:,}", "chain": certified.chain}
    pairs: list[tuple[Text, Text]] = [
        (Phrase(W.RELEASE), Phrase(W.RELEASE_OF, place)),
        (Phrase(W.RELEASED), certified.released),
        (Phrase(W.ENTRY), f"{certified.number:,}"),
        (Phrase(W.ENTRY_HASH), certified.hash),
        (Phrase(W.MANIFEST_DIGEST), certified.manifest),
        (Phrase(W.SIGNER), certified.signer),
    ]
    return pairs + ([(Phrase(W.RECIPIENT), certified.recipient)] if certified.recipient else [])


def limits() -> list[Block]:
    """Returns what a report does not say, whatever it is about."""
    said = (W.LIMIT_KNOWLEDGE, W.LIMIT_OTHERS, W.LIMIT_POLICY, W.LIMIT_LAW, W.LIMIT_AGAIN)
    return [Heading(Phrase(W.LIMITS)), *(Paragraph(Phrase(word)) for word in said)]


def criterion_sections(promises: Sequence[PromiseLine], audit: Audit | None) -> list[Section]:
    """Returns a section for each of the three criteria: which promises and attacks concern it."""
    sections = []
    for criterion, title in CRITERIA.items():
        mine = [p for p in promises if any(criterion_of(attack) is criterion for attack in p.threats)]
        found = [f for f in audit.findings if criterion_of(f.attack) is criterion] if audit else []
        calm = all(p.holds for p in mine) and not any(f.breach for f in found)
        word = W.CRITERION_HELD if calm else W.CRITERION_OPEN
        blocks: list[Block] = [Callout(Phrase(word), "good" if calm else "open")]
        if not mine and not found:
            blocks = [Callout(Phrase(W.CRITERION_NONE), "open")]
        if mine:
            blocks.append(verdicts(mine))
        if found and audit is not None:
            blocks.append(struck(audit, criterion))
        sections.append(Section(Phrase(title), blocks, Phrase(W.CRITERION_LEAD)))
    return sections


def headline(holds: bool | None, audit: Audit | None) -> Phrase:
    """Returns the verdict in one line; it never says that all is well above an attack that got further."""
    if holds is False:
        return Phrase(W.BROKEN)
    if holds is None:
        return Phrase(W.UNDECIDED)
    return Phrase(W.HOLDS_BEYOND if audit is not None and audit.breaches else W.HOLDS)


def summary(promises: Sequence[PromiseLine], audit: Audit | None) -> tuple[Phrase, Phrase]:
    """Returns how many promises hold, and how many attacks got further."""
    kept = sum(p.holds is True for p in promises)
    first = Phrase(W.KEPT, {"kept": str(kept), "promises": str(len(promises))})
    if audit is None:
        return first, Phrase(W.NOT_ATTACKED)
    counts = {"attacks": str(len(audit.findings)), "won": str(len(audit.breaches))}
    return first, Phrase(W.ATTACKED if audit.breaches else W.ATTACKED_NONE, counts)


def facts(pairs: Iterable[tuple[Text, Text]]) -> Facts:
    """Returns the facts that are known: pairs without a value are left out."""
    return Facts([(name, value) for name, value in pairs if value])
