"""Releases looked at together, one by one, or every one of them: what they leave is the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.tiny_chains import chains, releases
from sfumato.models.continuous import overlap
from sfumato.models.continuous.chain import Chain
from sfumato.models.continuous.overlap import Overlap

pytestmark = pytest.mark.slow

CHAINS = st.integers(2, 5).flatmap(lambda n: chains(count=n, rows=7))


def made(trees, people, cuts):
    return Chain.of(releases(trees, people, cuts))


def left(found):
    """Everything that is left, class by class, and whether some classes share no value."""
    told = []
    for time in range(len(found.chain)):
        one = found.fewest_candidates(time)
        told.append((one.least, one.first.tolist(), bool(one.disjoint.any())))
        if one.last is not None:
            told.append(one.last.tolist())
    return told


def cells(found):
    """Every cell with its time, its nodes, and what it holds of each value."""
    return sorted(
        (int(some.times[c]), tuple(some.table.nodes[c].tolist()), int(s), int(n))
        for some in found.all_cells()
        for c, s, n in zip(some.table.owner, some.table.values, some.table.counts, strict=True)
    )


@given(CHAINS)
def test_looking_at_several_times_together_changes_nothing(chain):
    chain = made(*chain)
    together, followed = Overlap(chain), _followed(chain)
    known = left(together)
    assert left(followed) == known and cells(followed) == cells(together)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "ENTRIES_TOGETHER", 1)
        assert left(Overlap(chain)) == known and cells(Overlap(chain)) == cells(together)


@given(CHAINS)
def test_releases_that_do_not_bind_leave_as_much(chain):
    chain = made(*chain)
    assert left(Overlap(chain)) == left(Overlap(chain, every=True))


@given(CHAINS)
def test_the_cells_of_one_time_are_those_among_all(chain):
    found = Overlap(made(*chain))
    for time, some in enumerate(found.by_time):
        alone = found.cells(time)
        assert some.span == alone.span == (time,) and some.phantom.tolist() == alone.phantom.tolist()
        for name in ("times", "classes", "candidates"):
            assert np.array_equal(getattr(some, name), getattr(alone, name))


def _followed(chain):
    """The same chain, its last release added to the others."""
    shorter = Chain(chain.trees, chain.releases[:-1], chain.values, chain.names)
    return Overlap(shorter).followed_by(chain.releases[-1])
