"""Importing a version that was handed out before there was a ledger: remembered and traced, never judged."""

from __future__ import annotations

import uuid
from importlib.metadata import version as version_of
from pathlib import Path

from sfumato.attacks.chain.table_imprint import count_published, imprint_of, same_release
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData, BadPolicy, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Cuts, Promises
from sfumato.core.reading_tree import reading_trees
from sfumato.core.recoding import Recoding
from sfumato.engine import AnyTable
from sfumato.engine.fingerprint import with_fingerprint
from sfumato.engine.source import Source
from sfumato.journey.counted_table import count_table
from sfumato.journey.delivery import known_trees, person_columns
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.recipient_versions import with_recipients
from sfumato.journey.table_argument import AnyMemory, open_table
from sfumato.policy.compatibility.search_fit import recodes_columns
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.protection.suppression import recoded
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import Record, memory_bytes
from sfumato.releases.ledger.redaction import mark_bytes
from sfumato.releases.names import checked_name
from sfumato.releases.receipt import Receipt


def import_version(
    version: AnyTable,
    policy: AnyPolicy,
    *,
    original: AnyTable,
    to: str,
    ledger: Ledger | str,
    chain: str = "main",
    key: str | Path | None = None,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Receipt:
    """Enter a version that somebody was handed earlier, as "imported, not judged"; return its receipt.

    `version` is what they hold, `original` the table that it was made from, `policy` has the roles and the
    taxonomies of both. Every row of the original must be in the version, each column at one cut of its tree;
    anything else is refused, since it could not be told from a leak. The entry promises nothing and says so.
    It counts in coalitions and in tracing, and it is no floor for the releases that follow. Nothing is
    published.
    """
    show, rules = progress or silent, with_recipients(load_policy(policy))
    _check_comparable(rules)
    recipient, chain = checked_name(to, "recipient"), checked_name(chain, "chain")
    source, fingerprint = with_fingerprint(open_table(original, memory), person_columns(rules))
    table = count_table(source, rules, progress=show)
    recoding = recoded(table, _cuts_of(open_table(version, memory), table, rules, show), Promises(()))
    opened = Ledger(ledger, key=key) if isinstance(ledger, str) else ledger
    history = opened.history(chain)
    _check_recipient(recipient, history)
    name, imprint = uuid.uuid4().hex, _imprint(rules, recoding)
    record = Record(
        name,
        chain,
        rules.digest,
        at=opened.clock().isoformat(),
        recipient=recipient,
        versions={"sfumato": version_of("sfumato")},
        taxonomies={column.name: column.taxonomy.digest for column in table.keys},
        cuts={column: cut.nodes.tolist() for column, cut in (recoding.cuts or {}).items()},
        trees=reading_trees(recoding, known=known_trees(history)),
        imported=True,
        table=fingerprint.digest,
        event=name,
        figures={"rows": int(recoding.rows.sum()), "classes": recoding.count, "k": int(recoding.rows.min())},
        memory=memory_bytes(imprint.as_dict()),
        people=mark_bytes(fingerprint.people),
    )
    opened.check_elsewhere([record])
    entry = opened.commit(record, after=history[-1].hash if history else "", staged=False)
    return Receipt(Record.of(entry))


def _check_comparable(policy: Policy) -> None:
    """Raise where versions under this policy have no patterns to be told apart by."""
    if not recodes_columns(policy):
        raise BadPolicy(
            f"{policy.protect.search} recodes every class by itself: a version has no pattern",
            where="protect.search",
            remedy="Import versions under a policy whose search recodes whole columns.",
        )


def _check_recipient(recipient: str, history: tuple[Record, ...]) -> None:
    if any(record.recipient == recipient for record in history):
        raise RefusedByHistory(
            "this recipient has a version in this chain already",
            remedy="Import another table into a chain of its own.",
        )


def _cuts_of(version: Source, table: Microdata, policy: Policy, progress: Progress) -> Cuts:
    """The cuts that a version was made by, if it is the original at these cuts and nothing else."""
    fine = _imprint(
        policy, recoded(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys}, Promises(()))
    )
    counted = count_published(version, fine, progress=progress)
    shown = imprint_of(counted, fine, policy=policy)
    cuts = {
        column.name: held.cut_on(column.taxonomy, held.onto(column.taxonomy))
        for column, held in zip(table.keys, shown.keys, strict=True)
    }
    if not same_release(_imprint(policy, recoded(table, cuts, Promises(()))), shown):
        raise BadData(
            f"the version ({counted.rows} rows) is not the original ({table.rows}) at one cut per column",
            remedy="Give the table that it was made from. A version that lacks rows cannot be imported.",
        )
    return cuts


def _imprint(policy: Policy, recoding: Recoding) -> Imprint:
    return Plan(policy, recoding, (), 0.0).imprint
