"""Rows that others guessed: who is framed by them is charged no more often than is stated."""

from __future__ import annotations

import numpy as np
import pytest

from recipients.simulated import antichain, people, shown_nodes, traced

pytestmark = pytest.mark.slow

PATTERNS = antichain()
LEAKS = 60


def guessed(rng, framed, guesser, size):
    """Rows of the guesser, in the pattern of the framed; finer cells are drawn from people who look alike."""
    table, rows = people(), rng.integers(0, people().distinct, size)
    fine, coarse = shown_nodes(PATTERNS[framed]), shown_nodes(PATTERNS[guesser])
    lacking = [j for j in range(len(table.keys)) if PATTERNS[framed][j] < PATTERNS[guesser][j]]
    _, look = np.unique(coarse[:, lacking], axis=0, return_inverse=True)
    order = np.argsort(look.ravel(), kind="stable")
    begin = np.searchsorted(look.ravel()[order], look.ravel()[rows], side="left")
    end = np.searchsorted(look.ravel()[order], look.ravel()[rows], side="right")
    others = order[begin + (rng.random(size) * (end - begin)).astype(np.int64)]
    leak = fine[rows].copy()
    leak[:, lacking] = fine[others][:, lacking]
    return leak


def test_who_is_framed_by_guesses_is_charged_less_often_than_is_stated():
    rng = np.random.default_rng(21)
    stated, doubted = [], 0
    for _ in range(LEAKS):
        framed, guesser = rng.choice(len(PATTERNS), 2, replace=False).tolist()
        result = traced(guessed(rng, framed, guesser, 100), max_coalition_size=1)
        doubted += f"P{framed}" in result.perhaps_guessed
        if f"P{framed}" in result.certain:
            assert result.false_charge.guessed.fitting == result.false_charge.guessed.rows or (
                result.false_charge.guessed.probability <= 0.05
            )
            stated.append(result.false_charge.guessed.probability)
    assert doubted > LEAKS // 4, "most guessed leaks are seen to be guessed"
    assert sum(chance <= 0.05 for chance in stated) <= 0.05 * LEAKS


@pytest.mark.parametrize("who", [0, 3])
def test_whoever_holds_it_is_charged_although_a_few_rows_are_somebody_elses(who):
    rng = np.random.default_rng(22)
    rows = shown_nodes(PATTERNS[who])
    own = rows[rng.integers(0, len(rows), 300)]
    alone = traced(own, max_coalition_size=1)
    assert alone.certain == (f"P{who}",)
    assert alone.false_charge.guessed.probability <= 0.05
    assert "others guessed what they did not hold (chance" in str(alone).splitlines()[0]
    made_up = np.stack([rng.permutation(column) for column in own.T], axis=1)[:8]
    mixed = traced(np.concatenate([own, made_up]), max_coalition_size=1)
    assert mixed.rows["foreign"] > 0
    assert mixed.certain == (f"P{who}",)
    assert alone.as_dict()["false_charge"]["guessed"]["columns"]
    assert "if others guessed" in str(alone)
