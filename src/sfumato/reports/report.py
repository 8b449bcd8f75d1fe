"""Reports: a page for a data protection officer, as HTML and as PDF."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from sfumato.attacks.audit import Audit
from sfumato.models.attack_contract import Attack, Criterion, criterion_of
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
from sfumato.system.verdict import Finding, Verdict
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
    threats: tuple[str, ...] = ()


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
                () if promise is None else promise.threats,
            )
        )
    return tuple(sorted(lines, key=lambda line: {False: 0, None: 1, True: 2}[line.holds]))


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


# The fixed words of reports. A public report consists of these, and of what its allow-list holds.


class ReportWords(StrEnum):
    """Sentences and headings; places in braces are filled in."""

    NAME = "Report on a table about people"
    INTERNAL = "Internal report · holds figures of the original table · not for publication"
    PUBLIC = "Public report · holds nothing that the published table does not show"
    TITLE = "Report on {subject}"

    HOLDS = "Every promise holds"
    HOLDS_BEYOND = "Every promise holds; some attacks get further than was promised against"
    BROKEN = "A promise is broken: this table must not be published"
    UNDECIDED = "Not every promise can be decided from what is at hand"
    KEPT = "{kept} of {promises} promises hold."
    ATTACKED = "{attacks} attacks were tried on the published table; {won} got more than is allowed."
    ATTACKED_NONE = "{attacks} attacks were tried on the published table; none got more than is allowed."
    NOT_ATTACKED = "The published table was not at hand, so no attack was tried on it."

    CONTEXT = "Context: what was asked, and who could attack"
    CONTEXT_LEAD = "In the order of ISO/IEC 27559:2022: context assessment (clause 6)"
    DATA = "Data: what is in the table"
    DATA_LEAD = "Data assessment (clause 7)"
    IDENTIFIABILITY = "Identifiability: what attackers get, and what was done about it"
    IDENTIFIABILITY_LEAD = "Identifiability assessment and mitigation (clause 8)"
    GOVERNANCE = "Governance: what was decided, by which rules, and what to watch"
    GOVERNANCE_LEAD = "De-identification governance (clause 9)"
    SINGLING_OUT = "Singling out: can a person's record be picked out?"
    LINKABILITY = "Linkability: can records about one person be put together?"
    INFERENCE = "Inference: can something secret be concluded about a person?"
    CRITERION_LEAD = "One of the three criteria of the Article 29 Working Party, Opinion 05/2014 (WP216)"
    CRITERION_HELD = (
        "Promises and attacks that concern this criterion: all promises hold, no attack gets further."
    )
    CRITERION_OPEN = (
        "An attack gets further here, or something is not decided: see below, and assess that risk."
    )
    CRITERION_NONE = "No promise of the policy speaks of this, and no attack on it had anything to strike."

    PROMISE = "Promise"
    IN_WORDS = "In plain words"
    LEFT_OPEN = "What it leaves open"
    VERDICT = "Verdict"
    MEASURED = "Measured"
    ASKED = "Asked"
    WHO = "Attack"
    KNOWS = "Knows"
    SEEKS = "Seeks"
    BEFORE = "On the original"
    AFTER = "On the published table"
    RESULT = "Result"
    CHANCE = "Best chance"
    HOLDS_WORD = "holds"
    BROKEN_WORD = "BROKEN"
    OPEN_WORD = "not decidable"
    WITHSTOOD = "withstood"
    WITHSTOOD_IN_PART = "withstood as far as tried"
    BREACH = "gets further"
    PROMISED = "What was promised"
    ADVERSARIES = "Who could attack, and what they know"
    NO_ORIGINAL = (
        "What the same attackers would get from the original table is left out: it was not handed in."
    )
    OUTCOME = "What the promises came to"
    STRUCK = "What attackers get from the published table"
    BEFORE_AND_AFTER = "What attackers get, before and after"
    COLUMNS_HEAD = "What became of every column"
    BEFORE_SUMMARY = "From the original, {won} of {attacks} attacks would get more than is allowed."
    ADVERSARY_NOTE = "Nothing but the published table was given to these attackers, with what each knows."

    COLUMN = "Column"
    ROLE = "Role"
    PUBLISHED = "Published"
    FORM = "Published as"
    EXAMPLE = "Example"
    EXAMPLE_NOTE = "Examples are made up, or come from the policy's hierarchies; none is taken from a row."
    PUBLIC_EXAMPLE_NOTE = "Examples stand in the published table."
    READING = "How to read it"
    CHANGE = "What became of it"
    FILE = "File"
    ROWS = "Rows published"
    COLUMNS = "Columns published"
    CLASSES = "Groups of rows that look alike"
    SMALLEST = "The smallest of these groups"
    SOURCE_ROWS = "Rows of the original"
    SUPPRESSED = "Rows left out"
    LOSS = "Loss, as the policy measures it"
    SEARCH = "Found by"
    ROWS_ARE = "A row is"
    KEPT_CHART = "Share of rows whose value still tells something, by column"
    KEPT_NOTE = "A cell tells nothing where it reads *."
    LOST = "What was lost"
    CELLS_LOST = "Key cells that tell nothing"
    QUERIES = "Counting queries: median error, and what a tenth of them exceeds"
    MODEL = "A model trained on the published table"
    NOT_COMPARED = (
        "The original was not handed in, so losses are told as far as the published table shows them."
    )

    POLICY_DIGEST = "Digest of the policy (SHA-256)"
    FILE_DIGEST = "Digest of the table (SHA-256)"
    MANIFEST_DIGEST = "Digest of the manifest (SHA-256)"
    ENTRY = "Entry of the ledger"
    ENTRY_HASH = "Hash of the entry"
    SIGNER = "Signed with the key"
    RELEASED = "Released"
    RELEASE = "Release"
    RELEASE_OF = "{sequence} of chain {chain}"
    RECIPIENT = "For"
    MADE = "Report made"
    VERSIONS = "Software"
    FINGERPRINT = "Fingerprint of this report (SHA-256 of its findings)"
    POLICY_TEXT = "The policy, word for word"
    UNSIGNED = "There is no certificate: who published this table is not attested."
    CERTIFIED = (
        "The files are those of the certificate; compare the key with the publisher's before trusting it."
    )
    BEYOND = "Adversaries whom no promise stops"
    SOMEBODY_WHO = "Somebody who"
    STATE = "state"
    WHAT_HOLDS = "what holds"
    LIMITS = "Limits of this report"
    LIMIT_KNOWLEDGE = (
        "It speaks of attackers who know what is named here. Whoever knows more may get further."
    )
    LIMIT_OTHERS = "It does not count tables that others publish about the same people, now or later."
    LIMIT_POLICY = (
        "It takes roles and hierarchies of columns as the policy declares them. A column that was taken "
        "to be harmless and is not, is not noticed here."
    )
    LIMIT_LAW = (
        "It is evidence for an assessment and no legal opinion: whether data are anonymous in the sense "
        "of a law depends on means that no table shows."
    )
    LIMIT_AGAIN = (
        "Assess again when the table is released anew, when more is known to others, or when attacks get "
        "better."
    )
    SIGN_OFFICER = "Data protection officer: name, date, signature"
    SIGN_OWNER = "Owner of the data: name, date, signature"
    PUBLIC_NOTE = (
        "Figures of the original table, rows that were left out and columns that were dropped are not "
        "part of a public report. Every number and text of it was looked up in what is published before "
        "it was written."
    )
    FOOTER = "Made by Sfumato. A self-contained page: nothing is loaded from anywhere."
    IN_WORDS_ROW = "about another person each"
    IN_WORDS_ROWS = "about another person each; bare rows are further rows of these people, without values"
    NONE = "–"
    UNCHANGED = "as it is"
    GENERALIZED = "made less exact"
    GENERALIZED_SO = "made less exact; {how}"
    DROPPED = "not published"


# Parts that internal and public reports share: listings of promises, attacks and columns, and limits.

MOOD: Mapping[bool | None, Mood] = {True: "good", False: "bad", None: "open"}
WORD = {True: ReportWords.HOLDS_WORD, False: ReportWords.BROKEN_WORD, None: ReportWords.OPEN_WORD}
CRITERIA = {
    Criterion.SINGLING_OUT: ReportWords.SINGLING_OUT,
    Criterion.LINKABILITY: ReportWords.LINKABILITY,
    Criterion.INFERENCE: ReportWords.INFERENCE,
}


def heads(*words: ReportWords) -> list[Text]:
    """Returns fixed words as the heads of a listing."""
    return [Phrase(word) for word in words]


def promised(promises: Sequence[PromiseLine]) -> Listing:
    """Returns what was promised, in plain words, and what that leaves open."""
    lines = [(Cell(p.promise), Cell(p.in_words), Cell(p.leaves_open)) for p in promises]
    return Listing(heads(ReportWords.PROMISE, ReportWords.IN_WORDS, ReportWords.LEFT_OPEN), lines)


def verdicts(promises: Sequence[PromiseLine]) -> Listing:
    """Returns what the promises came to."""
    lines = [
        (
            Cell(p.promise),
            Cell(Phrase(WORD[p.holds]), MOOD[p.holds]),
            Cell(p.measured or Phrase(ReportWords.NONE)),
            Cell(p.asked or Phrase(ReportWords.NONE)),
        )
        for p in promises
    ]
    return Listing(
        heads(ReportWords.PROMISE, ReportWords.VERDICT, ReportWords.MEASURED, ReportWords.ASKED), lines
    )


def adversaries(attacks: Iterable[Attack]) -> Listing:
    """Returns who could attack: what each knows, and what they seek."""
    lines = [(Cell(a.name), Cell(a.knows), Cell(a.seeks)) for a in attacks]
    return Listing(heads(ReportWords.WHO, ReportWords.KNOWS, ReportWords.SEEKS), lines)


def result_cell(finding: Finding) -> Cell:
    """Returns whether an attack got more than is allowed."""
    if finding.breach:
        return Cell(Phrase(ReportWords.BREACH), "bad")
    return (
        Cell(Phrase(ReportWords.WITHSTOOD_IN_PART), "open")
        if finding.not_tried
        else Cell(Phrase(ReportWords.WITHSTOOD), "good")
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
    return Listing(heads(ReportWords.WHO, ReportWords.CHANCE, ReportWords.RESULT), list(dict.fromkeys(lines)))


def kept_chart(columns: Sequence[ColumnUse]) -> BarFigure | None:
    """Returns the share of rows whose cell still tells something, per generalized column."""
    points = [(c.name, float(c.telling)) for c in columns if c.telling is not None]
    if not points:
        return None
    chart = Chart("kept", "", "bars", ("column", "share"), points, percent=True)
    return BarFigure(chart, Phrase(ReportWords.KEPT_CHART))


def certificate_facts(certified: Certified | None) -> list[tuple[Text, Text]]:
    """Returns what a certificate attests."""
    if certified is None:
        return []
    place = {"sequence": f"{certified.sequence:,}", "chain": certified.chain}
    pairs: list[tuple[Text, Text]] = [
        (Phrase(ReportWords.RELEASE), Phrase(ReportWords.RELEASE_OF, place)),
        (Phrase(ReportWords.RELEASED), certified.released),
        (Phrase(ReportWords.ENTRY), f"{certified.number:,}"),
        (Phrase(ReportWords.ENTRY_HASH), certified.hash),
        (Phrase(ReportWords.MANIFEST_DIGEST), certified.manifest),
        (Phrase(ReportWords.SIGNER), certified.signer),
    ]
    return pairs + ([(Phrase(ReportWords.RECIPIENT), certified.recipient)] if certified.recipient else [])


def limits(certified: Certified | None) -> list[Block]:
    """Returns what a report does not say, and whom the certificate names whom no promise stops."""
    words = (
        ReportWords.LIMIT_KNOWLEDGE,
        ReportWords.LIMIT_OTHERS,
        ReportWords.LIMIT_POLICY,
        ReportWords.LIMIT_LAW,
        ReportWords.LIMIT_AGAIN,
    )
    blocks: list[Block] = [Heading(Phrase(ReportWords.LIMITS)), *(Paragraph(Phrase(word)) for word in words)]
    stated = () if certified is None else certified.adversaries
    if stated:
        names = (ReportWords.SOMEBODY_WHO, ReportWords.STATE, ReportWords.WHAT_HOLDS)
        lines = [[Cell(str(told[key])) for key in ("who", "state", "sentence")] for told in stated]
        blocks += [Heading(Phrase(ReportWords.BEYOND)), Listing(heads(*names), lines)]
    return blocks


def criterion_sections(promises: Sequence[PromiseLine], audit: Audit | None) -> list[Section]:
    """Returns a section for each of the three criteria: which promises and attacks concern it."""
    sections = []
    for criterion, title in CRITERIA.items():
        mine = [p for p in promises if any(criterion_of(attack) is criterion for attack in p.threats)]
        findings = [f for f in audit.findings if criterion_of(f.attack) is criterion] if audit else []
        calm = all(p.holds for p in mine) and not any(f.breach for f in findings)
        word = ReportWords.CRITERION_HELD if calm else ReportWords.CRITERION_OPEN
        blocks: list[Block] = [Callout(Phrase(word), "good" if calm else "open")]
        if not mine and not findings:
            blocks = [Callout(Phrase(ReportWords.CRITERION_NONE), "open")]
        if mine:
            blocks.append(verdicts(mine))
        if findings and audit is not None:
            blocks.append(struck(audit, criterion))
        sections.append(Section(Phrase(title), blocks, Phrase(ReportWords.CRITERION_LEAD)))
    return sections


def headline(holds: bool | None, audit: Audit | None) -> Phrase:
    """Returns the verdict in one line; it never says that all is well above an attack that got further."""
    if holds is False:
        return Phrase(ReportWords.BROKEN)
    if holds is None:
        return Phrase(ReportWords.UNDECIDED)
    return Phrase(ReportWords.HOLDS_BEYOND if audit is not None and audit.breaches else ReportWords.HOLDS)


def summary(promises: Sequence[PromiseLine], audit: Audit | None) -> tuple[Phrase, Phrase]:
    """Returns how many promises hold, and how many attacks got further."""
    holding = sum(p.holds is True for p in promises)
    first = Phrase(ReportWords.KEPT, {"kept": str(holding), "promises": str(len(promises))})
    if audit is None:
        return first, Phrase(ReportWords.NOT_ATTACKED)
    counts = {"attacks": str(len(audit.findings)), "won": str(len(audit.breaches))}
    return first, Phrase(ReportWords.ATTACKED if audit.breaches else ReportWords.ATTACKED_NONE, counts)


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
