"""The audit: is a published table what its policy promises, and what could an adversary still do with it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sfumato.attacks.correspondence import Correspondence
from sfumato.attacks.published_labels import (
    BYTES,
    DOUBT,
    Objection,
    column_objections,
    dependency_leak,
    foldings,
    label_objections,
    surplus_objections,
    unique_columns,
)
from sfumato.draft.functional_dependencies import ColumnsBesideKeys
from sfumato.models.attack_contract import (
    Attack,
    PublishedTable,
    attacks_without_target,
    format_people,
    make,
    make_all,
    strike_all,
    worst_first,
)
from sfumato.policy.columns import forms_of
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadData, BadTaxonomy, SfumatoError
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import (
    Card,
    Printable,
    decimals,
    json_ready,
    not_protected_lines,
    pluralize,
    verdict_document,
    verdict_lines,
)
from sfumato.system.presentation.sentences import Sentences
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Finding, Verdict
from sfumato.table.arrow_rows import HandingReader, arrow_rows, file_of, form_of
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import Coding, Microdata, Role
from sfumato.table.observers import show_first_texts, survey_on_first_pass
from sfumato.table.release_summary import Imprint
from sfumato.table.source import PARQUET, Source, open_source
from sfumato.table.taxonomy import Label, Taxonomy
from sfumato.verify.chain.ruling import ShownRows, file_shows
from sfumato.verify.file import JudgedRows, judge_file
from sfumato.verify.file_bytes import Surplus, csv_surplus, parquet_surplus
from sfumato.verify.tables import FileForm

# The headline of an audit: what was promised, what attacks came to, and whether the audit is passed.

SAYS = Sentences("claims")


@dataclass(frozen=True)
class Headline:
    """Counts of verdicts and of attacks.

    `holds` is the audit's own answer: a broken promise fails it, what is not decided fails it where a caller
    is strict, and so does a sensitive value that is `certain` for somebody and that nobody confirmed: column
    -> people. Any other attack that succeeds although every promise holds fails who asks for that attack, not
    who asks whether the promises are kept.
    """

    holds: bool | None
    hold: int
    broken: int
    undecided: int
    attacks: int
    succeeded: int
    partly_tried: int = 0
    """Attacks that were withstood as far as they were tried, and were not tried in full."""
    certain: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        holds: bool | None,
        verdicts: Sequence[Verdict],
        findings: Sequence[Finding],
        certain: Mapping[str, int] | None = None,
    ) -> Headline:
        answers = [verdict.holds for verdict in verdicts]
        won = sum(finding.breach for finding in findings)
        partly = sum(bool(finding.not_tried) and not finding.breach for finding in findings)
        counts = answers.count(True), answers.count(False), answers.count(None), len(findings), won, partly
        return cls(holds, *counts, certain or {})

    @property
    def title(self) -> str:
        """The answer in one line; it never says that all is well above an attack that succeeded."""
        return f"{self._promises} {self._attacks}"

    @property
    def _promises(self) -> str:
        if self.holds is False:
            return SAYS.ONE_BROKEN if self.broken == 1 else SAYS.BROKEN.format(count=self.broken)
        return SAYS.ALL_HOLD if self.holds else SAYS.UNDECIDED

    @property
    def _attacks(self) -> str:
        if not self.attacks:
            return SAYS.NONE_TRIED
        if not self.succeeded:
            return SAYS.WITHSTOOD_AS_TRIED if self.partly_tried else SAYS.NONE_SUCCEEDS
        one, several = (
            (SAYS.ONE_BEYOND, SAYS.SEVERAL_BEYOND) if self.holds else (SAYS.ONE_SUCCEEDS, SAYS.SUCCEED)
        )
        return one if self.succeeded == 1 else several.format(count=self.succeeded)

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The result, what was promised, and what was attacked."""
        holding = "holds" if self.hold == 1 else "hold"
        parts = ((self.hold, holding), (self.undecided, "not decidable"), (self.broken, "BROKEN"))
        promised = ", ".join(f"{count} {words}" for count, words in parts if count)
        promises = self.hold + self.undecided + self.broken
        won = f"{self.succeeded} {'succeeds' if self.succeeded == 1 else 'succeed'}"
        if not self.succeeded:
            won = "none succeeds" if self.attacks else "none was tried"
        if self.partly_tried:
            won += f"; {self.partly_tried} not tried in full"
        return [
            (self.result,),
            (),
            ("promised", f"{pluralize(promises, 'promise')}: {promised or 'none'}"),
            ("attacked", f"{pluralize(self.attacks, 'attack')}: {won}"),
        ]

    @property
    def fails(self) -> str | None:
        """What fails the audit: `promises`, `certain` values, what is `undecided` (if strict), or nothing."""
        if self.holds is not False and self.certain:
            return "certain"
        return {True: None, False: "promises", None: "undecided"}[self.holds]

    @property
    def result(self) -> str:
        """Whether the audit is passed, in a sentence."""
        if self.fails == "certain":
            people = format_people(max(self.certain.values()))
            return SAYS.FAILED_CERTAIN.format(people=people, columns=", ".join(self.certain))
        if self.fails == "promises":
            return SAYS.FAILED
        return SAYS.OPEN if self.fails else SAYS.PASSED_BEYOND if self.succeeded else SAYS.PASSED

    def as_dict(self) -> dict[str, object]:
        """The same as JSON."""
        return {
            "promised": {"hold": self.hold, "broken": self.broken, "undecided": self.undecided},
            "attacked": {
                "attacks": self.attacks,
                "succeeded": self.succeeded,
                "partly_tried": self.partly_tried,
            },
            "fails": self.fails,
            "certain": dict(self.certain),
        }


# What adversaries achieved, on a card.


def attack_card(findings: Sequence[Finding]) -> Card:
    """One line per finding, worst first."""
    order = worst_first(findings)
    won = sum(f.breach for f in order)
    partly = "" if won or not any(f.not_tried for f in order) else ", as far as they were tried"
    title = f"{pluralize(won, 'attack')} of {len(order)} succeeded{partly}"
    return Card(title, [finding_line(f) for f in order])


def finding_line(finding: Finding) -> tuple[str, ...]:
    """An attack, whether it got more than is allowed, and how."""
    who, colon, _ = finding.adversary.partition(":")
    name = f"{finding.attack}, {who}" if colon else finding.attack
    return (name, finding.word, finding.told)


# A source in the hands of the second judge: as the file that it reads, else as its rows.

Verdicts = Callable[[], tuple[Verdict, ...]]


@contextmanager
def judged_when_read(
    source: Source, policy: Policy, *, progress: Progress = silent
) -> Iterator[tuple[Source, Verdicts]]:
    """Yields the source to be read for other purposes, and what then gives the second judge's verdicts.

    A file in the form that releases have is judged from its bytes, by a pass of its own. Rows of a table in
    memory are handed over while they are read. A file in another form (another separator, compressed) is read
    again for that, and so is a source that hands out no batches.
    """
    rules, path = judge_data(policy), file_of(source)
    if path is not None or not isinstance(source, RowSource):
        yield source, lambda: _from_bytes(path, source, rules) or _from_rows(source, policy, rules, progress)
        return
    with JudgedRows(source.columns, rules, memory=source.memory) as rows:
        handing = HandingReader(source.reader, rows.wanted, rows.restart, rows.add)
        yield (
            RowSource(handing, source.memory),
            lambda: rows.verdicts() if handing.complete else _from_rows(source, policy, rules, progress),
        )


def _from_bytes(path: Path | None, source: Source, rules: JsonMapping) -> tuple[Verdict, ...] | None:
    """Returns the verdicts on a file in the form of releases; `None` where there is no such file."""
    if path is None:
        return None
    try:
        return judge_file(path, source.columns, rules, form=form_of(source), memory=source.memory)
    except BadData:  # the engine has read it, so its rows can be judged
        return None


def _from_rows(source: Source, policy: Policy, rules: JsonMapping, progress: Progress) -> tuple[Verdict, ...]:
    """Returns the verdicts on all rows of a source, read for that alone."""
    with JudgedRows(source.columns, rules, memory=source.memory) as rows:
        sets = forms_of(policy)
        for batch, counts in arrow_rows(
            source, rows.wanted, person=policy.person, sets=sets, progress=progress
        ):
            rows.add(batch, counts)
        return rows.verdicts()


def surplus_of(source: Source) -> tuple[Surplus, ...]:
    """Returns what the bytes of a source tell beyond its rows; nothing where it is no file."""
    path = file_of(source)
    if path is None:
        return ()
    try:
        if source.kind == PARQUET:
            return parquet_surplus(path, memory=source.memory)
        return csv_surplus(path, source.columns, memory=source.memory, form=FileForm.of(form_of(source)))
    except BadData:
        return (Surplus("the bytes of the file could not be followed", certain=False),)


Shows = Callable[[Imprint], bool]


@contextmanager
def compared_when_read(
    source: Source, like: Imprint, *, progress: Progress = silent
) -> Iterator[tuple[Source, Shows]]:
    """Yields the source to be read for other purposes, and what then says whether it shows a release.

    That is what the second judge says, who reads a file from its bytes and is handed other rows, as above.
    `like` is a release with the same columns.
    """
    path, document = file_of(source), like.as_dict()
    if path is not None or not isinstance(source, RowSource):
        yield source, lambda release: _bytes_show(path, source, release, progress)
        return
    with ShownRows(source.columns, document, memory=source.memory) as rows:
        handing = HandingReader(source.reader, rows.wanted, rows.restart, rows.add)

        def show(release: Imprint) -> bool:
            return rows.show(release.as_dict()) if handing.complete else _rows_show(source, release, progress)

        yield RowSource(handing, source.memory), show


def _bytes_show(path: Path | None, source: Source, release: Imprint, progress: Progress) -> bool:
    """Returns whether a file shows a release; one in another form than releases have is read as rows."""
    try:
        if path is not None:
            return file_shows(path, release.as_dict(), notes=True, form=form_of(source), memory=source.memory)
    except BadData:  # the engine has read it, so its rows can be compared
        pass
    return _rows_show(source, release, progress)


def _rows_show(source: Source, release: Imprint, progress: Progress) -> bool:
    with ShownRows(source.columns, release.as_dict(), memory=source.memory) as rows:
        for batch, counts in arrow_rows(source, rows.wanted, progress=progress):
            rows.add(batch, counts)
        return rows.show(release.as_dict())


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
class HistoryPlace:
    """The releases that a table was held against, and its own place among them, if it is one of them.

    `chain` is `None` where these are tables that were handed in, not those of a ledger.
    """

    chain: str | None
    releases: int
    place: int | None = None
    joint: Correspondence | None = field(default=None, repr=False)
    """What releases say together, for whoever asked for it: in which classes rows are ruled out."""
    table: Microdata | None = field(default=None, repr=False, compare=False)
    """The table as it was counted, which knows the values of all releases."""

    def as_dict(self) -> JsonObject:
        """Returns JSON; the cracked classes are told to whoever asks for them."""
        return {"chain": self.chain, "releases": self.releases, "place": self.place}

    def __str__(self) -> str:
        if self.chain is None:
            return f"{pluralize(self.releases, 'release')} held against each other, in the order given"
        own = "none of them" if self.place is None else f"release {self.place} of them"
        return f"held against {pluralize(self.releases, 'release')} of chain {self.chain}; it is {own}"


@dataclass(frozen=True, repr=False)
class Audit(Printable):
    """Verdicts and findings of an auditor who holds nothing but the published table and the policy.

    `holds` is `False` if a promise is broken or something is published that must not be, `None` if something
    cannot be decided from the table, as where it has no rows, else `True`. Findings say what each adversary
    achieves; an adversary may succeed although every promise holds, where no promise speaks of it. `failed`
    says which attacks broke down and found nothing, `not_tried` which do not apply, and why. `beside` says
    which releases the table was held against, if any, `confirmed` which columns a person's word covers.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> audit = sf.audit(plan.apply(people), plan.policy)
    >>> [(verdict.promise, verdict.holds) for verdict in audit.verdicts]
    [('k-anonymity, k = 2', True), ('distinct l-diversity of disease, l = 2', True)]
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    objections: tuple[Objection, ...]
    rows: int
    columns: tuple[str, ...]
    failed: tuple[str, ...] = ()
    beside: HistoryPlace | None = None
    not_tried: Mapping[str, str] = field(default_factory=dict)
    not_protected: Mapping[str, int] = field(default_factory=dict)
    """Sensitive columns of which promises protect no value (0), or so many alone."""
    confirmed: frozenset[str] = frozenset()

    @property
    def holds(self) -> bool | None:
        answers = [v.holds for v in self.verdicts] + [o.holds for o in self.objections]
        return False if False in answers else None if None in answers else True

    @property
    def headline(self) -> Headline:
        """What was promised, what attacks came to, and whether the audit is passed."""
        return Headline.of(self.holds, self.verdicts, self.findings, self.certain)

    @property
    def certain(self) -> dict[str, int]:
        """The sensitive columns of which a value is certain for somebody: for how many people.

        Without those that somebody confirmed may be told.
        """
        columns: dict[str, int] = {}
        for finding in self.findings:
            if finding.certain and finding.columns[-1] not in self.confirmed:
                columns[finding.columns[-1]] = max(finding.certain, columns.get(finding.columns[-1], 0))
        return columns

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
            "findings": [finding_fields(f) for f in self.findings],
            "objections": [json_ready(o) for o in self.objections],
            "failed": list(self.failed),
            "not_tried": dict(self.not_tried),
            "not_protected": dict(self.not_protected),
            "beside": None if self.beside is None else self.beside.as_dict(),
        }

    def card(self) -> Card:
        """The headline, then one line per promise and per attack, worst first."""
        head = self.headline
        lines = [*head.lines, (), *verdict_lines(self.verdicts), (), *attack_card(self.findings).lines]
        lines = [*not_protected_lines(self.not_protected), (), *lines]
        notes = [str(o) for o in self.objections if o.holds is not False]
        notes += [f"an attack failed and found nothing: {what}" for what in self.failed]
        if self.not_tried:
            notes.append(SAYS.NOT_TRIED.format(attacks=pluralize(len(self.not_tried), "attack")))
        return Card(head.title, lines, [*notes, *([str(self.beside)] if self.beside else [])])

    def reasons(self) -> list[str]:
        """Why attacks were not tried: a line for every reason."""
        return _not_tried(self.not_tried)

    def __repr__(self) -> str:
        won = len(self.breaches)
        return f"Audit({self.rows} rows, holds={self.holds}, {won} of {len(self.findings)} attacks succeeded)"


def audit(
    source: Any, policy: Policy, *, attacks: Sequence[str | Attack] | None = None, progress: Progress = silent
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
        not_protected={n: c for n, c in policy.protected_counts.items() if n in published.columns},
        confirmed=frozenset(policy.confirmed),
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
                return policy.spelled(coding.name, Taxonomy.flat_in_order(values))
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


def _unique(source: Source, policy: Policy, objections: list[Objection], progress: Progress) -> Source:
    """Returns the source, whose first pass also finds insensitive columns that tell people apart, or keys."""
    unchanged = ColumnsBesideKeys.of(policy.columns, source.columns)
    source = show_first_texts(
        source, unchanged.names, lambda rows: objections.extend(dependency_leak(policy, unchanged, rows))
    )
    harmless = [
        name
        for name in source.columns
        if name in policy.columns and policy.columns[name].role is Role.INSENSITIVE
    ]
    if not harmless:
        return source
    surveying = survey_on_first_pass(
        source, harmless, {}, lambda survey, _: objections.extend(unique_columns(survey, policy))
    )
    if surveying is not None:
        return surveying
    with suppress(SfumatoError, OSError):
        objections.extend(unique_columns(source.survey(harmless, progress=progress), policy))
    return source


def _not_tried(reasons: Mapping[str, str]) -> list[str]:
    """Returns which attacks had nothing to strike, and why: a line for every reason."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return [f"not tried: {', '.join(attacks)}: {_of(attacks, why)}" for why, attacks in names.items()]


def _of(attacks: Sequence[str], why: str) -> str:
    return why if len(attacks) == 1 else why.replace("it needs", "they need", 1)


def finding_fields(finding: Finding) -> dict[str, Any]:
    """Without the values; the decimals of its own fractions and of those among the details stand beside."""
    written: dict[str, Any] = json_ready(finding)
    own = {f.name: getattr(finding, f.name) for f in fields(finding) if f.repr}
    return {**written, "decimals": decimals({**own, **finding.details})}
