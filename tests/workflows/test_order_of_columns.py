"""Policies that list the same columns in another order from release to release, in a ledger."""

from __future__ import annotations

import json
from itertools import cycle, permutations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.models.continuous.promise import Continuous
from sfumato.workflows import chain_check
from sfumato.workflows.chain_check import closing_release

pytestmark = pytest.mark.slow

COLUMNS = {
    "who": {"role": "identifier"},
    "batch": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"intervals": [10, 40], "from": 0, "to": 80}},
    "zip": {"role": "quasi", "taxonomy": {"tree": {"1*": ["10", "11"], "2*": ["20", "21"]}}},
    "sex": {"role": "quasi", "taxonomy": {"tree": ["f", "m"]}},
    "disease": {"role": "sensitive", "taxonomy": {"tree": ["flu", "cold", "cough"]}},
    "ward": {"role": "insensitive"},
}
ORDERS = [list(order) for order in permutations(["age", "zip", "sex"])]
SINCE = {"continuous": {"k": 3, "since": "batch"}}


def people(number, *, rows=40):
    draw = np.random.default_rng(number)
    return pl.DataFrame(
        {
            "who": [f"{number}-{i}" for i in range(rows)],
            "batch": [f"{number}"] * rows,
            "age": draw.integers(0, 80, rows).astype(str),
            "zip": draw.choice(["10", "11", "20", "21"], rows),
            "sex": draw.choice(["f", "m"], rows),
            "disease": draw.choice(["flu", "cold", "cough"], rows),
            "ward": draw.choice(["north", "south"], rows),
        }
    )


def growing(count):
    batches = [people(number) for number in range(count)]
    return [pl.concat(batches[: i + 1]) for i in range(count)]


def policy(keys, *promises, **more):
    """A policy with its key columns in this order; the other columns come in another order, too."""
    others = ["who", "batch", "disease", "ward"]
    others = others[::-1] if keys[0] != "age" else others
    names = [*others[:2], *keys, *others[2:]]
    columns = {name: COLUMNS[name] for name in names}
    return {
        "columns": columns,
        "promises": list(promises or [SINCE]),
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"disease": True},
        **more,
    }


def chain_of(place, tables, orders, *promises, **more):
    """The records of a chain, each release under a policy with its columns in the next of these orders."""
    place.mkdir()
    records = []
    for number, (table, keys) in enumerate(zip(tables, cycle(orders), strict=False)):
        receipt = sf.release(
            table,
            policy(keys, *promises, **more),
            ledger=f"sqlite:///{place}/l.db",
            into=place / f"{number}",
        )
        records.append(receipt.record)
    return records


def files(place):
    return sorted(place.glob("*/**/data.csv"))


def rows_of(file):
    """The rows of a published file, whatever the order of its columns."""
    found = pl.read_csv(file, infer_schema=False)
    return sorted(found.select(sorted(found.columns)).rows())


def compare(tmp_path, tables, *promises, **more):
    """Makes a chain with one order and one that permutes it: both tell the same of every release."""
    plain = chain_of(tmp_path / "plain", tables, ORDERS[:1], *promises, **more)
    mixed = chain_of(tmp_path / "mixed", tables, ORDERS[::-1], *promises, **more)
    for one, other in zip(plain, mixed, strict=True):
        assert other.figures == one.figures
        assert other.verdicts == one.verdicts
        assert other.cuts == one.cuts
    published = files(tmp_path / "mixed")
    assert len(published) == len(mixed)
    for one, other in zip(files(tmp_path / "plain"), published, strict=True):
        assert rows_of(one) == rows_of(other)
    return mixed


def audits(tmp_path, *promises, **more):
    """What audits of every file beside both ledgers tell, by a policy in one order and by one in another."""
    told = []
    for chain in ("plain", "mixed"):
        ledger = f"sqlite:///{tmp_path}/{chain}/l.db"
        for keys in ORDERS[:2]:
            for file in files(tmp_path / chain):
                found = sf.audit(file, policy(keys, *promises, **more), against=ledger)
                assert not found.failed and not found.objections
                words = [(v.promise, v.word, v.measured) for v in found.verdicts]
                told.append(
                    (chain, keys, found.beside.place, words, sorted(f.sentence for f in found.findings))
                )
    return told


def test_a_chain_that_permutes_its_columns_is_one_with_a_single_order(tmp_path, monkeypatch):
    looked, attack = [], chain_check._chain_check_attacked
    monkeypatch.setattr(
        chain_check,
        "_chain_check_attacked",
        lambda *given: looked.append(closing_release(given[0], given[2])) or attack(*given),
    )
    tables = growing(6)
    records = compare(tmp_path, tables)
    assert all(record.figures["FA"] >= 3 for record in records[1:])
    assert looked[:5] == looked[5:] and any(start is not None for start in looked), (
        "settled ones are taken over"
    )
    kept = [json.loads(record.memory) for record in records]
    assert [[key["name"] for key in memory["keys"]] for memory in kept] == ORDERS[::-1]
    assert all("candidates" in memory for memory in kept)


def test_audits_and_attacks_find_the_same_in_any_order(tmp_path):
    compare(tmp_path, growing(4))
    told = audits(tmp_path)
    by_policy = {json.dumps(keys): [] for keys in ORDERS[:2]}
    for _, keys, *rest in told:
        by_policy[json.dumps(keys)].append(rest)
    for found in by_policy.values():
        assert found[:4] == found[4:]
    assert [place for _, _, place, *_ in told[:4]] == [1, 2, 3, 4]
    everything = files(tmp_path / "mixed")
    for keys in ORDERS[:2]:
        joint = sf.attack.correspondence(everything, policy(keys))
        same = sf.attack.correspondence(files(tmp_path / "plain"), policy(keys))
        assert (joint.holds, joint.FA, joint.BA) == (same.holds, same.FA, same.BA) and joint.holds


def test_a_table_in_memory_is_audited_beside_releases_in_other_orders(tmp_path):
    chain_of(tmp_path / "mixed", growing(3), ORDERS)
    ledger = f"sqlite:///{tmp_path}/mixed/l.db"
    for place, file in enumerate(files(tmp_path / "mixed")):
        shown = pl.read_csv(file, infer_schema=False)
        found = sf.audit(shown.select(shown.columns[::-1]), policy(ORDERS[3]), against=ledger)
        assert not found.objections and found.beside.place == place + 1


def test_what_survives_is_judged_where_columns_are_permuted(tmp_path):
    beside = {"continuous": {**SINCE["continuous"], "survivors": True}}
    diverse = {"l-diversity": {"of": "disease", "kind": "distinct", "l": 2}}
    compare(tmp_path, growing(3), diverse, beside)


def test_another_recipient_is_served_from_a_table_whose_policy_was_sorted_anew(tmp_path):
    """Without a promise about earlier releases, everybody has a version of the same table."""
    rule = {"tolerance": "1000%"}
    table = people(1, rows=300).drop("batch")
    ledger = f"sqlite:///{tmp_path}/l.db"
    for keys, name in zip(ORDERS, ["registry", "university", "ministry"], strict=False):
        rules = policy(keys, {"k-anonymity": {"k": 3}}, recipients=rule)
        del rules["columns"]["batch"]
        receipt = sf.release(table, rules, ledger=ledger, into=tmp_path / name, to=name)
        assert receipt.record.recipient == name


def test_releases_that_left_nothing_of_candidates_go_on_in_any_order(tmp_path, monkeypatch):
    tables, place = growing(4), tmp_path / "mixed"
    with monkeypatch.context() as older:
        older.setattr(Continuous, "candidates", lambda *_: None)
        chain_of(place, tables[:2], ORDERS)
    for number, keys in ((2, ORDERS[2]), (3, ORDERS[3])):
        ledger = f"sqlite:///{place}/l.db"
        receipt = sf.release(tables[number], policy(keys), ledger=ledger, into=place / f"{number}")
        assert receipt.record.figures["FA"] >= 3
    plain = chain_of(tmp_path / "plain", tables, ORDERS[:1])
    assert receipt.record.figures == plain[-1].figures and receipt.record.cuts == plain[-1].cuts


def test_a_table_with_its_columns_in_another_order_is_the_same_table(tmp_path):
    tables = growing(3)
    turned = [table.select(table.columns[:: 1 if i % 2 else -1]) for i, table in enumerate(tables)]
    plain = chain_of(tmp_path / "plain", tables, ORDERS[:1])
    other = chain_of(tmp_path / "other", turned, ORDERS[:1])
    assert [record.figures for record in other] == [record.figures for record in plain]
    for one, two in zip(files(tmp_path / "plain"), files(tmp_path / "other"), strict=True):
        assert rows_of(one) == rows_of(two)
