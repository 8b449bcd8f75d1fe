"""People with several rows show values once, and nothing depends on whose values are whose."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.inputs import open_table
from sfumato.policy.policy import Policy
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, BadPolicy, BrokenPromise, UsageError
from sfumato.verify.file import recheck
from sfumato.verify.groups import check_members
from sfumato.workflows.judgement import agreed, view_rules
from sfumato.workflows.protect import plan_table
from sfumato.workflows.protect_file import protect_file

COLUMNS = {
    "id": {"role": "identifier"},
    "day": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 80}},
    "sex": {"role": "quasi"},
    "illness": {"role": "sensitive"},
    "nights": {"role": "insensitive"},
}
K, L = {"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "illness", "l": 2, "kind": "distinct"}}


def policy(*promises, person="id", **protect):
    rule = {"search": "best", "suppress": "30%", **protect}
    words = {
        "columns": COLUMNS,
        "promises": list(promises or (K, L)),
        "protect": rule,
        "confirm": {"illness": True},
    }
    return Policy.from_dict({**words, **({} if person is None else {"person": person})})


def row(who, day, age, sex="f", illness="flu", nights=1):
    return dict(zip(COLUMNS, (who, day, age, sex, illness, nights), strict=True))


def clinic(people=40, visits=2):
    """Everybody's first visit, and further ones of every third person."""
    ills = ["flu", "cold", "burn", "gout"]
    rows = [
        row(f"P{who}", 1 + day, str(who * 2), "fm"[who % 2], ills[(who + day) % 4], who * 10 + day)
        for who in range(people)
        for day in range(visits if who % 3 == 0 else 1)
    ]
    return pl.DataFrame(rows)


def planned(table, rules, key=b"key"):
    return plan_table(open_table(table, None, rules), rules, coins=Coins(key))


def test_the_words_of_a_policy():
    assert policy().people.rows == 1 and policy().person == "id"
    asked = policy(person={"column": "id", "by": "day"})
    assert asked.people.by == "day" and Policy.from_dict(asked.to_dict()) == asked
    assert "person: {column: id, by: day}" in asked.to_yaml()
    assert policy(person={"column": "id", "rows": 1}).digest == policy().digest
    each = policy(person="each-row")
    assert each.person is None and each.people.each_row and each.to_dict()["person"] == "each-row"
    assert each.digest != policy(person=None).digest


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"person": {"column": "id", "knows": "profile"}}, "values once"),
        ({"person": "id", "chain": {"by": "day"}}, "named under person"),
        ({"person": {"column": "id", "by": "dya"}}, "no column dya"),
        ({"person": {"column": "id", "by": "illness"}}, "which values a person shows would depend"),
        ({"person": "nobody"}, "no column nobody"),
        ({"person": "age"}, "must not be published"),
        ({"person": "id", "missing": "suppress"}, "other rows of the same people"),
    ],
)
def test_what_is_refused_with_the_reason(changed, reason):
    with pytest.raises(BadPolicy, match=reason):
        Policy.from_dict({**policy().to_dict(), **changed})


@pytest.mark.parametrize("grouping", ["blind", "informed"])
@pytest.mark.parametrize("search", ["best", "top-down", "lattice", "local", "mondrian"])
def test_everybody_shows_values_once(grouping, search):
    if grouping == "blind" and search not in ("best", "local", "mondrian"):
        pytest.skip("only classes of any shape are made without looking at values")
    table = clinic()
    rules = policy(person={"column": "id", "by": "day"}, grouping=grouping, search=search)
    plan = planned(table, rules)
    assert plan.rows == len(table) and plan.people.bare + plan.people.absent >= 14
    safe = plan.apply(table)
    if search in ("top-down", "lattice"):  # no box of other people covers a row of the same cut
        assert "bare_row" not in safe.columns and plan.people.bare == 0
        return
    bare, first = (safe.filter(pl.col("bare_row") == word) for word in ("yes", "no"))
    assert len(bare) == plan.people.bare > 0
    assert bare["illness"].null_count() == bare["nights"].null_count() == len(bare)
    shown = Counter(first["nights"].to_list())
    assert set(shown.values()) == {1}, "no row of the source is there twice"
    assert all(nights % 10 == 0 for nights in shown), "values are those of first visits"
    alone = bare.join(first, on=["age", "sex"], how="anti").group_by("age", "sex").len()
    assert all(rows >= 2 for rows in alone["len"]), "boxes of people, or of bare rows of k people"


def test_a_plan_says_what_is_not_shown():
    plan = planned(clinic(), policy())
    text = str(plan)
    assert "14 people have several rows; values of 14 of 54 rows (25.9 %) are not shown" in text
    assert "not missing at random" in text and "shares of illness are wrong by at most" in text
    told = plan.as_dict()["people"]
    assert told["bare"] + told["not_shown"] == 14 and 0 <= told["largest_errors"]["illness"]["all_rows"] <= 1


def test_the_same_coins_give_the_same_plan_and_only_the_planned_rows_are_published():
    table, rules = clinic(), policy()
    plan, again = (planned(table, rules) for _ in range(2))
    assert plan.apply(table).equals(again.apply(table))
    with pytest.raises(BadData, match="not the table that was planned"):
        plan.apply(table.with_columns(pl.lit("cold").alias("illness")))
    with pytest.raises(UsageError, match="order of their own"):
        plan.apply(table, keep_index=True)


def test_typed_columns_stay_typed():
    table = clinic().to_pandas().assign(seen=True)
    columns = {**COLUMNS, "seen": {"role": "insensitive"}}
    safe = sf.protect(table, {**policy().to_dict(), "columns": columns}).apply(table)
    assert isinstance(safe, pd.DataFrame) and str(safe["nights"].dtype) == "Int64"
    assert str(safe["seen"].dtype) == "boolean" and safe["seen"].isna().sum() == 14


def test_people_with_one_row_each_are_planned_as_rows():
    table = clinic(visits=1)
    with_person, without = (planned(table, policy(K, person=who)) for who in ("id", None))
    assert with_person.people is None and with_person.loss == without.loss


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_judged_before_it_is_named_and_can_be_audited(tmp_path, ending):
    table, rules = clinic(), policy()
    plan, verdicts = protect_file(table, rules, tmp_path / f"safe.{ending}")
    assert plan.people.bare == 14 and all(verdict.holds for verdict in verdicts)
    audited = sf.audit(tmp_path / f"safe.{ending}", rules)
    assert [verdict.holds for verdict in audited.verdicts] == [True, True]


def written(tmp_path, change):
    """A published file and the judge's private one, after a change of the latter."""
    rules, base = policy(), planned(clinic(), policy()).people.base
    shown = base.shown()
    rows = pl.DataFrame(base.view(shown)), pl.DataFrame(base.view(shown, numbered=True))
    paths = tmp_path / "safe.csv", tmp_path / "numbered.csv"
    for frame, path in zip(change(*rows), paths, strict=True):
        frame.write_csv(path, line_terminator="\r\n")
    return rules, *paths


def in_rows(frame, column, value):
    """The frame with another value in the first row of people, and in none else."""
    first = (frame["bare_row"] == "no").arg_max()
    cells = frame[column].to_list()
    cells[first] = value(cells, first)
    return frame.with_columns(pl.Series(column, cells))


def class_mate(cells, first):
    return next(cell for place, cell in enumerate(cells) if place != first and cell != cells[first])


@pytest.mark.parametrize("column", ["number_of_person", "number_of_group", "number_of_class"])
def test_the_judge_sees_who_is_in_a_class_twice_or_in_two_groups(tmp_path, column):
    _, safe, numbered = written(tmp_path, lambda safe, numbered: (safe, numbered))
    assert check_members(safe, numbered).holds
    frame = pl.read_csv(numbered, infer_schema=False)
    in_rows(frame, column, class_mate).write_csv(numbered)
    with pytest.raises(BrokenPromise, match="one row of each member"):
        agreed((check_members(safe, numbered),))


def test_the_judge_sees_a_bare_row_in_the_class_of_its_own_group(tmp_path):
    def home(safe, numbered):
        bare = pl.col("bare_row") == "yes"
        homes = numbered.filter(~bare).select("number_of_group", own="number_of_class").unique()
        moved = numbered.join(homes, on="number_of_group", how="left")
        own = pl.when(bare).then("own").otherwise("number_of_class").alias("number_of_class")
        return safe, moved.with_columns(own).drop("own")

    _, safe, numbered = written(tmp_path, home)
    assert check_members(safe, numbered).holds is False


def test_the_judge_sees_rows_that_are_not_those_of_the_published_file(tmp_path):
    _, safe, numbered = written(tmp_path, lambda safe, numbered: (safe[1:], numbered))
    assert check_members(safe, numbered).measured == 1


@pytest.mark.parametrize(
    "column, said",
    [("illness", "published unchanged"), ("bare_row", "whether they are bare"), ("age", "box")],
)
def test_the_judge_sees_bare_rows_that_show_more_than_a_box_of_others(tmp_path, column, said):
    told = {"illness": "flu", "bare_row": "perhaps", "age": "[0, 80)"}

    def show(safe, numbered):
        bare = (safe["bare_row"] == "yes").arg_max()
        cells = safe[column].to_list()
        cells[bare] = told[column]
        return safe.with_columns(pl.Series(column, cells)), numbered

    rules, safe, _ = written(tmp_path, show)
    with pytest.raises(BadData, match=said):
        recheck(safe, view_rules(rules, marked=True))


def test_what_is_about_one_row_per_person_refuses_several():
    table = clinic()
    with pytest.raises(BadData, match="14 people have several rows, and versions for recipients"):
        planned(table, Policy.from_dict({**policy(K).to_dict(), "recipients": {"tolerance": "10%"}}))


# Nothing depends on whose values are whose.

VISITS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 79), st.sampled_from("fm")), max_size=8)


@settings(max_examples=25, deadline=None)
@given(VISITS, st.permutations(["flu", "cold"] * 8), st.integers(0, 99))
def test_exchanging_the_values_of_two_members_changes_no_byte_where_grouping_is_blind(more, ills, key):
    rows = [row(f"P{i}", 1, str(i * 5), "f", ills[i], i) for i in range(16)]
    rows += [row(f"P{who}", 2 + n, str(age), sex, "gout", 50 + n) for n, (who, age, sex) in enumerate(more)]
    asked = {"column": "id", "by": "day"}
    table, rules = pl.DataFrame(rows), policy(grouping="blind", suppress=0, person=asked)
    coins = str(key).encode()
    safe = planned(table, rules, coins).apply(table)
    first = safe if "bare_row" not in safe.columns else safe.filter(pl.col("bare_row") == "no")
    members = first.filter((pl.col("age") == first["age"][0]) & (pl.col("sex") == first["sex"][0]))["nights"]
    one, other = sorted(members.to_list())[:2]
    exchanged = [dict(visit) for visit in rows]
    for name in ("illness", "nights"):
        exchanged[one][name], exchanged[other][name] = rows[other][name], rows[one][name]
    swapped = pl.DataFrame(exchanged)
    assert planned(swapped, rules, coins).apply(swapped).equals(safe)
