"""The verb `report`: what was promised, attacked and lost, on a page that somebody can sign."""
# ruff: noqa: PLC0415  # a ledger and a store are loaded where they are named

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.json_object import read_json
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.report_evidence import (
    of_plan,
    of_plan_document,
    of_published,
    of_record,
    published_evidence,
    table_in,
)
from sfumato.journey.table_argument import AnyMemory
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.releases.event import Event
from sfumato.releases.ledger.record import Record
from sfumato.releases.receipt import Receipt
from sfumato.reports.evidence import InternalEvidence, PublishedEvidence
from sfumato.reports.internal import internal_page
from sfumato.reports.public import public_page
from sfumato.reports.report import Audience, Criteria, Report
from sfumato.show.document import json_ready
from sfumato.system.address import Address, is_address
from sfumato.system.disk import read_document

if TYPE_CHECKING:
    from sfumato.releases.ledger.keys import DatedKey
    from sfumato.releases.ledger.ledger import Ledger

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
    sign; in the order of ISO/IEC 27559, or by the three `criteria` of WP29. With the `original` table the
    same attackers strike it, too, and losses are drawn. An `internal` report is for the owner. A `public` one
    is made from the published bytes alone, and every text and number of it is looked up in these first; it is
    refused where a promise does not hold.

    `of` is a `Plan` (or the JSON of one, with its policy), a file or the folder of a release, with the policy
    that it was published under, or the number or name of an entry of `ledger`. `key` is the publisher's
    public key, or its file, and `made` the time of the report: now, unless said.
    """
    show, when = progress or silent, (made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    _check_choices(audience, criteria)
    by_criteria = criteria == "wp29"
    rules = None if policy is None else load_policy(policy)
    with ExitStack() as held:
        subject = _subject(of, ledger, held)
        if isinstance(subject, Path) and subject.suffix != ".json":
            published = published_evidence(
                subject, _needed(rules), key=_public_keys(key), memory=memory, progress=show
            )
            if audience == "public":
                return _public(published, when, by_criteria)
            evidence = of_published(published, original, subject, show)
        else:
            _check_internal(audience)
            evidence = _without_table(subject, rules, original, ledger, show)
    return internal_report(evidence, made=when, by_criteria=by_criteria)


def internal_report(evidence: InternalEvidence, *, made: str, by_criteria: bool = False) -> Report:
    """Returns the internal report on evidence that was gathered."""
    mark = _fingerprint(evidence.subject, evidence.policy_digest, evidence.promises, evidence.figures)
    page = internal_page(evidence, made=made, fingerprint=mark, by_criteria=by_criteria)
    return Report(page, "internal", evidence.subject, mark)


def _public(published: PublishedEvidence, when: str, by_criteria: bool) -> Report:
    """The public report; its fingerprint is of what is published, so that nothing else is guessed by it."""
    mark = _fingerprint(published.file, published.digest, published.policy.digest, published.promises)
    page = public_page(published, made=when, fingerprint=mark, by_criteria=by_criteria)
    return Report(page, "public", published.file, mark)


def _fingerprint(*findings: object) -> str:
    text = json.dumps(json_ready(findings), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _subject(of: AnySubject, ledger: Ledger | str | None, held: ExitStack) -> Plan | Record | Path:
    """What is reported on: a plan, a record, the file of a plan, or that of a published table."""
    if isinstance(of, Plan):
        return of
    if isinstance(of, Event):
        raise WrongCall(
            "an event has several versions", remedy="Report on one: event['name of a recipient']."
        )
    if isinstance(of, Receipt):
        if of.folder is None:
            raise WrongCall("nothing was released", remedy="Report on the plan.")
        of = of.folder
    if isinstance(of, Address) or (isinstance(of, str) and is_address(of)):
        from sfumato.releases.download import local_copy

        return Path(str(held.enter_context(local_copy(Address.of(str(of))))))
    place = Path(str(of))
    if ledger is not None and not place.exists():
        return _record(str(of), ledger)
    if isinstance(of, int):
        raise WrongCall("a number is that of an entry of a ledger", remedy="Name the ledger.")
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
    subject: Plan | Record | Path,
    policy: Policy | None,
    original: AnyTable | None,
    ledger: Ledger | str | None,
    progress: Progress,
) -> InternalEvidence:
    """The evidence on what is no published table."""
    if isinstance(subject, Plan):
        return of_plan(subject, original, progress)
    if original is not None:
        raise WrongCall(
            "the original is compared with a published table, or with a plan at hand",
            remedy="Name the published file or the folder of the release.",
        )
    if isinstance(subject, Record):
        return of_record(subject, policy, _opened(ledger).public_key if ledger is not None else "")
    try:
        document = read_json(read_document(subject))
    except ValueError:
        raise BadData("this is no plan", where=subject.name) from None
    return of_plan_document(document if isinstance(document, dict) else {}, _needed(policy))


def _opened(ledger: Ledger | str) -> Ledger:
    from sfumato.releases.ledger.ledger import Ledger

    return ledger if isinstance(ledger, Ledger) else Ledger(ledger, readonly=True)


def _record(name: str, ledger: Ledger | str) -> Record:
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
        raise WrongCall(
            "a table is judged by the policy that it was published under", remedy="Name it with -p."
        )
    return policy


def _check_choices(audience: str, criteria: str) -> None:
    if audience not in ("internal", "public"):
        raise WrongCall("a report is internal or public")
    if criteria not in ("iso27559", "wp29"):
        raise WrongCall("the criteria are iso27559 or wp29")


def _check_internal(audience: Audience) -> None:
    if audience == "public":
        raise WrongCall(
            "a public report is made from the bytes of a published table",
            remedy="Name the published file, or the folder of the release.",
        )
