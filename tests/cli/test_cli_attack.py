"""`sfumato attack` by name: an adversary who has nothing to strike is not told to have been withstood."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from attacks.adversaries.test_table_chain import FIRST, SECOND, WORDS
from sfumato.models.attack_contract import built_in
from sfumato.system.errors import UsageError

pytestmark = pytest.mark.slow

HOLDERS = ("correspondence", "differencing", "composition", "minimality")
PLAIN = {
    "columns": {"place": {"role": "quasi"}},
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Two releases that are safe apart and not together, and their policy."""
    monkeypatch.chdir(tmp_path)
    FIRST.write_csv("one.csv")
    SECOND.write_csv("two.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(WORDS), encoding="utf-8")
    (tmp_path / "plain.yaml").write_text(json.dumps(PLAIN), encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("name", HOLDERS)
def test_one_release_alone_gives_who_holds_several_nothing_to_strike(sfumato, name):
    said = sfumato("attack", name, "two.csv", "-p", "policy.yaml")
    assert (said.code, said.out) == (2, "")
    assert f"{name} has nothing to strike: it needs" in said.err
    assert "a ledger to hold the table against" in said.err
    with pytest.raises(UsageError, match="nothing to strike"):
        sf.attack(name, SECOND, WORDS)


@pytest.mark.usefixtures("pair")
def test_an_unknown_name_is_answered_by_all_that_there_are(sfumato):
    said = sfumato("attack", "nobody", "two.csv", "-p", "policy.yaml")
    assert said.code == 2
    assert all(name in said.err for name in (*HOLDERS, "linkage", "downcoding", "term-removal"))


@pytest.mark.usefixtures("pair")
def test_minimality_without_a_ledger_tells_of_the_register(sfumato):
    assert "--register" in sfumato("attack", "minimality", "two.csv", "-p", "policy.yaml").err


@pytest.mark.usefixtures("pair")
def test_minimality_without_a_register_says_that_none_was_tried(sfumato):
    call = ("attack", "minimality", "two.csv", "two.csv", "-p", "policy.yaml")
    said, (finding, _) = sfumato(*call).out, sfumato(*call, "--json").document["findings"]
    assert said.startswith("0 attacks of 2 succeeded, as far as they were tried")
    assert "withstood as far as tried" in said and "give --register FILE" in " ".join(said.split())
    assert finding["not_tried"].startswith("an adversary who knows who is in the table (a register)")


@pytest.mark.usefixtures("pair")
def test_files_of_releases_are_held_against_each_other(sfumato):
    call = ("one.csv", "two.csv", "-p", "policy.yaml")
    said = sfumato("attack", "correspondence", *call)
    assert said.code == 1
    assert said.out.startswith("2 attacks of 2 succeeded")
    assert said.err == "2 releases held against each other, in the order given\n"
    document = sfumato("attack", "correspondence", *call, "--json").document
    assert [f["details"]["candidates"] for f in document["findings"]] == [4, 4]
    cracked = document["cracked"]
    assert document["beside"] == {"chain": None, "releases": 2, "place": 2}
    assert cracked["by_class"][0] | {"class": 0, "few": True} == {
        "came_with": 1,
        "release": 1,
        "class": 0,
        "rows": 5,
        "candidates": 4,
        "cracked": 1,
        "few": True,
        "groups": [{"rows": 3, "cracked": 1}, {"rows": 2, "cracked": 0}],
    }
    assert cracked["classes"] == said.out.count(" ruled out for somebody who came with release ")
    assert sfumato("attack", "correspondence", "one.csv", *call[:1], *call[2:]).code == 0
    for name in ("differencing", "composition"):
        document = sfumato("attack", name, *call, "--json").document
        assert {f["attack"] for f in document["findings"]} == {name}


@pytest.mark.usefixtures("pair")
def test_releases_in_python_are_a_list_or_one_by_one():
    one_by_one = sf.attack.correspondence("one.csv", "two.csv", policy=WORDS)
    assert one_by_one.holds is False
    assert one_by_one.as_dict() == sf.attack.correspondence(["one.csv", "two.csv"], WORDS).as_dict()
    assert one_by_one.as_dict() == sf.attack.correspondence((FIRST, SECOND), policy=WORDS).as_dict()
    audit = sf.attack("correspondence", [FIRST, SECOND], WORDS)
    assert len(audit.breaches) == 2
    for few in (["one.csv"], [], "one.csv"):
        with pytest.raises(UsageError, match="needs two or more releases"):
            sf.attack.correspondence(few, policy=WORDS)
    with pytest.raises(UsageError, match="followed by a policy and nothing else"):
        sf.attack.correspondence([FIRST], SECOND, policy=WORDS)


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("homogeneity", "a sensitive column"),
        ("skewness", "a sensitive column"),
        ("gain", "the promise beta-likeness"),
        ("quasi-sensitive", "the promise quasi-sensitive"),
        ("freeform", "the promise freeform"),
    ],
)
def test_what_the_policy_says_nothing_of_cannot_be_struck(sfumato, name, words):
    said = sfumato("attack", name, "two.csv", "-p", "plain.yaml")
    assert (said.code, said.out) == (2, "")
    assert words in said.err


@pytest.mark.usefixtures("pair")
def test_an_audit_says_who_had_nothing_to_strike_and_why(sfumato):
    said = sfumato("audit", "two.csv", "-p", "plain.yaml", "--not-tried")
    assert "attacks not tried, as they do not apply here" in said.out
    last = said.err[said.err.index("not tried: ") :].replace("\n", " ")
    assert "not tried: " not in sfumato("audit", "two.csv", "-p", "plain.yaml").out
    for word in ("correspondence", "differencing", "two or more releases", "freeform: it needs the promise"):
        assert word in " ".join(last.split())
    together = "not tried: composition, correspondence, differencing: they need two or more releases"
    assert together in " ".join(last.split())
    untold = sfumato("audit", "two.csv", "-p", "plain.yaml", "--json").document["not_tried"]
    assert {*HOLDERS, "homogeneity", "gain"} <= set(untold)
    assert "linkage" not in untold
    assert all(why.startswith("it needs ") for why in untold.values())


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("linkage", "one.csv", "two.csv"), "linkage strikes one table, and 2 were given"),
        (("correspondence", "one.csv", "two.csv", "--against", "sqlite:///l.db"), "one or the other"),
        (("correspondance", "one.csv", "two.csv"), "there is no attack"),
        (("one.csv", "linkage"), "The attack is named first, then the file"),
    ],
)
def test_calls_that_make_no_sense(sfumato, arguments, words):
    said = sfumato("attack", *arguments, "-p", "policy.yaml")
    assert said.code == 2
    assert words in " ".join(said.err.split())


def test_the_only_release_of_a_ledger_has_no_other(sfumato, pair):
    SECOND.write_csv("people.csv")
    call = ("people.csv", "-p", "policy.yaml", "--ledger", "sqlite:///l.db", "--into", pair / "out")
    assert sfumato("release", *call).code == 0
    said = sfumato(
        "attack",
        "correspondence",
        pair / "out" / "data.csv",
        "-p",
        "policy.yaml",
        "--against",
        "sqlite:///l.db",
    )
    assert said.code == 2
    assert "needs two or more releases" in said.err


def test_a_table_that_cannot_be_compared_was_not_attacked(sfumato, pair):
    SECOND.write_csv("people.csv")
    call = ("people.csv", "-p", "policy.yaml", "--ledger", "sqlite:///l.db", "--into", pair / "out")
    assert sfumato("release", *call).code == 0
    SECOND.drop("job").write_csv("other.csv")
    said = sfumato("attack", "differencing", "other.csv", "-p", "policy.yaml", "--against", "sqlite:///l.db")
    assert said.code == 2
    assert "cannot be held against the earlier releases" in said.err


@pytest.mark.parametrize("arguments", [(), ("two.csv",), ("two.csv", "-p", "policy.yaml")])
def test_an_attack_without_a_name_is_answered_by_all_names_and_a_whole_call(sfumato, arguments):
    said = sfumato("attack", *arguments)
    assert (said.code, said.out) == (2, "")
    names = said.err.split("The adversary: ")[1].split(".")[0].replace(" or ", ", ").split(", ")
    assert names == sorted([*built_in(), "definetti", "term-removal"])
    assert "sfumato attack linkage safe.csv --policy policy.yaml" in said.err


def test_any_call_that_lacks_an_argument_is_answered_by_a_whole_one(sfumato):
    said = sfumato("protect")
    assert said.code == 2 and "DATA: A file of rows" in said.err
    assert "sfumato protect patients.csv --policy policy.yaml -o safe.csv" in said.err


PATIENTS = pl.DataFrame(
    {
        "sex": ["F"] * 4 + ["M"] * 6,
        "income": ["190K", "160K", "50K", "40K", "190K", "160K", "50K", "40K", "50K", "40K"],
        "disease": ["Flu", "AIDS", "E.Coli", "E.Coli", "AIDS", "AIDS", "TB", "TB", "E.Coli", "E.Coli"],
    }
)
INCOMES = {"tree": {"High": ["190K", "160K"], "Low": ["50K", "40K"]}}
FREE = {
    "sex": {"role": "free"},
    "income": {
        "role": "free",
        "taxonomy": INCOMES,
        "sensitive": ["*"],
        "observable": {"leaf": 0, "boost": 1},
    },
    "disease": {
        "role": "free",
        "taxonomy": {"tree": {"Viral": ["Flu", "AIDS"], "Bacterial": ["E.Coli", "TB"]}},
        "sensitive": ["AIDS", "TB"],
    },
}


@pytest.mark.parametrize("published_only", [False, True])
def test_every_breach_of_a_freeform_promise_is_listed_on_the_command_line(sfumato, tmp_path, published_only):
    """BR(T*) and Definition 3.3, as in Python: the same attacks in the same order, values where asked for."""
    PATIENTS.write_csv(tmp_path / "t.csv")
    policy = {"columns": FREE, "promises": [{"freeform": {"threat": "1/4"}}]}
    (tmp_path / "p.yaml").write_text(json.dumps(policy), encoding="utf-8")
    call = ["attack", "freeform", str(tmp_path / "t.csv"), "-p", str(tmp_path / "p.yaml")]
    narrow = ["--published-only"] if published_only else []
    for every in (False, True):
        words = [*call, *narrow, *(["--every"] if every else [])]
        found = sf.attack.freeform(PATIENTS, policy, every=every, extended=not published_only)
        said = sfumato(*words, "--show-values")
        assert said.code == 1 and "190K" not in said.out
        if every or published_only:
            assert said.err.splitlines() == [finding.in_full for finding in found]
            told = sfumato(*words, "--json").document
            assert [f["sentence"] for f in told["findings"]] == [f.sentence for f in found]
            assert told["complete"] is True
    short = sfumato(*call, "--every", "--limit", "2")
    assert "2 are listed, and there may be more" in short.err and short.out.count("BREACH") == 2
    for wrong in (["--limit", "2"], ["--every", str(tmp_path / "t.csv")]):
        assert sfumato(*call, *wrong).code == 2
    assert sfumato("attack", "linkage", *call[2:], "--every").code == 2


def test_crack_sizes_have_labels_where_values_are_asked_for(sfumato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}}
    job = {"role": "quasi", "taxonomy": {"tree": {"Professional": ["Lawyer", "Doctor"]}}}
    columns = {"place": place, "job": job, "disease": {"role": "sensitive"}}
    policy = {"columns": columns, "promises": [{"k-anonymity": {"k": 5}}]}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    one = [("Europe", "Lawyer", "Flu")] * 3 + [("Europe", "Lawyer", "HIV")] * 2
    two = [("UK", "Professional", "Flu")] * 3 + [("France", "Professional", "HIV")] * 3
    two += [("France", "Professional", "Flu")] * 2 + [("UK", "Professional", "HIV")] * 2
    for name, rows in (("one", one), ("two", two)):
        pl.DataFrame(rows, schema=list(columns), orient="row").write_csv(f"{name}.csv")
    call = ("attack", "correspondence", "one.csv", "two.csv", "-p", "policy.yaml")
    said = sfumato(*call, "--show-values")
    assert "Flu" not in said.out and "Europe" not in said.out
    assert "crack sizes 1 of 3, 0 of 2" in said.out
    assert "may belong together in 1,200 ways" in said.out
    assert said.err.splitlines()[1:4] == [
        "release 1, class 1 (place = Europe, job = Lawyer): "
        "1 of 3 with disease = Flu, 0 of 2 with disease = HIV",
        "release 2, class 1 (place = France, job = Professional): "
        "0 of 2 with disease = Flu, 1 of 3 with disease = HIV",
        "release 2, class 2 (place = UK, job = Professional): "
        "1 of 3 with disease = Flu, 0 of 2 with disease = HIV",
    ]
    generator = said.err.split("one generator, ")[1].splitlines()[1:]
    assert sum(int(line.split(" with ")[0]) for line in generator) == len(one)
    assert all(" is release 2, class " in line for line in generator)
    assert "Flu" not in sfumato(*call).err
    groups = [line["groups"] for line in sfumato(*call, "--json").document["cracked"]["by_class"]]
    assert groups == [[{"rows": r, "cracked": c} for r, c in g] for g in _as_told(said.out)]
    joint = sf.attack.correspondence("one.csv", "two.csv", policy=policy)
    assert [line["groups"] for line in joint.as_dict()["cracked"]["by_class"]] == groups


def _as_told(text):
    lines = [line.split("crack sizes ")[1] for line in text.splitlines() if "crack sizes" in line]
    sizes = [[part.split(" of ") for part in line.split(", ")] for line in lines]
    return [[(int(rows), int(cracked)) for cracked, rows in line] for line in sizes]
