"""Pages over many rows: aggregates of them, as long for a hundred thousand as for some thousand."""

from __future__ import annotations

import pytest

from studio.stage import CANARY, POLICY, StudioClient, open_studio, post, table

pytestmark = pytest.mark.slow

CONFIRMED = POLICY.replace("confirm:\n  sex: harmless, it seems\n", "protect: {search: top-down}\n")
STEPS = ("discover", "declare", "protect", "attack", "release", "trace")
FEW, MANY = 6_216, 93_240
"""Multiples of the rows after which the table repeats itself: the same classes, more people in each."""
MORE_DIGITS = 500
"""Characters by which pages may differ, because larger numbers are longer."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page over few and over many rows, when all that it can show was made."""
    found = {}
    for rows in (FEW, MANY):
        studio = open_studio(tmp_path_factory.mktemp(f"rows{rows}"), policy=CONFIRMED)
        studio.data.path.write_text(table(rows), encoding="utf-8")
        client = StudioClient(studio)
        post(client, "/data/choose", table="folder/people.csv")
        post(client, "/protect/begin")
        found[rows] = {step: client.get(f"/{step}").text for step in STEPS}
    return found


@pytest.mark.parametrize("step", STEPS)
def test_pages_do_not_grow_with_rows(pages, step):
    few, many = pages[FEW][step], pages[MANY][step]
    assert len(many) - len(few) <= MORE_DIGITS
    assert CANARY not in many


def test_they_show_what_was_found(pages):
    assert "No row stands out" in pages[MANY]["discover"]
    assert "Solutions side by side" in pages[MANY]["protect"]
