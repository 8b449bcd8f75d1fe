"""Importing a version that was handed out before there was a ledger: remembered and traced, never judged."""

from __future__ import annotations

import uuid
from importlib.metadata import version as version_of
from pathlib import Path

from sfumato.inputs import AnyMemory, AnyPolicy, count_table, load_policy, open_table
from sfumato.policy.compatibility import recodes_columns
from sfumato.policy.policy import Policy
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import ReleaseRecord, memory_bytes
from sfumato.releases.names import checked_name
from sfumato.releases.receipt import Receipt
from sfumato.system.errors import BadData, BadPolicy, RefusedByHistory
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.observers import with_fingerprint
from sfumato.table.release_summary import reading_trees
from sfumato.table.source import AnyTable, with_digits
from sfumato.workflows.delivery import known_trees, person_columns
from sfumato.workflows.recipient_versions import HandedOutVersion, with_recipients


def import_version(
    version: AnyTable,
    policy: AnyPolicy,
    *,
    original: AnyTable,
    to: str,
    ledger: Ledger | str,
    chain: str = "main",
    lacking: bool = False,
    key: str | Path | None = None,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Receipt:
    """Enter a version that somebody was handed earlier, as "imported, not judged"; return its receipt.

    Every row of the original must be in the version, each column at one cut of its tree; anything else is
    refused, since it could not be told from a leak. The entry promises nothing and says so. It counts in
    tracing and, unless it lacks rows, in coalitions; it is no floor for the releases that follow. Nothing is
    published.

    Args:
        version: the table that the recipient holds.
        policy: the policy with the roles and taxonomies of both tables.
        original: the table that the version was made from.
        to: the recipient.
        ledger: the ledger, or its URL.
        chain: the chain that the version belongs to.
        lacking: the caller vouches that rows were left out when the version was handed out. Rows with nothing
            but `*` in all key columns are then left out, too.
        key: the file of the signing key, where the ledger is named by its URL.
        memory: how much memory may be used, such as "4GB".
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> with TemporaryDirectory() as home, sf.Ledger(f"sqlite:///{home}/ledger.db") as ledger:
    ...     safe = plan.apply(people)
    ...     receipt = sf.import_version(safe, plan.policy, original=people, to="north", ledger=ledger)
    ...     receipt.record.imported
    True
    """
    show, rules = progress or silent, with_recipients(load_policy(policy))
    _check_comparable(rules)
    recipient, chain = checked_name(to, "recipient"), checked_name(chain, "chain")
    source, fingerprint = with_fingerprint(open_table(original, memory), person_columns(rules))
    table = count_table(with_digits(source, rules.digits), rules, progress=show)
    handed_out = HandedOutVersion.of(open_table(version, memory), table, rules, progress=show)
    _check_rows(handed_out, rules, lacking=lacking)
    recoding, imprint = handed_out.recoding, handed_out.imprint
    opened = Ledger(ledger, key=key) if isinstance(ledger, str) else ledger
    history = opened.history(chain)
    _check_recipient(recipient, history)
    name = uuid.uuid4().hex
    record = ReleaseRecord(
        name,
        chain,
        rules.digest,
        at=opened.clock().isoformat(),
        recipient=recipient,
        versions={"sfumato": version_of("sfumato")},
        taxonomies={column.name: column.taxonomy.digest for column in table.keys},
        cuts={column: cut.nodes.tolist() for column, cut in (recoding.cuts or {}).items()},
        trees=reading_trees(recoding, stored=known_trees(history)),
        imported=True,
        table=fingerprint.digest,
        event=name,
        figures=handed_out.figures,
        memory=memory_bytes(imprint.as_dict()),
        people=mark_bytes(fingerprint.people),
    )
    opened.check_elsewhere([record])
    entry = opened.commit(record, after=history[-1].hash if history else "", staged=False)
    return Receipt(ReleaseRecord.of(entry))


def _check_comparable(policy: Policy) -> None:
    """Raise where versions under this policy have no patterns to be told apart by."""
    if not recodes_columns(policy):
        raise BadPolicy(
            f"{policy.protect.search} recodes every class by itself: a version has no pattern",
            where="protect.search",
            remedy="Import versions under a policy whose search recodes whole columns.",
        )


def _check_recipient(recipient: str, history: tuple[ReleaseRecord, ...]) -> None:
    if any(record.recipient == recipient for record in history):
        raise RefusedByHistory(
            "this recipient has a version in this chain already",
            remedy="Import another table into a chain of its own.",
        )


def _check_rows(version: HandedOutVersion, policy: Policy, *, lacking: bool) -> None:
    """Raise where rows are lacking and nobody vouches for it, or a promise is about who was in a release."""
    if not version.lacks:
        return
    count = f"{pluralize(version.lacks, 'row')} of the original ({version.recoding.table.rows:,})"
    if not lacking:
        raise BadData(
            f"the version lacks {count}: it cannot be told from a leak",
            remedy="If they were left out when it was handed out, say so: --lacking-rows (lacking=True).",
        )
    if policy.promises.looks_back:
        raise RefusedByHistory(
            f"the version lacks {count}, and a promise is about who was in earlier releases",
            remedy="Import it into a chain of its own, under a policy without such a promise.",
        )
