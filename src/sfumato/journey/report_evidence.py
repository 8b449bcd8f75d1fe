"""What a report is made from: a plan, a published file, the folder of a release, or a ledger's entry."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from sfumato.attacks.audit import Audit
from sfumato.core.errors import BadData, WrongCall
from sfumato.core.json_object import JsonMapping
from sfumato.core.progress import Progress
from sfumato.engine import AnyTable
from sfumato.engine.arrow_rows import form_of
from sfumato.journey.audit import audit
from sfumato.journey.compare import compare
from sfumato.journey.table_argument import AnyMemory, open_table
from sfumato.judge.column_texts import file_texts
from sfumato.policy.policy import Policy
from sfumato.protection.column_shape import shape_of
from sfumato.protection.plan import Plan
from sfumato.releases import manifest
from sfumato.releases.certificate import CERTIFICATE, examine
from sfumato.releases.dictionary.document import MOST_TEXTS
from sfumato.releases.ledger.keys import DatedKey
from sfumato.releases.ledger.record import Record
from sfumato.releases.receipt import figure_words, remarks_on
from sfumato.reports.evidence import (
    Certified,
    ColumnUse,
    InternalEvidence,
    PromiseLine,
    PublishedEvidence,
    promise_lines,
)
from sfumato.show.card import figure, several
from sfumato.system.disk import digest_of


def software() -> str:
    """Returns the versions that a report was made with."""
    names = ("sfumato", "numpy", "polars", "pyarrow")
    return ", ".join([*(f"{name} {version(name)}" for name in names), f"Python {platform.python_version()}"])


def table_in(folder: Path) -> Path:
    """Returns the table of a release; raises `BadData` where a folder is none, or holds several versions."""
    versions = sorted(path.parent.name for path in folder.glob(f"*/{manifest.MANIFEST}"))
    if versions and not (folder / manifest.MANIFEST).exists():
        raise BadData(
            f"the folder holds {several(len(versions), 'version')}, each in a folder of its own",
            where=folder.name,
            remedy=f"Name one of them, such as {folder.name}/{versions[0]}.",
        )
    listed = manifest.read(folder / manifest.MANIFEST)
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
    return Certified(
        entry["chain"],
        entry["sequence"],
        entry["number"],
        examined.content["hash"],
        entry["signer"],
        body["at"],
        body["recipient"],
        body["manifest"],
        body["policy"],
        body["versions"],
        body["verdicts"],
    )


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
    audited = attacked or audit(file, policy, memory=memory, progress=progress)
    form = form_of(open_table(file, memory, policy))
    shown = file_texts(file, keys, most=MOST_TEXTS, form=form)
    return PublishedEvidence(file.name, _digest(file), policy, shown, audited, certified)


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
    )
    return evidence if original is None else with_original(evidence, original, file, progress)


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
        raise WrongCall("the original is read by a policy", remedy="Name the policy with -p.")
    before = attacked or audit(original, evidence.policy, progress=progress)
    use = compare(original, safe, evidence.policy, progress=progress)
    told = {
        "source_rows": f"{use.table.rows:,}",
        "rows": f"{use.table.published:,}",
        "suppressed": f"{use.table.suppressed:,}",
        "classes": f"{use.table.classes:,}",
    }
    return replace(evidence, before=before, usefulness=use, figures={**told, **evidence.figures})


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
            "loss": f"{plan.policy.protect.loss} {figure(plan.loss)}",
            "search": plan.search or plan.policy.protect.search,
            "versions": software(),
        },
    )
    if original is None:
        return evidence
    safe = plan.apply(original, progress=progress)
    after = audit(safe, plan.policy, progress=progress)
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
            "loss": f"{document['measure']} {figure(float(document['loss']))}",
            "search": str(document.get("found_by", document["search"])),
            "versions": software(),
        }
        columns = tuple((name, several(len(labels), "group")) for name, labels in cuts.items())
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadData("this is no plan", remedy="`sfumato protect --json` prints one.") from None
    return InternalEvidence("a plan", promises, policy, policy.digest, columns=columns, figures=figures)


def of_record(record: Record, policy: Policy | None, signer: str) -> InternalEvidence:
    """Returns what a ledger knows of a release."""
    if policy is not None and policy.digest != record.policy:
        raise BadData(
            "the entry of the ledger is about another policy",
            remedy="Name the policy that the table was released under, or none.",
        )
    certified = Certified(
        record.chain,
        record.sequence,
        record.number,
        record.hash,
        signer,
        record.at,
        record.recipient,
        record.manifest,
        record.policy,
        record.versions,
        record.verdicts,
    )
    figures = {name: record.figures[name] for name in ("rows", "suppressed", "classes", "loss")}
    told = {name: figure(value) for name, value in figures.items() if isinstance(value, int | float)}
    remarks = [f"{figure_words(name)}: {figure(value)}" for name, value in _beside(record).items()]
    return InternalEvidence(
        f"release {record.sequence} of chain {record.chain}",
        tuple(_line(verdict, policy) for verdict in record.verdicts),
        policy,
        record.policy,
        figures={**told, "smallest": figure(record.figures.get("k")), "versions": _versions(record.versions)},
        certified=certified,
        remarks=(*remarks_on(record.weaker, record.despite), *remarks),
    )


def _beside(record: Record) -> dict[str, int]:
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
    known = {} if policy is None else {str(promise): promise for promise in policy.promises}
    promise = known.get(str(verdict["promise"]))
    return PromiseLine(
        str(verdict["promise"]),
        "" if promise is None else promise.in_words(),
        "" if promise is None else promise.silent_on,
        {True: True, False: False}.get(verdict["holds"]),
        "" if verdict["measured"] is None else str(verdict["measured"]),
        str(verdict["limit"]),
        () if promise is None else promise.threats,
    )


def _became(use: ColumnUse) -> str:
    """Returns the forms of a published column, with their shares of the rows; nothing of unchanged ones."""
    whole = sum(rows for _, rows in use.forms)
    return "; ".join(f"{form} ({rows / whole:.0%} of rows)" for form, rows in use.forms)
