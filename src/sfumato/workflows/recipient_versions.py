"""Versions for recipients: who gets which, beside everything that was released to others before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.chain import count_published, imprint_of, part_of_release, same_release
from sfumato.models.continuous.people import MOST_VERSIONS_COMBINED
from sfumato.models.contract import Adversary, CrossReleasePromise, Cuts, Promises, with_least_people
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition, RecipientRule
from sfumato.recipients.capacity import (
    Capacity,
    IdentifyingRows,
    capacity_of,
    identifying_rows,
    least_tolerance_for,
)
from sfumato.recipients.patterns import Patterns, classify
from sfumato.recipients.versions import AvailableVersions, EarlierVersion, PlannedVersion
from sfumato.releases.names import same_name
from sfumato.search.plan import Plan, aim_of, check_people, is_kept_by_terms, plan_of_cuts, with_original
from sfumato.search.suppression import recoded
from sfumato.system.errors import BadData, Infeasible, RefusedByHistory, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint, KeyImprint, in_key_order
from sfumato.table.source import Source
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.collusion import refused_beside_earlier, remedy_for_several
from sfumato.workflows.history import imprints_of

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import ReleaseRecord
    from sfumato.releases.overrides import Override


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


WIDER_TOLERANCES = tuple(Fraction(share) for share in ("1/2", "1", "2", "4", "8"))
"""Tolerances that are tried to say which one would be enough."""
AS_NEW_RELEASE = "It is a new release for everybody: promise continuous, or start a new chain."


@dataclass(frozen=True, eq=False)
class AssignedVersion:
    """The version of one recipient: its plan, under the policy that holds for them."""

    recipient: str
    policy: Policy
    plan: Plan
    override: Override | None = None


def with_recipients(policy: Policy) -> Policy:
    """Returns the policy with a rule for recipients; colluders' columns to match rows by are then counted."""
    return policy if policy.recipients is not None else replace(policy, recipients=RecipientRule())


def with_smaller_k(policy: Policy, k: int) -> Policy:
    """Returns the policy with every k above this one lowered to it; raises `UsageError` if there is none."""
    promises, is_lowered = [], False
    for promise in policy.promises:
        smaller = with_least_people(promise, k) if promise.least_people > k else promise
        is_lowered = is_lowered or smaller != promise
        promises.append(smaller)
    if not is_lowered:
        raise UsageError(
            f"the policy promises no k above {k}: there is nothing to override",
            remedy="Leave the override out.",
        )
    return replace(policy, promises=Promises(tuple(promises)))


class RecipientVersions:
    """The versions of one table, chosen beside those of its chain that recipients hold already."""

    def __init__(
        self,
        table: Microdata,
        policy: Policy,
        history: Sequence[ReleaseRecord],
        *,
        chain: str,
        progress: Progress,
    ) -> None:
        check_people(table, policy.promises)
        self.table, self.chain, self._progress = table, chain, progress
        self.policy = with_original(with_recipients(policy), table)
        self.history = tuple(history)
        self._records = _with_imprints(self.history)
        self._refuse_lacking()
        if policy.promises.looks_back:
            self.held = self._held()
        else:
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
        return self._classified(self.policy)

    def capacity(self) -> Capacity:
        """How many recipients can be served beside those who were."""
        before = self.held[: len(self._records)]
        return capacity_of(AvailableVersions(self.patterns, self.rule, self.metric, held=before))

    def assign(self, names: Sequence[str], overrides: Mapping[str, Override]) -> list[AssignedVersion]:
        """A version for each, in the order of the names; raises where somebody cannot have one."""
        self._first_versions(names)
        chosen: dict[str, tuple[Policy, PlannedVersion, Patterns]] = {}
        levels = {same_name(name): dict(named) for name, named in self.rule.patterns}
        for name in sorted((n for n in names if n in levels and n not in overrides), key=self._rank):
            chosen[name] = (self.policy, self._named(name, levels[name]), self.patterns)
        plain = sorted((n for n in names if n not in overrides and n not in chosen), key=self._rank)
        for name, version in self._chosen_together(plain).items():
            chosen[name] = (self.policy, version, self.patterns)
            self.held.append(EarlierVersion(name, version.cuts))
        waiting, before = [n for n in plain if n not in chosen], list(self.held)
        for name in waiting:
            fitting = self._fit(name, self.policy, self.patterns, self.rule.tolerance)
            if fitting is None:
                self.held = before
                raise refused_beside_earlier(self._enough_for(waiting))
            chosen[name] = (self.policy, fitting, self.patterns)
            self.held.append(EarlierVersion(name, fitting.cuts))
        for name in sorted(overrides, key=self._rank):
            policy = with_smaller_k(self.policy, overrides[name].k)
            patterns, granted = self._classified(policy), overrides[name].k
            fitting = self._fit(name, policy, patterns, None)
            if fitting is None:
                raise refused_beside_earlier(None)
            chosen[name] = (policy, fitting, patterns)
            self.held.append(EarlierVersion(name, fitting.cuts, granted))
        return [self._assigned(name, *chosen[name], overrides.get(name)) for name in names]

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
            granted = None if record.override is None else int(record.override["k"])
            versions.append(EarlierVersion(str(record.recipient), cuts, granted))
        return versions

    def _same_table(self) -> None:
        """Every earlier version, made again from this table, is what is remembered of it."""
        for (record, imprint), version in zip(self._records, self.held, strict=True):
            policy = self.policy
            smallest = max((promise.least_people for promise in policy.promises), default=0)
            if record.override is not None and smallest > int(record.override["k"]):
                policy = with_smaller_k(policy, int(record.override["k"]))
            if not self._is_made_again(policy, record, imprint, version.cuts):
                raise RefusedByHistory(
                    f"the table is not the one that release {record.sequence} of chain {record.chain} was"
                    " made from",
                    remedy=AS_NEW_RELEASE,
                )

    def _is_made_again(self, policy: Policy, record: ReleaseRecord, imprint: Imprint, cuts: Cuts) -> bool:
        """Whether these cuts of this table give the release again; of an imported one, but for its lack."""
        if not record.imported:
            return same_release(self._imprint(policy, cuts), imprint)
        whole = imprint_without_promises(policy, self.table, cuts)
        there = part_of_release(whole, imprint) is not None
        return there and whole.rows - imprint.rows == int(record.figures.get("suppressed") or 0)

    def _refuse_lacking(self) -> None:
        """Refuse to say what others learn beside a version that was imported without all rows."""
        lacking = [r for r in self.history if r.imported and r.figures.get("suppressed")]
        if lacking and self.rule.coalition is not Coalition.NONE:
            raise RefusedByHistory(
                f"release {lacking[0].sequence} of chain {lacking[0].chain} was imported and lacks"
                f" {pluralize(int(lacking[0].figures['suppressed']), 'row')} of its table: what it tells"
                " beside"
                " another version is not judged",
                where="recipients.coalition",
                remedy="Promise coalition: none, which says nothing of versions put together.",
            )

    def _imprint(self, policy: Policy, cuts: Cuts) -> Imprint:
        """The imprint of a version without the rows that break the policy's promises."""
        return Plan(policy, recoded(self.table, cuts, policy.promises), (), 0.0).imprint

    def _first_versions(self, names: Sequence[str]) -> None:
        """Without a promise about earlier releases, everybody gets one version of a table."""
        served = {h.recipient for h in self.held}
        if not self.policy.promises.looks_back and (again := [n for n in names if n in served]):
            raise RefusedByHistory(
                f"{pluralize(len(again), 'recipient has a version', 'recipients have versions')} of this"
                " table"
                " already, and no promise of the policy is about holding two",
                remedy="Hand them the same folder again, or promise continuous.",
            )

    # -- choosing -----------------------------------------------------------------------------------------

    def _rank(self, name: str) -> bytes:
        """A place in the order of choice: by the policy, the chain and the name, not by who came first."""
        return sha256(f"{self.policy.digest}\0{self.chain}\0{name}".encode()).digest()

    def _classified(self, policy: Policy) -> Patterns:
        """The patterns by what they keep; a promise about earlier releases asks for classes of k, too."""
        lasting = tuple(p for p in policy.promises if not isinstance(p, CrossReleasePromise))
        least = max((p.least_people for p in policy.promises.cross_release), default=0)
        if least > max((p.least_people for p in lasting), default=1):
            lasting += (KAnonymity(least),)
        return classify(self.table, Promises(lasting), aim_of(policy), progress=self._progress)

    def _versions(self, patterns: Patterns) -> AvailableVersions:
        return AvailableVersions(patterns, self.rule, self.metric, held=self.held)

    def _chosen_together(self, names: Sequence[str]) -> dict[str, PlannedVersion]:
        """Versions for recipients who hold none yet, chosen at once; empty where each is chosen by itself.

        Versions are chosen at once by the class promises alone. Each is chosen by itself where somebody holds
        a version already, where the policy promises something about earlier releases and there are some, and
        where one of the versions chosen at once breaks such a promise.
        """
        beside = any(h.recipient in names for h in self.held)
        if not names or beside or (self.held and self.policy.promises.looks_back):
            return {}
        versions = dict(zip(names, self._several(len(names)), strict=True))
        all_keep = all(self._keeps(name, self.policy, version.cuts) for name, version in versions.items())
        return versions if all_keep else {}

    def _several(self, count: int) -> list[PlannedVersion]:
        if not self.patterns.allowed.any():
            raise Infeasible(
                "no combination of levels keeps every promise"
                + (" without removing terms" if _has_terms(self.policy) else ""),
                remedy="All versions show the same term sets. Ask for less."
                if _has_terms(self.policy)
                else "Ask for less, or allow more suppressed rows.",
            )
        chosen = self._versions(self.patterns).choose(count)
        if len(chosen) < count:
            capacity = self.capacity()
            raise Infeasible(
                f"{pluralize(count, 'recipient is', 'recipients are')} named, and {capacity.sentence}",
                remedy=remedy_for_several(least_tolerance_for(self._versions(self.patterns), count)),
            )
        return chosen

    def _named(self, name: str, levels: Mapping[str, int]) -> PlannedVersion:
        """The version that the policy names for somebody, if it keeps every promise beside all others."""
        place, patterns = f"recipients.patterns.{name}", self.patterns
        index = patterns.index([levels[column] for column in patterns.names])
        if not patterns.allowed[index]:
            raise Infeasible(
                "this pattern breaks a promise, or a control of the policy",
                where=place,
                remedy="Name a coarser one: `sfumato policy patterns` lists those that keep every promise.",
            )
        version = PlannedVersion(patterns.cuts(index), patterns.value(self.metric, index), index)
        if not self._versions(patterns).is_fitting(name, version.cuts):
            raise RefusedByHistory(
                "with this pattern one recipient could build the version of another, or recipients together"
                " learn more than is promised",
                where=place,
                remedy="Name another pattern, ask for less frame-proof, or leave it to be chosen.",
            )
        if not self._keeps(name, self.policy, version.cuts):
            raise RefusedByHistory(
                "this pattern breaks a promise beside earlier releases",
                where=place,
                remedy="Name a coarser one, or leave it to be chosen.",
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
            )
            for version in assigned
        }

    def _fit(
        self, name: str, policy: Policy, patterns: Patterns, tolerance: Fraction | None
    ) -> PlannedVersion | None:
        """The best version for somebody beside all that is held, within a tolerance, if there is one."""
        return self._versions(patterns).first_fit(
            name,
            lambda cuts: self._keeps(name, policy, cuts),
            within=tolerance,
            beside_earlier=policy.promises.looks_back and self.rule.adversary is Adversary.REGISTER,
        )

    def _enough_for(self, names: Sequence[str]) -> Fraction | None:
        """The least of a few wider tolerances with which all these recipients have versions, if one is."""
        wider = [t for t in WIDER_TOLERANCES if t > self.rule.tolerance]
        if not wider or not self._is_enough(wider[-1], names):
            return None
        return next(t for t in wider if t == wider[-1] or self._is_enough(t, names))

    def _is_enough(self, tolerance: Fraction, names: Sequence[str]) -> bool:
        before, fitting = list(self.held), 0
        for name in names:
            if (version := self._fit(name, self.policy, self.patterns, tolerance)) is None:
                break
            self.held.append(EarlierVersion(name, version.cuts))
            fitting += 1
        self.held = before
        return fitting == len(names)

    def _keeps(self, name: str, policy: Policy, cuts: Cuts) -> bool:
        """Whether the promises about earlier releases hold beside what a recipient holds, and in a coalition
        what others do."""
        if not policy.promises.looks_back:
            return True
        for earlier in self._beside(name):
            promises = policy.promises.given(earlier)
            if any(p.verdict_on(self.table, cuts).holds is not True for p in promises.cross_release):
                return False
        return True

    def _beside(self, name: str) -> list[list[Imprint]]:
        """The releases that somebody holds, alone and together with others, oldest first.

        Against a register, what is promised of values is asked of all releases that anybody holds.
        """
        new = [(h.recipient, self._imprint(self.policy, h.cuts)) for h in self.held[len(self._records) :]]
        every = [(str(record.recipient), imprint) for record, imprint in self._records] + new
        others, coalition = sorted({who for who, _ in every} - {name}), self.rule.coalition
        register = self.rule.adversary is Adversary.REGISTER
        if register and (
            coalition is Coalition.ANY
            or (coalition is Coalition.PAIRS and any(not p.by_size for p in self.policy.promises.of_class))
        ):
            return [[imprint for _, imprint in every]]
        sizes = {0}
        if coalition is not Coalition.NONE:
            sizes.add(min(1, len(others)))
        if coalition is Coalition.ANY:  # of a crowd, pairs and everybody
            sizes |= set(range(2, len(others) + 1)) if len(others) < MOST_VERSIONS_COMBINED else {len(others)}
        groups = [{name, *members} for size in sorted(sizes) for members in combinations(others, size)]
        return [[imprint for who, imprint in every if who in group] for group in groups]

    def _assigned(
        self,
        name: str,
        policy: Policy,
        version: PlannedVersion,
        patterns: Patterns,
        override: Override | None,
    ) -> AssignedVersion:
        own = [imprint for record, imprint in self._records if record.recipient == name]
        own_policy = (
            replace(policy, promises=policy.promises.given(own)) if policy.promises.looks_back else policy
        )
        levels = None if version.index is None else patterns.named(version.index)
        cuts: Mapping[str, Cut] = version.cuts
        return AssignedVersion(
            name, policy, plan_of_cuts(self.table, own_policy, cuts, levels=levels), override
        )


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
