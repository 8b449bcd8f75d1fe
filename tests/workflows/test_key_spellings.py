"""A policy may say that spellings of a key's value are one value: one spelling is published."""

from __future__ import annotations

import json
import random
import unicodedata

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadPolicy, BadTaxonomy, RefusedByHistory
from sfumato.verify.cells import folded
from sfumato.workflows.confirm import check_policy
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

CITIES = ["Köln", "ko\u0308ln ", "KÖLN", "Bonn", "bonn", "Bonn ", "Aachen", "aachen"]
TABLE = pl.DataFrame({"city": CITIES, "sick": ["flu", "cold"] * 4})
TREE = {"Rhine": ["Köln", "Bonn"], "West": ["Aachen"]}


def words(taxonomy=None, spelling="folded", promises=(), **more):
    city = {"role": "quasi", **({"spelling": spelling} if spelling else {})}
    city |= {} if taxonomy is None else {"taxonomy": taxonomy}
    columns = {"city": city, "sick": {"role": "sensitive"}}
    return {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": 2}}, *promises],
        "protect": {"search": "top-down", "suppress": 0},
        **more,
        "confirm": {"sick": True},
    }


def write(table, path):
    frame = table.to_pandas()
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_excel(path, index=False)
    return path


@pytest.mark.parametrize("taxonomy", [None, {"flat": ["Köln", "Bonn", "Aachen"]}, {"tree": TREE}])
@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_every_file_holds_one_spelling_of_each_value(tmp_path, taxonomy, kind):
    out = tmp_path / f"safe.{kind}"
    data = write(TABLE, tmp_path / f"people.{kind}")
    plan, verdicts = protect_file(data, words(taxonomy), out, dictionary=True)
    assert plan.smallest == 2 and all(verdict.holds for verdict in verdicts)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}[kind](out)
    expected = {"KÖLN" if taxonomy is None else "Köln": 3, "Bonn": 3, "Aachen": 2}
    assert dict(read["city"].value_counts()) == expected
    assert sf.audit(out, words(taxonomy)).holds
    told = json.loads((tmp_path / "safe.dictionary.json").read_text())["notes"][0]["columns"][0]
    assert told["published"] == "made less exact; spellings of one value are written as one"
    assert "spellings of one value are written as one" in sf.report(out, words(taxonomy)).html


def test_without_the_option_keys_stay_as_they_are_written():
    plain, exact = words(spelling=None), words(spelling="exact")
    assert Policy.from_dict(plain).digest == Policy.from_dict(exact).digest
    assert Policy.from_dict(words()).digest != Policy.from_dict(plain).digest
    assert Policy.from_dict(plain).to_dict()["columns"]["city"] == {"role": "quasi"}
    again = Policy.from_dict(Policy.from_dict(words()).to_dict())
    assert again == Policy.from_dict(words()) and "spelling: folded" in again.to_yaml()
    assert judge_data(Policy.from_dict(plain))["columns"]["city"]["spelling"] == "exact"
    assert judge_data(again)["columns"]["city"]["spelling"] == "folded"
    assert sf.protect(TABLE, plain).smallest >= 2
    assert set(sf.protect(TABLE, plain).apply(TABLE)["city"]) == {"*"}


TEXTS = st.sampled_from(
    [
        "Köln",
        "KÖLN",
        "koln",
        unicodedata.normalize("NFD", "Köln"),
        "Bonn",
        "BONN ",
        " bonn",
        "B.onn",
        "Ulm",
        "n/a",
    ]
)


@given(st.lists(TEXTS, min_size=2, max_size=30), st.integers(0, 99), st.sampled_from([0, 1]))
@settings(max_examples=40, deadline=None)
def test_folding_never_lowers_k_nor_raises_the_loss(cells, seed, level):
    """At the same level of the same table; one spelling is published, whatever the order of the rows."""
    table = pl.DataFrame({"city": cells})
    made = {}
    for spelling in ("exact", "folded"):
        asked = {"city": {"role": "quasi", "spelling": spelling, "fixed": level}}
        rules = {
            "columns": asked,
            "promises": [{"k-anonymity": {"k": 1}}],
            "protect": {"suppress": 0, "search": "lattice"},
        }
        plan = sf.protect(table, rules)
        made[spelling] = plan, plan.apply(table)["city"].to_list()
        shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
        assert sf.protect(shuffled, rules).apply(shuffled)["city"].to_list() == made[spelling][1]
    (exact, _), (one, published) = made["exact"], made["folded"]
    assert one.smallest >= exact.smallest and one.loss <= exact.loss
    said = [folded(text) for text in set(published) if folded(text) is not None]
    assert len(said) == len(set(said))
    assert len(published) == len(cells)


@given(st.permutations(CITIES))
@settings(max_examples=10, deadline=None)
def test_every_row_counts(cells):
    """Class sizes are those of all spellings together, and the order of the rows changes nothing."""
    published = sf.protect(pl.DataFrame({"city": cells, "sick": TABLE["sick"]}), words({"tree": TREE}))
    assert published.classes == 3 and published.smallest == 2 and published.loss == 0


def test_the_second_judge_finds_further_spellings(tmp_path):
    """From the bytes of a file and from rows: a text that is spelled again breaks the policy."""
    safe = sf.protect(TABLE, words()).apply(TABLE)
    assert sf.audit(safe, words()).holds
    broken = safe.with_columns(city=pl.Series(["bonn", "bonn", "Bonn", "Bonn", *["KÖLN"] * 4]))
    assert sf.audit(broken, words(spelling="exact")).holds
    for table in (broken, write(broken, tmp_path / "b.csv"), write(broken, tmp_path / "b.parquet")):
        wrong = [verdict.promise for verdict in sf.audit(table, words()).verdicts if not verdict.holds]
        assert wrong == ["one spelling of every value, as the policy says"]


@pytest.mark.parametrize(
    "taxonomy",
    [
        {"prefix": [1]},
        {"mask": "right"},
        {"intervals": [5], "from": 0, "to": 9},
        {"date": ["year"]},
        {"ready": "countries"},
    ],
)
def test_taxonomies_that_read_their_values_are_refused(taxonomy):
    with pytest.raises(BadPolicy, match="only values that stand for themselves have spellings"):
        Policy.from_dict(words(taxonomy))


def test_a_taxonomy_in_several_spellings_is_refused():
    with pytest.raises(BadTaxonomy, match="1 of its labels are written in several ways") as refused:
        sf.protect(TABLE, words({"flat": ["Köln", "KOLN", "Bonn", "Aachen"]}))
    assert "KOLN" not in f"{refused.value}"
    with pytest.raises(BadTaxonomy, match="2 values occur that the taxonomy lacks"):
        sf.protect(TABLE, words({"flat": ["Köln", "Bonn"]}))


def test_a_chain_needs_values_that_are_listed(tmp_path):
    """The published spelling must not depend on which other spellings occur in a release."""
    beside = [{"continuous": {"k": 2}}]
    with pytest.raises(BadPolicy, match="may be another in the next release"):
        Policy.from_dict(words(promises=beside))
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    rules = words({"tree": TREE}, promises=beside)
    sf.release(TABLE, rules, ledger=ledger, into=tmp_path / "one", format="csv")
    other = TABLE.with_columns(
        city=pl.Series(["KOLN", "köln", "Köln", "BONN", "bonn", "Bonn", "Aachen", "AACHEN"])
    )
    sf.release(other, rules, ledger=ledger, into=tmp_path / "two", format="csv")
    assert (tmp_path / "one" / "data.csv").read_bytes() == (tmp_path / "two" / "data.csv").read_bytes()
    assert sf.audit(tmp_path / "two" / "data.csv", rules, against=ledger).holds
    weaker = words({"tree": TREE}, spelling=None, promises=beside)
    plain = TABLE.with_columns(city=pl.Series(["Köln"] * 3 + ["Bonn"] * 3 + ["Aachen"] * 2))
    with pytest.raises(RefusedByHistory, match=r"columns\.city\.spelling: folded, now exact"):
        sf.release(plain, weaker, ledger=ledger, into=tmp_path / "three")


def test_versions_for_recipients(tmp_path):
    picked = random.Random(4)
    people = pl.DataFrame(
        {
            "city": [picked.choice(CITIES) for _ in range(400)],
            "age": [str(picked.randrange(20, 60)) for _ in range(400)],
        }
    )
    rules = {
        "columns": {
            "city": {"role": "quasi", "spelling": "folded", "taxonomy": {"tree": TREE}},
            "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 80}},
        },
        "promises": [{"k-anonymity": {"k": 4}}],
        "protect": {"search": "top-down", "suppress": 0},
        "recipients": {"quality": "entropy", "tolerance": "100%"},
    }
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    sf.release(people, rules, ledger=ledger, into=tmp_path / "to", to=["ada", "ben"], format="csv")
    for who in ("ada", "ben"):
        held = pl.read_csv(tmp_path / "to" / who / "data.csv")
        assert set(held["city"]) <= {"Köln", "Bonn", "Aachen", "Rhine", "West", "*"}
        assert sf.audit(held, rules).holds


def test_figures_of_use_read_every_spelling():
    for taxonomy in (None, {"tree": TREE}):
        safe = sf.protect(TABLE, words(taxonomy)).apply(TABLE)
        assert sf.compare(TABLE, safe, words(taxonomy)).table.share_lost == 0


def test_the_doctor_names_the_option_and_is_silent_where_it_is_used():
    (twins,) = [one for one in check_policy(words(spelling=None), TABLE) if one.name == "look-alikes"]
    assert "spelling: folded" in twins.remedy
    masked = words({"mask": "right"}, spelling=None)
    (read,) = [one for one in check_policy(masked, TABLE) if one.name == "look-alikes"]
    assert "spelling: folded" not in read.remedy
    for taxonomy in (None, {"tree": TREE}):
        assert not {one.name for one in check_policy(words(taxonomy), TABLE)} & {
            "look-alikes",
            "lacking",
            "never-seen",
        }
