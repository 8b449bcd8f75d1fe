"""The doctor finds what is wrong, counts it, and proposes the cure."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draft.fake_survey import survey
from sfumato.draft.doctor import (
    Severity,
    examine,
    examine_file,
    examine_hierarchy,
    examine_path,
    several_rows,
)
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.files import HierarchyFile
from sfumato.system.errors import BadInput
from sfumato.table.classes import Classes
from sfumato.table.source import open_source
from sfumato.table.spelling import meaning
from sfumato.testing.engines import codings


def of(text):
    return {a.name: a for a in examine_hierarchy(text.encode(), name="h.csv")}


def test_a_healthy_hierarchy():
    assert of("a;X;*\nb;X;*\nc;Y;*\n") == {}


def test_lines_that_repeat_and_contradict():
    found = of("a;X;*\nb;X;*\na;X;*\nb;Y;*\n")
    assert (found["repeated"].gravity, found["repeated"].where) == (Severity.NOTE, "h.csv, line 3")
    assert (found["contradicting"].gravity, found["contradicting"].where) == (Severity.ERROR, "h.csv, line 4")
    assert found["contradicting"].values == ("b",)


def test_one_label_below_two_others_gets_a_new_name():
    found = of("x;Other;Europe;*\ny;Other;Asia;*\nz;France;Europe;*\n")["two-parents"]
    assert found.gravity is Severity.ERROR and found.count == 2 and "Other" not in str(found)
    assert found.repair == ("x;Other (Europe);Europe;*", "y;Other (Asia);Asia;*")
    mended = "\n".join([*found.repair, "z;France;Europe;*"])
    assert of(mended) == {}


def test_circles():
    found = of("a;X;Y;X;*\n")["circle"]
    assert found.gravity is Severity.ERROR and found.values == ("a",)


def test_ragged_lines_and_roots():
    found = of("a;X;*\nb;*\nc;X;*\nd;Y\n")
    assert found["ragged"].gravity is Severity.NOTE and found["ragged"].values == ("b", "d")
    assert found["no-root"].count == 1


def test_a_value_with_the_name_of_a_group():
    found = of("Europe;Europe;*\nFrance;Europe;*\n")["value-and-group"]
    assert found.gravity is Severity.WARNING and "Europe" not in str(found)


def test_spellings_that_look_alike():
    found = of("Zürich;CH;*\nZu\u0308rich;CH;*\nzürich ;CH;*\nBern;CH;*\n")["look-alikes"]
    assert found.count == 1 and len(found.values) == 3


@pytest.mark.parametrize("text", ["", "a;;X;*\n", "a;X\0;*\n", '"a;X;*\n', "a;X;Y;*\nb;Y;Z;*\n"])
def test_what_cannot_be_read_is_an_ailment(text):
    (found,) = [a for a in examine_hierarchy(text.encode(), name="h.csv") if a.gravity is Severity.ERROR]
    assert found.where.startswith("h.csv") and found.what


def test_files(tmp_path):
    (tmp_path / "h.csv").write_text("a;X;*\nb\n")
    assert [a.name for a in examine_file(tmp_path / "h.csv")] == ["ragged", "no-root"]
    assert [a.name for a in examine_file(tmp_path / "absent.csv")] == ["unreadable"]


rows = st.lists(
    st.lists(st.sampled_from(["a", "b", "X", "Y", "Z", "*"]), min_size=1, max_size=4), min_size=1, max_size=5
)


@given(rows)
def test_an_error_is_reported_exactly_when_loading_fails(table):
    content = "\n".join(";".join(row) for row in table).encode()
    errors = [a for a in examine_hierarchy(content, name="h.csv") if a.gravity is Severity.ERROR]
    try:
        HierarchyFile("h.csv", content).build([])
    except BadInput:
        assert errors
    else:
        assert not errors


def policy(**columns):
    return Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": dict.fromkeys(columns, True),
        }
    )


def names(found):
    return {a.name for a in found}


def test_a_healthy_policy():
    assert examine(policy(a={"role": "quasi"}), survey(a=["x", "y"] * 3)) == []
    assert examine(policy(a={"role": "quasi"})) == []


def test_columns_that_are_not_declared_or_not_there():
    found = examine(policy(a={"role": "quasi"}, agee={"role": "quasi"}), survey(a=["x", "y"], age=["1", "2"]))
    assert [(a.name, a.where) for a in found] == [("undeclared", "column age"), ("absent", "column agee")]
    assert "Did you mean agee?" in found[0].remedy


@pytest.mark.parametrize(
    ("missing", "gravity"),
    [("own-value", Severity.NOTE), ("suppress", Severity.WARNING), ("refuse", Severity.ERROR)],
)
def test_empty_cells(missing, gravity):
    made = Policy.from_dict(
        {
            "columns": {"a": {"role": "quasi"}, "s": {"role": "sensitive"}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "missing": missing,
            "protect": {"search": "top-down", "price": "none", "suppress": "10%"},
            "confirm": {"s": True},
        }
    )
    (found,) = examine(made, survey(a=["x", None, None, "y"], s=["1", "2", None, "1"]))
    assert (found.name, found.gravity, found.count, found.what) == (
        "empty-cells",
        gravity,
        2,
        "2 cells are empty",
    )


def test_values_that_the_taxonomy_lacks_come_with_the_lines_to_add():
    tree = {"tree": {"Europe": ["France", "Sweden"], "Asia": ["Japan"]}}
    made = policy(c={"role": "quasi", "taxonomy": tree})
    found = {a.name: a for a in examine(made, survey(c=["france ", "Swedn", "canary", "Japan", "canary"]))}
    lacking = found["lacking"]
    assert lacking.gravity is Severity.ERROR and lacking.count == 3 and "in 4 cells" in lacking.what
    assert set(lacking.values) == {"france ", "Swedn", "canary"}
    assert set(lacking.repair) == {"france ;Europe;*", "Swedn;Europe;*", "canary;*"}
    assert all("canary" not in text for a in found.values() for text in (str(a), repr(a), a.what, a.remedy))
    assert found["never-seen"].gravity is Severity.NOTE and found["never-seen"].count == 2


def test_other_taxonomies_lack_values_too():
    made = policy(c={"role": "quasi", "taxonomy": {"intervals": [5], "from": 0, "to": 10}})
    (found,) = examine(made, survey(c=["3", "12"]))
    assert found.name == "lacking" and found.repair == ()
    long = policy(c={"role": "quasi", "taxonomy": {"mask": "left"}})
    (found,) = examine(long, survey(c=["x" * 40, "y"]))
    assert found.name == "bad-taxonomy"


def test_twins_in_the_data():
    found = examine(policy(c={"role": "quasi"}), survey(c=["Rome", "rome", "Rome ", "Oslo"]))
    assert names(found) == {"look-alikes"} and found[0].count == 1
    assert "Rome" not in str(found[0]) + repr(found[0])


TWINS = {
    "composed and not": ("Zürich", "Zu\u0308rich"),
    "capitals": ("Rome", "ROME"),
    "a blank behind": ("Rome", "Rome "),
    "two blanks within": ("New York", "New  York"),
    "a hard blank": ("New York", "New\u00a0York"),
    "wide letters": ("Rome", "\uff32\uff4f\uff4d\uff45"),
}


@pytest.mark.parametrize("role", ["quasi", "sensitive"])
@pytest.mark.parametrize("twins", TWINS.values(), ids=TWINS)
def test_twins_of_every_kind_are_told_of(role, twins):
    spelled = {"spelling": "exact"} if role == "sensitive" else {}
    found = examine(
        policy(c={"role": role, **spelled}, q={"role": "quasi"}), survey(c=[*twins, "Oslo"], q=["a"] * 3)
    )
    assert "look-alikes" in names(found)


@given(st.lists(st.sampled_from([text for twins in TWINS.values() for text in twins]), min_size=1))
def test_writing_twins_in_one_way_never_lowers_k(cells):
    """k is that of the engine, before and after; no class gets smaller."""

    def smallest(column):
        table = open_source(pl.DataFrame({"c": column})).count(codings(["c"]))
        return int(Classes.of(table, table.codes("c")).people.min())

    assert smallest([str(meaning(cell)) for cell in cells]) >= smallest(cells)


@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
def test_columns_that_tell_everybody_apart(role):
    cells = [f"v{i}" for i in range(100)]
    found = examine(policy(c={"role": role}, q={"role": "quasi"}), survey(c=cells, q=["a"] * 100))
    assert names(found) == {"like-an-identifier"} and found[0].count == 100
    fine = {"role": "quasi", "taxonomy": {"prefix": [1]}}
    assert examine(policy(c=fine), survey(c=cells)) == []


def test_too_few_people():
    made = Policy.from_dict(
        {
            "columns": {"a": {"role": "quasi"}, "who": {"role": "identifier"}},
            "promises": [{"k-anonymity": {"k": 3}}],
            "protect": {"search": "top-down", "suppress": 0},
            "person": "who",
        }
    )
    found = examine(made, survey(a=["x"] * 6, who=["1", "1", "1", "2", "2", "2"]))
    assert [(a.name, a.count) for a in found] == [("too-few", 2)]


def test_a_policy_that_cannot_be_loaded_is_examined_all_the_same(tmp_path):
    (tmp_path / "h.csv").write_text("x;Other;A;*\ny;Other;B;*\ny;Other;B;*\n")
    (tmp_path / "p.yaml").write_text(
        "columns: {c: {role: quasi, taxonomy: {file: h.csv}}}\npromises: [{k-anonymity: {k: 2}}]\n"
    )
    found = examine_path(tmp_path / "p.yaml")
    assert [a.name for a in found] == ["policy", "repeated", "two-parents"]
    assert found[0].where == "p.yaml, line 1, columns.c.taxonomy"
    (tmp_path / "h.csv").write_text("x;A;*\ny;B;*\n")
    assert examine_path(tmp_path / "p.yaml", survey(c=["x", "y"])) == []
    (tmp_path / "p.yaml").write_text("columns: [\n")
    assert [a.name for a in examine_path(tmp_path / "p.yaml")] == ["policy"]
    assert [a.name for a in examine_path(tmp_path / "absent.yaml")] == ["policy"]


def test_the_files_of_a_policy_are_looked_at(tmp_path):
    (tmp_path / "h.csv").write_text("a;X;*\nb;X;*\na;X;*\n")
    made = Policy.from_dict(
        {
            "columns": {"c": {"role": "quasi", "taxonomy": {"file": "h.csv"}}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        },
        tmp_path,
    )
    assert names(examine(made)) == {"repeated"}


@pytest.mark.parametrize(
    "header, warned",
    [
        ("Pat-Nr", False),
        ("PatNr", False),
        ("Pers.-Nr.", False),
        ("Patientennummer", False),
        ("FallNr", True),
        ("case_id", True),
        ("row", True),
        ("lfd. Nr.", True),
    ],
)
def test_numbers_of_people_say_that_rows_are_people_and_numbers_of_rows_do_not(header, warned):
    """Surnames repeat; that every row has a number of its own says nothing of whose it is."""
    cells = {
        header: [str(i) for i in range(60)],
        "surname": [f"s{i % 7}" for i in range(60)],
        "sex": ["f"] * 60,
    }
    table = pl.DataFrame(cells)
    columns = {header: {"role": "identifier"}, "surname": {"role": "identifier"}, "sex": {"role": "quasi"}}
    rules = Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    found = list(several_rows(rules, open_source(table).survey()))
    assert [f.where for f in found] == (["column surname"] if warned else [])


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("surname", ["Weber", "Lopez", "Smith"]),
        ("phone", ["617-555-0101", "617-555-0102"]),
        ("when", ["2024-01-02", "2024-02-03"]),
        ("x7", ["Anna Weber", "James Miller"]),
        ("x7", ["red", "green", "blue"]),
        ("town", ["A1", "B2"]),
    ],
)
def test_no_name_contact_date_or_category_tells_people_apart(header, cells):
    table = pl.DataFrame({header: cells * 20, "sex": ["f", "m"] * 10 * len(cells)})
    columns = {header: {"role": "identifier"}, "sex": {"role": "quasi"}}
    rules = Policy.from_dict({"columns": columns, "promises": [{"k-anonymity": {"k": 2}}]})
    told = list(several_rows(rules, open_source(table).survey()))
    assert [one.remedy for one in told if f"person: {header}" in one.remedy] == []


@pytest.mark.parametrize(
    ("header", "cell", "proposed"),
    [
        ("notes", "seen {}", False),
        ("Bemerkung", "kommt wieder {}", False),
        ("x7", "Came late on day {} and was seen at once.", False),
        ("x7", "a{}" * 20, True),
        ("client", "Ada{} Lovelace", True),
    ],
)
def test_free_text_is_not_proposed_as_the_person(header, cell, proposed):
    table = pl.DataFrame({header: [cell.replace("{}", str(i % 7)) for i in range(60)], "sex": ["f"] * 60})
    columns = {header: {"role": "identifier"}, "sex": {"role": "quasi"}}
    rules = Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    assert bool(list(several_rows(rules, open_source(table).survey()))) is proposed


def test_people_who_look_after_others_are_not_proposed_as_the_person():
    table = pl.DataFrame({"Hausarzt": [f"Dr. {'ABC'[i % 3]}" for i in range(60)], "sex": ["f"] * 60})
    columns = {"Hausarzt": {"role": "identifier"}, "sex": {"role": "quasi"}}
    rules = Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    assert list(several_rows(rules, open_source(table).survey())) == []
