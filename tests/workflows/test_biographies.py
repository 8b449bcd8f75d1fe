"""People who show values in several rows: each class keeps the promises, and members share all classes."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.search.biographies import rows_shown
from sfumato.system.errors import BadPolicy, Infeasible
from sfumato.table.base import GROUP, HOME, PERSON
from workflows.test_people_with_several_rows import COLUMNS, planned, policy, row

ILLS = ["flu", "cold", "burn", "gout"]


def years(people=40, *, rows=lambda who: 2 + who % 2):
    """Rows of people who came in several years: how many, says `rows`."""
    return pl.DataFrame(
        [
            row(f"P{who}", year, str(who * 2), "fm"[who % 2], ILLS[(who + year) % 4], who * 10 + year)
            for who in range(people)
            for year in range(rows(who))
        ]
    )


def asked(rows="all", **protect):
    return policy(person={"column": "id", "rows": rows, "by": "day"}, **protect)


def classes_of(base):
    """Class -> its rows: person, group and what it shows."""
    shown = defaultdict(list)
    cells = base.view(base.shown()).to_pylist()
    for person, group, number, values in zip(
        base.rows.column(PERSON).to_pylist(),
        base.rows.column(HOME).to_pylist(),
        base.rows.column(GROUP).to_pylist(),
        cells,
        strict=True,
    ):
        shown[number].append((person, group, values))
    return shown


@pytest.mark.parametrize("grouping", ["blind", "informed"])
@pytest.mark.parametrize("search", ["best", "local", "mondrian"])
def test_every_class_has_one_row_of_each_member_and_keeps_every_promise(grouping, search):
    table = years(40)
    plan = planned(table, asked(grouping=grouping, search=search))
    members = defaultdict(set)
    for rows in classes_of(plan.people.base).values():
        people = [person for person, _, _ in rows]
        assert len(set(people)) == len(people) >= 2
        assert len({group for _, group, _ in rows}) == 1
        assert len({values["illness"] for _, _, values in rows}) >= 2
        assert len({(values["age"], values["sex"]) for _, _, values in rows}) == 1
        members[rows[0][1]].add(frozenset(people))
    assert all(len(sets) == 1 for sets in members.values()), "all classes of a group have the same members"
    safe = plan.apply(table)
    assert "bare_row" not in safe.columns and set(Counter(safe["nights"]).values()) == {1}
    assert len(safe) == len(table) - plan.suppressed
    assert "up to 3 rows of a person show values" in str(plan)


def test_exchanging_all_rows_of_two_members_changes_no_byte_where_grouping_is_blind():
    table, rules = years(32, rows=lambda _: 2), asked(grouping="blind", suppress=0)
    plan = planned(table, rules)
    safe, base = plan.apply(table), plan.people.base
    group = base.rows.column(HOME).to_pylist()[0]
    nights = [values["nights"] for rows in classes_of(base).values() for _, g, values in rows if g == group]
    one, *others = sorted({number // 10 for number in nights})
    for other in others:
        order = np.arange(len(table))
        ours, theirs = (np.flatnonzero(table["id"] == f"P{who}") for who in (one, other))
        order[np.concatenate([ours, theirs])] = np.concatenate([theirs, ours])
        swapped = table.with_columns(*(table[name][order] for name in ("illness", "nights")))
        assert planned(swapped, rules).apply(swapped).equals(safe)


@pytest.mark.parametrize(
    "counts, most, shown",
    [
        ([3] * 20 + [1] * 20, None, {3: 20, 1: 20}),
        ([3] * 20 + [1] * 20, 2, {2: 20, 1: 20}),
        ([5] * 3 + [3] * 17 + [2] * 9, None, {3: 20, 2: 9}),
        ([3] * 20 + [2] * 5, None, {2: 25}),
        ([7, 4], None, {4: 2}),
    ],
)
def test_numbers_of_rows_are_cut_to_levels_with_people_enough(counts, most, shown):
    assert Counter(rows_shown(np.array(counts), most, 2).tolist()) == shown


def test_rows_beyond_those_that_show_values_are_bare():
    table = years(40, rows=lambda _: 3)
    plan = planned(table, asked(2))
    assert plan.people.shown == 2 and plan.people.bare + plan.people.absent >= 40
    safe = plan.apply(table)
    assert safe.filter(pl.col("bare_row") == "yes")["illness"].null_count() == plan.people.bare > 0
    assert all(nights % 10 < 2 for nights in safe["nights"].drop_nulls()), "values are those of first years"


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"protect": {"search": "lattice"}}, "recodes whole columns"),
        ({"promises": [{"t-closeness": {"of": "illness", "t": "1/2"}}]}, "with the whole table"),
        ({"person": {"column": "id", "rows": "some"}}, "from 1 on, or all"),
        ({"person": {"column": "id", "rows": 0}}, "from 1 on, or all"),
    ],
)
def test_what_does_not_go_with_values_in_several_rows(changed, reason):
    with pytest.raises(BadPolicy, match=reason):
        Policy.from_dict({**asked().to_dict(), **changed})


def test_what_cannot_be_shown_is_refused_and_not_shown_barely_instead():
    """{f, h} in the first rows of two: were later rows bare because `all` failed, both would have h."""
    rows = [
        row(who, day, "1", "f", ill)
        for who, ills in (("P", "fh"), ("Q", "hh"))
        for day, ill in enumerate(ills)
    ]
    table = pl.DataFrame(rows)
    with pytest.raises(Infeasible):
        planned(table, asked(suppress=0))
    assert planned(table, asked(1, suppress=0)).people.bare + 0 <= 2


def test_each_row_is_promised_and_not_what_somebody_ever_had():
    """Two years of {HIV, flu}: 1/2 in each class, 3/4 who ever had it, of four ways to deal them. Said."""
    rows = [
        row(who, day, "1", "f", ill)
        for day, ills in enumerate((("HIV", "flu"), ("flu", "HIV")))
        for who, ill in zip("PQ", ills, strict=True)
    ]
    plan = planned(pl.DataFrame(rows), asked(suppress=0))
    assert [verdict.holds for verdict in plan.verdicts] == [True, True] and plan.smallest == 2
    assert "promises are about one row" in str(plan)


def test_a_release_and_a_file_show_the_same_rows(tmp_path):
    table, rules = years(40), asked()
    sf.release(table, rules, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "one")
    published = pl.read_csv(tmp_path / "one" / "data.csv")
    assert set(published["nights"]) <= set(table["nights"]) and len(published) == 100
    assert set(published.columns) == set(COLUMNS) - {"id", "day"}
    more = pl.concat([table, years(8).with_columns(day=pl.lit(9, pl.Int64), nights=pl.lit(777, pl.Int64))])
    sf.release(more, rules, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "two")
    assert 777 not in pl.read_csv(tmp_path / "two" / "data.csv")["nights"], "they show no more"
