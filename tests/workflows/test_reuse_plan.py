"""The transformation of an earlier plan, taken over for the next delivery."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from search.checks import crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.contract import Aim, find
from sfumato.search.reuse_plan import Transformation, search_reusing
from sfumato.system.errors import BadData, BrokenPromise, UsageError
from strategies import all_cuts, taxonomies

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 120}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}],
    "protect": {"suppress": 0, "search": "top-down"},
    "confirm": {"disease": True},
}


def people(seed, rows=200):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "zip": [
                f"{a}{b}" for a, b in zip(rng.integers(10, 14, rows), rng.integers(0, 3, rows), strict=True)
            ],
            "age": rng.integers(20, 60, rows).astype(str),
            "disease": rng.choice(["flu", "asthma"], rows),
        }
    )


def searched(name, **more):
    return {**POLICY, **more, "protect": {"suppress": 0, "search": name, **more.get("protect", {})}}


@pytest.mark.parametrize("search", ["top-down", "lattice", "optimum"])
def test_the_next_delivery_becomes_what_the_first_did(search):
    first = sf.protect(people(1), searched(search))
    second = sf.protect(people(2, rows=300), searched(search), reuse_plan=first)
    assert second.search == "reuse_plan"
    assert second.levels == first.levels
    shown = second.apply(people(2, rows=300))
    for name, labels in first.cuts.items():
        assert set(shown[name]) <= set(labels)
    assert "plan by the transformation of an earlier one" in str(second)
    again = sf.protect(people(1), searched(search), reuse_plan=first)
    assert again.apply(people(1)).equals(first.apply(people(1)))


@pytest.mark.parametrize("search", ["top-down", "lattice"])
def test_a_plan_on_disk_and_a_certificate_say_the_same(search, sfumato, tmp_path):
    for number in (1, 2):
        people(number, rows=400).to_csv(tmp_path / f"{number}.csv", index=False)
    (tmp_path / "policy.yaml").write_text(json.dumps({**searched(search)}), encoding="utf-8")
    call = ("-p", tmp_path / "policy.yaml")
    said = sfumato("protect", tmp_path / "1.csv", *call, "-o", tmp_path / "safe.csv", "--json")
    plan = tmp_path / "plan.json"
    plan.write_text(said.out, encoding="utf-8")
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    assert (
        sfumato("release", tmp_path / "1.csv", *call, "--ledger", ledger, "--into", tmp_path / "r").code == 0
    )
    outputs = []
    for number, like in enumerate((plan, tmp_path / "r" / "certificate.json")):
        out = tmp_path / f"like{number}.csv"
        again = sfumato("protect", tmp_path / "2.csv", *call, "-o", out, "--reuse-plan", like)
        assert (again.code, again.err) == (0, f"published {out}\n")
        outputs.append(out.read_text(encoding="utf-8"))
    assert outputs[0] == outputs[1]
    more = ("--ledger", ledger, "--chain", "next", "--ignore-chain", "main", "--into", tmp_path / "r2")
    released = sfumato("release", tmp_path / "2.csv", *call, *more, "--reuse-plan", plan)
    assert released.code == 0
    assert (tmp_path / "r2" / "data.csv").read_text(encoding="utf-8") == outputs[0]


def test_a_broken_promise_is_named_with_how_far_it_is_broken():
    first = sf.protect(people(1, rows=400), searched("lattice"))
    with pytest.raises(BrokenPromise) as refused:
        sf.protect(people(2, rows=40), searched("lattice"), reuse_plan=first)
    assert "k-anonymity, k = 3 fails for" in refused.value.message
    assert "asked 3)" in refused.value.message
    assert "would have to be suppressed, 0 may be" in refused.value.message
    assert "without `reuse_plan`" in refused.value.remedy
    assert refused.value.exit_code == 1
    half = searched("lattice", protect={"search": "top-down", "price": "none", "suppress": "90%"})
    assert 0 < sf.protect(people(2, rows=40), half, reuse_plan=first).suppressed < 36


@pytest.mark.parametrize("search", ["mondrian", "local"])
def test_local_recoding_has_no_transformation(search, tmp_path):
    first = sf.protect(people(1), searched(search))
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(first.as_dict()), encoding="utf-8")
    for like in (first, plan, str(plan)):
        with pytest.raises(BadData, match="local recoding made the earlier table"):
            sf.protect(people(2), searched(search), reuse_plan=like)


def test_ranges_in_a_released_table_are_no_transformation():
    told = Transformation({"zip": ["100"], "age": ["[20, 60)"], "disease": []})
    with pytest.raises(BadData, match="local recoding made the earlier table"):
        sf.protect(people(1), searched("lattice"), reuse_plan=told)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no json", "no plan and no certificate"),
        ("[1]", "no plan and no certificate"),
        ('{"rows": 3}', "this is no plan"),
        ('{"cuts": {"zip": ["1**"]}}', "says nothing of age"),
        ('{"cuts": {"zip": ["1**"], "age": ["x"]}}', "no value of today's taxonomy"),
        ('{"cuts": {"zip": [], "age": []}, "levels": {"zip": 9, "age": 0}}', "zip has the levels 0 to 3"),
        ('{"entry": {}, "signature": ""}', "not beside it"),
    ],
)
def test_what_is_no_plan_is_refused(content, reason, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match=reason):
        sf.protect(people(1), POLICY, reuse_plan=path)
    with pytest.raises(BadData, match="cannot be read"):
        sf.protect(people(1), POLICY, reuse_plan=tmp_path / "nothing.json")


def test_versions_for_recipients_are_not_taken_over(tmp_path):
    first = sf.protect(people(1), searched("lattice"))
    with pytest.raises(UsageError, match="not taken over"):
        sf.release(
            people(2),
            searched("lattice", recipients={"tolerance": "50%"}),
            ledger=f"sqlite:///{tmp_path / 'ledger.db'}",
            to=["a", "b"],
            reuse_plan=first,
            dry_run=True,
        )


def test_an_earlier_plan_does_not_get_around_a_control():
    first = sf.protect(people(1, rows=30), searched("lattice"))
    assert first.levels["zip"] > 0
    words = searched("lattice")
    words["columns"] = {**words["columns"], "zip": {**words["columns"]["zip"], "at-most": 0}}
    with pytest.raises(BrokenPromise, match="coarser than level 0, which the policy permits"):
        sf.protect(people(1, rows=30), words, reuse_plan=first)


@given(taxonomies(leaves=6), st.data())
def test_a_cut_on_its_own_tree_is_that_cut(tree, data):
    cut = data.draw(st.sampled_from(all_cuts(tree)))
    table = crowded(1)
    column = table.keys[0].__class__("q", table.keys[0].role, tree)
    assert Transformation({"q": cut.labels})._cut(column) == cut


def test_what_is_taken_over_is_what_the_search_found():
    table, promises = crowded(5, rows=60), Promises((KAnonymity(3),))
    found = find("top-down")(table, promises, Aim())
    labels = {name: cut.labels for name, cut in found.recoding.cuts.items()}
    again = search_reusing(Transformation(labels))(table, promises, Aim())
    assert again.loss == found.loss
    assert again.recoding.cuts == found.recoding.cuts
