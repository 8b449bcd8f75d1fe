"""A delivery: a release to nobody in particular, to one recipient, or in a version of its own to each."""
# ruff: noqa: PLC0415  # what chooses versions is loaded where recipients need one each

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.progress import Progress
from sfumato.core.reading_tree import reading_trees
from sfumato.core.recoding import Recoding
from sfumato.core.verdict import Verdict
from sfumato.engine.rows_to_publish import WriteVersion
from sfumato.engine.source import Source
from sfumato.engine.versions import version_writer
from sfumato.journey.chain_check import (
    ALONE,
    chain_check,
    check_alone,
    imprint_to_keep,
    recipient_check,
    stands_beside_others,
)
from sfumato.journey.counted_table import count_table
from sfumato.journey.history import imprint_document, imprint_documents, imprints_of
from sfumato.journey.judgement import judged
from sfumato.journey.protect import plan_table
from sfumato.journey.together import KnownTable, judge_together
from sfumato.journey.witness import numbered_columns, witness_path
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import GLOBAL_SEARCHES, RecipientRule
from sfumato.policy.several_tables import is_for_colluders
from sfumato.protection.memory_need import check_need
from sfumato.protection.plan import Plan
from sfumato.releases.issue import PRIVATE_FOLDER, PreparedRelease
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import HistoryComparison, Record, memory_bytes
from sfumato.releases.ledger.seals import canonical
from sfumato.releases.override import Override
from sfumato.releases.private_file import StageText, discard

if TYPE_CHECKING:
    from sfumato.journey.recipient_versions import AssignedVersion, RecipientVersions
    from sfumato.judge.chain.together import TogetherRuling


class Delivery:
    """What is released to whom: planned when the history is known, checked when it is written.

    One release, as the search finds it, unless there are several recipients, a rule for them, or others who
    hold versions already: then everybody named gets a version that was chosen for them. `keep` receives what
    the owner has to keep of the original table; all versions are made from the same one, and rows that were
    read to write them are given up when the context ends.
    """

    def __init__(
        self,
        source: Source,
        policy: Policy,
        places: Mapping[str, str],
        overrides: Mapping[str, Override],
        *,
        chain: str,
        progress: Progress,
    ) -> None:
        self.source, self.policy, self.overrides = source, policy, overrides
        self.names, self._places = tuple(places), places
        self.chain, self._progress = chain, progress
        self.keep: StageText = discard
        self.versions: RecipientVersions | None = None
        self._assigned: dict[str, AssignedVersion] = {}
        self._rows = ExitStack()
        self._write_version: WriteVersion | None = None
        self._ruled: tuple[tuple[str, ...], TogetherRuling] | None = None

    def __enter__(self) -> Delivery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.close()

    def prepare(self, history: Sequence[Record]) -> list[PreparedRelease]:
        """Returns every version, planned; the ledger learns node numbers, digests and counts, no value."""
        check_alone(self.policy, history)
        if not self._needs_versions(history):
            return [self._search_once(history)]
        from sfumato.journey.recipient_versions import RecipientVersions, with_recipients

        rules = with_recipients(self.policy)
        table = count_table(self.source, rules, progress=self._progress)
        check_need(table, rules, self.source.memory)
        self.versions = RecipientVersions(table, rules, history, chain=self.chain, progress=self._progress)
        known = set(_tree_digests(record.trees for record in history))
        prepared = []
        for assigned in self.versions.assign(self.names, self.overrides):
            self._assigned[assigned.recipient] = assigned
            one = self._prepared(assigned.plan, assigned.policy, assigned.recipient, known)
            override = None if assigned.override is None else assigned.override.as_dict()
            prepared.append(replace(one, place=self._places[assigned.recipient], override=override))
            known |= set(_tree_digests([one.trees]))
        return prepared

    def check(
        self, history: Sequence[Record], record: Record
    ) -> Mapping[str, object] | HistoryComparison | None:
        """Hold what was written against the earlier releases that it has to be held against."""
        if record.recipient in self._assigned:
            policy = self._assigned[record.recipient].policy
            return recipient_check(policy, self._judge_together)(history, record)
        return chain_check(self.policy, self._judge_together)(history, record)

    def _judge_together(
        self, policy: Policy, history: Sequence[Record], record: Record
    ) -> TogetherRuling | None:
        """What the second judge says of the tables that one person may hold, this one among them."""
        tables = [
            KnownTable(document, None if earlier.override is None else int(earlier.override["k"]))
            for earlier, document in zip(history, imprint_documents(history), strict=True)
        ]
        if record.recipient in self._assigned and is_for_colluders(policy):
            tables += [
                KnownTable(one.plan.imprint.as_dict(), None if one.override is None else one.override.k)
                for one in self._assigned.values()
            ]
        else:
            tables.append(KnownTable(imprint_document(record)))
        if len(tables) < 2:
            return None
        key = tuple(canonical(table.document) for table in tables)
        if self._ruled is None or self._ruled[0] != key:
            plain = replace(policy, promises=self.policy.promises)
            references = (one.plan.reference for one in self._assigned.values())
            for reference in references:
                plain = plain if reference is None else reference.bind(plain)
            self._ruled = key, judge_together(self.source, plain, tables, progress=self._progress)
        return self._ruled[1]

    def _needs_versions(self, history: Sequence[Record]) -> bool:
        """Whether versions are chosen for recipients, or a search does as the policy says."""
        if not self.names:
            return False
        released = any(record.place for record in history)
        held = any(record.recipient is not None for record in history) and not self.policy.promises.looks_back
        asked = len(self.names) > 1 or self.policy.recipients is not None or bool(self.overrides)
        wanted = asked or released or held
        if wanted and self.policy.protect.search not in GLOBAL_SEARCHES:
            raise BadPolicy(
                f"{self.policy.protect.search} recodes every class by itself: versions have no pattern to be"
                " told apart by",
                where="protect.search",
                remedy=f"Use search: {' or '.join(GLOBAL_SEARCHES)}.",
            )
        return wanted

    def _search_once(self, history: Sequence[Record]) -> PreparedRelease:
        """One release, planned by the policy's search."""
        recipient = self.names[0] if self.names else None
        rules = self.policy
        if recipient is not None and rules.protect.search in GLOBAL_SEARCHES:
            rules = replace(rules, recipients=RecipientRule())
        earlier = imprints_of(history) if rules.promises.looks_back else ()
        plan = plan_table(self.source, rules, earlier=earlier, progress=self._progress)
        return self._prepared(plan, self.policy, recipient, _tree_digests(r.trees for r in history))

    def _prepared(
        self, plan: Plan, policy: Policy, recipient: str | None, known: Iterable[str]
    ) -> PreparedRelease:
        recoding, cuts = plan.recoding, plan.recoding.cuts
        if plan.reference is not None:
            self.keep(plan.reference.to_json())

        def judge(path: Path, private: Path) -> tuple[Verdict, ...]:
            witness, memory = witness_path(policy, path, private), self.source.memory
            return judged(path, plan, policy, witness=witness, memory=memory, progress=self._progress)

        return PreparedRelease(
            policy=self.policy.digest,
            write=lambda path: self._write(recoding, path),
            judge=judge,
            verdicts=plan.verdicts,
            taxonomies={column.name: column.taxonomy.digest for column in recoding.table.keys},
            cuts=None if cuts is None else {name: cut.nodes.tolist() for name, cut in cuts.items()},
            trees={} if cuts is None or recipient is None else reading_trees(recoding, known=known),
            recipient=recipient,
            figures={
                "rows": plan.rows - plan.suppressed,
                "suppressed": plan.suppressed,
                "classes": plan.classes,
                "k": plan.smallest,
                "loss": plan.loss,
                **({} if stands_beside_others(policy) else {ALONE: policy.protect.search}),
            },
            memory=memory_bytes(imprint_to_keep(plan)),
            versions={"sfumato": version("sfumato")},
        )

    def _write(self, recoding: Recoding, path: Path) -> None:
        """Write one version, and its witness into the private folder beside it."""
        if self._write_version is None:
            writer = version_writer(
                self.source,
                recoding.table,
                count=max(1, len(self.names)),
                drop=self.policy.dropped,
                numbered=numbered_columns(self.policy),
                progress=self._progress,
            )
            self._write_version = self._rows.enter_context(writer)
        self._write_version(recoding, path, witness_path(self.policy, path, path.parent / PRIVATE_FOLDER))


def load_overrides(
    given: Sequence[Override | str | Path],
    policy: Policy,
    names: Sequence[str],
    ledger: Ledger | str,
    *,
    chain: str,
) -> dict[str, Override]:
    """Returns the overrides by recipient; raises unless each is genuine and by somebody who may give it."""
    rule = policy.recipients or RecipientRule()
    overrides: dict[str, Override] = {}
    for one in given:
        override = one if isinstance(one, Override) else Override.read(one)
        override.check(
            policy=policy.digest,
            chain=chain,
            names=names,
            overriders=rule.overriders,
            ledger_keys=() if isinstance(ledger, str) else ledger.public_keys,
            now=datetime.now(UTC) if isinstance(ledger, str) else ledger.clock(),
        )
        if override.recipient in overrides:
            raise WrongCall("a recipient has two overrides", remedy="Give the one that holds.")
        overrides[override.recipient] = override
    return overrides


def _tree_digests(documents: Iterable[Mapping[str, Any]]) -> list[str]:  # JSON, as the ledger holds it
    """The digests of the trees that such documents hold."""
    return [
        str(words["taxonomy"])
        for document in documents
        for words in document.get("columns", ())
        if "marks" in words
    ]
