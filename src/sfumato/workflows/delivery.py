"""A delivery: a release to nobody in particular, to one recipient, or in a version of its own to each."""
# ruff: noqa: PLC0415  # what chooses versions is loaded where recipients need one each

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sfumato.inputs import count_table
from sfumato.policy.compatibility import recodes_columns
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.policy.searches import BEST, GLOBAL_SEARCHES
from sfumato.releases.certificate import Circumstances, stated_adversaries
from sfumato.releases.dictionary import dictionary_files
from sfumato.releases.files import StageText, discard
from sfumato.releases.issue import PRIVATE_FOLDER, PlannedRelease
from sfumato.releases.ledger.ledger import Ledger, ledger_coins
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import HistoryComparison, ReleaseRecord, memory_bytes
from sfumato.search.plan import Plan, check_need
from sfumato.search.reuse_plan import Transformation
from sfumato.system.errors import BadPolicy, Infeasible, RefusedByHistory, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import verdict_document
from sfumato.system.progress import Progress
from sfumato.system.verdict import Verdict
from sfumato.table.arrow_rows import form_of, version_writer
from sfumato.table.microdata import Microdata
from sfumato.table.observers import TableFingerprint
from sfumato.table.publication import WriteVersion
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import POOL, reading_trees
from sfumato.table.source import Source, open_source
from sfumato.workflows.baseline_policy import BaselineCheck, BaselineComparison
from sfumato.workflows.chain_check import (
    chain_check,
    check_alone,
    imprint_to_keep,
)
from sfumato.workflows.history import RememberedReleases
from sfumato.workflows.judgement import judged, numbered_columns, witness_path
from sfumato.workflows.protect import plan_table

if TYPE_CHECKING:
    from sfumato.workflows.recipient_versions import AssignedVersion, RecipientVersions


class Delivery:
    """What is released to whom: planned when the history is known, checked when it is written.

    One release, as the search finds it, unless there are several recipients, a rule for them, or others who
    hold versions already: then everybody named gets a version that was chosen for them. `fingerprint` is that
    of the table, filled in by the first pass over the source. `keep` receives what
    the owner has to keep of the original table; all versions are made from the same one, and rows that were
    read to write them are given up when the context ends.
    """

    def __init__(
        self,
        source: Source,
        fingerprint: TableFingerprint,
        policy: Policy,
        places: Mapping[str, str],
        *,
        baseline: BaselineCheck,
        ledger: Ledger | None = None,
        ignore_chains: Sequence[str] = (),
        reuse_plan: Transformation | None = None,
        progress: Progress,
    ) -> None:
        self.policy, self._ledger = policy, ledger
        self.source, self._fingerprint = source, fingerprint
        self.names, self._places, self._form = tuple(places), places, form_of(source)
        self.chain, self._progress = baseline.chain, progress
        self._baseline, self._ignore_chains, self._reuse_plan = baseline, tuple(ignore_chains), reuse_plan
        self.keep: StageText = discard
        self.versions: RecipientVersions | None = None
        self._assigned: dict[str, AssignedVersion] = {}
        self._rows, self._remembered = ExitStack(), RememberedReleases()
        self._write_version: WriteVersion | None = None

    def __enter__(self) -> Delivery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.close()

    def plan(self, history: Sequence[ReleaseRecord]) -> list[PlannedRelease]:
        """Returns every version, planned; the ledger learns node numbers, digests and counts, no value.

        Raises `RefusedByHistory` where the policy promises less than the first one of the chain.
        """
        check_alone(history)
        compared_baseline = self._baseline.hold(history)
        if not self._needs_versions(history):
            return [self._search_once(history, compared_baseline)]
        if self._reuse_plan is not None:
            raise UsageError(
                "versions for recipients are chosen so that they can be told apart, not taken over",
                remedy="Leave `reuse_plan` out, or release to one recipient without a rule for several.",
            )
        tree_digests = set(known_trees(history))
        versions = []
        for assigned in self._assign(history):
            self._assigned[assigned.recipient] = assigned
            version = self._planned_version(
                assigned.plan,
                self.policy,
                assigned.recipient,
                tree_digests,
                compared_baseline,
                place=self._places[assigned.recipient],
                pool=assigned.pool,
            )
            versions.append(version)
            tree_digests |= set(_tree_digests([version.record.trees]))
        return versions

    def _assign(self, history: Sequence[ReleaseRecord]) -> list[AssignedVersion]:
        """A version for everybody; with the same terms removed from all where it takes that.

        The table without these terms is the source from then on: versions are written from it, and both
        judges read it.
        """
        from sfumato.recipients.versions import same_terms_removed
        from sfumato.search.plan import removes_terms, with_original
        from sfumato.workflows.recipient_versions import with_recipients

        rules = with_recipients(self.policy)
        table = count_table(self.source, rules, progress=self._progress)
        check_need(table, rules, self.source.memory)
        try:
            return self._versions_of(table, rules, history)
        except (Infeasible, RefusedByHistory):
            if not removes_terms(rules) or rules.promises.looks_back:
                raise
            bound = with_original(rules, table)
            shortened = same_terms_removed(table, bound, progress=self._progress)
            if shortened is None or not shortened[1].removed:
                raise
        self.source = open_source(self.source.recode(shortened[0], drop=(), progress=self._progress))
        return self._versions_of(count_table(self.source, bound, progress=self._progress), bound, history)

    def _versions_of(
        self, table: Microdata, rules: Policy, history: Sequence[ReleaseRecord]
    ) -> list[AssignedVersion]:
        from sfumato.workflows.recipient_versions import RecipientVersions

        coins = ledger_coins(self._ledger, f"patterns of chain {self.chain}, release {len(history) + 1}")
        self.versions = RecipientVersions(
            table, rules, history, chain=self.chain, coins=coins, progress=self._progress
        )
        return self.versions.assign(self.names)

    def check(
        self, history: Sequence[ReleaseRecord], record: ReleaseRecord
    ) -> Mapping[str, object] | HistoryComparison | None:
        """Hold what was written against the earlier releases that it has to be held against."""
        if record.recipient in self._assigned:  # versions of one table, each judged by itself
            return None
        return chain_check(self.policy, self._remembered, self._form)(history, record)

    @property
    def identifying_rows(self) -> Mapping[str, JsonObject]:
        """How many leaked rows of each version identify its holder; nothing where no versions were chosen."""
        if self.versions is None:
            return {}
        by_recipient = self.versions.identifying_rows(list(self._assigned.values()))
        return {name: rows.as_dict() for name, rows in by_recipient.items()}

    def _needs_versions(self, history: Sequence[ReleaseRecord]) -> bool:
        """Whether versions are chosen for recipients, or a search does as the policy says."""
        if not self.names:
            return False
        if self.policy.promises.looks_back:
            if len(self.names) > 1:
                raise UsageError(
                    "in a chain of `continuous` everybody gets the same version",
                    remedy="Release it to nobody in particular; or use `chain:`, with a version for each.",
                )
            return False
        by_history = any(record.place or record.recipient is not None for record in history)
        by_policy = len(self.names) > 1 or self.policy.recipients is not None
        wanted = by_policy or by_history
        if wanted and not recodes_columns(self.policy):
            raise BadPolicy(
                f"{self.policy.protect.search} recodes every class by itself: versions have no pattern to be"
                " told apart by",
                where="protect.search",
                remedy=f"Use search: {' or '.join((*GLOBAL_SEARCHES, BEST))}.",
            )
        return wanted

    def _search_once(
        self, history: Sequence[ReleaseRecord], compared_baseline: BaselineComparison
    ) -> PlannedRelease:
        """One release, planned by the policy's search."""
        recipient = self.names[0] if self.names else None
        rules = self.policy
        if recipient is not None and recodes_columns(rules):
            rules = replace(rules, recipients=RecipientRule())
        earlier = self._remembered.imprints(history) if rules.promises.looks_back else ()
        plan = plan_table(
            self.source, rules, earlier=earlier, reuse_plan=self._reuse_plan, progress=self._progress
        )
        if plan.people is not None:
            raise AssertionError  # people with several rows are released as groups
        return self._planned_version(plan, self.policy, recipient, known_trees(history), compared_baseline)

    def _planned_version(
        self,
        plan: Plan,
        policy: Policy,
        recipient: str | None,
        tree_digests: Iterable[str],
        compared_baseline: BaselineComparison,
        *,
        place: str = "",
        pool: Mapping[str, Sequence[int]] | None = None,
    ) -> PlannedRelease:
        """Makes the record of a version, by its plan; `tree_digests` are of trees that the ledger has."""
        recoding, cuts = plan.recoding, plan.recoding.cuts
        trees: JsonObject = {}
        if cuts is not None and recipient is not None:
            trees = {**reading_trees(recoding, stored=tree_digests), **({POOL: dict(pool)} if pool else {})}
        if plan.reference is not None:
            self.keep(plan.reference.to_json())

        def judge(path: Path, private: Path) -> tuple[Verdict, ...]:
            witness, memory = witness_path(policy, path, private), self.source.memory
            return judged(
                path, plan, policy, witness=witness, form=self._form, memory=memory, progress=self._progress
            )

        record = ReleaseRecord(
            release="",
            chain=self.chain,
            policy=self.policy.digest,
            recipient=recipient,
            verdicts=list(map(verdict_document, plan.verdicts)),
            versions={"sfumato": version("sfumato")},
            taxonomies={column.name: column.taxonomy.digest for column in recoding.table.keys},
            cuts=None if cuts is None else {name: cut.nodes.tolist() for name, cut in cuts.items()},
            trees=trees,
            weaker=compared_baseline.weaker,
            ignore_chains=self._ignore_chains,
            adversaries=stated_adversaries(self._circumstances(plan)),
            not_protected=self.policy.protected_counts,
            statement=compared_baseline.statement,
            table=self._fingerprint.digest,
            place=place,
            figures={
                "rows": plan.rows - plan.suppressed,
                "suppressed": plan.suppressed,
                "classes": plan.classes,
                "k": plan.smallest,
                "loss": plan.loss,
            },
            memory=memory_bytes(imprint_to_keep(plan)),
            people=mark_bytes(self._fingerprint.people),
        )
        return PlannedRelease(
            record,
            write=lambda path: self._write(recoding, path),
            judge=judge,
            describe=lambda path: dictionary_files(path, policy, self._form),
            form=self._form,
        )

    def _circumstances(self, plan: Plan) -> Circumstances:
        """Returns what decides which adversaries the certificate names."""
        refused = 0 if self._ledger is None else self._ledger.refusals(self._fingerprint.digest)
        return Circumstances(plan.policy, {plan.grouping}, len(self.names), refused)

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


def person_columns(policy: Policy) -> list[str]:
    """The columns that tell people apart, by the policy or by one of its promises."""
    words = policy.to_dict()
    entries = [words.get("person"), *(promise.parameters().get("person") for promise in policy.promises)]
    return [str(word["column"] if isinstance(word, Mapping) else word) for word in entries if word]


def known_trees(history: Sequence[ReleaseRecord]) -> list[str]:
    """The digests of the trees that these releases brought along."""
    return _tree_digests(record.trees for record in history)


def _tree_digests(documents: Iterable[Mapping[str, Any]]) -> list[str]:  # JSON, as the ledger holds it
    """The digests of the trees that such documents hold."""
    return [
        str(words["taxonomy"])
        for document in documents
        for words in document.get("columns", ())
        if "marks" in words
    ]
