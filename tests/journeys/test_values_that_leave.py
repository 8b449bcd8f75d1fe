"""Values that leave a table with their people: chains go on as if the policy had listed all values so far.

What is expected comes from the same chain under a policy that lists every value that ever occurred, and from
the enumeration of worlds.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from journeys import test_departures as departures
from journeys.canaries import files_with
from oracles.living_chains import LivingCase
from sfumato.cli.main import run
from sfumato.core.errors import RefusedByHistory, SfumatoError
from sfumato.core.imprint import Imprint
from sfumato.core.marks import tree_marks
from sfumato.journey.chain_check import judge_beside_earlier
from sfumato.journey.erase import erase
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.rows import WrittenRows
from sfumato.releases.ledger.ledger import Ledger

CASES = int(os.environ.get("SFUMATO_LEAVING_VALUES_CASES", "8"))
"""Random chains of each kind; hundreds of them are an experiment of minutes."""

PLACES = [f"{a}{b}{c}" for a in "01" for b in "123" for c in "3456"]
DAYS = [f"19{y}-{m:02}-{d:02}" for y in (71, 72, 85) for m in (1, 6) for d in (3, 30)]
HAD = ["flu", "cold"]
KINDS = {
    "place": (PLACES, [{"prefix": [2, 1]}, "flat", {"mask": "right", "steps": [1, 2]}]),
    "born": (DAYS, [{"date": ["month", "year"]}, "flat", {"date": ["quarter", "year", "decade"]}]),
}
SEARCHES = ("top-down", "optimum")


@dataclass
class RandomChain:
    """The tables of a chain that people leave, and the taxonomies of its keys."""

    tables: list
    taxonomies: dict
    terms: dict
    search: str

    def policy(self, taxonomies):
        columns = {name: {"role": "quasi", "taxonomy": rule} for name, rule in taxonomies.items()}
        return {
            "columns": {"who": {"role": "identifier"}, **columns, "has": {"role": "sensitive"}},
            "promises": [{"continuous": {"person": "who", **self.terms}}],
            "protect": {"suppress": 0, "search": self.search},
        }

    def policies(self):
        """For every table: the policy, and one that lists the values of all tables so far."""
        for i in range(len(self.tables)):
            so_far = pl.concat(self.tables[: i + 1])
            listed = {}
            for name, rule in self.taxonomies.items():
                values = so_far[name].unique().sort().to_list()
                listed[name] = dict(WrittenRows.of(rule_from(rule).build(values)).spec)
            yield self.policy(self.taxonomies), self.policy(listed)


def random_chain(seed, *, people=26, newcomers=6, leave=0.2, most=4, k=(2, 3)):
    """A chain whose values vanish and come back: few people have each of them."""
    rng = np.random.default_rng(seed)
    leavers = ("unknown", "unknown", "counted", "total")[rng.integers(4)]
    returns = leavers == "unknown" and bool(rng.integers(2))
    terms = {
        "k": int(rng.integers(k[0], k[1] + 1)),
        "leavers": leavers,
        **({"returns": True} if returns else {}),
    }
    kinds = {name: rules[rng.integers(len(rules))] for name, (_, rules) in KINDS.items()}

    def person(n):
        cells = {name: values[rng.integers(len(values))] for name, (values, _) in KINDS.items()}
        return {"who": f"p{n}", **cells, "has": HAD[rng.integers(2)]}

    everybody = [person(n) for n in range(people)]
    there, gone, tables = set(range(people)), set(), []
    for _ in range(int(rng.integers(2, most + 1))):
        tables.append(pl.DataFrame([everybody[n] for n in sorted(there)]))
        left = {n for n in there if rng.random() < leave}
        back = {n for n in gone if rng.random() < 0.5} if returns else set()
        everybody += [person(len(everybody) + n) for n in range(int(rng.integers(newcomers)))]
        there = (there - left) | back | (set(range(len(everybody))) - there - gone)
        gone = (gone | left) - back
    return RandomChain(tables, kinds, terms, SEARCHES[rng.integers(len(SEARCHES))])


def next_release(table, policy, earlier, folder):
    """What is published of a table, and what both judges say; or why it is refused."""
    try:
        plan = sf.protect(table, policy, earlier=earlier)
    except SfumatoError as refused:
        return None, (type(refused), refused.message)
    path = folder / "data.csv"
    plan.apply(table).write_csv(path)
    documents = [imprint.as_dict() for imprint in (*earlier, plan.imprint)]
    compared = judge_beside_earlier([path], documents, Policy.from_dict(policy))
    verdicts = sorted(repr(verdict) for verdict in plan.verdicts)
    return plan, (path.read_bytes(), plan.loss, plan.levels, plan.cuts, verdicts, compared)


@pytest.mark.parametrize("seed", range(CASES))
def test_a_chain_goes_on_as_if_all_values_had_been_listed(seed, tmp_path):
    chain = random_chain(seed)
    own, other = [], []
    for table, (policy, listed) in zip(chain.tables, chain.policies(), strict=True):
        mine, said = next_release(table, policy, own, tmp_path)
        theirs, asked = next_release(table, listed, other, tmp_path)
        if mine is None or theirs is None:
            assert said == asked
            return
        assert said[0] == asked[0], "the same bytes"
        assert said[1:3] == asked[1:3] and said[4:] == asked[4:]
        for name, labels in said[3].items():
            assert set(labels) <= set(asked[3][name])
        own.append(mine.imprint)
        other.append(theirs.imprint)
        for one, two in zip(mine.imprint.keys, theirs.imprint.keys, strict=True):
            assert set(one.marks.tolist()) == set(two.marks.tolist()), "both remember the same nodes"


def test_values_vanish_in_these_chains_and_come_back():
    """The random chains are about what they say."""
    vanish, back, published = 0, 0, 0
    for seed in range(CASES):
        chain, earlier, held, last = random_chain(seed), [], set(), set()
        for table in chain.tables:
            there = {(name, value) for name in KINDS for value in table[name].to_list()}
            vanish += len(held - there)
            back += len({pair for pair in held & there if pair not in last})
            held, last = held | there, there
            try:
                plan = sf.protect(table, chain.policy(chain.taxonomies), earlier=earlier)
            except SfumatoError:
                break
            published += bool(earlier)
            earlier.append(plan.imprint)
    assert vanish > CASES and back > CASES // 4 and published > CASES // 2, (vanish, back, published)


@pytest.mark.parametrize("seed", range(2 * CASES))
def test_nobody_is_left_below_k_in_any_world(seed):
    """Tiny chains with values that vanish, by the enumeration of worlds that give what was published."""
    chain = random_chain(1000 + seed, people=8, newcomers=4, leave=0.25, most=3, k=(2, 2))
    earlier, presence = [], {}
    for i, table in enumerate(chain.tables):
        try:
            plan = sf.protect(table, chain.policy(chain.taxonomies), earlier=earlier)
        except SfumatoError:
            break
        earlier.append(plan.imprint)
        for row in table.iter_rows():
            presence.setdefault(row, set()).add(i)
    if len(earlier) < 2:
        return
    so_far = pl.concat(chain.tables[: len(earlier)])
    trees = [
        rule_from(rule).build(so_far[name].unique().sort().to_list())
        for name, rule in chain.taxonomies.items()
    ]
    cuts = [
        [key.cut_on(tree, key.onto(tree)) for key, tree in zip(imprint.keys, trees, strict=True)]
        for imprint in earlier
    ]
    people = [
        (place, born, HAD.index(has), frozenset(there)) for (_, place, born, has), there in presence.items()
    ]
    case = LivingCase(trees, people, cuts, returns=chain.terms.get("returns", False))
    assert min(case.exact(chain.terms["leavers"]).values()) >= chain.terms["k"]


POLICY = {
    "columns": {
        "who": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 2, 1]}},
        "born": {"role": "quasi", "taxonomy": {"date": ["month", "year", "decade"]}},
        "has": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 4}}, {"continuous": {"k": 3, "person": "who", "leavers": "unknown"}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def members(count, start=0, seed=0):
    rng = np.random.default_rng([seed, start])
    days = np.datetime64("1950-01-01") + rng.integers(0, 18_000, count)
    return pl.DataFrame(
        {
            "who": [f"m{start + n:05}" for n in range(count)],
            "zip": [f"0{a}{b}{c}" for a, b, c in rng.integers(0, [3, 6, 10], (count, 3))],
            "born": [str(day) for day in days],
            "has": rng.choice(["flu", "cold", "asthma"], count),
        }
    )


def test_a_changed_taxonomy_is_still_refused():
    table = members(60)
    first = sf.protect(table, POLICY).imprint
    other = {
        **POLICY,
        "columns": {**POLICY["columns"], "zip": {"role": "quasi", "taxonomy": {"prefix": [2]}}},
    }
    with pytest.raises(RefusedByHistory, match="taxonomy of zip has changed"):
        sf.protect(table[5:], other, earlier=[first])


def test_an_imprint_that_remembers_is_read_back():
    table = members(60)
    first = sf.protect(table, POLICY).imprint
    second = sf.protect(table[5:], POLICY, earlier=[first]).imprint
    again = type(second).from_json(second.to_json())
    assert again.digest == second.digest
    third = sf.protect(table[8:], POLICY, earlier=[first, again])
    assert third.imprint.keys[0].digest != first.keys[0].digest
    (key,) = [key for key in third.imprint.keys if key.name == "zip"]
    tree = third.recoding.table.column("zip").taxonomy
    assert tree_marks(tree).tolist() == key.marks.tolist()


ONLY, GONE = "07777", "1931-07-19"
"""A postcode and a date of birth that one person has, who is erased."""


@pytest.fixture(scope="module")
def monthly(tmp_path_factory):
    """Four monthly releases by the program: some leave every month, and one whose values are theirs alone."""
    folder = tmp_path_factory.mktemp("monthly")
    url = f"sqlite:///{folder}/ledger.db"
    (folder / "policy.json").write_text(json.dumps(POLICY))
    people = members(150)
    alone = pl.DataFrame({"who": ["alone"], "zip": [ONLY], "born": [GONE], "has": ["flu"]})
    table, rng, codes = pl.concat([people, alone]), np.random.default_rng(5), []
    for month in range(4):
        data = folder / "in" / f"{month}.csv"
        data.parent.mkdir(exist_ok=True)
        (folder / "out").mkdir(exist_ok=True)
        table.write_csv(data)
        asked = ["release", str(data), "-p", str(folder / "policy.json"), "--ledger", url]
        codes.append(run([*asked, "--into", str(folder / "out" / str(month))]))
        if month == 0:
            codes.append(run(["erase", "--person", "alone", "--ledger", url, "--yes"]))
        stays = (rng.random(len(table)) > 0.03) & (table["who"] != "alone").to_numpy()
        table = pl.concat([table.filter(pl.Series(stays)), members(12, 1000 * (month + 1))])
    return folder, url, codes


def test_four_months_are_released_and_the_ledger_holds(monthly):
    folder, url, codes = monthly
    assert codes == [0] * 5
    first, *later = Ledger(url, readonly=True).history()
    held = set()
    for month, record in enumerate([first, *later]):
        table = pl.read_csv(folder / "in" / f"{month}.csv", infer_schema=False)
        zips = set(table["zip"].to_list())
        assert record.sequence == month + 1 and bool(held - zips) is (month > 0)
        held |= zips
    assert Ledger(url, readonly=True).verify().holds
    newest = str(folder / "out" / "3" / "data.csv")
    assert run(["audit", newest, "-p", str(folder / "policy.json"), "--against", url]) == 0


def test_texts_of_values_that_left_are_nowhere(monthly, capsys):
    folder, url, _ = monthly
    later = [folder / "out" / str(month) for month in (1, 2, 3)]
    places = [*later, *folder.glob("ledger.db*")]
    assert files_with(ONLY, *places) == files_with(GONE, *places) == []
    for record in Ledger(url, readonly=True).history():
        assert not any(word in bytes(record.memory) for word in (ONLY.encode(), GONE.encode(), b"Remembered"))
    capsys.readouterr()
    table = str(folder / "in" / "3.csv")
    asked = [table, "-p", str(folder / "policy.json"), "--against", url]
    assert run(["protect", *asked, "--dry-run", "--explain", "--json"]) == 0
    assert run(["protect", *asked, "-o", str(folder / "again.csv")]) == 0
    said = "".join(capsys.readouterr())
    assert not any(word in said for word in (ONLY, GONE, "Remembered"))
    assert files_with("Remembered", folder / "again.csv", *later) == []


def test_a_value_that_comes_back_is_known_again(monthly):
    """Somebody new with the values of the one who was erased: the tree has their node again."""
    folder, url, _ = monthly
    table = pl.read_csv(folder / "in" / "3.csv", infer_schema=False)
    history = [Imprint.from_json(record.memory) for record in Ledger(url, readonly=True).history()]
    new = pl.DataFrame({"who": ["new"], "zip": [ONLY], "born": [GONE], "has": ["flu"]})
    trees = [
        {c.name: c.taxonomy for c in sf.protect(some, POLICY, earlier=history).recoding.table.keys}
        for some in (table, pl.concat([table, members(5, 9000), new]))
    ]
    for name, value in (("zip", ONLY), ("born", GONE)):
        without, back = (some[name] for some in trees)
        assert without.rank(value) is None and back.rank(value) is not None
        mark = int(tree_marks(back)[back.node(value)])
        assert mark in tree_marks(without).tolist()


def test_an_erased_row_takes_its_value_along_where_batches_tell(tmp_path):
    """Rows of people who left stay in such a table, but not those of whoever was erased."""
    keys = {"k": 4, "since": "month", "until": "left", "person": "who", "leavers": "unknown"}
    columns = {**departures.COLUMNS, "place": {"role": "quasi", "taxonomy": "flat"}}
    policy = {
        "columns": columns,
        "promises": [{"continuous": keys}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    url, rows = f"sqlite:///{tmp_path}/l.db", [*departures.MAY, ("alone", "May", None, "Malta", "Flu")]
    sf.release(departures.table(rows), policy, ledger=url, into=tmp_path / "may")
    erase(["alone"], ledger=url, data=departures.table(rows), policy=policy)
    june = sf.release(
        departures.table([*rows[:-1], *departures.JUNE]), policy, ledger=url, into=tmp_path / "june"
    )
    assert june.record.sequence == 2 and Ledger(url, readonly=True).verify().holds


def test_the_last_missing_cell_may_leave_a_tree_that_the_policy_lists():
    columns = {**POLICY["columns"], "zip": {"role": "quasi", "taxonomy": {"tree": {"0": ["00", "01", "02"]}}}}
    policy = {**POLICY, "columns": columns}
    table = members(60).with_columns(pl.col("zip").str.head(2))
    empty = pl.DataFrame({"who": ["e"], "zip": [None], "born": ["1960-01-01"], "has": ["flu"]}, table.schema)
    first = sf.protect(pl.concat([table, empty]), policy).imprint
    tree = sf.protect(table, policy, earlier=[first]).recoding.table.column("zip").taxonomy
    assert tree.is_remembered.sum() == 1 and tree.rank(None) is None
    fewer = {**columns, "zip": {"role": "quasi", "taxonomy": {"tree": {"0": ["00", "01"]}}}}
    with pytest.raises(RefusedByHistory, match="taxonomy of zip has changed"):
        sf.protect(table.filter(pl.col("zip") != "02"), {**policy, "columns": fewer}, earlier=[first])


def test_who_moves_to_a_place_of_another_shape_is_not_taken_for_somebody_elsewhere():
    """A column that may change is not compared row by row, so its tree alone has to tell."""
    terms = {"k": 3, "person": "who", "leavers": "unknown", "moves": ["zip"]}
    policy = {**POLICY, "promises": [{"continuous": terms}]}
    table = members(60)
    first = sf.protect(table, policy).imprint
    sf.protect(table[4:], policy, earlier=[first])
    columns = {**POLICY["columns"], "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}}}
    with pytest.raises(RefusedByHistory, match="taxonomy of zip has changed"):
        sf.protect(table[4:], {**policy, "columns": columns}, earlier=[first])
