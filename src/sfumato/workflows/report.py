"""The verb `report`: what was promised, attacked and lost, on a page that somebody can sign."""

# ruff: noqa: PLC0415  # ledgers and stores are loaded where they are named, `protect` where tables are made

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.attacks.audit import Audit
from sfumato.draft.doctor import Severity
from sfumato.inputs import AnyMemory, AnyPolicy, load_policy, open_original, open_table, unheard, view_policy
from sfumato.policy.policy import Policy
from sfumato.releases import certificate as manifest
from sfumato.releases.certificate import CERTIFICATE, examine
from sfumato.releases.dictionary import MOST_TEXTS
from sfumato.releases.ledger.keys import DatedKey
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.receipt import Event, Receipt, chain_lines, figure_words, remarks_on
from sfumato.reports.internal import internal_page
from sfumato.reports.paired_tables import read_tables
from sfumato.reports.public import public_page
from sfumato.reports.report import (
    Audience,
    Certified,
    ColumnUse,
    Criteria,
    InternalEvidence,
    PromiseLine,
    PublishedEvidence,
    Report,
    criteria_of,
    promise_lines,
)
from sfumato.reports.usefulness import ModelFigures, model_figures
from sfumato.search.loss import shape_of
from sfumato.search.plan import Plan
from sfumato.system.address import Address, is_address
from sfumato.system.disk import digest_of, private_folder, read_document
from sfumato.system.errors import BadData, SfumatoError, UsageError
from sfumato.system.json_object import JsonMapping, read_json
from sfumato.system.presentation.cards import format_number, json_ready, pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.arrow_rows import form_of
from sfumato.table.source import AnyTable
from sfumato.verify.file import file_texts
from sfumato.workflows.audit import audit
from sfumato.workflows.compare import compare
from sfumato.workflows.confirm import check_policy

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


# What a report is made from: a plan, a published file, the folder of a release, or a ledger's entry.


ATTESTED = tuple(field.name for field in fields(Certified))
"""What a certificate, and the entry of a release, say under the same names."""


def software() -> str:
    """Returns the versions that a report was made with."""
    names = ("sfumato", "numpy", "polars", "pyarrow")
    return ", ".join([*(f"{name} {version(name)}" for name in names), f"Python {platform.python_version()}"])


def table_in(folder: Path) -> Path:
    """Returns the table of a release; raises `BadData` where a folder is none, or holds several versions."""
    versions = sorted(path.parent.name for path in folder.glob(f"*/{manifest.MANIFEST}"))
    if versions and not (folder / manifest.MANIFEST).exists():
        raise BadData(
            f"the folder holds {pluralize(len(versions), 'version')}, each in a folder of its own",
            where=folder.name,
            remedy=f"Name one of them, such as {folder.name}/{versions[0]}.",
        )
    listed = manifest.read_manifest(folder / manifest.MANIFEST)
    names = {str(file["name"]).partition("/")[0] for file in listed["files"] if "rows" in file}
    if len(names) != 1:
        raise BadData("the release is not one table", where=folder.name, remedy="Name one of its files.")
    return folder / names.pop()


def certified_beside(file: Path, policy: Policy, key: Sequence[DatedKey] | None) -> Certified | None:
    """Returns what the certificate beside a table says, if there is one and it fits all the files."""
    beside = file.with_name(CERTIFICATE)
    if not beside.is_file():
        return None
    examined = examine(beside, key=key)
    if examined.faults:
        raise BadData(examined.faults[0], where=beside.name, remedy="Do not trust these files.")
    entry, body = examined.content["entry"], examined.content["entry"]["body"]
    if body["policy"] != policy.digest:
        raise BadData(
            "the certificate is about another policy",
            where=beside.name,
            remedy="Name the policy that the table was released under.",
        )
    words = {**entry, **body, "hash": examined.content["hash"]}
    return Certified(**{name: words[name] for name in ATTESTED if name in words})


def published_evidence(
    file: Path,
    policy: Policy,
    *,
    attacked: Audit | None = None,
    key: Sequence[DatedKey] | None = None,
    memory: AnyMemory = None,
    progress: Progress,
) -> PublishedEvidence:
    """Returns what anybody can say who holds a published file, its policy and its certificate.

    `attacked` is the audit of the file, where that was made before.
    """
    certified = certified_beside(file, policy, key)
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    audited = attacked or audit(file, policy, memory=memory, warn=unheard, progress=progress)
    form = form_of(open_table(file, memory, policy))
    texts = file_texts(file, keys, most=MOST_TEXTS, form=form)
    return PublishedEvidence(file.name, _digest(file), policy, texts, audited, certified)


def _digest(file: Path) -> str:
    """Returns the digest of a file; of a folder of parts that of their list, which names every part."""
    return digest_of(file / "_manifest.json" if file.is_dir() else file)


def of_published(
    published: PublishedEvidence, original: AnyTable | None, file: Path, progress: Progress
) -> InternalEvidence:
    """Returns the evidence on a published file, with the original beside it if that is handed in."""
    certified, policy = published.certified, published.policy
    evidence = InternalEvidence(
        published.file,
        published.promises,
        policy,
        policy.digest,
        published,
        after=published.audit,
        columns=tuple((use.name, _became(use)) for use in published.columns),
        figures={"rows": f"{published.shown.rows:,}", "versions": software()},
        certified=certified,
        remarks=(
            *(() if certified is None else _by_certificate(certified, published.promises)),
            *_unresolved(policy, original, progress),
        ),
    )
    return evidence if original is None else with_original(evidence, original, file, progress)


def _unresolved(policy: Policy, original: AnyTable | None, progress: Progress) -> tuple[str, ...]:
    """Returns the warnings about a policy that stand open, and the columns that wait for a person's word."""
    try:
        diagnoses = check_policy(policy, original, progress=progress)
    except SfumatoError:  # an original that a policy check cannot read is told of where it is attacked
        diagnoses = check_policy(policy)
    warnings = [str(diagnosis) for diagnosis in diagnoses if diagnosis.gravity is not Severity.NOTE]
    return (*warnings, *(f"{name} waits for confirmation: {why}" for name, why in policy.confirm.items()))


def _by_certificate(certified: Certified, promises: Sequence[PromiseLine]) -> tuple[str, ...]:
    """Returns what was judged beside other releases, or for people who came in some of them."""
    there = {promise.promise for promise in promises}
    return tuple(
        f"{verdict['promise']}: {'holds' if verdict['holds'] else 'NOT decided'}, by the certificate"
        for verdict in certified.verdicts
        if verdict["promise"] not in there
    )


def with_original(
    evidence: InternalEvidence,
    original: AnyTable,
    safe: AnyTable,
    progress: Progress,
    *,
    attacked: Audit | None = None,
) -> InternalEvidence:
    """Returns the evidence with what attackers get from the original, and with what was lost.

    `attacked` is the audit of the original, where that was made before.
    """
    if evidence.policy is None:
        raise UsageError("the original is read by a policy", remedy="Name the policy with -p.")
    alone = evidence.policy if evidence.policy.chain is None else view_policy(evidence.policy)
    before = attacked or audit(original, alone, warn=unheard, progress=progress)
    use = compare(original, safe, evidence.policy, progress=progress)
    figures = {
        "source_rows": f"{use.table.rows:,}",
        "rows": f"{use.table.published:,}",
        "suppressed": f"{use.table.suppressed:,}",
        "classes": f"{use.table.classes:,}",
    }
    return replace(evidence, before=before, usefulness=use, figures={**figures, **evidence.figures})


def of_plan(plan: Plan, original: AnyTable | None, progress: Progress) -> InternalEvidence:
    """Returns the evidence of a plan; the safe table is made anew where the original is handed in."""
    levels = plan.levels or {}
    shapes = [
        shape_of(plan.recoding, j, levels.get(c.name)).line for j, c in enumerate(plan.recoding.table.keys)
    ]
    counted = "rows" if plan.policy.person is None else "people"
    evidence = InternalEvidence(
        "a plan",
        promise_lines(plan.policy, plan.verdicts),
        plan.policy,
        plan.policy.digest,
        columns=tuple((name, " ".join(words)) for name, *words in shapes),
        figures={
            "source_rows": f"{plan.rows:,}",
            "rows": f"{plan.rows - plan.suppressed:,}",
            "suppressed": f"{plan.suppressed:,}",
            "classes": f"{plan.classes:,}",
            "smallest": f"{plan.smallest:,} {counted}",
            "loss": f"{plan.policy.protect.loss} {format_number(plan.loss)}",
            "search": plan.search or plan.policy.protect.search,
            "versions": software(),
        },
    )
    if original is None:
        return evidence
    safe = plan.apply(original, progress=progress)
    after = audit(safe, plan.policy, warn=unheard, progress=progress)
    return with_original(replace(evidence, after=after), original, safe, progress)


def of_plan_document(document: JsonMapping, policy: Policy) -> InternalEvidence:
    """Returns the evidence of a plan that was written by `protect --json`."""
    try:
        promises = tuple(_line(verdict, policy) for verdict in document["verdicts"])
        cuts = document["cuts"] or {}
        figures = {
            "source_rows": f"{int(document['rows']):,}",
            "rows": f"{int(document['rows']) - int(document['suppressed']):,}",
            "suppressed": f"{int(document['suppressed']):,}",
            "classes": f"{int(document['classes']):,}",
            "smallest": f"{int(document['smallest']):,}",
            "loss": f"{document['measure']} {format_number(float(document['loss']))}",
            "search": str(document.get("found_by", document["search"])),
            "versions": software(),
        }
        columns = tuple((name, pluralize(len(labels), "group")) for name, labels in cuts.items())
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadData("this is no plan", remedy="`sfumato protect --json` prints one.") from None
    return InternalEvidence("a plan", promises, policy, policy.digest, columns=columns, figures=figures)


def of_record(record: ReleaseRecord, policy: Policy | None, signer: str) -> InternalEvidence:
    """Returns what a ledger knows of a release."""
    if policy is not None and policy.digest != record.policy:
        raise BadData(
            "the entry of the ledger is about another policy",
            remedy="Name the policy that the table was released under, or none.",
        )
    attested = {name: getattr(record, name) for name in ATTESTED if name != "signer"}
    certified = Certified(**attested, signer=signer)
    figures = {name: record.figures[name] for name in ("rows", "suppressed", "classes", "loss")}
    numbers = {
        name: format_number(value) for name, value in figures.items() if isinstance(value, int | float)
    }
    remarks = [f"{figure_words(name)}: {format_number(value)}" for name, value in _beside(record).items()]
    return InternalEvidence(
        f"release {record.sequence} of chain {record.chain}",
        tuple(_line(verdict, policy) for verdict in record.verdicts),
        policy,
        record.policy,
        figures={
            **numbers,
            "smallest": format_number(record.figures.get("k")),
            "versions": _versions(record.versions),
        },
        certified=certified,
        remarks=(*remarks_on(record.weaker, record.ignore_chains), *chain_lines(record.figures), *remarks),
    )


def _beside(record: ReleaseRecord) -> dict[str, int]:
    """Returns the figures that compare a release with earlier ones."""
    return {
        name: int(record.figures[name])
        for name in ("FA", "BA", "position")
        if isinstance(record.figures.get(name), int)
    }


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _line(verdict: JsonMapping, policy: Policy | None) -> PromiseLine:
    """Returns a promise as a document tells of it, in words where the policy is at hand."""
    by_sentence = {} if policy is None else {str(promise): promise for promise in policy.promises}
    promise = by_sentence.get(str(verdict["promise"]))
    return PromiseLine(
        str(verdict["promise"]),
        "" if promise is None else promise.in_words(),
        "" if promise is None else promise.silent_on,
        {True: True, False: False}.get(verdict["holds"]),
        "" if verdict["measured"] is None else str(verdict["measured"]),
        str(verdict["limit"]),
        () if promise is None else criteria_of(promise),
    )


def _became(use: ColumnUse) -> str:
    """Returns the forms of a published column, with their shares of the rows; nothing of unchanged ones."""
    whole = sum(rows for _, rows in use.forms)
    return "; ".join(f"{form} ({rows / whole:.0%} of rows)" for form, rows in use.forms)


AnySubject = Plan | Receipt | str | Path | Address | int
"""A plan, the receipt or the folder of a release, a published file, or the number of an entry."""


def report(
    of: AnySubject,
    policy: AnyPolicy | None = None,
    *,
    original: AnyTable | None = None,
    ledger: Ledger | str | None = None,
    audience: Audience = "internal",
    criteria: Criteria = "iso27559",
    key: str | Path | None = None,
    made: datetime | None = None,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Report:
    """Report on a plan, a published file, the folder of a release or an entry of the ledger.

    The page is for a data protection officer: the verdict, what was promised in plain words, who could attack
    and what they get, what became of every column, what was lost, the policy and its digest, and a place to
    sign. An internal report is for the owner. A public one is made from the published bytes alone, and every
    text and number of it is looked up in these first; it is refused where a promise does not hold.

    Args:
        of: a `Plan` (or the JSON of one), a `Receipt`, a published file, the folder of a release, or the
            number or name of an entry of the ledger.
        policy: the policy that the table was published under; a file, a folder or the JSON of a plan needs
            it.
        original: the original table. The same attackers strike it, too, and losses are drawn.
        ledger: the ledger that has the entry, or its URL. Beside the folder of a release of a chain of groups
            it tells who came, who left and what is not shown.
        audience: "internal" or "public".
        criteria: the order of the page: "iso27559" (ISO/IEC 27559) or "wp29" (three criteria).
        key: the publisher's public key, or its file.
        made: the time of the report; now by default.
        memory: how much memory may be used, such as "4GB".
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> sf.report(plan).html.startswith("<!doctype html>")
    True
    """
    show, when = progress or silent, (made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    _check_choices(audience, criteria)
    by_criteria = criteria == "wp29"
    rules = None if policy is None else load_policy(policy)
    with ExitStack() as stack:
        subject = _subject(of, ledger, stack)
        if isinstance(subject, Path) and subject.suffix != ".json":
            published = published_evidence(
                subject, _needed(rules), key=_public_keys(key), memory=memory, progress=show
            )
            if audience == "public":
                return _public(published, when, by_criteria)
            evidence = of_published(published, original, subject, show)
            if ledger is not None:
                told = _of_ledger(published.certified, ledger)
                evidence = replace(evidence, remarks=(*evidence.remarks, *told))
        else:
            _check_internal(audience)
            evidence = _without_table(subject, rules, original, ledger, show)
    return internal_report(evidence, written_at=when, by_criteria=by_criteria)


def internal_report(evidence: InternalEvidence, *, written_at: str, by_criteria: bool = False) -> Report:
    """Returns the internal report on evidence that was gathered."""
    mark = _fingerprint(evidence.subject, evidence.policy_digest, evidence.promises, evidence.figures)
    page = internal_page(evidence, written_at=written_at, fingerprint=mark, by_criteria=by_criteria)
    return Report(page, "internal", evidence.subject, mark)


def _public(published: PublishedEvidence, when: str, by_criteria: bool) -> Report:
    """The public report; its fingerprint is of what is published, so that nothing else is guessed by it."""
    mark = _fingerprint(published.file, published.digest, published.policy.digest, published.promises)
    page = public_page(published, written_at=when, fingerprint=mark, by_criteria=by_criteria)
    return Report(page, "public", published.file, mark)


def _fingerprint(*findings: object) -> str:
    text = json.dumps(json_ready(findings), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _subject(of: AnySubject, ledger: Ledger | str | None, stack: ExitStack) -> Plan | ReleaseRecord | Path:
    """What is reported on: a plan, a record, the file of a plan, or that of a published table."""
    if isinstance(of, Plan):
        return of
    if isinstance(of, Event):
        raise UsageError(
            "an event has several versions", remedy="Report on one: event['name of a recipient']."
        )
    if isinstance(of, Receipt):
        if of.folder is None:
            raise UsageError("nothing was released", remedy="Report on the plan.")
        of = of.folder
    if isinstance(of, Address) or (isinstance(of, str) and is_address(of)):
        from sfumato.releases.downloads import local_copy

        return Path(str(stack.enter_context(local_copy(Address.of(str(of))))))
    place = Path(str(of))
    if ledger is not None and not place.exists():
        return _record(str(of), ledger)
    if isinstance(of, int):
        raise UsageError("a number is that of an entry of a ledger", remedy="Name the ledger.")
    if not place.exists():
        raise BadData(
            "there is no such file, folder or entry",
            where=place.name,
            remedy="Name a published file, the folder of a release, a plan, or an entry with --ledger.",
        )
    if not place.is_dir():
        return table_in(place.parent) if place.name == "certificate.json" else place
    return place if (place / "_manifest.json").exists() else table_in(place)


def _without_table(
    subject: Plan | ReleaseRecord | Path,
    policy: Policy | None,
    original: AnyTable | None,
    ledger: Ledger | str | None,
    progress: Progress,
) -> InternalEvidence:
    """The evidence on what is no published table."""
    if isinstance(subject, Plan):
        return of_plan(subject, original, progress)
    if original is not None:
        raise UsageError(
            "the original is compared with a published table, or with a plan at hand",
            remedy="Name the published file or the folder of the release.",
        )
    if isinstance(subject, ReleaseRecord):
        return of_record(subject, policy, _opened(ledger).public_key if ledger is not None else "")
    try:
        document = read_json(read_document(subject))
    except ValueError:
        raise BadData("this is no plan", where=subject.name) from None
    return of_plan_document(document if isinstance(document, dict) else {}, _needed(policy))


def _of_ledger(certified: Certified | None, ledger: Ledger | str) -> tuple[str, ...]:
    """Returns what the ledger knows of a release: who came, who left, what is not shown."""
    if certified is None:
        return ()
    record = _record(str(certified.number), ledger)
    if record.hash != certified.hash:
        raise BadData("the release is not of this ledger", remedy="Name the ledger that it was entered in.")
    return tuple(chain_lines(record.figures))


def _opened(ledger: Ledger | str) -> Ledger:
    from sfumato.releases.ledger.ledger import Ledger

    return ledger if isinstance(ledger, Ledger) else Ledger(ledger, readonly=True)


def _record(name: str, ledger: Ledger | str) -> ReleaseRecord:
    """The release with this number of an entry, or of this name."""
    for record in _opened(ledger).history(memory=False):
        if name in (str(record.number), record.release):
            return record
    raise BadData(
        "the ledger has no such release", remedy="`sfumato history --json` lists the entries of releases."
    )


def _public_keys(key: str | Path | None) -> tuple[DatedKey, ...] | None:
    if key is None:
        return None
    from sfumato.releases.ledger.keys import public_keys

    return public_keys(Path(key))


def _needed(policy: Policy | None) -> Policy:
    if policy is None:
        raise UsageError(
            "a table is judged by the policy that it was published under", remedy="Name it with -p."
        )
    return policy


def _check_choices(audience: str, criteria: str) -> None:
    if audience not in ("internal", "public"):
        raise UsageError("a report is internal or public")
    if criteria not in ("iso27559", "wp29"):
        raise UsageError("the criteria are iso27559 or wp29")


def _check_internal(audience: Audience) -> None:
    if audience == "public":
        raise UsageError(
            "a public report is made from the bytes of a published table",
            remedy="Name the published file, or the folder of the release.",
        )


# What models learn from each solution: trained on every safe table, beside one trained on the original.


@dataclass(frozen=True)
class ModelScores:
    """How well a column is told from the others by models, search by search; `failed` says why not."""

    target: str
    figures: Mapping[str, ModelFigures]
    failed: Mapping[str, str]


def model_scores(
    data: AnyTable,
    policy: AnyPolicy,
    searches: Sequence[str],
    target: str,
    *,
    progress: Progress | None = None,
) -> ModelScores:
    """Returns how well models tell `target` that were trained on what each search publishes.

    Every safe table is written to a private folder, judged from its bytes, learnt from, and gone afterwards.
    """
    from sfumato.workflows.protect_file import protect_file

    rules, show = load_policy(policy), progress or silent
    figures: dict[str, ModelFigures] = {}
    failed: dict[str, str] = {}
    for search in searches:
        searched = rules.with_(search=search)
        try:
            with private_folder() as private:
                safe = private / "safe.csv"
                protect_file(data, searched, safe, warn=unheard, progress=show)
                tables = read_tables(
                    open_original(data, policy=searched),
                    open_table(safe, policy=searched),
                    searched,
                    progress=show,
                )
                show(f"learning from {search}", 0)
                figures[search] = model_figures(tables, target)
        except UsageError:  # the column, or the package that is lacking: the same for every search
            raise
        except SfumatoError as error:
            failed[search] = f"{error.message}. {error.remedy}".strip()
    return ModelScores(target, figures, failed)
