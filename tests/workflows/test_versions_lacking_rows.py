"""Versions that were handed out earlier without all rows: entered and traced, against enumeration."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.inputs import count_table
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, RefusedByHistory
from sfumato.table.release_summary import KeyImprint
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.recipient_versions import HandedOutVersion, completed_cut, with_recipients
from strategies import all_cuts, cases, taxonomies
from workflows.test_random_versions import KEYS, ROWS, at, frame, policy

pytestmark = pytest.mark.slow

OWN = {
    "q0": Taxonomy.grow(["R", "A", "a1", "a2", "B", "b1", "b2"], [-1, 0, 1, 1, 0, 4, 4]),
    "q1": Taxonomy.grow(["S", "C", "c1", "c2", "D", "d1", "d2"], [-1, 0, 1, 1, 0, 4, 4]),
}


@given(st.sampled_from(all_cuts(OWN["q0"])), st.sampled_from(all_cuts(OWN["q1"])), st.data())
@cases(25)
def test_a_version_is_taken_if_and_only_if_some_cuts_give_its_rows(first, second, data):
    """Rows of the original under any cuts, some of them left out, and at times one that was never there."""
    trees, made = tuple(OWN.values()), (first, second)

    def under(cuts, rows):
        parts = list(zip(trees, cuts, strict=True))
        pairs = [list(zip(parts, row, strict=True)) for row in rows]
        return [tuple(str(t.labels[c.node_of[t.rank(x)]]) for (t, c), x in row) for row in pairs]

    table = data.draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=6))
    rows = under(made, data.draw(st.lists(st.sampled_from(table), min_size=1, max_size=4)))
    if data.draw(st.booleans()):
        rows.append(tuple(str(data.draw(st.sampled_from(t.labels))) for t in trees))
    possible = any(
        not Counter(rows) - Counter(under(cuts, table)) for cuts in product(*(all_cuts(t) for t in trees))
    )
    rules = with_recipients(Policy.from_dict(policy()))
    counted = count_table(open_source(frame(table)), rules)
    try:
        found = HandedOutVersion.of(open_source(frame(rows)), counted, rules)
    except BadData:
        assert not possible
    else:
        assert possible
        assert found.lacks == len(table) - len(rows)
        assert found.figures["k"] == min(Counter(rows).values())


@given(taxonomies(leaves=6), st.data())
@cases(40)
def test_what_is_not_shown_is_at_the_level_of_the_rest_or_as_coarse_as_can_be(tree, data):
    made = data.draw(st.sampled_from(all_cuts(tree)))
    shown = data.draw(st.sets(st.sampled_from(made.nodes.tolist()), min_size=1))
    key = KeyImprint.of("q", made)
    cut = completed_cut(replace(key, cut=np.array(sorted(shown), np.int32)), tree)
    assert shown <= set(cut.nodes.tolist())
    told = {rank for v in shown for rank in range(tree.low[v], tree.high[v])}
    spans = [(tree.low[v], tree.high[v]) for v in cut.node_of]
    levels = [[(tree.low[v], tree.high[v]) for v in level] for level in tree.levels]
    fitting = [level for level in levels if all(level[rank] == spans[rank] for rank in told)]
    if fitting:
        assert spans in fitting
        return
    for rank in set(range(len(tree.leaves))) - told:
        above = int(tree.parent[cut.node_of[rank]])
        assert told & set(range(tree.low[above], tree.high[above])), "no higher node is free"


def imported(folder, version, original, *, to="police", **more):
    url = f"sqlite:///{folder}/ledger.db"
    sf.import_version(version, policy(**more), original=original, to=to, ledger=url, lacking=True)
    return url


def test_rows_that_other_tools_hide_behind_stars_are_left_out(tmp_path):
    shown = [*at(ROWS[:12], (1, 0)), *[("*", "*")] * 4]
    url = imported(tmp_path, frame(shown), frame(ROWS))
    (record,) = sf.Ledger(url, readonly=True).history()
    assert record.figures == {"rows": 12, "classes": 8, "k": 1, "suppressed": 4}
    assert sf.trace(dict(zip(KEYS, shown[0], strict=True)), ledger=url).alone == ("police",)


def test_another_version_is_told_apart_from_it(tmp_path):
    table = frame(ROWS)
    url = imported(tmp_path, frame(at(ROWS[:12], (1, 0))), table)
    event = sf.release(table, policy(), ledger=url, to="archive", dry_run=True)
    assert event.record.cuts != sf.Ledger(url, readonly=True).history()[0].cuts
    with pytest.raises(RefusedByHistory, match="not the one that release 1"):
        sf.release(frame(ROWS * 2), policy(), ledger=url, to="archive", dry_run=True)


def test_a_promise_about_earlier_releases_takes_no_version_that_lacks_rows(tmp_path):
    rules = policy(protect={"suppress": 0, "search": "top-down"})
    rules.pop("recipients", None)
    rules["columns"]["since"] = {"role": "identifier"}
    rules["promises"].append({"continuous": {"k": 2, "since": "since"}})
    table = frame(ROWS).with_columns(since=pl.lit("Q1"))
    with pytest.raises(RefusedByHistory, match="who was in earlier releases"):
        sf.import_version(
            frame(at(ROWS[1:], (1, 1))),
            rules,
            original=table,
            to="police",
            ledger=f"sqlite:///{tmp_path}/l.db",
            lacking=True,
        )


def test_on_the_command_line_somebody_vouches_for_the_rows_that_are_not_there(tmp_path):
    frame(ROWS).write_csv(tmp_path / "people.csv")
    frame(at(ROWS[3:], (1, 0))).write_csv(tmp_path / "police.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy()))
    url = f"sqlite:///{tmp_path}/ledger.db"
    words = ["ledger", "import", str(tmp_path / "police.csv"), "--original", str(tmp_path / "people.csv")]
    words += ["-p", str(tmp_path / "policy.yaml"), "--to", "police", "--ledger", url]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, BadData) and refused.exception.exit_code == 3
    assert "--lacking-rows" in str(refused.exception)
    done = CliRunner().invoke(app, [*words, "--lacking-rows"])
    assert done.exit_code == 0, done.output
    assert "imported, NOT judged" in done.output and "3" in done.output
    listed = CliRunner().invoke(app, ["history", "--ledger", url])
    assert "lacks 3 rows of its table" in listed.output
    for check in (["ledger", "verify"], ["ledger", "floor"]):
        assert CliRunner().invoke(app, [*check, "--ledger", url]).exit_code == 0
