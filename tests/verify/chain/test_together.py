"""Positions and random worlds, judged a second time: from the source and from published counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from oracles.labels_behind_terms import COMMON, LINKS, OTHER_LINKS
from oracles.several_tables import even_case, random_case
from sfumato.inputs import count_table
from sfumato.models.continuous.people import Pool
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint
from sfumato.table.source import open_source
from sfumato.verify.chain.source import FilesQuestion, files_verdict
from sfumato.workflows.collusion import KnownTable, asked_of, judge_together

pytestmark = pytest.mark.slow

PROMISES = (
    {"k-anonymity": {"k": 2}},
    {"l-diversity": {"kind": "distinct", "of": "s", "l": 2}},
    {"l-diversity": {"kind": "entropy", "of": "s", "l": "3/2"}},
    {"l-diversity": {"kind": "recursive", "of": "s", "l": 2, "c": 2}},
    {"confidence-bounding": {"of": "s", "confidence": "1/2"}},
    {"alpha-k-anonymity": {"of": "s", "alpha": "2/3", "k": 2}},
    {"t-closeness": {"of": "s", "t": "1/2"}},
    {"beta-likeness": {"kind": "basic", "of": "s", "beta": 1}},
)
CASES = 40


def policy_of(case, promises, **recipients):
    keys = {
        f"q{j}": {"role": "quasi", "taxonomy": {"flat": list(tree.leaf_labels)}}
        for j, tree in enumerate(case.trees)
    }
    columns = {"since": {"role": "identifier"}, **keys, "s": {"role": "sensitive"}}
    rule = {"recipients": recipients} if recipients else {}
    return Policy.from_dict(
        {"columns": columns, "promises": promises, "protect": {"search": "top-down", "suppress": 0}, **rule}
    )


def frame_of(case):
    rows = [(f"Q{p[-1]}", *p[:-2], f"s{p[-2]}") for p in case.people]
    return pl.DataFrame(rows, schema=["since", *(f"q{j}" for j in range(len(case.trees))), "s"], orient="row")


def cuts_on(table, case, t):
    """The cuts of table t on the trees of a counted table."""
    shown = [np.array_equal(cut.node_of, Cut.leaves(cut.taxonomy).node_of) for cut in case.cuts[t]]
    pairs = zip(table.keys, shown, strict=True)
    return {c.name: Cut.leaves(c.taxonomy) if fine else Cut.root(c.taxonomy) for c, fine in pairs}


def said_by_the_judge(frame, policy, documents):
    try:
        judge_together(open_source(frame), policy, [KnownTable(d) for d in documents])
    except RefusedByHistory:
        return False
    return True


@pytest.mark.parametrize("tables", [2, 3])
@pytest.mark.parametrize("coalition", ["pairs", "any"])
def test_both_judges_say_the_same_of_versions(tables, coalition):
    rng, accepted = np.random.default_rng(tables), 0
    for number in range(CASES // 2):
        case = random_case(rng, chain=False, tables=tables)
        rules = policy_of(case, [PROMISES[number % len(PROMISES)]], coalition=coalition)
        frame = frame_of(case)
        table = count_table(open_source(frame), rules)
        versions = [cuts_on(table, case, t) for t in range(tables)]
        pool = Pool(table, rules.promises)
        mine = pool.keeps_pairs(versions) if coalition == "pairs" else pool.keeps_all(versions)
        documents = [Imprint.of(Recoding.of_cuts(table, v), ["s"]).as_dict() for v in versions]
        assert said_by_the_judge(frame, rules, documents) is mine
        accepted += mine
    assert accepted


def words_of(known):
    table = {}
    for label, terms in known:
        table.setdefault(label, []).append(list(terms))
    return table


@pytest.mark.parametrize("tables", [2, 3])
def test_both_judges_say_the_same_of_two_columns_of_terms(tables):
    """Each alone and both together, with and without prevalence: the keys that no promise writes, too."""
    rng, accepted, limits = np.random.default_rng(30 + tables), 0, [{"c": 1}, {"c": 4}]
    for number in range(CASES // 2):
        make = even_case if number % 2 else random_case
        case = make(rng, chain=False, tables=tables)
        limit = {"l": 2, **limits[number // 2 % 2], **({"prevalence": COMMON} if number % 3 else {})}
        pairs = (("s", LINKS), ("r", OTHER_LINKS))
        asked = [{"quasi-sensitive": {"of": of, "knowledge": words_of(k), **limit}} for of, k in pairs]
        plain = policy_of(case, PROMISES[:1], coalition="any").to_dict()
        terms = {name: {"role": "quasi-sensitive"} for name in ("s", "r")}
        rules = Policy.from_dict({**plain, "columns": plain["columns"] | terms, "promises": asked})
        frame = frame_of(case).with_columns(r=pl.Series([f"r{p[-2] % 2}" for p in case.people]))
        table = count_table(open_source(frame), rules)
        versions = [cuts_on(table, case, t) for t in range(tables)]
        mine = Pool(table, rules.promises).keeps_all(versions)
        documents = [Imprint.of(Recoding.of_cuts(table, v), ["s", "r"]).as_dict() for v in versions]
        assert said_by_the_judge(frame, rules, documents) is mine
        accepted += mine
    assert 0 < accepted < CASES // 2


@pytest.mark.parametrize("tables", [2, 3])
def test_both_judges_say_the_same_of_a_chain(tables):
    rng, accepted, tried = np.random.default_rng(tables + 5), 0, 0
    fixed = [p for p in PROMISES if not {"t-closeness", "beta-likeness"} & set(p)]
    while tried < CASES:
        case = random_case(rng, chain=True, tables=tables)
        if not any(p[-1] == 1 for p in case.people):
            continue
        tried += 1
        asked = {"k": 1, "since": "since", "survivors": True, "adversary": "register"}
        rules = policy_of(case, [fixed[tried % len(fixed)], {"continuous": asked}])
        frame = frame_of(case)
        table = count_table(open_source(frame), rules)
        imprints = []
        for t in range(tables):
            part = count_table(open_source(frame.filter(pl.col("since") <= f"Q{t + 1}")), rules)
            cuts = cuts_on(part, case, t)
            imprints.append(Imprint.of(Recoding.of_cuts(part, cuts), ["s"], since="since"))
        bound = rules.promises.given(imprints[:-1])
        mine = bound.of_table[0].verdict_on(table, cuts_on(table, case, tables - 1)).holds
        documents = [i.as_dict() for i in imprints]
        assert said_by_the_judge(frame, rules, documents) is mine
        accepted += mine
    assert accepted


def square(*cells):
    rows = [
        ("Q1", f"a{i // 2}", f"b{i % 2}", f"s{s}")
        for s, counts in enumerate(cells)
        for i, n in enumerate(counts)
        for _ in range(n)
    ]
    return pl.DataFrame(rows, schema=["since", "q0", "q1", "s"], orient="row")


def of_square(frame, *promises):
    keys = {
        n: {"role": "quasi", "taxonomy": {"flat": [f"{c}0", f"{c}1"]}} for n, c in (("q0", "a"), ("q1", "b"))
    }
    columns = {"since": {"role": "identifier"}, **keys, "s": {"role": "sensitive"}}
    rules = Policy.from_dict(
        {
            "columns": columns,
            "promises": list(promises),
            "protect": {"search": "top-down", "suppress": 0},
            "recipients": {"coalition": "pairs"},
        }
    )
    table = count_table(open_source(frame), rules)
    shown = [{"q0"}, {"q1"}]
    versions = [
        {c.name: Cut.leaves(c.taxonomy) if c.name in some else Cut.root(c.taxonomy) for c in table.keys}
        for some in shown
    ]
    return rules, [Imprint.of(Recoding.of_cuts(table, v), ["s"]).as_dict() for v in versions]


def from_files(frame, k, *promises):
    rules, documents = of_square(frame, *promises)
    others = tuple(p.judge_data() for p in rules.promises.of_class if not p.by_size)
    values = {"s": sorted(frame["s"].unique().to_list())}
    return files_verdict("together", documents, FilesQuestion(judge_data(rules), k, others), values)


HALF = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}


def test_tables_alone_prove_it_where_every_cell_has_values_of_its_own():
    """Two values and three people each in every cell: every world has them there."""
    own = square(*([0] * i + [3] + [0] * (3 - i) for i in (0, 0, 1, 1, 2, 2, 3, 3)))
    assert from_files(own, 6, HALF).holds is True
    assert from_files(own, 1, {"confidence-bounding": {"of": "s", "confidence": "49/100"}}).holds is False
    assert from_files(own, 1, {"l-diversity": {"kind": "entropy", "of": "s", "l": 2}}).holds is True
    assert from_files(own, 1, {"l-diversity": {"kind": "distinct", "of": "s", "l": 2}}).holds is True


def test_tables_alone_refute_it_where_a_value_is_likely():
    ill = square([10, 0, 0, 0], *([[0, 2, 2, 200]] * 5))
    found = from_files(ill, 2, HALF)
    assert found.holds is False and "likely" in found.reason


def test_tables_alone_refute_k_where_a_class_has_no_cell_for_so_many():
    """Everybody of a0 has a value of their own: no cell of that class can hold two of them at a time."""
    apart = square([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 3, 3])
    found = from_files(apart, 2, {"k-anonymity": {"k": 2}})
    assert found.holds is False and "cell" in found.reason


def test_tables_alone_do_not_decide_what_depends_on_who_is_where():
    alternating = square([10, 0, 0, 10], [0, 10, 10, 0])
    found = from_files(alternating, 2, HALF)
    assert found.holds is None and "on the data" in found.reason


def test_another_table_than_the_published_one_is_refused():
    frame = square([2, 2, 2, 2], [2, 2, 2, 2])
    rules, documents = of_square(frame, HALF)
    tables = [KnownTable(d) for d in documents]
    assert judge_together(open_source(frame), rules, tables).smallest == 4
    for other in (frame[1:], frame.with_columns(s=pl.lit("s0"))):
        with pytest.raises(RefusedByHistory, match="counts again"):
            judge_together(open_source(other), rules, tables)


def test_positions_are_counted_from_a_file_as_from_a_frame(tmp_path):
    frame = square([2, 2, 2, 2], [2, 2, 2, 2])
    rules, documents = of_square(frame, HALF)
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        found = judge_together(open_source(tmp_path / name), rules, [KnownTable(d) for d in documents])
        assert (found.smallest, found.holds) == (4, True)


def test_spellings_of_one_value_are_one_and_missing_cells_are_none_for_both_judges():
    frame = square([2, 2, 2, 2], [2, 2, 2, 2]).with_columns(
        s=pl.col("s").replace({"s0": "HIV", "s1": "hiv "})
    )
    two = {"l-diversity": {"kind": "distinct", "of": "s", "l": 2}}
    rules, documents = of_square(frame, two)
    tables = [KnownTable(d) for d in documents]
    with pytest.raises(RefusedByHistory):
        judge_together(open_source(frame), rules, tables)
    table = count_table(open_source(frame), rules)
    versions = [
        {c.name: Cut.leaves(c.taxonomy) if c.name == some else Cut.root(c.taxonomy) for c in table.keys}
        for some in ("q0", "q1")
    ]
    assert not Pool(table, rules.promises).keeps_pairs(versions)


def test_a_smaller_k_is_asked_of_those_who_were_granted_it():
    frame = square([2, 2, 2, 2], [2, 2, 2, 2])
    rules, documents = of_square(frame, {"k-anonymity": {"k": 6}})
    with pytest.raises(RefusedByHistory, match="k = 6"):
        judge_together(open_source(frame), rules, [KnownTable(d) for d in documents])
    granted = [KnownTable(documents[0], 4), KnownTable(documents[1])]
    assert judge_together(open_source(frame), rules, granted).smallest == 4
    asked = asked_of(rules, granted)
    assert [some for some, _ in asked.groups] == [(0, 1), (1,)], "with the smaller k, and without its holder"
