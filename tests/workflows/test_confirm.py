"""Columns that a draft would publish unchanged wait for a person; names of people are never published."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.main import run
from sfumato.policy import yaml
from sfumato.policy.content import confirm_entries, with_entries
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.policy.strictness import statement_of, weaker_parts
from sfumato.system.errors import BadPolicy, UsageError
from sfumato.table.microdata import Role
from sfumato.workflows.confirm import check_policy, confirm_file
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

POLICY = """\
# my policy
# a policy
columns:
  zip: {role: quasi, taxonomy: {prefix: [2, 1]}}   # a place
  weight: {role: insensitive}
  visits: {role: insensitive}
promises:
  - k-anonymity: {k: 2}
confirm:
  weight: "numbers: a measurement"   # look at it
  visits: an outcome
missing: own-value   # the end
"""
GIVEN = ["Ada", "Anna", "Maria", "John", "Peter", "Laura", "Paul", "Emma", "Jean", "Luca", "Hans", "Carmen"]


def table(rows=40, **more):
    cells = {
        "zip": [f"0{i % 2}{i % 4}" for i in range(rows)],
        "weight": [60 + i % 30 for i in range(rows)],
        "visits": [i % 7 for i in range(rows)],
    }
    return pa.table({**cells, **more})


@pytest.fixture
def folder(tmp_path):
    pa.csv.write_csv(table(), tmp_path / "data.csv")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def call(folder, *words):
    return run([str(folder / w) if w.endswith((".csv", ".yaml")) else w for w in words])


def test_nothing_is_published_before_somebody_has_confirmed(folder, capsys):
    assert call(folder, "protect", "data.csv", "-p", "policy.yaml", "-o", "safe.csv") == 3
    said = capsys.readouterr().err
    assert "2 columns wait" in said and "weight, visits" in said and "policy confirm" in said
    assert not (folder / "safe.csv").exists()
    assert call(folder, "protect", "data.csv", "-p", "policy.yaml", "--dry-run") == 0
    assert "nobody has confirmed" in capsys.readouterr().err
    ledger = ["--ledger", f"sqlite:///{folder}/l.db"]
    assert (
        call(folder, "release", "data.csv", "-p", "policy.yaml", "--into", str(folder / "one"), *ledger) == 3
    )
    assert not (folder / "one").exists() and not (folder / "l.db").exists()
    assert call(folder, "release", "data.csv", "-p", "policy.yaml", "--dry-run", *ledger) == 0
    assert call(folder, "policy", "check", "policy.yaml") == 3


def test_a_person_confirms_column_by_column_and_nothing_else_in_the_file_changes(folder, capsys):
    assert call(folder, "policy", "confirm", "policy.yaml", "weight") == 0
    assert "visits" in capsys.readouterr().out
    text = (folder / "policy.yaml").read_text(encoding="utf-8")
    cut = '  weight: "numbers: a measurement"   # look at it\n'
    assert text == POLICY.replace(cut, "")
    assert call(folder, "protect", "data.csv", "-p", "policy.yaml", "-o", "safe.csv") == 3
    assert call(folder, "policy", "confirm", "policy.yaml", "--all", "--json") == 0
    text = (folder / "policy.yaml").read_text(encoding="utf-8")
    assert "confirm" not in text and "# my policy" in text and "# the end" in text and "# a place" in text
    assert call(folder, "protect", "data.csv", "-p", "policy.yaml", "-o", "safe.csv") == 0
    assert (folder / "safe.csv").exists()
    assert call(folder, "policy", "confirm", "policy.yaml", "--all") == 0


@pytest.mark.parametrize("words", [["weigth"], ["zip"], [], ["weight", "--all"]])
def test_what_does_not_wait_cannot_be_confirmed(folder, words, capsys):
    assert call(folder, "policy", "confirm", "policy.yaml", *words) == 2
    assert (folder / "policy.yaml").read_text(encoding="utf-8") == POLICY
    assert capsys.readouterr().err


def test_in_python_too(folder):
    policy = Policy.load(folder / "policy.yaml")
    assert dict(policy.confirm) == {"weight": "numbers: a measurement", "visits": "an outcome"}
    plan = sf.protect(table(), policy)
    assert all(verdict.holds for verdict in plan.verdicts)
    with pytest.raises(BadPolicy, match="columns wait"):
        protect_file(table(), policy, folder / "safe.csv")
    with pytest.raises(BadPolicy, match="columns wait"):
        sf.release(table(), policy, ledger=f"sqlite:///{folder}/l.db", into=folder / "one")
    some = policy.confirm_columns("weight")
    assert list(some.confirm) == ["visits"]
    with pytest.raises(UsageError, match="does not wait"):
        some.confirm_columns("weight")
    with pytest.raises(BadPolicy, match="a column waits"):
        protect_file(table(), some, folder / "safe.csv")
    protect_file(table(), policy.confirm_all(), folder / "safe.csv")
    assert policy.confirm_all() == some.confirm_columns("visits")


def test_what_is_promised_is_the_same_before_and_after(folder):
    before = Policy.load(folder / "policy.yaml")
    after = before.confirm_all()
    assert before.digest == after.digest
    assert statement_of(before) == statement_of(after)
    assert weaker_parts(statement_of(before), statement_of(after)) == []
    assert judge_data(before) == judge_data(after)
    assert Policy.from_dict(before.to_dict()) == before
    assert Policy.from_dict(before.to_dict()).confirm == before.confirm


def test_the_writer_and_the_reader_keep_the_reasons(tmp_path):
    policy = Policy.from_dict(
        {
            "columns": {
                "a": {"role": "quasi"},
                "b c": {"role": "insensitive"},
                "yes": {"role": "insensitive"},
            },
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": {"b c": "a reason: with, marks # and all", "yes": None},
        }
    )
    (tmp_path / "p.yaml").write_text(policy.to_yaml(), encoding="utf-8")
    again = Policy.load(tmp_path / "p.yaml")
    assert again.confirm == policy.confirm == {"b c": "a reason: with, marks # and all", "yes": ""}
    assert confirm_file(tmp_path / "p.yaml", ["yes"]) == ("b c",)
    assert Policy.load(tmp_path / "p.yaml").confirm == {"b c": "a reason: with, marks # and all"}


def test_a_column_that_is_not_there_cannot_wait():
    words = {
        "columns": {"zip": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": ["zipp"],
    }
    with pytest.raises(BadPolicy, match="Did you mean zip"):
        Policy.from_dict(words)


NAMES = st.text("ab_", min_size=1, max_size=3)


@given(
    st.lists(NAMES, min_size=1, max_size=5, unique=True),
    st.data(),
    st.sampled_from(["block", "flow", "list"]),
)
def test_entries_are_taken_out_of_any_form_of_the_key(names, data, form):
    gone = data.draw(st.sets(st.sampled_from(names)))
    section = {
        "block": "confirm:\n" + "".join(f"  {name}: because   # c\n" for name in names),
        "flow": f"confirm: {{{', '.join(f'{name}: because' for name in names)}}}\n",
        "list": "confirm:\n" + "".join(f"- {name}\n" for name in names),
    }[form]
    head, tail = "# head\n# a policy\n", "missing: own-value  # tail\n"
    text = with_entries(head + section + tail, set(names) - gone, ())
    assert text.startswith(head) and text.endswith(tail)
    left = [name for name in names if name not in gone]
    assert ("confirm" in text) == bool(left)
    words = yaml.read(text).data
    assert list(confirm_entries(words.get("confirm"))) == left


@pytest.mark.parametrize("role", ["insensitive", "quasi", "sensitive"])
def test_names_of_people_are_never_published(folder, role):
    words = {
        "columns": {"zip": {"role": "quasi"}, "who": {"role": role}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"who": True},
    }
    people = [f"{GIVEN[i % 12]} {'BCDFGHKLM'[i % 9]}arlow{'abcdefghij'[i // 9]}" for i in range(40)]
    data = pa.table({"zip": ["1", "2"] * 20, "who": people})
    for run_it in (
        lambda: sf.protect(data, words),
        lambda: protect_file(data, words, folder / "safe.csv"),
        lambda: sf.release(data, words, ledger=f"sqlite:///{folder}/n.db", into=folder / "n"),
    ):
        with pytest.raises(BadPolicy, match="column who holds names of people") as refused:
            run_it()
        assert "arlow" not in str(refused.value)
    words["columns"]["who"] = {"role": "identifier"}
    assert sf.protect(data, words).apply(data).column_names == ["zip"]


def test_words_that_are_no_names_are_published():
    jobs = ["Nurse", "Teacher", "Baker", "Farmer", "Clerk", "Driver", "Cook", "Judge", "Painter", "Tailor"]
    streets = [
        f"{['Grand', 'Park', 'Hill', 'Lake', 'Mill', 'Oak', 'Pine', 'Rose', 'Sun', 'West'][i % 10]} Gate"
        for i in range(40)
    ]
    data = pa.table({"zip": ["1", "2"] * 20, "job": [jobs[i % 10] for i in range(40)], "place": streets})
    words = {
        "columns": {
            "zip": {"role": "quasi"},
            "job": {"role": "insensitive"},
            "place": {"role": "insensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    assert sf.protect(data, words).apply(data).num_rows == 40


def test_a_check_of_a_policy_lists_what_waits(folder):
    found = [(d.name, d.where) for d in check_policy(folder / "policy.yaml", folder / "data.csv")]
    assert ("unconfirmed", "column weight") in found and ("unconfirmed", "column visits") in found


def test_hundreds_of_columns_that_wait_are_told_in_a_few_lines(tmp_path, capsys):
    """A survey has hundreds of columns; all of them are in the document for programs."""
    answers = {f"q{i}": [1 + (i * n) % 5 for n in range(100)] for i in range(200)}
    data, file = str(tmp_path / "survey.csv"), str(tmp_path / "policy.yaml")
    pa.csv.write_csv(pa.table({"age": [20 + n // 2 for n in range(100)], **answers}), data)
    policy = sf.declare(data)
    (tmp_path / "policy.yaml").write_text(policy.to_yaml(), encoding="utf-8")
    waiting = len(policy.confirm)
    assert waiting > 100
    for call in (["policy", "check", file, data], ["doctor", data, "-p", file]):
        assert run(call) == 3
        told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error: ")]
        assert len(told) == 11 and told[-1].startswith(f"error: {waiting - 10} more of the same kind")
    assert run(["policy", "check", "--json", file, data]) == 3
    ailments = json.loads(capsys.readouterr().out)["ailments"]
    assert sum(one["name"] == "unconfirmed" for one in ailments) == waiting


SMALL_FIRST = ["ada", "alan", "anna", "carl", "clara", "david", "emma", "frank", "george", "grace", "henry"]
SMALL_FIRST += ["jack", "james", "jane", "john", "julia", "laura", "mary", "paul", "rose", "sarah", "thomas"]
SMALL_LAST = [
    f"{start}{end}"
    for start in ("whit", "black", "stone", "fair", "nor")
    for end in ("field", "wood", "ham", "ton", "well")
]
SMALL_JOBS = [
    f"{start}{end}"
    for start in ("farm", "bank", "law", "garden", "teach")
    for end in ("er", "hand", "clerk", "aide", "s")
]


def drafted_role(header, cells):
    return (
        sf.declare(pa.table({header: cells * 4, "sex": ["f", "m"] * (2 * len(cells))})).columns[header].role
    )


@pytest.mark.parametrize(
    ("header", "cells"),
    [("first", SMALL_FIRST), ("last", SMALL_LAST), ("x", SMALL_FIRST), ("Surname", SMALL_LAST)],
)
def test_names_without_capitals_are_found(header, cells):
    assert drafted_role(header, cells) is Role.IDENTIFIER


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("job", SMALL_JOBS),
        ("last", ["2020-01-01", "2020-02-03", "2021-05-06"] * 9),
        ("first", ["yes", "no", "no"] * 9),
    ],
)
def test_other_words_without_capitals_are_no_names(header, cells):
    assert drafted_role(header, cells) is not Role.IDENTIFIER
