"""A first policy from the data alone: it loads, it fits the data, and it says why."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draft.fake_survey import FakeSurvey, column, survey
from sfumato.draft.doctor import examine
from sfumato.draft.draft import draft
from sfumato.draft.roles import guess
from sfumato.policy import yaml
from sfumato.policy.policy import Policy
from sfumato.policy.presets import PRESETS, broken_rules, preset
from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.texts import Flat, Prefix
from sfumato.system.errors import BadData, BadTaxonomy, Origin, UsageError
from sfumato.table.microdata import Role
from sfumato.table.taxonomy import ANY

ROWS = 300


def hospital():
    dice = random.Random(1)
    return survey(
        patient_id=[f"P{i // 2}" for i in range(ROWS)],
        name=[f"Name {i}" for i in range(ROWS)],
        age=[str(dice.randint(0, 99)) for _ in range(ROWS)],
        zip=[f"{dice.randint(1000, 9999):05}" for _ in range(ROWS)],
        sex=[dice.choice("mf") for _ in range(ROWS)],
        born=[f"19{dice.randint(30, 99)}-0{dice.randint(1, 9)}-11" for _ in range(ROWS)],
        admitted=[f"2024-0{dice.randint(1, 9)}-11" for _ in range(ROWS)],
        weight=[str(dice.randint(400, 900) / 10) for _ in range(ROWS)],
        visits=[str(dice.randint(0, 40)) for _ in range(ROWS)],
        children=[dice.choice(["0", "1", "2", None]) for _ in range(ROWS)],
        disease=[dice.choice(["Flu", "TB", "cold"]) for _ in range(ROWS)],
        notes=[f"a long remark about somebody, number {i}, and so on" for i in range(ROWS)],
        row=[str(i) for i in range(7, ROWS + 7)],
        hash=[f"{dice.getrandbits(64):x}-{i}" for i in range(ROWS)],
        town=[f"town{dice.randint(1, 40) ** 2}" for i in range(ROWS)],
        nothing=[None] * ROWS,
    )


def test_roles_and_taxonomies_follow_the_evidence():
    rules = draft(hospital()).columns
    hidden = {name for name, rule in rules.items() if rule.role is Role.IDENTIFIER}
    assert hidden == {"patient_id", "name", "notes", "row", "hash", "nothing"}
    assert {name for name, rule in rules.items() if rule.role is Role.SENSITIVE} == {"disease"}
    kinds = {name: type(rule.taxonomy) for name, rule in rules.items() if rule.role is Role.QUASI}
    assert kinds == {
        **dict.fromkeys(("age", "weight"), Intervals),
        **dict.fromkeys(("born", "admitted"), Dates),
        **dict.fromkeys(("sex", "children", "town"), Flat),
        "zip": Prefix,
    }
    assert dict(draft(hospital()).confirm) == {"visits": "by its header, an outcome"}
    assert rules["visits"].role is Role.INSENSITIVE
    assert rules["age"].taxonomy.spec == {"intervals": [5, 10, 20, 40], "from": 0, "to": 120}
    assert rules["born"].taxonomy.units[-1] == "decade" and rules["weight"].taxonomy.decimal


def test_every_guess_has_its_reason_in_the_file_and_no_cell_value():
    policy = draft(hospital())
    text = policy.to_yaml()
    assert all(rule.reason for rule in policy.columns.values())
    assert text.count("#") == len(policy.columns)
    assert "Flu" not in text and "town1" not in text and "P7" not in text


def test_repeated_patients_become_people():
    policy = draft(hospital())
    assert policy.person == "patient_id"
    assert next(str(p) for p in policy.promises) == "k-anonymity, k = 5"
    assert policy.promises.sensitive == ("disease",)


def test_the_draft_is_healthy():
    data = hospital()
    assert {a.name for a in examine(draft(data).confirm_all(), data)} <= {"empty-cells"}


def test_presets_set_k_and_are_never_lowered():
    data = hospital()
    for name, chosen in PRESETS.items():
        assert next(iter(draft(data, preset=name).promises)).k == chosen.k
    few = survey(a=["x", "y", "x"])
    assert next(iter(draft(few).promises)).k == 3 and next(iter(draft(few, preset="ema").promises)).k == 12
    with pytest.raises(UsageError, match="Did you mean ema"):
        draft(data, preset="emaa")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_say_where_they_come_from(name):
    chosen = preset(name)
    assert chosen.source and chosen.dated[:2] == "20" and chosen.meaning
    assert "complian" not in chosen.meaning + chosen.source
    assert chosen.promises == [{"k-anonymity": {"k": chosen.k}}]


def test_safe_harbor_looks_at_columns():
    found = {problem.place[-1]: problem.message for problem in broken_rules(draft(hospital()))}
    assert set(found) == {"age", "zip", "born", "admitted", "town"}
    assert "ages above 89" in found["age"]
    mended = draft(survey(age=["34", "90"] * 30, sex=["m", "f"] * 30))
    spec = {**mended.to_dict(), "columns": {**mended.to_dict()["columns"]}}
    spec["columns"]["age"] = {"role": "quasi", "taxonomy": {"intervals": [5], "from": 0, "top": 90}}
    assert list(broken_rules(Policy.from_dict(spec))) == []


def test_no_columns():
    with pytest.raises(BadData, match="no columns"):
        draft(FakeSurvey(0, {}))


def test_columns_with_too_many_values_are_not_published():
    full = column([f"v{i}" for i in range(60)])
    big = replace(full, values=(), counts=full.counts[:0], complete=False)
    policy = draft(
        FakeSurvey(60, {"a": big, "sex": column(["m", "f"] * 30), "l": replace(full, kind="list")})
    )
    assert policy.dropped == ("a", "l")


def test_some_column_is_always_a_key():
    assert draft(survey(name=[f"n{i}" for i in range(60)])).published == ("name",)
    assert draft(survey(disease=["a", "b"] * 5)).columns["disease"].role is Role.QUASI


cells = st.one_of(
    st.none(),
    st.just(ANY),
    st.text(max_size=6).filter(lambda text: text == ANY or ANY not in text),
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.dates().map(str),
    st.sampled_from(["m", "f", "NA", "None", "02138", "1e5", "nan", "-0", "0.0"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
names = st.sampled_from(["age", "zip", "id", "disease", "x", "income", "person id", "name"])


@st.composite
def surveys(draw):
    rows = draw(st.integers(0, 70))
    found = {}
    for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        few = draw(st.lists(cells, min_size=1, max_size=70))
        found[name] = column([few[i % len(few)] for i in range(rows)])
    return FakeSurvey(rows, found)


@settings(max_examples=150, deadline=None)
@given(surveys())
def test_any_data_gives_a_policy_that_loads_and_fits(data):
    policy = draft(data)
    policy.check_columns(list(data.columns))
    document = yaml.read(policy.to_yaml())
    assert Policy.from_dict(document.data, origin=Origin(lines=document.lines)).digest == policy.digest
    for coding in policy.codings:
        values = data.columns[coding.name].values
        if policy.columns[coding.name].role.is_key and ANY in values and len(values) > 1:
            with pytest.raises(BadTaxonomy, match="look like a generalized one"):
                coding.build(values)
            continue
        tree = coding.build(values)
        assert all(tree.rank(value) is not None for value in values)
    if data.rows >= 2:
        people = data.rows if policy.person is None else data.columns[policy.person].distinct
        assert next(iter(policy.promises)).k <= people


def test_a_square_of_an_age_is_no_measurement():
    dice = random.Random(3)
    ages = [dice.randint(20, 60) for _ in range(ROWS)]
    data = survey(
        age=[str(a) for a in ages],
        xq=[str(a * a) for a in ages],
        minus=[str(-a) for a in ages],
        other=[str(dice.randint(20, 60)) for _ in range(ROWS)],
        income=[str(100 * (a % 7) + 1) for a in ages],
        zz=[str(2 * (a % 7)) for a in ages],
    )
    policy = draft(data)
    roles = {name: rule.role.value for name, rule in policy.columns.items()}
    assert roles["xq"] == roles["minus"] == "quasi" and roles["other"] == "insensitive"
    assert roles["income"] == roles["zz"] == "sensitive"
    assert "give it away" in policy.columns["xq"].reason


@pytest.mark.parametrize("header", ["weight", "wght", "wgt", "gewicht"])
def test_weights_of_a_sample_are_nobodys_looks(header):
    around_one = column([f"{0.4 + i % 37 / 25:.2f}" for i in range(300)], "decimal")
    many = column([str(20_000 + 977 * i) for i in range(300)], "integer")
    kilograms = column([str(50 + i % 40) for i in range(300)], "integer")
    assert guess(header, around_one, 300).role.value == "insensitive"
    assert guess(header, many, 300).role.value == "insensitive"
    assert guess(header, kilograms, 300).role.value == "quasi"


def test_people_are_no_key_columns_on_a_guess():
    """A table of nothing but identifiers: its names were published where k rows shared one."""
    names = ["Anna Weber", "Paul Klein", "Clara Roth", "Bernd Otto"] * 50
    found = draft(survey(name=names, email=[f"a{i}@example.org" for i in range(200)]))
    assert found.columns["name"].role is Role.QUASI and found.columns["email"].role is Role.IDENTIFIER
    assert "by its header, names" in found.confirm["name"]


def test_a_secret_that_everybody_shares_waits_for_a_person():
    """No promise of diversity can be made of it: whoever is in the table has it."""
    ages = [str(20 + i % 40) for i in range(200)]
    found = draft(survey(age=ages, disease=["hiv"] * 200, smoker=["yes", "no"] * 100))
    assert [p.sensitive for p in found.promises if p.sensitive] == [("smoker",)]
    assert list(found.confirm) == ["disease"] and "all rows have one value" in found.confirm["disease"]
