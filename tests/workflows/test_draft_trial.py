"""A draft is planned before it is written: it can be followed, and says what it costs."""

import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.search.loss import LostCells

pytestmark = pytest.mark.slow

ROWS = 300


def people(**more):
    dice = random.Random(4)
    cells = {
        "age": [dice.randint(20, 70) for _ in range(ROWS)],
        "sex": [dice.choice("mf") for _ in range(ROWS)],
    }
    return pl.DataFrame({**cells, **more})


def test_the_note_says_what_the_plan_keeps():
    policy = sf.declare(people())
    assert policy.note.startswith("Planned on 300 rows by local: ")
    assert policy.to_yaml().startswith("# Planned on 300 rows")
    assert policy.protect.search == "best"


def test_a_promise_that_costs_most_detail_waits_for_a_person():
    rare = ["yes" if i == 7 else "no" for i in range(ROWS)]
    policy = sf.declare(people(hiv=rare, disease=["flu", "cold", "measles"] * (ROWS // 3)))
    bound, diversity = (promise for promise in policy.promises if promise.sensitive)
    assert (bound.name, bound.values, diversity.sensitive) == ("confidence-bounding", ("yes",), ("disease",))
    assert list(policy.confirm) == ["hiv"] and "would harm, which is a guess" in policy.confirm["hiv"]
    assert policy.columns["hiv"].role.value == "sensitive"
    assert all(
        verdict.holds
        for verdict in sf.protect(people(hiv=rare, disease=["flu", "cold", "measles"] * 100), policy).verdicts
    )


def test_where_most_is_lost_columns_are_proposed_to_be_left_out():
    dice = random.Random(5)
    places = {
        f"city{i}": [f"{dice.choice('abcdefghij')}{dice.choice('klmnopqrst')}ville" for _ in range(ROWS)]
        for i in range(5)
    }
    warned = []
    policy = sf.declare(people(**places), warn=warned.append)
    (lost,) = [found for found in warned if found.name == "columns-lost"]
    assert "are lost under this draft" in lost.what and "city" in lost.remedy
    assert lost.what in policy.note and "ville" not in policy.to_yaml()


def test_lost_cells_are_counted_cell_by_cell():
    frame = people(city=[f"c{i % 40}" for i in range(ROWS)])
    plan = sf.protect(frame, sf.declare(frame))
    published = plan.apply(frame)
    keys = [column.name for column in plan.recoding.table.keys]
    cells = 0
    for name in keys:
        texts = published[name].to_list()
        root = [text == "*" for text in texts]
        cells += len(texts) if len(set(texts)) == 1 else int(np.sum(root))
        cells += ROWS - len(texts)
    assert LostCells.of(plan.recoding).share == Fraction(cells, ROWS * len(keys))


@pytest.mark.parametrize("form", ["german", "french"])
def test_tables_as_other_countries_write_them(form, tmp_path, capsys):
    dice = random.Random(6)
    lines = {
        "german": "Vorname;Geb_Dat;PLZ;Geschlecht;Einkommen;Blutdruck",
        "french": "prénom;date_naissance;code_postal;sexe;revenu;tension",
    }[form]
    given = ["Anna", "Hans", "Petra", "Klaus", "Marie", "Jean", "Pierre", "Sophie", "Luc", "Uwe"]
    for _ in range(ROWS):
        born = f"{dice.randint(1, 28):02}.{dice.randint(1, 12):02}.{dice.randint(1930, 2005)}"
        pay = f"{dice.randint(1, 9)}.{dice.randint(0, 999):03},{dice.randint(0, 9)}0"
        row = [dice.choice(given), born, dice.randint(10000, 99999), dice.choice("mw"), pay]
        lines += "\n" + ";".join(map(str, [*row, dice.randint(90, 160)]))
    data, policy, safe = tmp_path / "d.csv", tmp_path / "p.yaml", tmp_path / "s.csv"
    data.write_text(lines + "\n", encoding="utf-8")
    assert run(["declare", str(data), "-o", str(policy)]) == 0
    drafted = sf.Policy.load(policy)
    roles = [rule.role.value for rule in drafted.columns.values()]
    assert roles == ["identifier", "quasi", "quasi", "quasi", "sensitive", "insensitive"]
    assert run(["protect", str(data), "-p", str(policy), "-o", str(safe)]) == 3
    assert run(["policy", "confirm", str(policy), "--all"]) == 0
    assert run(["protect", str(data), "-p", str(policy), "-o", str(safe)]) == 0
    assert run(["audit", str(safe), "-p", str(policy)]) == 0
    capsys.readouterr()


def test_a_table_as_r_writes_it(tmp_path, capsys):
    dice = random.Random(7)
    lines = '"region","sex","age","vote"'
    for _ in range(ROWS):
        age = dice.choice([dice.randint(18, 80)] * 9 + ["NA"])
        lines += f'\n"{dice.choice("NSC")}","{dice.choice("MF")}",{age},"{dice.choice("YNA")}"'
    data, policy, safe = tmp_path / "d.csv", tmp_path / "p.yaml", tmp_path / "s.csv"
    data.write_text(lines + "\n")
    assert run(["declare", str(data), "-o", str(policy)]) == 0
    assert "read as empty cells: NA" in capsys.readouterr().err
    drafted = sf.Policy.load(policy)
    assert isinstance(drafted.columns["age"].taxonomy, Intervals)
    assert drafted.source.empty_texts == ("NA",)
    assert run(["policy", "confirm", str(policy), "--all"]) == 0
    assert run(["protect", str(data), "-p", str(policy), "-o", str(safe)]) == 0
    assert ",NA," not in safe.read_text()
    assert run(["declare", str(data), "--empty", "none", "-o", str(tmp_path / "words.yaml")]) == 0
    assert not isinstance(sf.Policy.load(tmp_path / "words.yaml").columns["age"].taxonomy, Intervals)
    capsys.readouterr()


@pytest.mark.parametrize(("rows", "told"), [(0, "the table has no rows"), (1, "is about 1 person")])
def test_a_table_about_nobody_or_few_gets_a_draft_and_a_warning(rows, told):
    warned = []
    policy = sf.declare(people(disease=["flu"] * ROWS).head(rows), warn=warned.append)
    assert [told in diagnosis.what for diagnosis in warned] == [True]
    assert policy.note.startswith("protect refuses this table as it is: ") and policy.note.endswith(told)


def test_a_table_about_too_few_people_gets_a_draft_that_says_so():
    warned = []
    policy = sf.declare(pl.DataFrame({"age": [40], "sex": ["f"]}), warn=warned.append)
    assert "protect refuses this table as it is" in policy.note
    assert [found.name for found in warned] == ["refused"]
    assert sf.declare(pl.DataFrame({"age": [], "sex": []})).published


def test_a_draft_is_tried_by_ranges_too():
    """Dates far apart: a class of local recoding shows no node below the root, Mondrian shows a range."""
    dice = random.Random(6)
    days = [f"{1870 + dice.randint(0, 140)}-0{dice.randint(1, 9)}-1{dice.randint(0, 9)}" for _ in range(ROWS)]
    policy = sf.declare(people(elected=days))
    assert policy.note.startswith("Planned on 300 rows by mondrian: 100% of the cells of 3 key columns")


def test_unknown_flags_are_keys_only_where_that_costs_little():
    dice = random.Random(8)
    few = sf.declare(people(qq=[i % 2 for i in range(ROWS)]))
    assert few.columns["qq"].role.value == "quasi" and "qq" not in few.confirm
    flags = {name: [dice.randint(0, 1) for _ in range(ROWS)] for name in ("qa", "qb", "qc", "qd", "qe", "qf")}
    many = sf.declare(people(**flags))
    assert {many.columns[name].role.value for name in flags} == {"insensitive"}
    assert list(many.confirm) == list(flags)
