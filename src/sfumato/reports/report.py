"""Reports: a page for a data protection officer, as HTML and as PDF."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from sfumato.attacks.audit import Audit
from sfumato.models.attack_contract import Attack, Criterion, criterion_of, worst_first
from sfumato.models.contract import Promise
from sfumato.policy.policy import Policy
from sfumato.policy.published_forms import PublishedForm, PublishedForms, ValueForm
from sfumato.reports.usefulness import Usefulness
from sfumato.system.disk import replace_file
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonMapping
from sfumato.system.presentation.article import (
    BarFigure,
    Block,
    Callout,
    Cell,
    Heading,
    Listing,
    Mood,
    Paragraph,
    Phrase,
    Section,
    Text,
    ValuePairs,
)
from sfumato.system.presentation.cards import Lines, aligned, format_number
from sfumato.system.presentation.charts import Chart
from sfumato.system.presentation.pages import check_pdf, pdf_of
from sfumato.system.presentation.sentences import Sentences
from sfumato.system.verdict import CANDIDATES, RECOGNITION, Bound, Finding, Verdict
from sfumato.verify.file import FileTexts

Audience = Literal["internal", "public"]
Criteria = Literal["iso27559", "wp29"]


@dataclass(frozen=True)
class Report:
    """A finished report. `html` is the whole page; it loads nothing, and runs no script.

    An internal one holds figures of the original table and is for its owner: its files can be read by nobody
    else. A public one holds what the published table shows.
    """

    html: str
    audience: Audience
    subject: str
    fingerprint: str

    def pdf(self) -> bytes:
        """Returns the report as PDF; raises `UsageError` where that cannot be made on this machine."""
        return pdf_of(self.html)

    def save(self, path: str | Path, *, overwrite: bool = False) -> tuple[Path, ...]:
        """Writes the report; returns the files.

        Args:
            path: the file. The ending says what is written: `.html`, `.pdf`, or both where there is none of
                these.
            overwrite: replace files that are there.
        """
        target = Path(path)
        if target.suffix in (".html", ".pdf"):
            wanted = [target]
        else:
            wanted = [target.with_name(f"{target.name}.html"), target.with_name(f"{target.name}.pdf")]
        for file in wanted:
            _check(file, overwrite=overwrite)
        if any(file.suffix == ".pdf" for file in wanted):
            check_pdf()
        contents = [self.pdf() if file.suffix == ".pdf" else self.html.encode() for file in wanted]
        for file, content in zip(wanted, contents, strict=True):
            replace_file(file, content, mode=0o600 if self.audience == "internal" else 0o666)
        return tuple(wanted)

    def _repr_html_(self) -> str:
        """Returns the page in a frame of its own, so that its style and a notebook's stay apart."""
        style = "width:100%;height:50rem;border:0"
        return f'<iframe sandbox srcdoc="{escape(self.html)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"Report({self.audience}, {self.fingerprint[:16]})"


def _check(file: Path, *, overwrite: bool) -> None:
    """Raises for a file that could not be written."""
    if not file.parent.is_dir():
        raise UsageError("the folder of the report does not exist", remedy="Make it first.")
    if file.is_dir():
        raise UsageError("the report would replace a folder", remedy="Name a file.")
    if os.path.lexists(file) and not overwrite:
        raise UsageError(
            "the report exists already", where=file.name, remedy="Say --overwrite, or name another."
        )


# What a report is about: the published table as anybody sees it, and what only its owner knows.


@dataclass(frozen=True)
class PromiseLine:
    """A promise, in words, and what it came to."""

    promise: str
    in_words: str
    leaves_open: str
    holds: bool | None
    measured: str = ""
    asked: str = ""
    criteria: tuple[Criterion, ...] = ()


@dataclass(frozen=True)
class ColumnUse:
    """A published column: the forms of its values with their rows, most rows first, and a text of it.

    Only generalized columns have forms; `example` is the most frequent text that is not `*`.
    """

    name: str
    generalized: bool
    forms: tuple[tuple[PublishedForm, int], ...] = ()
    example: str = ""
    telling: Fraction | None = None
    rewritten: str = ""
    """What was done to cells before they were published, in words."""

    @property
    def made_coarser(self) -> bool:
        """Whether a cell of the column shows something else than a value, or may do so."""
        exact = {ValueForm.VALUE, ValueForm.EMPTY}
        return self.generalized and not (self.forms and {form.form for form, _ in self.forms} <= exact)


@dataclass(frozen=True)
class Certified:
    """What a certificate says that fits the files beside it."""

    chain: str
    sequence: int
    number: int
    hash: str
    signer: str
    at: str
    recipient: str | None
    manifest: str
    policy: str
    versions: Mapping[str, str]
    verdicts: Sequence[JsonMapping]
    adversaries: Sequence[JsonMapping] = ()

    @property
    def released(self) -> str:
        """When it was released, to the minute, as reports write times."""
        return datetime.fromisoformat(self.at).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True)
class PublishedEvidence:
    """All that may be told of a table in public: taken from its bytes, its policy and its certificate.

    A public report is made of this and of nothing else.
    """

    file: str
    digest: str
    policy: Policy
    shown: FileTexts
    audit: Audit
    certified: Certified | None = None

    @property
    def promises(self) -> tuple[PromiseLine, ...]:
        """Every promise: by the judge on the bytes or, where these do not decide, by the certificate."""
        sealed = {} if self.certified is None else {v["promise"]: v for v in self.certified.verdicts}
        return promise_lines(self.policy, self.audit.verdicts, sealed)

    @property
    def columns(self) -> tuple[ColumnUse, ...]:
        return column_uses(self.shown, self.policy)


@dataclass(frozen=True)
class InternalEvidence:
    """What the owner of a table knows beside what is published. Whatever was not at hand is missing.

    `figures` are those of a plan or of the ledger. `before` is the audit of the original, `usefulness` what
    the published table kept of it.
    """

    subject: str
    promises: tuple[PromiseLine, ...]
    policy: Policy | None = None
    policy_digest: str = ""
    published: PublishedEvidence | None = None
    before: Audit | None = None
    after: Audit | None = None
    usefulness: Usefulness | None = None
    columns: tuple[tuple[str, str], ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    certified: Certified | None = None
    remarks: tuple[str, ...] = ()


def promise_lines(
    policy: Policy, verdicts: Sequence[Verdict], sealed: Mapping[str, JsonMapping] | None = None
) -> tuple[PromiseLine, ...]:
    """Returns a line per verdict, broken ones first.

    What was measured beside something else than the published table is not told.
    """
    by_sentence = {str(promise): promise for promise in policy.promises}
    lines = []
    for verdict in verdicts:
        seal, promise = (sealed or {}).get(verdict.promise), by_sentence.get(verdict.promise)
        holds = verdict.holds if verdict.holds is not None or seal is None else seal["holds"]
        alone = verdict.evidence.name == "PUBLISHED" and verdict.holds is not None
        measured = format_number(verdict.measured) if alone else ""
        lines.append(
            PromiseLine(
                verdict.promise,
                "" if promise is None else promise.in_words(),
                "" if promise is None else promise.silent_on,
                holds,
                measured,
                format_number(verdict.limit) if promise is not None else "",
                () if promise is None else criteria_of(promise),
            )
        )
    return tuple(sorted(lines, key=lambda line: {False: 0, None: 1, True: 2}[line.holds]))


def criteria_of(promise: Promise) -> tuple[Criterion, ...]:
    """Returns what a promise bounds: recognizing a person, putting their records together, or concluding.

    That is what its limits measure; one without such a number is taken to bound what its first attack does.
    """
    bounds = {
        CRITERION_OF_MEASURE.get(limit.measure, Criterion.INFERENCE)
        if isinstance(limit, Bound)
        else Criterion.INFERENCE
        for limit in promise.limits()
    }
    if not bounds and promise.threats:
        bounds = {criterion_of(promise.threats[0])}
    return tuple(criterion for criterion in Criterion if criterion in bounds)


CRITERION_OF_MEASURE = {RECOGNITION: Criterion.SINGLING_OUT, CANDIDATES: Criterion.LINKABILITY}


def column_uses(file: FileTexts, policy: Policy) -> tuple[ColumnUse, ...]:
    """Returns what became of every published column, as the table shows it."""
    uses = []
    for column in file.columns:
        rule = policy.columns.get(column.name)
        if rule is None or not rule.role.is_key:
            rewritten = "" if rule is None else rule.rewritten
            uses.append(ColumnUse(column.name, False, rewritten=rewritten))
            continue
        forms, rows = PublishedForms(rule.taxonomy), dict[PublishedForm, int]()
        for text, count in (*(column.texts or ()), *([(None, column.empty)] if column.empty else [])):
            form = forms.of(text)
            rows[form] = rows.get(form, 0) + count
        ranked = tuple(sorted(rows.items(), key=lambda pair: (-pair[1], str(pair[0]))))
        texts = [text for text, _ in column.texts or () if text.strip("*")]
        silent = sum(count for text, count in column.texts or () if not text.strip("*"))
        telling = None if column.texts is None or not file.rows else 1 - Fraction(silent, file.rows)
        if len(ranked) == 1 and len(texts) == 1 and ranked[0][0].form is not ValueForm.VALUE and not silent:
            telling = Fraction(0)  # every row reads the same group
        uses.append(ColumnUse(column.name, True, ranked, texts[0] if texts else "", telling, rule.rewritten))
    return tuple(uses)


def chance(finding: Finding) -> str:
    """Returns an adversary's best chance for people: `certain`, `none`, `1 in 5`, else a percentage."""
    if finding.confidence >= 1:
        return "certain"
    if finding.confidence <= 0:
        return "none"
    if finding.confidence.numerator == 1:
        return f"1 in {finding.confidence.denominator:,}"
    return f"{float(finding.confidence):.1%}"


W = Sentences("report", "claims")
"""The fixed words of reports. A public report consists of these, and of what its allow-list holds."""


# Parts that internal and public reports share: listings of promises, attacks and columns, and limits.

MOOD: Mapping[bool | None, Mood] = {True: "good", False: "bad", None: "open"}
WORD = {True: W.HOLDS_WORD, False: W.BROKEN_WORD, None: W.OPEN_WORD}
CRITERIA = {
    Criterion.SINGLING_OUT: W.SINGLING_OUT,
    Criterion.LINKABILITY: W.LINKABILITY,
    Criterion.INFERENCE: W.INFERENCE,
}


def heads(*words: str) -> list[Text]:
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


def named(finding: Finding, keys: Sequence[str]) -> str:
    """Returns an attack with its adversary and, where it is about one column, that column."""
    others = [name for name in finding.columns if name not in keys]
    if not others and set(finding.columns) < set(keys):
        others = list(finding.columns)
    return ", ".join([attack_name(finding), *others[-1:]])


def by_name(audit: Audit | None, keys: Sequence[str]) -> dict[str, Finding]:
    """Returns what every attack got at most, by what it is called; the most harmful first."""
    worst: dict[str, Finding] = {}
    for finding in () if audit is None else worst_first(audit.findings):
        worst.setdefault(named(finding, keys), finding)
    return worst


def struck(audit: Audit, keys: Sequence[str], among: Criterion | None = None) -> Listing:
    """Returns what every attack on the published table came to, without a count of people."""
    lines = [
        (Cell(name), Cell(chance(f)), result_cell(f))
        for name, f in by_name(audit, keys).items()
        if among is None or criterion_of(f.attack) is among
    ]
    return Listing(heads(W.WHO, W.CHANCE, W.RESULT), lines)


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


def limits(certified: Certified | None) -> list[Block]:
    """Returns what a report does not say, and whom the certificate names whom no promise stops."""
    words = (
        W.LIMIT_KNOWLEDGE,
        W.LIMIT_OTHERS,
        W.LIMIT_POLICY,
        W.LIMIT_LAW,
        W.LIMIT_AGAIN,
    )
    blocks: list[Block] = [Heading(Phrase(W.LIMITS)), *(Paragraph(Phrase(word)) for word in words)]
    stated = () if certified is None else certified.adversaries
    if stated:
        names = (W.SOMEBODY_WHO, W.STATE, W.WHAT_HOLDS)
        lines = [[Cell(str(told[key])) for key in ("who", "state", "sentence")] for told in stated]
        blocks += [Heading(Phrase(W.BEYOND)), Listing(heads(*names), lines)]
    return blocks


def criterion_sections(
    promises: Sequence[PromiseLine], audit: Audit | None, keys: Sequence[str]
) -> list[Section]:
    """Returns a section per criterion: what was promised, what was tried, and what is left open."""
    sections = []
    for criterion, title in CRITERIA.items():
        mine = [p for p in promises if criterion in p.criteria]
        findings = [f for f in by_name(audit, keys).values() if criterion_of(f.attack) is criterion]
        word = _criterion_word(mine, findings)
        calm = word in (W.CRITERION_HELD, W.CRITERION_WITHSTOOD)
        blocks: list[Block] = [Callout(Phrase(word), "good" if calm else "open")]
        if mine:
            blocks += [Heading(Phrase(W.PROMISED)), verdicts(mine)]
        if findings and audit is not None:
            blocks += [Heading(Phrase(W.TRIED)), struck(audit, keys, criterion)]
        untried = {} if audit is None else audit.not_tried
        left: list[tuple[Text, Text]] = [(p.promise, p.leaves_open) for p in mine if p.leaves_open]
        left += [
            (Phrase(W.NOT_TRIED_BECAUSE, {"attack": name}), why)
            for name, why in untried.items()
            if criterion_of(name) is criterion
        ]
        if left:
            blocks += [Heading(Phrase(W.OPEN_HEAD)), facts(left)]
        sections.append(Section(Phrase(title), blocks, Phrase(W.CRITERION_LEAD)))
    return sections


def _criterion_word(promises: Sequence[PromiseLine], findings: Sequence[Finding]) -> str:
    """Returns what promises and attacks about a criterion came to, in a sentence."""
    if any(f.breach for f in findings) or not all(p.holds for p in promises):
        return W.CRITERION_OPEN
    if promises:
        return W.CRITERION_HELD if findings else W.CRITERION_PROMISED
    return W.CRITERION_WITHSTOOD if findings else W.CRITERION_NONE


def headline(holds: bool | None, audit: Audit | None) -> Phrase:
    """Returns the verdict in one line; it never says that all is well above an attack that succeeded."""
    if holds is not True:
        return Phrase(W.REPORT_BROKEN if holds is False else W.REPORT_UNDECIDED)
    if audit is not None and audit.certain:
        return Phrase(W.REPORT_CERTAIN)
    return Phrase(W.REPORT_BEYOND if audit is not None and audit.breaches else W.REPORT_HOLDS)


def summary(
    promises: Sequence[PromiseLine], audit: Audit | None, keys: Sequence[str]
) -> tuple[Phrase, Phrase]:
    """Returns how many promises hold, and how many attacks succeeded."""
    holding = sum(p.holds is True for p in promises)
    first = Phrase(W.KEPT, {"kept": str(holding), "promises": str(len(promises))})
    if audit is None:
        return first, Phrase(W.NOT_ATTACKED)
    struck_by = by_name(audit, keys).values()
    won = sum(finding.breach for finding in struck_by)
    counts = {"attacks": str(len(struck_by)), "won": str(won)}
    return first, Phrase(W.ATTACKED_ALL if won else W.ATTACKED_NONE, counts)


def row_is(policy: Policy) -> Phrase:
    """Returns what a row of a table is, as far as its policy says so."""
    if policy.person is None:
        return Phrase(W.ROW_IS_PERSON if policy.people.each_row else W.ROW_ASSUMED)
    return Phrase(W.ROW_OR_BARE if policy.people.rows == 1 else W.ROW_OF_PERSON)


def facts(pairs: Iterable[tuple[Text, Text]]) -> ValuePairs:
    """Returns the facts that are known: pairs without a value are left out."""
    return ValuePairs([(name, value) for name, value in pairs if value])


# For people who ask to see values: what findings are about, and a table before and after.


def values_of(findings: Sequence[Finding]) -> list[str]:
    """Returns the values that findings are about, for whoever asked to see them; no card shows them."""
    return [
        f"{finding.attack}: {', '.join(f'{name} = {value}' for name, value in finding.values.items())}"
        for finding in findings
        if finding.values
    ]


def side_by_side(before: Lines, after: Lines, *, titles: tuple[str, str]) -> str:
    """Returns two small tables beside each other, header first.

    >>> print(side_by_side([("zip",), ("02138",)], [("zip",), ("021**",)], titles=("before", "after")))
    before  │  after
    zip     │  zip
    02138   │  021**
    """
    left, right = aligned(before), aligned(after)
    width = max(len(line) for line in (titles[0], *left))
    pairs = zip_longest((titles[0], *left), (titles[1], *right), fillvalue="")
    return "\n".join(f"{a.ljust(width)}  │  {b}".rstrip() for a, b in pairs)
