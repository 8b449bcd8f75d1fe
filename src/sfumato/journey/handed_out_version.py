"""A version that was handed out before there was a ledger: its cuts, and the rows that it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.chain.table_imprint import count_published, imprint_of, part_of_release
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData
from sfumato.core.imprint import Imprint, KeyImprint
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy
from sfumato.engine.source import Source
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.protection.suppression import recoded

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
        shown = imprint_of(counted, fine, policy=policy)
        cuts = {
            column.name: completed_cut(held, column.taxonomy)
            for column, held in zip(table.keys, shown.keys, strict=True)
        }
        imprint = part_of_release(imprint_without_promises(policy, table, cuts), shown)
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


def completed_cut(shown: KeyImprint, taxonomy: Taxonomy) -> Cut:
    """Returns the cut of which a version shows these nodes.

    Where it shows nothing it says nothing of its cut: that part is at the level of all that is shown, if one
    level has it all, and otherwise as coarse as it can be.
    """
    nodes = shown.onto(taxonomy)[shown.cut]
    told = np.zeros(len(taxonomy.leaves), dtype=bool)
    node_of = np.zeros(len(taxonomy.leaves), np.int32)
    for v in nodes.tolist():
        told[taxonomy.low[v] : taxonomy.high[v]] = True
        node_of[taxonomy.low[v] : taxonomy.high[v]] = v
    if told.all():
        return Cut(taxonomy, node_of)
    for level in taxonomy.levels:
        same = (taxonomy.low[level] == taxonomy.low[node_of]) & (
            taxonomy.high[level] == taxonomy.high[node_of]
        )
        if same[told].all():
            return Cut(taxonomy, np.where(told, node_of, level).astype(np.int32))
    return Cut(taxonomy, np.where(told, node_of, _coarsest(taxonomy, told)).astype(np.int32))


def _coarsest(taxonomy: Taxonomy, told: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Returns, for every leaf that is not told, the highest node above it without a leaf that is."""
    before = np.concatenate(([0], np.cumsum(told)))
    free = before[taxonomy.high] == before[taxonomy.low]
    found = taxonomy.leaves.astype(np.int32)
    for _ in range(taxonomy.height):
        above = taxonomy.parent[found]
        found = np.where((above >= 0) & free[above], above, found).astype(np.int32)
    return found


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
        held, rank = np.unique(counted.codes(column.name)[~hidden], return_inverse=True)
        labels = [column.taxonomy.leaf_labels[i] for i in held.tolist()]
        columns.append(replace(column, taxonomy=Taxonomy.flat(labels)))
        ranks.append(rank.ravel())
    return Microdata.of_codes(columns, ranks, counts=counted.counts[~hidden])
