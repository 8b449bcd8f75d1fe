"""Versions for recipients: who gets which, beside everything that was released to others before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.chain import count_published, imprint_of, part_of_release, same_release
from sfumato.models.contract import Cuts, Promises
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.capacity import (
    Capacity,
    IdentifyingRows,
    capacity_of,
    identifying_rows,
    least_tolerance_for,
)
from sfumato.recipients.marks import follows_of
from sfumato.recipients.patterns import Patterns, classify
from sfumato.recipients.versions import AvailableVersions, EarlierVersion, PlannedVersion
from sfumato.releases.names import same_name
from sfumato.search.plan import Plan, aim_of, check_people, is_kept_by_terms, plan_of_cuts, with_original
from sfumato.search.suppression import recoded
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, Infeasible, RefusedByHistory
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint, KeyImprint, in_key_order
from sfumato.table.source import Source
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.history import imprints_of

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import ReleaseRecord


# A version that was handed out before there was a ledger: its cuts, and the rows that it lacks.

ANYTHING = "*"


@dataclass(frozen=True, eq=False)
class HandedOutVersion:
    """A version of a table: how all rows would have been recoded, and the imprint of those that it shows."""

    recoding: Recoding
    imprint: Imprint

    @classmethod
    def of(
        cls, version: Source, table: Microdata, policy: Policy, *, progress: Progress = silent
    ) -> HandedOutVersion:
        """Returns the version of a table; raises `BadData` where it shows what the table does not give."""
        fine = imprint_without_promises(policy, table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
        counted = _without_hidden(count_published(version, fine, progress=progress))
        if not counted.rows:
            raise BadData("the version shows no row", remedy="Give what the recipient was handed.")
        imprint_read = imprint_of(counted, fine, policy=policy)
        cuts = {
            column.name: completed_cut(key, column.taxonomy)
            for column, key in zip(table.keys, imprint_read.keys, strict=True)
        }
        imprint = part_of_release(imprint_without_promises(policy, table, cuts), imprint_read)
        if imprint is None:
            raise BadData(
                f"the version ({counted.rows} rows) is not the original ({table.rows}) at one cut per column",
                remedy="Give the table that it was made from.",
            )
        return cls(recoded(table, cuts, Promises(())), imprint)

    @property
    def lacks(self) -> int:
        """How many rows of the table it does not show."""
        return int(self.recoding.rows.sum()) - self.imprint.rows

    @property
    def figures(self) -> dict[str, int]:
        """What the ledger tells of it."""
        sizes = self.imprint.sizes
        plain = {"rows": self.imprint.rows, "classes": len(sizes), "k": int(sizes.min())}
        return {**plain, "suppressed": self.lacks} if self.lacks else plain


def imprint_without_promises(policy: Policy, table: Microdata, cuts: Mapping[str, Cut]) -> Imprint:
    """Returns the imprint of all rows of a table at these cuts, whatever the policy promises."""
    return Plan(policy, recoded(table, cuts, Promises(())), (), 0.0).imprint


def completed_cut(key: KeyImprint, taxonomy: Taxonomy) -> Cut:
    """Returns the cut of which a version shows these nodes.

    Where it shows nothing it says nothing of its cut: that part is at the level of all that is shown, if one
    level has it all, and otherwise as coarse as it can be.
    """
    nodes = key.onto(taxonomy)[key.cut]
    covered = np.zeros(len(taxonomy.leaves), dtype=bool)
    node_of = np.zeros(len(taxonomy.leaves), np.int32)
    for v in nodes.tolist():
        covered[taxonomy.low[v] : taxonomy.high[v]] = True
        node_of[taxonomy.low[v] : taxonomy.high[v]] = v
    if covered.all():
        return Cut(taxonomy, node_of)
    for level in taxonomy.levels:
        agree = (taxonomy.low[level] == taxonomy.low[node_of]) & (
            taxonomy.high[level] == taxonomy.high[node_of]
        )
        if agree[covered].all():
            return Cut(taxonomy, np.where(covered, node_of, level).astype(np.int32))
    return Cut(taxonomy, np.where(covered, node_of, _coarsest(taxonomy, covered)).astype(np.int32))


def _coarsest(taxonomy: Taxonomy, covered: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Returns, for every leaf that is not told, the highest node above it without a leaf that is."""
    before = np.concatenate(([0], np.cumsum(covered)))
    free = before[taxonomy.high] == before[taxonomy.low]
    nodes = taxonomy.leaves.astype(np.int32)
    for _ in range(taxonomy.height):
        above = taxonomy.parent[nodes]
        nodes = np.where((above >= 0) & free[above], above, nodes).astype(np.int32)
    return nodes


def _without_hidden(counted: Microdata) -> Microdata:
    """Returns a published table without the rows that show `*` in every key column, where others show more.

    Other tools leave suppressed rows in a table so.
    """
    hidden = np.ones(counted.distinct, dtype=bool)
    for column in counted.keys:
        anything = np.array([label == ANYTHING for label in column.taxonomy.leaf_labels], dtype=bool)
        hidden &= anything[counted.codes(column.name)]
    if not counted.keys or hidden.all() or not hidden.any():
        return counted
    columns, ranks = [], []
    for column in counted.columns:
        codes, rank = np.unique(counted.codes(column.name)[~hidden], return_inverse=True)
        labels = [column.taxonomy.leaf_labels[i] for i in codes.tolist()]
        columns.append(replace(column, taxonomy=Taxonomy.flat(labels)))
        ranks.append(rank.ravel())
    return Microdata.of_codes(columns, ranks, counts=counted.counts[~hidden])


AS_NEW_RELEASE = "It is a new release for everybody: start a new chain, or use `chain:`."


@dataclass(frozen=True, eq=False)
class AssignedVersion:
    """The version of one recipient, and its plan; `pool` has the levels of the patterns it was drawn from."""

    recipient: str
    plan: Plan
    pool: Mapping[str, Sequence[int]] = field(default_factory=dict)


def with_recipients(policy: Policy) -> Policy:
    """Returns the policy with a rule for recipients; columns to match rows by are then counted."""
    return policy if policy.recipients is not None else replace(policy, recipients=RecipientRule())


class RecipientVersions:
    """The versions of one table, drawn by coins beside those that recipients hold already."""

    def __init__(
        self,
        table: Microdata,
        policy: Policy,
        history: Sequence[ReleaseRecord],
        *,
        chain: str,
        coins: Coins | None = None,
        progress: Progress,
    ) -> None:
        check_people(table)
        self._coins = coins
        self.table, self.chain, self._progress = table, chain, progress
        self.policy = with_original(with_recipients(policy), table)
        self.history = tuple(history)
        self._records = _with_imprints(self.history)
        try:
            self.held = self._held()
        except RefusedByHistory as changed:
            raise RefusedByHistory(changed.message, remedy=AS_NEW_RELEASE) from None
        self._same_table()

    @property
    def rule(self) -> RecipientRule:
        return self.policy.recipients or RecipientRule()

    @property
    def metric(self) -> str:
        return self.rule.quality or self.policy.protect.loss

    @cached_property
    def patterns(self) -> Patterns:
        return classify(self.table, self.policy.promises, aim_of(self.policy), progress=self._progress)

    def capacity(self) -> Capacity:
        """How many recipients can be served beside those who were."""
        before = self.held[: len(self._records)]
        return capacity_of(self._versions(before))

    def assign(self, names: Sequence[str]) -> list[AssignedVersion]:
        """A version for each, in the order of the names; raises where somebody cannot have one."""
        self._refuse_second_versions(names)
        levels = {same_name(name): dict(named) for name, named in self.rule.patterns}
        chosen: dict[str, PlannedVersion] = {}
        for name in sorted((n for n in names if n in levels), key=self._rank):
            chosen[name] = self._named(name, levels[name])
        others = sorted((n for n in names if n not in chosen), key=self._rank)
        for name, version in zip(others, self._several(len(others)), strict=True):
            chosen[name] = version
            self.held.append(EarlierVersion(name, version.cuts))
        return [self._assigned(name, chosen[name]) for name in names]

    # -- what was released before -----------------------------------------------------------------------

    def _held(self) -> list[EarlierVersion]:
        """The earlier versions on today's trees."""
        versions = []
        for record, imprint in self._records:
            names = [column.name for column in self.table.keys]
            if sorted(imprint.names) != sorted(names):
                raise RefusedByHistory(
                    f"release {record.sequence} of chain {record.chain} showed other key columns",
                    remedy=AS_NEW_RELEASE,
                )
            pairs = zip(in_key_order(imprint, names).keys, self.table.keys, strict=True)
            cuts = {c.name: key.cut_on(c.taxonomy, key.onto(c.taxonomy)) for key, c in pairs}
            versions.append(EarlierVersion(str(record.recipient), cuts))
        return versions

    def _same_table(self) -> None:
        """Every earlier version, made again from this table, is what is remembered of it."""
        for (record, imprint), version in zip(self._records, self.held, strict=True):
            if not self._is_made_again(record, imprint, version.cuts):
                raise RefusedByHistory(
                    f"the table is not the one that release {record.sequence} of chain {record.chain} was"
                    " made from",
                    remedy=AS_NEW_RELEASE,
                )

    def _is_made_again(self, record: ReleaseRecord, imprint: Imprint, cuts: Cuts) -> bool:
        """Whether these cuts of this table give the release again; of an imported one, but for its lack."""
        if not record.imported:
            return same_release(self._imprint(cuts), imprint)
        whole = imprint_without_promises(self.policy, self.table, cuts)
        there = part_of_release(whole, imprint) is not None
        return there and whole.rows - imprint.rows == int(record.figures.get("suppressed") or 0)

    def _imprint(self, cuts: Cuts) -> Imprint:
        """The imprint of a version without the rows that break the policy's promises."""
        return Plan(self.policy, recoded(self.table, cuts, self.policy.promises), (), 0.0).imprint

    def _refuse_second_versions(self, names: Sequence[str]) -> None:
        """Everybody gets one version of a table."""
        served = {h.recipient for h in self.held}
        if again := [n for n in names if n in served]:
            raise RefusedByHistory(
                f"{pluralize(len(again), 'recipient has a version', 'recipients have versions')} of this"
                " table already, and two are not judged together",
                remedy="Hand them the same folder again.",
            )

    # -- choosing -----------------------------------------------------------------------------------------

    def _rank(self, name: str) -> bytes:
        """A place in the order of choice: by the policy, the chain and the name, not by who came first."""
        return sha256(f"{self.policy.digest}\0{self.chain}\0{name}".encode()).digest()

    def _versions(self, held: Sequence[EarlierVersion] | None = None) -> AvailableVersions:
        beside = self.held if held is None else held
        return AvailableVersions(self.patterns, self.rule, self.metric, held=beside, follows=self._follows)

    @cached_property
    def _follows(self) -> dict[str, tuple[str, ...]]:
        """The columns that others give away: what a row tells of them is no difference of versions."""
        return follows_of(self.policy, self.table)

    def _several(self, count: int) -> list[PlannedVersion]:
        if not count:
            return []
        if not self.patterns.allowed.any():
            raise Infeasible(
                "no combination of levels keeps every promise"
                + (" without removing terms" if _has_terms(self.policy) else ""),
                remedy="All versions show the same term sets. Ask for less."
                if _has_terms(self.policy)
                else "Ask for less, or allow more suppressed rows.",
            )
        chosen = self._versions().choose(count, self._coins)
        if len(chosen) < count:
            capacity = self.capacity()
            raise Infeasible(
                f"{pluralize(count, 'recipient is', 'recipients are')} named, and {capacity.sentence}",
                remedy=_remedy(least_tolerance_for(self._versions(), count)),
            )
        return chosen

    def _named(self, name: str, levels: Mapping[str, int]) -> PlannedVersion:
        """The version that the policy names for somebody, if it keeps every promise and frames nobody."""
        place, patterns = f"recipients.patterns.{name}", self.patterns
        index = patterns.index([levels[column] for column in patterns.names])
        if not patterns.allowed[index]:
            raise Infeasible(
                "this pattern breaks a promise, or a control of the policy",
                where=place,
                remedy="Name a coarser one: `sfumato policy patterns` lists those that keep every promise.",
            )
        version = PlannedVersion(patterns.cuts(index), patterns.value(self.metric, index), index)
        if not self._versions().is_fitting(name, version.cuts):
            raise RefusedByHistory(
                "with this pattern one recipient could build the version of another",
                where=place,
                remedy="Name another pattern, ask for less frame-proof, or leave it to be chosen.",
            )
        self.held.append(EarlierVersion(name, version.cuts))
        return version

    def identifying_rows(self, assigned: Sequence[AssignedVersion]) -> dict[str, IdentifyingRows]:
        """How many leaked rows of each version identify its holder, beside all versions that others hold."""
        return {
            version.recipient: identifying_rows(
                version.recipient,
                version.plan.recoding,
                [earlier.cuts for earlier in self.held if earlier.recipient != version.recipient],
                self._follows,
            )
            for version in assigned
        }

    def _assigned(self, name: str, version: PlannedVersion) -> AssignedVersion:
        levels = None if version.index is None else self.patterns.named(version.index)
        cuts: Mapping[str, Cut] = version.cuts
        return AssignedVersion(name, plan_of_cuts(self.table, self.policy, cuts, levels=levels), version.pool)


def _remedy(enough: Fraction | None) -> str:
    """What to do where fewer versions of a table fit beside each other than recipients are named."""
    if enough is not None:
        return f"Set recipients.tolerance to {enough * 100}%, or name fewer."
    return "Name fewer, ask for less frame-proof, or give taxonomies more levels."


def _with_imprints(history: Sequence[ReleaseRecord]) -> list[tuple[ReleaseRecord, Imprint]]:
    """The releases of a chain with their imprints; raises unless each went to a named recipient."""
    for record in history:
        if record.recipient is None:
            raise RefusedByHistory(
                f"release {record.sequence} of chain {record.chain} went to nobody in particular: whoever has"
                " it could be anybody",
                remedy="Start a new chain for versions.",
            )
    return list(zip(history, imprints_of(history), strict=True))


def _has_terms(policy: Policy) -> bool:
    return any(is_kept_by_terms(p) for p in policy.promises)
