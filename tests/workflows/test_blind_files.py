"""What blind grouping writes: bytes that depend on keys, coins and groups, and on nobody's own value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.inputs import load_policy, open_original
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.workflows import chain_release
from sfumato.workflows.protect import plan_table
from sfumato.workflows.protect_file import protect_file

COLUMNS = {
    "patient_id": {"role": "identifier"},
    "born": {"role": "quasi", "taxonomy": {"date": ["year", "decade"]}},
    "sex": {"role": "quasi"},
    "admitted": {"role": "quasi"},
    "disease": {"role": "sensitive"},
    "symptoms": {"role": "insensitive"},
}
PROMISES = [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 2}}]
KEY = b"a key of tests"


def rules(**more):
    protect = {"search": "best", "suppress": 0, "grouping": "blind", **more.pop("protect", {})}
    return {"columns": COLUMNS, "promises": PROMISES, "protect": protect, "missing": "own-value", **more}


@pytest.fixture(scope="module")
def people():
    return sf.demo.hospital(250).select(list(COLUMNS))


@pytest.fixture
def fixed_coins(monkeypatch):
    monkeypatch.setattr(Coins, "fresh", classmethod(lambda cls: cls(KEY)))
    monkeypatch.setattr(chain_release, "ledger_coins", lambda *_: Coins(KEY))


def groups_of(people, policy, coins):
    """The rows of every group that is one unit."""
    plan = plan_table(open_original(people, None, policy), policy, coins=coins, one_by_one=True)
    assert plan.grouped.blind
    table, class_of = plan.recoding.table, plan.recoding.class_of
    found = [table.person[class_of == number] for number in range(plan.recoding.count)]
    return [rows for rows in found if len(rows) < 6]


def swapped(people, one, other):
    """The table in which two people have each other's unchanged columns."""
    order = np.arange(len(people))
    order[[one, other]] = other, one
    unchanged = ["disease", "symptoms"]
    return people.with_columns(*(people[name][order] for name in unchanged))


def protected(people, folder, policy, name):
    people.write_csv(folder / f"{name}.csv")
    protect_file(folder / f"{name}.csv", policy, folder / f"{name}.safe.csv")
    return (folder / f"{name}.safe.csv").read_bytes()


def released(people, folder, policy, name):
    people.write_csv(folder / f"{name}.csv")
    ledger = f"sqlite:///{folder / name}.db"
    receipt = sf.release(folder / f"{name}.csv", policy, ledger=ledger, into=folder / name)
    files = [
        (folder / name / file).read_bytes() for file in ("data.csv", "dictionary.json", "dictionary.html")
    ]
    return files, receipt.record.verdicts, receipt.record.states, receipt.record.figures


@pytest.mark.usefixtures("fixed_coins")
@pytest.mark.parametrize("suppress", [0, "5%"])
def test_a_protected_file_is_the_same_whoever_of_a_unit_has_which_value(people, tmp_path, suppress):
    policy = load_policy(rules(protect={"suppress": suppress}))
    before = protected(people, tmp_path, policy, "before")
    assert protected(people, tmp_path, policy, "again") == before
    assert protected(people, tmp_path, policy, "third") == before
    groups = groups_of(people, policy, Coins(KEY))
    rng = np.random.default_rng(2)
    for number in range(4):
        one, other = rng.choice(groups[rng.integers(len(groups))], 2, replace=False)
        assert people["disease"][int(one)] is not None
        assert protected(swapped(people, one, other), tmp_path, policy, f"swapped{number}") == before


def test_another_key_makes_another_file(people, tmp_path):
    policy = load_policy(rules())
    assert protected(people, tmp_path, policy, "one") != protected(people, tmp_path, policy, "other")


@pytest.mark.usefixtures("fixed_coins")
def test_a_release_of_a_chain_is_the_same_whoever_of_a_unit_has_which_value(people, tmp_path):
    policy = load_policy(rules(person="patient_id", chain={}))
    before = released(people, tmp_path, policy, "before")
    groups = groups_of(people, load_policy(rules()), Coins(KEY).of("groups"))
    rng = np.random.default_rng(2)
    for number in range(3):
        one, other = rng.choice(groups[rng.integers(len(groups))], 2, replace=False)
        assert released(swapped(people, one, other), tmp_path, policy, f"swapped{number}") == before


@pytest.mark.usefixtures("fixed_coins")
@pytest.mark.parametrize(
    ("promise", "held"),
    [
        ({"t-closeness": {"of": "disease", "t": 0.8}}, True),
        ({"confidence-bounding": {"of": "disease", "confidence": 0.5}}, True),
        ({"alpha-k-anonymity": {"of": "disease", "alpha": 0.5, "k": 3}}, True),
        ({"beta-likeness": {"of": "disease", "beta": 20}}, True),
        ({"l-diversity": {"of": "disease", "l": 2, "kind": "entropy"}}, True),
    ],
)
def test_every_promise_about_classes_is_written_and_judged(people, tmp_path, promise, held):
    policy = load_policy({**rules(), "promises": [{"k-anonymity": {"k": 3}}, promise]})
    people.write_csv(tmp_path / "people.csv")
    plan, verdicts = protect_file(tmp_path / "people.csv", policy, tmp_path / "safe.csv")
    assert plan.grouped.blind
    assert all(verdict.holds for verdict in verdicts) == held
    assert len(pl.read_csv(tmp_path / "safe.csv")) == len(people)


@pytest.mark.usefixtures("fixed_coins")
@pytest.mark.parametrize(
    ("missing", "protect"),
    [
        ("own-value", {}),
        ("own-value", {"suppress": "5%"}),
        ("own-value", {"suppress": "5%", "price": "none"}),
        ("suppress", {"suppress": "5%"}),
        ("suppress", {"suppress": "5%", "price": "none"}),
    ],
)
def test_empty_key_cells_are_values_or_left_out(people, tmp_path, missing, protect):
    """People are told apart by the numbers of their rows, those that are left out among them."""
    empty = pl.int_range(pl.len()) % 83 == 5
    holes = people.with_columns(pl.when(empty).then(None).otherwise(pl.col("sex")).alias("sex"))
    policy = load_policy({**rules(protect=protect), "missing": missing})
    protected(holes, tmp_path, policy, "holes")
    written = pl.read_csv(tmp_path / "holes.safe.csv")
    assert len(people) - 12 <= len(written) <= len(people) - (3 if missing == "suppress" else 0)


@pytest.mark.parametrize("rows", [3, 7])
def test_a_table_too_small_is_refused_in_plain_words(people, tmp_path, rows):
    with pytest.raises(Infeasible, match="cannot be grouped blindly: there are too few people"):
        protected(people[:rows], tmp_path, load_policy(rules()), "few")
