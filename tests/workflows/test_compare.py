"""`sf.compare` and `sfumato utility`: what a safe table still tells, for its owner alone."""

from __future__ import annotations

import builtins
import json

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import BadPolicy, UsageError

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 100}},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}},
        "pay": {"role": "insensitive"},
        "ill": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 4}}, {"l-diversity": {"of": "ill", "l": 2}}],
    "protect": {"suppress": 0, "search": "local"},
}


def people(rows=240):
    return pd.DataFrame(
        {
            "age": [18 + (7 * i) % 60 for i in range(rows)],
            "zip": [f"QX{100 + i % 3}" for i in range(rows)],
            "pay": [1000 + 40 * ((7 * i) % 60) + i % 9 for i in range(rows)],
            "ill": ["flu" if ((7 * i) % 60 < 25) != (i % 7 == 0) else "gout" for i in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def pair():
    raw = people()
    return raw, sf.protect(raw, POLICY).apply(raw)


@pytest.fixture
def without_sklearn(monkeypatch):
    real = builtins.__import__

    def lacking(name, *args, **kwargs):
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", lacking)


@pytest.mark.usefixtures("without_sklearn")
def test_figures_of_a_safe_table(pair):
    raw, safe = pair
    told = sf.compare(raw, safe, POLICY)
    assert isinstance(told, sf.Usefulness)
    assert (told.table.rows, told.table.suppressed, told.table.k) == (240, 0, 4)
    assert told.table.classes == len(safe[["age", "zip"]].drop_duplicates())
    by_name = {one.name: one for one in told.columns}
    assert (by_name["age"].values, by_name["age"].groups) == (raw["age"].nunique(), safe["age"].nunique())
    assert by_name["ill"].distance == 0
    assert by_name["pay"].mean == (raw["pay"].mean(), safe["pay"].mean())
    pairs = {frozenset(one.columns): one for one in told.pairs}
    before, after = pairs[frozenset(("age", "pay"))].correlation
    assert before == pytest.approx(raw["age"].corr(raw["pay"]))
    assert 0.8 < after <= before
    assert told.model is None
    assert told.notes == (
        "a model needs one more package: Install it: python -m pip install 'sfumato[utility]'",
    )


def test_no_figure_is_for_publication_but_those_of_the_safe_table_alone(pair):
    told = sf.compare(*pair, POLICY)
    assert told.as_dict()["not_for_publication"] is True
    assert "not for publication" in str(told)
    _, safe = pair
    again = sf.compare(
        safe, safe, {**POLICY, "columns": {n: {"role": r["role"]} for n, r in POLICY["columns"].items()}}
    )
    assert told.published == again.published


def test_no_cell_of_the_original_is_shown(pair, tmp_path):
    raw, safe = pair
    raw = raw.assign(ill=["secret-a" if x == "flu" else "secret-b" for x in raw["ill"]])
    safe = sf.protect(raw, POLICY).apply(raw)
    told = sf.compare(raw, safe, POLICY, prices=True)
    sf.draw(told, tmp_path)
    pages = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    shown = "".join([str(told), repr(told), told._repr_html_(), json.dumps(told.as_dict()), pages])
    assert "secret" not in shown
    assert not [code for code in raw["zip"].unique() if code in shown]


def test_kinds_of_tables_and_files_give_the_same_figures(pair, tmp_path):
    raw, safe = pair
    raw.to_csv(tmp_path / "raw.csv", index=False)
    pl.from_pandas(safe).write_parquet(tmp_path / "safe.parquet")
    assert (
        sf.compare(raw, safe, POLICY).as_dict()
        == sf.compare(tmp_path / "raw.csv", tmp_path / "safe.parquet", POLICY).as_dict()
    )


def test_without_a_policy_intervals_and_prefixes_are_read(pair):
    told = sf.compare(pair[0], pair[1].assign(zip="QX1**"))
    assert told.table.keys == 2
    assert [one.unread for one in told.columns] == [0, 0, 0, 0]
    strange = pair[1].assign(zip="somewhere")
    told = sf.compare(pair[0], strange)
    assert "240 rows of zip with a text that cannot be read" in told.notes
    assert "zip" in told.table.columns_lost


def test_a_key_column_that_is_not_there_is_lost(pair):
    raw, safe = pair
    told = sf.compare(raw, safe.drop(columns="zip"), POLICY)
    assert "zip" in told.table.columns_lost
    assert told.table.cells_lost >= 240


def test_prices_of_each_promise_and_of_one_more(pair):
    told = sf.compare(*pair, POLICY, prices=True)
    changes = [price.change for price in told.prices]
    assert changes == [
        "as promised",
        "without k-anonymity, k = 4",
        "without distinct l-diversity of ill, l = 2",
        "with k = 5",
    ]
    plan = sf.protect(pair[0], POLICY)
    assert told.prices[0].loss == plan.loss
    losses = {price.change: price.loss for price in told.prices}
    assert losses["without k-anonymity, k = 4"] <= plan.loss <= losses["with k = 5"]


def test_prices_say_where_no_table_would_be_left():
    raw = people(5)
    policy = {**POLICY, "promises": [{"k-anonymity": {"k": 5}}]}
    safe = sf.protect(raw, policy).apply(raw)
    last = sf.compare(raw, safe, policy, prices=True).prices[-1]
    assert (last.change, last.loss) == ("with k = 6", None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"prices": True}, "prices are those of a policy"),
        ({"policy": POLICY, "target": "age"}, "the target is generalized"),
        ({"policy": POLICY, "target": "name"}, "the target is in neither table"),
    ],
)
def test_wrong_calls_say_what_to_do(pair, call, message):
    with pytest.raises(UsageError, match=message) as raised:
        sf.compare(*pair, **call)
    assert raised.value.remedy


def test_a_policy_of_another_table_is_refused(pair):
    other = {
        "columns": {"height": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    with pytest.raises(BadPolicy, match="none of the 4 columns"):
        sf.compare(*pair, other)


def test_prices_of_a_policy_that_looks_back():
    raw = pd.DataFrame({"age": [20, 21, 22, 23] * 6, "ill": ["a", "b"] * 12, "since": [1] * 24})
    policy = {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [2, 4], "from": 20, "to": 24}},
            "ill": {"role": "sensitive"},
            "since": {"role": "insensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}, {"continuous": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"ill": True},
    }
    told = sf.compare(raw, sf.protect(raw, policy).apply(raw), policy, prices=True)
    assert all(price.loss is not None for price in told.prices)
    assert len(told.prices) == 4


@pytest.mark.usefixtures("without_sklearn")
def test_a_target_needs_the_package(pair):
    with pytest.raises(UsageError, match="one more package") as raised:
        sf.compare(*pair, POLICY, target="ill")
    assert "sfumato[utility]" in raised.value.remedy


def test_a_model_learns_from_the_safe_table_what_the_original_tells(pair):
    told = sf.compare(*pair, POLICY)
    assert told.model.target == "ill"
    assert told.model.raw > 0.8 > told.model.guess
    assert told.model.safe > 0.8
    lost = pair[1].assign(age="*", zip="*", pay=0)
    assert sf.compare(pair[0], lost, POLICY).model.safe < 0.7
    estimated = sf.compare(*pair, POLICY, target="pay").model
    assert (estimated.score, estimated.guess) == ("R²", 0.0)
    assert estimated.raw > 0.99 > estimated.safe > 0.5


def test_the_command(sfumato, pair, tmp_path):
    raw, safe = tmp_path / "raw.csv", tmp_path / "safe.csv"
    pair[0].to_csv(raw, index=False)
    pair[1].to_csv(safe, index=False)
    policy = tmp_path / "policy.yaml"
    policy.write_text(sf.Policy.from_dict(POLICY).to_yaml(), encoding="utf-8")
    said = sfumato("utility", raw, safe, "-p", policy, "--charts", tmp_path / "charts")
    assert said.code == 0
    assert said.out.startswith("what the safe table kept\n  key cells that tell nothing")
    assert said.out.rstrip().endswith("taken from the original table, too")
    assert {"column-01.svg", "moved-by-pair.svg", "charts.html"} <= {
        p.name for p in (tmp_path / "charts").iterdir()
    }
    document = sfumato("utility", raw, safe, "-p", policy, "--json").document
    assert document == json.loads(json.dumps(sf.compare(*pair, POLICY).as_dict()))
    assert sfumato("utility", safe, tmp_path / "none.csv").code == 3
    assert sfumato("utility", raw, safe, "--prices").code == 2
