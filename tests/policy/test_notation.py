"""One notation for intervals of numbers: in trees, in ranges, for judge and attacks."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.published_labels import KnownLabels
from sfumato.policy.reference import judge_data
from sfumato.table.published_texts import numeric_ends
from sfumato.verify.policy_data import label_reader
from sfumato.verify.trees import build_intervals as judge_build

HALF_OPEN = re.compile(r"\[-?[0-9.]+, -?[0-9.]+\)")


def words(search="mondrian", **taxonomy):
    spec = {"intervals": [5, 10], "from": 0, "to": 100, **taxonomy}
    return {
        "columns": {"age": {"role": "quasi", "taxonomy": spec}, "ill": {"role": "insensitive"}},
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"search": search, "suppress": 0},
    }


@st.composite
def scales(draw):
    first = draw(st.integers(1, 6))
    widths = [first]
    for _ in range(draw(st.integers(0, 2))):
        widths.append(widths[-1] * draw(st.integers(2, 3)))
    low = draw(st.integers(-20, 20))
    high = low + draw(st.integers(1, 40))
    spec = {"intervals": widths, "from": low, "to": high}
    if draw(st.booleans()):
        spec["top"] = draw(st.integers(low + 1, high))
    return spec


@given(scales())
def test_the_judge_writes_every_interval_as_the_policy_does(spec):
    policy = sf.Policy.from_dict(words(**spec))
    tree = policy.columns["age"].taxonomy.build([])
    told = judge_data(policy)["columns"]["age"]["taxonomy"]
    judged = judge_build(told, [])
    assert [list(level) for level in judged.labels] == [
        [tree.labels[v] for v in level.tolist()] for level in tree.levels
    ]


@given(scales())
def test_an_interval_says_exactly_which_numbers_it_holds(spec):
    policy = sf.Policy.from_dict(words(**spec))
    tree = policy.columns["age"].taxonomy.build([])
    plain = [(rank, int(label)) for rank, label in enumerate(tree.leaf_labels) if not label.endswith("+")]
    for node, label in enumerate(tree.labels):
        if label != "*":
            first, last, closed = numeric_ends(label)
            inside = {n for rank, n in plain if tree.low[node] <= rank < tree.high[node]}
            assert inside == {n for _, n in plain if first <= n and (n <= last if closed else n < last)}
            assert label.endswith("+") or tree.leaf_count[node] == 1 or HALF_OPEN.fullmatch(label)


@given(scales())
def test_texts_of_the_policy_are_known_and_none_is_finer_than_its_levels(spec):
    policy = sf.Policy.from_dict(words(**spec))
    rule = policy.columns["age"].taxonomy
    tree = rule.build([])
    labels = sorted({tree.labels[v] for v in tree.levels[1:].ravel().tolist()})
    assert KnownLabels(rule, labels).unknown == ()
    reader = label_reader(judge_data(policy)["columns"]["age"]["taxonomy"])
    assert not [label for label in labels if reader.is_finer(label, 1, True)]


@pytest.mark.parametrize("search", ["top-down", "lattice", "mondrian", "local"])
def test_every_search_publishes_the_notation(search):
    raw = pd.DataFrame({"age": [(7 * i) % 60 for i in range(90)], "ill": range(90)})
    policy = sf.Policy.from_dict(words(search=search))
    safe = sf.protect(raw, policy).apply(raw)
    texts = set(safe["age"]) - {"*"}
    assert texts and all(HALF_OPEN.fullmatch(text) or text.isdigit() for text in texts)
    assert sf.audit(safe, policy).holds
    finer = safe.assign(age=safe["age"].where(safe.index >= 9, "[21, 23)"))
    assert sf.audit(finer, policy).holds is False


def test_both_kinds_of_numbers_are_written_alike():
    whole = sf.Policy.from_dict(words()).columns["age"].taxonomy.build(["41"])
    real = sf.Policy.from_dict(words(decimal=True)).columns["age"].taxonomy.build(["41.5", "47"])
    at = [{tree.labels[v] for v in tree.levels[1:, rank].tolist()} for tree, rank in ((whole, 41), (real, 0))]
    assert at[0] == at[1] == {"[40, 45)", "[40, 50)", "*"}
