"""`--preset hipaa-safe-harbor`: three made-up extracts of records; nothing of the 18 kinds is published."""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import BadPolicy
from sfumato.table.microdata import Role

NAMES = ["Anna Weber", "James Miller", "Maria Lopez", "John Smith", "Laura Rossi"]
CITIES = ["Boston", "Salem", "Lowell", "Quincy"]
ROWS = 240


def drawn(seed: int, **kinds):
    """A table: a list is drawn from, a function is called with the number of the row."""
    rng = random.Random(seed)
    columns = {
        name: [kind(i, rng) if callable(kind) else rng.choice(kind) for i in range(ROWS)]
        for name, kind in kinds.items()
    }
    return pl.DataFrame(columns)


def a_day(_, rng):
    return f"{rng.choice([2023, 2024])}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def an_age(_, rng):
    return rng.randint(18, 99)


ADMISSIONS = drawn(
    1,
    PatientName=NAMES,
    MRN=lambda i, _: f"{100000 + i // 3}",
    SSN=["123-45-6789", "987-65-4321", "111-22-3333"],
    DOB=lambda _, rng: f"{rng.randint(1930, 2004)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    age=an_age,
    sex=["F", "M"],
    Phone=["617-555-0101", "617-555-0102", "617-555-0103"],
    Fax=["6175550111", "6175550112", "6175550113"],
    Email=["a@example.org", "b@example.org", "c@example.org"],
    StreetAddress=["1 Main St", "2 Elm St", "3 Oak St"],
    City=CITIES,
    County=["Essex", "Suffolk", "Norfolk"],
    State=["MA", "NH"],
    ZIP=["02138", "01970", "02169", "01850"],
    AdmitDate=a_day,
    DischargeMonth=["2024-01", "2024-02", "2024-03"],
    HealthPlanNumber=["H12345678", "H87654321", "H11112222"],
    race=["White", "Black", "Asian"],
    diagnosis=["I10", "E11.9", "J45.9", "F32.1"],
)
VISITS = drawn(
    2,
    full_name=NAMES[:3],
    patient_id=lambda i, _: f"P{i // 4:04}",
    account_no=["A-100200", "A-100201", "A-100202"],
    insurance_plan_id=["XJH112233", "XJH112234", "XJH445566"],
    certificate_number=["C77", "C78", "C79"],
    license_plate=["ABC1234", "XYZ9876", "JKL4567"],
    vin=["1HGCM82633A004352", "1HGCM82633A004353", "1HGCM82633A004354"],
    device_serial=["SN-1", "SN-2", "SN-3"],
    website=["http://a.example.org/x", "http://b.example.org/y"],
    ip_address=["10.0.0.1", "10.0.0.2", "10.0.0.3"],
    fingerprint=["fp1", "fp2", "fp3"],
    photo=["a.jpg", "b.jpg", "c.jpg"],
    attending_physician=["Dr. Weber", "Dr. Miller", "Dr. Lopez"],
    emergency_contact=NAMES,
    mother=["Anna", "Maria", "Laura"],
    employer=["Acme", "Globex", "Initech"],
    hometown=CITIES,
    precinct=["12", "13", "14"],
    visit_month=["January", "February", "March"],
    visit_year=[2022, 2023, 2024],
    age_at_visit=an_age,
    gender=["female", "male"],
    marital_status=["single", "married", "widowed"],
    smoker=["yes", "no"],
    systolic_bp=lambda _, rng: rng.randint(90, 190),
)
UNTOLD = drawn(
    3,
    c1=NAMES[:4],
    c2=["Anna", "James", "Maria", "John"],
    c3=CITIES,
    c4=["617-555-0101", "617-555-0102", "617-555-0103"],
    c5=["02138", "01970", "02169"],
    c6=[90210, 10001, 60601],
    c7=a_day,
    c8=["a@example.org", "b@example.org"],
    c9=["01/2024", "02/2024", "03/2024"],
    c10=["10.0.0.1", "10.0.0.2"],
    notes=["seen", "not seen", "called"],
    subject_key=lambda i, _: f"K{i // 5}",
    residence=["Boston, MA", "Salem, MA", "Lowell, MA"],
    postal_code=["021", "019", "018"],
    date_of_death=a_day,
    sex=["F", "M"],
    ethnicity=["Hispanic", "Not Hispanic"],
    age=an_age,
    hba1c=lambda _, rng: f"{rng.uniform(4, 12):.1f}",
)
PUBLISHED = {
    "ADMISSIONS": {"age", "sex", "State", "AdmitDate", "DischargeMonth", "race", "diagnosis"},
    "VISITS": {"visit_year", "age_at_visit", "gender", "marital_status", "smoker", "systolic_bp"},
    "UNTOLD": {"sex", "ethnicity", "age", "hba1c", "date_of_death"},
}
TABLES = {"ADMISSIONS": ADMISSIONS, "VISITS": VISITS, "UNTOLD": UNTOLD}


@pytest.fixture(params=TABLES)
def extract(request, tmp_path):
    """A file, and the columns of which something may be published."""
    TABLES[request.param].write_csv(tmp_path / "ehr.csv")
    return tmp_path / "ehr.csv", PUBLISHED[request.param]


def test_nothing_of_the_eighteen_kinds_is_published(extract, tmp_path):
    file, expected = extract
    policy = sf.declare(file, preset="hipaa-safe-harbor")
    assert policy.preset == "hipaa-safe-harbor" and set(policy.published) == expected
    sf.protect(file, policy.confirm_all()).apply(pl.read_csv(file, infer_schema=False)).write_csv(
        tmp_path / "safe.csv"
    )
    safe = pl.read_csv(tmp_path / "safe.csv", infer_schema=False)
    for name in {"age", "age_at_visit"} & expected:
        assert not any(label in ("90", "91", "95", "99") for label in safe[name])
    for name in {"AdmitDate", "DischargeMonth", "visit_year", "date_of_death"} & expected:
        assert {end for label in safe[name] for end in label.split("–")} <= {"*", "2022", "2023", "2024"}
    text = (tmp_path / "safe.csv").read_text()
    for cell in (
        *NAMES,
        *CITIES,
        "02138",
        "617",
        "example.org",
        "10.0.0",
        "2024-0",
        "January",
        "XJH",
        "90210",
    ):
        assert cell not in text


def test_no_name_date_or_category_is_offered_as_a_person(extract):
    told = []
    policy = sf.declare(extract[0], preset="hipaa-safe-harbor", warn=told.append)
    offered = {one.where.removeprefix("column ") for one in told if "Say person" in one.remedy}
    assert offered | {policy.person} <= {None, "MRN", "SSN", "patient_id", "subject_key", "account_no"}


def test_a_name_or_a_telephone_of_a_few_people_is_an_identifier_under_every_preset(tmp_path):
    ADMISSIONS.write_csv(tmp_path / "ehr.csv")
    VISITS.write_csv(tmp_path / "visits.csv")
    policies = {**sf.declare(tmp_path / "ehr.csv").columns, **sf.declare(tmp_path / "visits.csv").columns}
    named = ["PatientName", "SSN", "Phone", "Fax", "Email", "StreetAddress"]
    named += ["full_name", "account_no", "website", "ip_address", "vin"]
    assert [name for name in named if policies[name].role is not Role.IDENTIFIER] == []


WORDS = {
    "columns": {
        "sex": {"role": "quasi"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [5], "from": 0, "top": 90}},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "preset": "hipaa-safe-harbor",
}
BROKEN = {
    "city": {"role": "quasi"},
    "county": {"role": "insensitive"},
    "zip": {"role": "quasi", "taxonomy": {"prefix": [3]}, "start": 1},
    "admit_date": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}, "start": 1},
    "dob": {"role": "quasi", "taxonomy": {"date": ["year"]}, "start": 1},
    "age_at_visit": {"role": "quasi", "taxonomy": {"intervals": [5], "from": 0, "to": 120}},
    "age_group": {"role": "quasi", "taxonomy": {"flat": ["18-64", "65-94", "95+"]}},
    "patient_name": {"role": "sensitive"},
    "insurance_plan_id": {"role": "sensitive"},
    "phone": {"role": "quasi"},
    "patient_code": {"role": "quasi"},
}
KEPT = {
    "state": {"role": "quasi", "taxonomy": {"ready": "us-states"}},
    "zip": {"role": "quasi", "taxonomy": {"flat": ["000", "021"]}},
    "admit_date": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}, "start": 2},
    "visit_year": {"role": "quasi", "taxonomy": {"intervals": [2], "from": 2000, "to": 2030}},
    "age_group": {"role": "quasi", "taxonomy": {"flat": ["18-64", "65-89", "90+"]}},
    "admission_type": {"role": "quasi"},
    "birth_weight": {"role": "insensitive"},
    "dob": {"role": "identifier"},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_policy_does_not_bear_the_name_where_a_rule_is_broken(name):
    words = {**WORDS, "columns": {**WORDS["columns"], name: BROKEN[name]}}
    with pytest.raises(BadPolicy, match="Safe Harbor") as refusal:
        sf.Policy.from_dict(words)
    assert "role identifier" in refusal.value.remedy
    assert sf.Policy.from_dict({key: word for key, word in words.items() if key != "preset"}).preset is None


def test_a_policy_that_keeps_every_rule_bears_the_name():
    policy = sf.Policy.from_dict({**WORDS, "columns": {**WORDS["columns"], **KEPT}})
    assert sf.Policy.from_dict(policy.to_dict()).preset == "hipaa-safe-harbor"
    without = sf.Policy.from_dict({key: word for key, word in policy.to_dict().items() if key != "preset"})
    assert policy.digest != without.digest


def test_every_verb_refuses_and_names_every_rule(sfumato, tmp_path):
    broken = {"sex": {"role": "quasi"}, "city": {"role": "quasi"}, "phone": {"role": "quasi"}}
    (tmp_path / "policy.yaml").write_text(json.dumps({**WORDS, "columns": broken}), encoding="utf-8")
    table = pl.DataFrame({"sex": ["F", "M"] * 4, "city": CITIES * 2, "phone": ["617-555-0101"] * 8})
    table.write_csv(tmp_path / "data.csv")
    data, policy = tmp_path / "data.csv", tmp_path / "policy.yaml"
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    for call in (
        ("policy", "check", policy),
        ("protect", data, "-p", policy, "--dry-run"),
        ("protect", data, "-p", policy, "-o", tmp_path / "safe.csv"),
        ("release", data, "-p", policy, "--ledger", ledger, "--into", tmp_path / "q1", "--dry-run"),
    ):
        said = sfumato(*call)
        words = f"{said.out}{said.err}"
        assert said.code == 3, call
        assert "city" in words and "phone" in words and "smaller than a state" in words


def test_cells_are_asked_where_headers_say_nothing(sfumato, tmp_path):
    columns = {name: {"role": "quasi"} for name in ("c1", "c2", "c4", "c7", "sex")}
    (tmp_path / "policy.yaml").write_text(json.dumps({**WORDS, "columns": columns}), encoding="utf-8")
    UNTOLD.select(*columns).write_csv(tmp_path / "data.csv")
    calls = (
        ("policy", "check", "policy.yaml", "data.csv"),
        ("protect", "data.csv", "-p", "policy.yaml", "--dry-run"),
    )
    for verb, *rest in calls:
        said = sfumato(verb, *(tmp_path / word if "." in word else word for word in rest))
        words = f"{said.out}{said.err}"
        assert said.code == 3
        assert all(name in words for name in ("c1", "c2", "c4", "c7"))


def test_a_draft_of_which_nothing_is_left_is_refused(tmp_path):
    UNTOLD.select("c1", "c3", "c4").write_csv(tmp_path / "data.csv")
    with pytest.raises(BadPolicy, match="no column is left"):
        sf.declare(tmp_path / "data.csv", preset="hipaa-safe-harbor")
