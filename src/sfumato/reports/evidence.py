"""What a report is about: the published table as anybody sees it, and what only its owner knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

from sfumato.attacks.audit import Audit
from sfumato.core.json_object import JsonMapping
from sfumato.core.verdict import Finding, Verdict
from sfumato.judge.column_texts import FileTexts
from sfumato.policy.policy import Policy
from sfumato.policy.published_forms import PublishedForm, PublishedForms, ValueForm
from sfumato.show.card import figure
from sfumato.usefulness.usefulness import Usefulness


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
    known = {str(promise): promise for promise in policy.promises}
    lines = []
    for verdict in verdicts:
        seal, promise = (sealed or {}).get(verdict.promise), known.get(verdict.promise)
        holds = verdict.holds if verdict.holds is not None or seal is None else seal["holds"]
        alone = verdict.evidence.name == "PUBLISHED" and verdict.holds is not None
        measured = figure(verdict.measured) if alone else ""
        lines.append(
            PromiseLine(
                verdict.promise,
                "" if promise is None else promise.in_words(),
                "" if promise is None else promise.silent_on,
                holds,
                measured,
                figure(verdict.limit) if promise is not None else "",
                () if promise is None else promise.threats,
            )
        )
    return tuple(sorted(lines, key=lambda line: {False: 0, None: 1, True: 2}[line.holds]))


def column_uses(shown: FileTexts, policy: Policy) -> tuple[ColumnUse, ...]:
    """Returns what became of every published column, as the table shows it."""
    uses = []
    for column in shown.columns:
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
        telling = None if column.texts is None or not shown.rows else 1 - Fraction(silent, shown.rows)
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
