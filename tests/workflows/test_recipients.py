"""A release in several versions, from the call to the folders."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.inputs import count_table
from sfumato.recipients.traced_versions import POOL
from sfumato.recipients.versions import ShownDetail
from sfumato.releases.certificate import examine
from sfumato.system.errors import BadTaxonomy, Infeasible, RefusedByHistory, UsageError
from sfumato.table.cut import Cut
from sfumato.table.release_summary import Imprint
from sfumato.table.source import open_source

pytestmark = pytest.mark.slow

NAMES = ["registry", "university", "Ärzte"]
TREE = {"flu": ["viral", "*"], "cold": ["viral", "*"], "ulcer": ["other", "*"], "cut": ["other", "*"]}


def people(rows=1000, seed=3):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"canary-{i}" for i in range(rows)],
            "zip": [f"{z:03d}" for z in rng.integers(0, 40, rows)],
            "age": [str(a) for a in rng.integers(20, 60, rows)],
            "sex": rng.choice(["m", "f"], rows).tolist(),
            "disease": rng.choice(list(TREE), rows).tolist(),
            "ward": rng.choice(["north", "south"], rows).tolist(),
        }
    )


def policy(*, k=4, promises=(), protect=None, **rule):
    return sf.Policy.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
                "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 80}},
                "sex": {"role": "quasi"},
                "disease": {"role": "sensitive"},
                "ward": {"role": "insensitive"},
            },
            "promises": [{"k-anonymity": {"k": k}}, *promises],
            "protect": {"search": "top-down", "suppress": 0},
            "recipients": {"quality": "entropy", "tolerance": "100%", **rule},
            **({} if protect is None else {"protect": protect}),
            "confirm": {"disease": True},
        }
    )


@pytest.fixture
def go(tmp_path):
    """Release into a new folder of tmp_path."""

    def call(data, rules, into, to, **more):
        return sf.release(
            data, rules, ledger=f"sqlite:///{tmp_path}/ledger.db", into=tmp_path / into, to=to, **more
        )

    return call


def ledger(tmp_path):
    return sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True)


def shown(folder):
    return pl.read_csv(folder / "data.csv", infer_schema=False)


def test_everybody_gets_a_version_of_their_own(go, tmp_path):
    event = go(people(), policy(), "out", NAMES)
    assert [r.record.recipient for r in event.receipts] == NAMES
    tables = [shown(tmp_path / "out" / name) for name in NAMES]
    for one, table in zip(NAMES, tables, strict=True):
        found = examine(tmp_path / "out" / one / "certificate.json", key=ledger(tmp_path).public_key)
        assert found.holds is True
        assert table.height == 1000
        assert table.group_by("zip", "age", "sex").len()["len"].min() >= 4
        assert table["disease"].sort().equals(people()["disease"].sort()), "values are never altered"
        keys = [row[:3] for row in table.rows()]
        runs = [key for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
        assert len(runs) == len(set(runs)), "rows are in an order that published values decide"
        inside = table.group_by("zip", "age", "sex", maintain_order=True).agg(pl.struct("disease", "ward"))
        assert all(part.to_list() == sorted(part.to_list(), key=str) for part in inside[:, 3])
    assert (
        len({tuple(map(tuple, t.select("zip", "age", "sex").unique().sort(pl.all()).rows())) for t in tables})
        == 3
    )
    records = ledger(tmp_path).history("main")
    assert len({r.event for r in records}) == 1
    assert [r.sequence for r in records] == [1, 2, 3]
    assert [r.number for r in records] == [2, 3, 4]
    assert ledger(tmp_path).verify().holds
    assert all(Imprint.from_json(r.memory).rows == 1000 for r in records)
    assert records[0].trees["columns"][0]["marks"]


def test_a_certificate_says_nothing_of_the_others(go, tmp_path):
    event = go(people(), policy(), "out", NAMES)
    mine = (tmp_path / "out" / "registry").rglob("*.json")
    text = "".join(path.read_text(encoding="utf-8") for path in mine)
    for other in event.receipts[1:]:
        assert other.record.recipient not in text
        assert other.record.release not in text
        assert json.dumps(other.record.cuts) not in text
    assert "canary" not in text


def test_the_same_call_gives_the_same_versions_whatever_the_order(go, tmp_path):
    go(people(), policy(), "out", NAMES)
    one = {r.recipient: r.cuts for r in ledger(tmp_path).history("main")}
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "ledger.db.key", other / "ledger.db.key")
    event = sf.release(
        people().sample(fraction=1, shuffle=True, seed=1),
        policy(),
        ledger=f"sqlite:///{other}/ledger.db",
        into=other / "out",
        to=NAMES[::-1],
    )
    assert {r.record.recipient: r.record.cuts for r in event.receipts} == one


def test_who_gets_which_version_is_drawn_by_the_key_of_the_ledger(tmp_path):
    """Every version may be anybody's: with as many keys, everybody gets several, all of one pool."""
    drawn, pools = {name: set() for name in NAMES}, set()
    for i in range(8):
        url = f"sqlite:///{tmp_path}/l{i}.db"
        event = sf.release(people(), policy(), ledger=url, to=NAMES, into=tmp_path / f"out{i}")
        for receipt in event.receipts:
            drawn[receipt.record.recipient].add(json.dumps(receipt.record.cuts, sort_keys=True))
            pools.add(json.dumps(receipt.record.trees[POOL], sort_keys=True))
    assert all(len(versions) > 1 for versions in drawn.values()) and len(pools) == 1


def test_whoever_comes_later_leaves_the_others_as_they_are(go, tmp_path):
    go(people(), policy(), "out", NAMES[:2])
    later = go(people(), policy(), "later", NAMES[2])
    assert later.record.sequence == 3
    assert sorted(path.name for path in (tmp_path / "later").iterdir()) == [
        "certificate.json",
        "data.csv",
        "dictionary.html",
        "dictionary.json",
        "manifest.json",
    ]
    cuts = [json.dumps(r.cuts) for r in ledger(tmp_path).history("main")]
    assert len(set(cuts)) == 3


@pytest.mark.parametrize("change", ["one row less", "one value"])
def test_another_table_is_a_new_release_for_everybody(go, tmp_path, change):
    go(people(), policy(), "out", NAMES[:2])
    other = (
        people()[1:]
        if change == "one row less"
        else people().with_columns(
            ward=pl.when(pl.col("name") == "canary-5").then(pl.lit("west")).otherwise("ward")
        )
    )
    with pytest.raises(RefusedByHistory, match=r"new release for everybody|not the one") as refused:
        go(other, policy(), "later", NAMES[2])
    assert refused.value.exit_code == 5
    assert not (tmp_path / "later").exists()
    assert len(ledger(tmp_path).history()) == 2


def test_nobody_gets_a_second_version_of_a_table(go, tmp_path):
    go(people(), policy(), "out", NAMES)
    with pytest.raises(RefusedByHistory, match="has a version of this table already"):
        go(people(), policy(), "later", [NAMES[0], "new"])
    assert len(ledger(tmp_path).history()) == 3


@pytest.mark.parametrize(
    ("to", "error"),
    [
        (["a", "a"], UsageError),
        (["a", "A"], UsageError),
        (["a", "b/c"], UsageError),
        (["a", ".."], UsageError),
        (["a", "nul"], UsageError),
        (["a", " "], UsageError),
        (["a", "b\u200b"], UsageError),
        (["a", "a\n"], UsageError),
        (["a", "b" * 200], UsageError),
        ([f"r{i}" for i in range(400)], Infeasible),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_recorded(go, tmp_path, to, error):
    with pytest.raises(error):
        go(people(), policy(), "out", to)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".staged-*"))
    if (tmp_path / "ledger.db").exists():
        assert ledger(tmp_path).history() == ()


def test_too_many_are_told_what_it_would_take(go):
    with pytest.raises(Infeasible, match="this policy serves 1 recipient at this quality") as refused:
        go(people(), policy(tolerance=0), "out", NAMES)
    assert "recipients.tolerance" in refused.value.remedy


def test_values_that_a_taxonomy_lacks_are_refused(go, tmp_path):
    rules = policy().to_dict()
    rules["columns"]["zip"]["taxonomy"] = {"tree": {"0": ["000", "001"]}}
    with pytest.raises(BadTaxonomy):
        go(people(), rules, "out", NAMES)
    assert ledger(tmp_path).history() == ()


def test_a_rehearsal_says_the_capacity_first_and_writes_nothing(tmp_path):
    event = sf.release(people(), policy(), ledger=f"sqlite:///{tmp_path}/l.db", to=NAMES, dry_run=True)
    assert str(event).startswith("this policy serves ")
    assert event.as_dict()["capacity"]["recipients"] >= 3
    assert not event.published
    assert list(tmp_path.iterdir()) == []


def test_a_single_recipient_first_then_versions_beside_it(go, tmp_path):
    """The first release is what the policy's search finds; the second is told apart from it."""
    rules = {name: words for name, words in policy().to_dict().items() if name != "recipients"}
    first = go(people(3000), rules, "one", "registry")
    assert first.record.recipient == "registry"
    (record,) = ledger(tmp_path).history("main")
    assert record.memory
    assert record.trees
    later = go(people(3000), rules, "two", "university")
    one, two = ledger(tmp_path).history("main")
    table = count_table(open_source(people(3000)), policy())
    trees = {c.name: c.taxonomy for c in table.keys}
    cuts = [{n: Cut.of_nodes(trees[n], nodes) for n, nodes in r.cuts.items()} for r in (one, two)]
    assert later.record.sequence == 2
    shape = ShownDetail(table)
    assert not shape.builds([cuts[0]], cuts[1])
    assert not shape.builds([cuts[1]], cuts[0])


def test_a_chain_that_went_to_nobody_in_particular_has_no_versions(go, tmp_path):
    go(people(), policy(), "one", None)
    with pytest.raises(RefusedByHistory):
        go(people(), policy(), "two", NAMES)
    assert len(ledger(tmp_path).history()) == 1


def test_a_chain_of_continuous_has_one_version_for_all(go, tmp_path):
    words = {name: part for name, part in policy().to_dict().items() if name != "recipients"}
    words["promises"] = [{"continuous": {"k": 4, "person": "name"}}]
    with pytest.raises(UsageError, match="everybody gets the same version") as refused:
        go(people(), words, "out", NAMES)
    assert "`chain:`" in refused.value.remedy and not (tmp_path / "out").exists()
    assert go(people(), words, "out", NAMES[0]).record.recipient == NAMES[0]
