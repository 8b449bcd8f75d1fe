"""Targets of a chain that people leave: the same in whatever order they are asked for, and however kept."""

from __future__ import annotations

import random

import numpy as np
import pytest

from oracles.living_chains import living_chain, random_case
from sfumato.chains.departures import LivingChain
from sfumato.chains.presence_cells import PlacedRows, PresenceTargets
from sfumato.judge.chain.remembered_release import ReleaseTable
from sfumato.judge.chain.world_equations import cells_of_each

SEEDS = range(40)


def shown(cells):
    """Everything that is said of the targets of a presence."""
    table = cells.table
    return [
        cells.presence,
        cells.classes.tolist(),
        table.owner.tolist(),
        table.values.tolist(),
        table.counts.tolist(),
        cells.inside.tolist(),
    ]


def placed(chain, seed):
    """Made-up rows: a class, or none, in every release."""
    rng = np.random.default_rng(seed)
    return PlacedRows(tuple(rng.integers(-1, len(r), 30).astype(np.int32) for r in chain.releases))


@pytest.mark.parametrize("known", ["unknown", "total", "counted"])
@pytest.mark.parametrize("returns", [False, True])
def test_the_order_of_questions_does_not_matter(known, returns):
    for seed in SEEDS:
        chain, _ = living_chain(random_case(seed, count=4, returns=returns), known)
        alone = {p: shown(PresenceTargets(chain).cells(p, placed(chain, seed))) for p in chain.presences}
        asked = [p for p in chain.presences for _ in range(2)]
        random.Random(seed).shuffle(asked)
        targets = PresenceTargets(chain)
        for presence in asked:
            assert shown(targets.cells(presence, placed(chain, seed))) == alone[presence]


def with_a_last_release(seed, known):
    """A chain of four releases, the targets of the first three, and whom the last shares with these."""
    whole, _ = living_chain(random_case(seed, count=4), known)
    shared = {pair: n for pair, n in whole.shared.items() if pair[1] < 3}
    earlier = LivingChain(whole.trees, whole.releases[:3], whole.leavers, shared, whole.returns)
    return whole, PresenceTargets(earlier), [whole.shared[i, 3] for i in range(3)] if whole.shared else []


@pytest.mark.parametrize("known", ["unknown", "total", "counted"])
def test_one_more_release_is_met_as_if_all_were_given_at_once(known):
    for seed in SEEDS:
        whole, earlier, last = with_a_last_release(seed, known)
        list(earlier.all_cells())
        for _ in range(2):  # proposals follow each other
            grown = earlier.followed_by(whole.releases[3], last)
            for presence in whole.presences:
                assert shown(grown.cells(presence)) == shown(PresenceTargets(whole).cells(presence))


@pytest.mark.parametrize("known", ["unknown", "counted"])
def test_rows_are_placed_beside_each_proposal_as_if_they_were_asked_for_alone(known):
    for seed in SEEDS:
        whole, earlier, last = with_a_last_release(seed, known)
        first = PlacedRows(placed(whole, seed).class_in[:3])
        for more in range(2):  # the same rows, with other classes in every proposal
            rows = placed(whole, seed + more)
            rows = PlacedRows((*first.class_in, rows.class_in[3]))
            grown = earlier.followed_by(whole.releases[3], last)
            found = [shown(c) for c in grown.all_cells(first.followed_by(rows.class_in[3]))]
            assert found == [shown(PresenceTargets(whole).cells(p, rows)) for p in whole.presences]


def test_rows_are_in_exactly_the_releases_that_hold_them():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        classes = tuple(rng.integers(-1, 2, 40).astype(np.int32) for _ in range(4))
        whole, grown = PlacedRows(classes), PlacedRows(classes[:3]).followed_by(classes[3])
        for mask in range(16):
            presence = tuple(j for j in range(4) if mask >> j & 1)
            fits = [all((c[row] >= 0) == (j in presence) for j, c in enumerate(classes)) for row in range(40)]
            assert whole.with_presence(presence).tolist() == np.flatnonzero(fits).tolist()
            assert grown.with_presence(presence).tolist() == np.flatnonzero(fits).tolist()


def release_table(release):
    """A release as the second judge holds it: every label of a column is a range of leaves."""
    low = np.zeros((len(release), release.nodes.shape[1]), np.int64)
    high = low.copy()
    cuts = []
    for j, node_of in enumerate(release.node_of):
        for c, node in enumerate(release.nodes[:, j].tolist()):
            leaves = np.flatnonzero(node_of == node)
            low[c, j], high[c, j] = leaves[0], leaves[-1] + 1
        first = np.flatnonzero(np.concatenate([[True], np.diff(node_of) != 0]))
        cuts.append((first, np.append(first[1:], len(node_of))))
    owner, values = release.owner.astype(np.int64), release.values.astype(np.int64)
    return ReleaseTable(low, high, owner, values, release.counts, tuple(cuts))


@pytest.mark.parametrize("returns", [False, True])
def test_the_second_judge_makes_no_other_cells_of_what_bindings_begin_with(returns):
    for seed in SEEDS:
        chain, _ = living_chain(random_case(seed, count=4, returns=returns), "unknown")
        tables = [release_table(release) for release in chain.releases]
        offset = np.cumsum([0, *(len(table.owner) for table in tables)])
        asked = list(chain.presences)
        random.Random(seed).shuffle(asked)
        together = list(cells_of_each(tables, asked, offset))
        for presence, cells in zip(asked, together, strict=True):
            (alone,) = cells_of_each(tables, [presence], offset)
            for name in ("low", "high", "owner", "value", "sums"):
                assert np.array_equal(getattr(cells, name), getattr(alone, name)), (seed, presence)
