"""Several quasi-sensitive columns about the same labels: judged together, against the definitions.

`SFUMATO_CASES` says how many random tables are tried.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from oracles import beliefs as plain
from sfumato.models.contract import Promises, joint_columns_of, with_derived
from sfumato.models.quasi_sensitive.knowledge import Knowledge, merged
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, BadPolicy
from sfumato.table.classes import Classes
from sfumato.table.microdata import Column, Microdata, Role, tagged, text_of
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.protect_file import protect_file
from verify.both import recheck

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("SFUMATO_CASES", "60"))
OLD = Path(__file__).parents[2] / "golden" / "quasi_sensitive_together"
F = Fraction
ONE = F(1)
LABELS, TERMS = "ABCD", "123"


def linked(tables, row):
    """The labels that every cell of a row links to."""
    found = [plain.linked(known, terms) for known, terms in zip(tables, row, strict=True)]
    return set.intersection(*found)


def posterior(tables, rows, common=None):
    found = dict.fromkeys(plain.labels_of(tables[0]), F(0))
    for row in rows:
        weigh = {label: F((common or {}).get(label, 1)) for label in linked(tables, row)}
        for label, weight in weigh.items():
            found[label] += weight / (sum(weigh.values()) * len(rows))
    return found


def by_worlds(tables, rows, common):
    """The same by enumeration: everybody has one label that all cells link to, drawn as labels are common."""
    found, whole = dict.fromkeys(plain.labels_of(tables[0]), F(0)), F(0)
    for world in product(*(sorted(linked(tables, row)) for row in rows)):
        likely = prod(F(common[label]) for label in world)
        whole += likely
        for label in world:
            found[label] += likely / len(rows)
    return {label: share / whole for label, share in found.items()}


def diverse(belief, c, few):
    falling = sorted((p for p in belief.values() if p), reverse=True)
    return not falling or (len(falling) >= few and falling[0] <= c * sum(falling[few - 1 :]))


def near(belief, before, t):
    return sum((belief[label] - before[label]) ** 2 for label in belief) <= t * t


@dataclass(frozen=True)
class Asked:
    """What is promised of one column: diversity (c, l) or closeness t."""

    kind: str
    c: Fraction = ONE
    few: int = 2
    t: Fraction = ONE

    def kept(self, belief, before):
        return diverse(belief, self.c, self.few) if self.kind == "diversity" else near(belief, before, self.t)

    def promise(self, column, known, common=None):
        knowledge = Knowledge.of(known)
        if self.kind == "diversity":
            return QuasiSensitiveDiversity(column, knowledge, l=self.few, c=self.c, prevalence=common)
        return QuasiSensitiveCloseness(column, knowledge, t=self.t, prevalence=common)

    def words(self, column, known, common=None):
        table = {}
        for label, terms in known:
            table.setdefault(label, []).append(list(terms))
        own = {"l": self.few, "c": str(self.c)} if self.kind == "diversity" else {"t": str(self.t)}
        own |= {"prevalence": common} if common else {}
        return {"quasi-sensitive": {"of": column, "kind": self.kind, "knowledge": table, **own}}


def kept_by_definition(tables, asked, classes, common=None):
    """Whether every set of tables keeps every promise about one of them, in every class."""
    everybody = [row for rows in classes for row in rows]
    for size in range(1, len(tables) + 1):
        for some in combinations(range(len(tables)), size):
            known = [tables[d] for d in some]
            before = posterior(known, [[row[d] for d in some] for row in everybody], common)
            for rows in classes:
                belief = posterior(known, [[row[d] for d in some] for row in rows], common)
                if not all(asked[d].kept(belief, before) for d in some):
                    return False
    return True


def safe_from_all_tables(tables, asked, classes, common=None):
    before = posterior(tables, [row for rows in classes for row in rows], common)
    return all(a.kept(posterior(tables, rows, common), before) for a in asked for rows in classes)


def contradicts(tables, asked, classes):
    """Whether a closeness meets rows whose cells link to no label together."""
    subsets = [s for n in range(2, len(tables) + 1) for s in combinations(range(len(tables)), n)]
    return any(
        not linked([tables[d] for d in some], [row[d] for d in some])
        for some in subsets
        if any(asked[d].kind == "closeness" for d in some)
        for rows in classes
        for row in rows
    )


def random_case(rng, *, columns=None):
    count = columns or rng.choice([2, 2, 2, 3])
    tables = [
        [
            (label, tuple(sorted(rng.sample(TERMS, rng.randint(1, 3)))))
            for label in LABELS
            for _ in range(rng.choice([1, 1, 2]))
        ]
        for _ in range(count)
    ]
    asked = []
    for _ in range(count):
        kind = rng.choice(["diversity", "diversity", "closeness"])
        c, few, t = (
            rng.choice([F(1, 2), F(1), F(2)]),
            rng.choice([1, 2, 3]),
            rng.choice([F(1, 4), F(1, 2), F(3, 4)]),
        )
        asked.append(Asked(kind, c, few, t))
    truth = [[rng.choice(LABELS) for _ in range(rng.randint(1, 4))] for _ in range(rng.choice([1, 2]))]

    def cell(table, label):
        label = rng.choice(LABELS) if rng.random() < 1 / 20 else label
        held = rng.choice([terms for other, terms in table if other == label])
        return tuple(sorted(rng.sample(held, rng.randint(0, len(held)))))

    classes = [[[cell(table, label) for table in tables] for label in rows] for rows in truth]
    return tables, asked, classes


def microdata(tables, classes, joints):
    rows = [(q, *row) for q, held in enumerate(classes) for row in held]
    columns = [Column("q", Role.QUASI, Taxonomy.flat([f"q{i}" for i in range(len(classes))]))]
    codes = [np.array([row[0] for row in rows], np.int32)]
    for d in range(len(tables)):
        texts = [text_of(row[1 + d]) for row in rows]
        order = sorted(set(texts))
        columns.append(Column(f"s{d}", Role.QUASI_SENSITIVE, Taxonomy.flat(order)))
        codes.append(np.array([order.index(text) for text in texts], np.int32))
    return replace(Microdata.of_codes(columns, codes), joints=joints)


def certified(tables, asked, classes, common=None):
    """Whether the promises, and what follows from them, hold; `None` where a row contradicts itself."""
    pairs = enumerate(zip(asked, tables, strict=True))
    made = [a.promise(f"s{d}", known, common) for d, (a, known) in pairs]
    promises = with_derived(Promises(tuple(made)))
    table = microdata(tables, classes, joint_columns_of(promises))
    try:
        promises = Promises(tuple(p.given_original(table) for p in promises))
    except BadData:
        return None
    found = Classes.of(table, table.codes("q"), sensitive=promises.sensitive)
    return bool(promises.holds_on(found).all())


def random_prevalence(rng):
    return {label: rng.choice([1, 1, 2, 5, F(1, 3)]) for label in LABELS}


def search(cases, seed=0, *, weighed=False):
    rng = random.Random(seed)
    figures = dict.fromkeys(
        ["certified", "breached", "refused", "safe_but_refused", "contradictory", "alone"], 0
    )
    for _ in range(cases):
        tables, asked, classes = random_case(rng)
        common = random_prevalence(rng) if weighed else None
        truth = kept_by_definition(tables, asked, classes, common)
        found = certified(tables, asked, classes, common)
        if found is None:
            assert contradicts(tables, asked, classes)
            figures["contradictory"] += 1
            continue
        assert found == truth, (tables, asked, classes)
        safe = safe_from_all_tables(tables, asked, classes, common)
        figures["certified" if found else "refused"] += 1
        figures["breached"] += found and not safe
        figures["safe_but_refused"] += safe and not found
        each = [kept_by_definition([t], [a], [[[row[d]] for row in rows] for rows in classes], common)
                for d, (t, a) in enumerate(zip(tables, asked, strict=True))]  # fmt: skip
        figures["alone"] += all(each) and not safe
    return figures


@pytest.mark.parametrize("weighed", [False, True])
def test_random_tables_are_judged_as_the_definitions_say(weighed):
    figures = search(CASES, weighed=weighed)
    print(figures)
    assert figures["breached"] == 0
    assert figures["certified"] and figures["refused"] and figures["alone"]


def test_beliefs_weighed_by_prevalence_are_those_of_all_worlds():
    rng = random.Random(4)
    for _ in range(CASES):
        tables, _, classes = random_case(rng)
        common = random_prevalence(rng)
        for rows in classes:
            held = [row for row in rows if linked(tables, row)]
            if held:
                assert posterior(tables, held, common) == by_worlds(tables, held, common)


def test_a_joint_value_links_to_what_all_its_parts_link_to():
    rng = random.Random(3)
    for _ in range(CASES):
        tables, _, classes = random_case(rng)
        both = merged([Knowledge.of(known) for known in tables])
        for row in (row for rows in classes for row in rows):
            terms = [term for d, cell in enumerate(row) for term in tagged(d, cell)]
            assert set(both.linked(terms)) == linked(tables, row)


def policy_of(tables, asked, common=None, **protect):
    columns = {"q": {"role": "quasi"}, **{f"s{d}": {"role": "quasi-sensitive"} for d in range(len(tables))}}
    pairs = enumerate(zip(asked, tables, strict=True))
    made = [a.words(f"s{d}", known, common) for d, (a, known) in pairs]
    return {"columns": columns, "promises": [{"k-anonymity": {"k": 1}}, *made], "protect": protect}


def frame_of(classes):
    rows = [{"q": f"q{q}", **{f"s{d}": ";".join(cell) for d, cell in enumerate(row)}}
            for q, held in enumerate(classes) for row in held]  # fmt: skip
    return pl.DataFrame(rows)


def classes_of(path, count):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    cells = [[tuple(sorted(t for t in x.split(";") if t)) for x in frame[f"s{d}"]] for d in range(count)]
    groups = {}
    for q, *row in zip(frame["q"], *cells, strict=True):
        groups.setdefault(q, []).append(list(row))
    return list(groups.values())


@pytest.mark.parametrize("seed", range(max(6, CASES // 40)))
@pytest.mark.parametrize("method", ["exact", "keep"])
def test_what_is_published_keeps_what_all_columns_say_together(tmp_path, seed, method):
    rng = random.Random(seed)
    tables, asked, classes = random_case(rng)
    asked = [replace(a, kind="diversity", c=F(2), few=min(2, a.few)) for a in asked]
    common = {label: 1 + i for i, label in enumerate(LABELS)} if seed % 2 else None
    words = policy_of(tables, asked, common, terms={"method": method})
    try:
        _, verdicts = protect_file(frame_of(classes), words, tmp_path / "safe.csv")
    except sf.SfumatoError as refused:
        assert "This is a bug" not in str(refused)
        assert method == "keep", "with every term gone no label is more likely than twice the others"
        return
    assert all(v.holds for v in verdicts)
    assert len(verdicts) > 1 + len(tables), "what they say together has verdicts of its own"
    assert kept_by_definition(tables, asked, classes_of(tmp_path / "safe.csv", len(tables)), common)
    assert all(v.holds for v in recheck(tmp_path / "safe.csv", Policy.from_dict(words)))


@pytest.mark.parametrize("seed", range(8))
def test_the_second_judge_says_the_same(tmp_path, seed):
    rng = random.Random(100 + seed)
    tables, asked, classes = random_case(rng)
    common = {label: str(n) for label, n in random_prevalence(rng).items()} if seed % 2 else None
    asked = [replace(a, kind="diversity") for a in asked]
    if any(a.c * (len(LABELS) - a.few + 1) < 1 for a in asked):
        asked = [replace(a, c=F(2)) for a in asked]
    rule = Policy.from_dict(policy_of(tables, asked, common, terms={"method": "keep"}))
    frame_of(classes).write_csv(tmp_path / "table.csv")
    judged = recheck(tmp_path / "table.csv", rule)
    exact = {label: F(n) for label, n in common.items()} if common else None
    assert all(v.holds for v in judged) == kept_by_definition(tables, asked, classes, exact)
    assert all(v.holds for v in judged) == certified(tables, asked, classes, exact)


def test_each_alone_leaves_two_labels_and_both_together_one():
    ills = [("Flu", ("fever",)), ("Cold", ("fever",)), ("HIV", ("rash",)), ("Gout", ("rash",))]
    drugs = [("Flu", ("A",)), ("HIV", ("A",)), ("Cold", ("B",)), ("Gout", ("B",))]
    row = (("rash",), ("A",))
    assert [len(plain.linked(known, terms)) for known, terms in zip((ills, drugs), row, strict=True)] == [
        2,
        2,
    ]
    assert posterior([ills, drugs], [row])["HIV"] == 1
    two = Asked("diversity")
    assert certified([ills], [two], [[[row[0]]]]) and not certified([ills, drugs], [two, two], [[row]])


def test_one_alone_may_break_what_both_together_keep():
    first = [("A", ("1", "2", "3")), ("B", ("1",)), ("C", ("2",)), ("D", ("3",))]
    second = [("A", ("6",)), ("B", ("4", "6")), ("C", ("4", "5")), ("D", ("5",))]
    rows = [(("1",), ("4",)), (("2",), ("5",)), (("3",), ("6",))]
    assert sorted(posterior([first, second], rows).values()) == [0, F(1, 3), F(1, 3), F(1, 3)]
    assert posterior([first], [row[:1] for row in rows])["A"] == F(1, 2)
    half = Asked("diversity", c=F(1, 2))
    assert safe_from_all_tables([first, second], [half, half], [rows])
    assert not certified([first, second], [half, half], [rows])


def test_the_attack_finds_the_label_of_everybody_in_the_old_output_and_of_nobody_in_the_new(tmp_path):
    old = pd.read_csv(OLD / "old.csv", dtype=str)
    found = sf.attack("quasi-sensitive", old, OLD / "policy.yaml").findings
    sure = [f for f in found if f.breach and f.confidence == 1 and "label" in f.details]
    assert [(f.details["label"], f.people) for f in sure] == [("HIV", 6)]
    assert [v.holds for v in sf.audit(old, OLD / "policy.yaml").verdicts] == [True, True, True, False]
    protect_file(old, OLD / "policy.yaml", tmp_path / "new.csv")
    again = sf.attack("quasi-sensitive", tmp_path / "new.csv", OLD / "policy.yaml")
    assert not again.breaches
    assert all(v.holds for v in again.verdicts)


@pytest.mark.parametrize(
    "labels, said",
    [
        (["ABC", "ABD"], "shares some labels"),
        (["AB"] * 5, "at most 4 are judged together"),
    ],
)
def test_what_cannot_be_judged_together_is_refused(labels, said):
    tables = [[(label, ("1",)) for label in some] for some in labels]
    asked = [Asked("diversity", few=1) for _ in tables]
    with pytest.raises(BadPolicy, match=said):
        Policy.from_dict(policy_of(tables, asked))
    apart = [[(f"{d}{label}", ("1",)) for label in some] for d, some in enumerate(labels)]
    fine = Policy.from_dict(policy_of(apart, asked))
    assert not any(p.derived for p in fine.promises.of_terms), "unrelated labels need no joint judgement"


def test_promises_about_the_same_labels_need_the_same_prevalence():
    tables = [[("A", ("1",)), ("B", ("2",))]] * 2
    words = policy_of(tables, [Asked("diversity", few=1)] * 2)
    words["promises"][1]["quasi-sensitive"]["prevalence"] = {"A": 1, "B": 2}
    with pytest.raises(BadPolicy, match="says otherwise how common"):
        Policy.from_dict(words)
    words["promises"][2]["quasi-sensitive"]["prevalence"] = {"A": "1/4", "B": "1/2"}
    assert any(p.derived for p in Policy.from_dict(words).promises.of_terms), "the unit does not matter"


@pytest.mark.parametrize("common", [None, {"A": 1, "B": 2}])
def test_people_with_several_rows_are_refused_whatever_labels_weigh(common):
    words = policy_of([[("A", ("1",)), ("B", ("2",))]] * 2, [Asked("diversity", few=1)] * 2, common)
    words["columns"]["who"] = {"role": "identifier"}
    with pytest.raises(BadPolicy, match="join the rows of a person"):
        Policy.from_dict({**words, "person": "who"})


def test_closeness_of_rows_that_contradict_themselves_is_refused():
    tables = [[("A", ("1",)), ("B", ("2",))], [("A", ("1",)), ("B", ("2",))]]
    words = policy_of(tables, [Asked("closeness")] * 2)
    with pytest.raises(BadData, match="link"):
        sf.protect(frame_of([[(("1",), ("2",)), (("1",), ("1",))]]), words)
    loose = policy_of(tables, [Asked("diversity", few=1)] * 2)
    assert sf.protect(frame_of([[(("1",), ("2",)), (("1",), ("1",))]]), loose) is not None


def test_what_is_derived_stands_in_no_policy():
    tables = [[("A", ("1",)), ("B", ("2",))]] * 2
    rule = Policy.from_dict(policy_of(tables, [Asked("diversity", few=1)] * 2))
    assert len(rule.promises.members) == 4 and sum(p.derived for p in rule.promises.of_terms) == 1
    assert len(rule.to_dict()["promises"]) == 3
    assert Policy.from_dict(rule.to_dict()).digest == rule.digest
