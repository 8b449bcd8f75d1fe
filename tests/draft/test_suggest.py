"""A proposed policy: it loads, it can be kept, it drops what names people, and it says why."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from discovery.people import cells
from sfumato.policy import yaml
from sfumato.policy.policy import Policy
from sfumato.policy.presets import PRESETS
from sfumato.system.errors import Infeasible, Origin, UsageError
from sfumato.table.microdata import Role

pytestmark = pytest.mark.slow

KINDS = cells()
VALUES = {
    "age": st.integers(0, 110),
    "zip": st.from_regex(r"0[1-4][0-9]{3}", fullmatch=True),
    "born": st.dates().map(str),
    "weight": st.floats(-1e6, 1e6).map(lambda x: round(x, 2)),
    "sex": st.sampled_from(["m", "f"]),
    "disease": st.sampled_from(["Flu", "TB", "cold"]),
    "contact": st.sampled_from(KINDS["e-mail"]),
    "bsn": st.sampled_from(KINDS["nl-bsn"]),
    "notes": st.sampled_from(KINDS["free-text"]),
    "x": st.text(max_size=8),
}


@st.composite
def frames(draw):
    rows = draw(st.integers(2, 60))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5, unique=True))
    dice = draw(st.randoms(use_true_random=False))
    found = {}
    for name in names:
        few = draw(st.lists(VALUES[name] | st.none(), min_size=1, max_size=20))
        found[name] = [dice.choice(few) for _ in range(rows)]
    return pl.DataFrame(found, strict=False)


@settings(max_examples=25)
@given(frames(), st.sampled_from([{"mode": "any"}, {"mode": "all"}, {"fraction": "1/10"}]), st.integers(2, 7))
def test_a_proposed_policy_loads_and_protects(frame, words, k):
    policy = sf.discover(frame, k=k, max_size=2, **words).suggest()
    document = yaml.read(policy.to_yaml())
    again = Policy.from_dict(document.data, origin=Origin(lines=document.lines))
    assert again.digest == policy.digest
    plan = sf.protect(frame, again)
    assert all(verdict.holds for verdict in plan.verdicts)
    assert set(plan.apply(frame).columns) == set(policy.published)


@pytest.mark.parametrize("kind", KINDS)
def test_direct_identifiers_are_not_published(kind):
    texts = KINDS[kind]
    frame = pl.DataFrame({"x": texts, "sex": ["f", "m"] * (len(texts) // 2) + ["f"] * (len(texts) % 2)})
    policy = sf.discover(frame, k=2, mode="any").suggest()
    assert policy.dropped == ("x",) and policy.published == ("sex",)
    assert policy.columns["x"].reason.startswith(f"{kind}: ")


def test_the_demo_gets_a_policy_that_works():
    people = sf.demo.hospital(2000)
    policy = sf.discover(people, k=2, mode="any", max_size=3).suggest()
    roles = {name: rule.role for name, rule in policy.columns.items()}
    assert {name for name, role in roles.items() if role is Role.IDENTIFIER} == {"patient_id", "name"}
    assert {roles[name] for name in ("born", "zip", "sex", "job", "admitted")} == {Role.QUASI}
    safe = sf.protect(people, policy).apply(people)
    assert sf.audit(safe, policy).holds


def test_reasons_become_comments_and_the_search_is_named():
    scan = sf.discover(sf.demo.hospital(500), k=2, mode="any", max_size=2)
    text = scan.suggest().to_yaml()
    assert all(rule.reason for rule in scan.suggest().columns.values())
    assert text.startswith(
        "# Proposed from the data: quasi-identifiers at k = 2, reading any, sets of at most 2"
    )
    line = next(line for line in text.splitlines() if line.startswith("  born:"))
    assert "alone it exposes" in line and "minimal sets" in line and "birth-date" in line


@pytest.mark.parametrize("name", PRESETS)
def test_presets_bring_their_source_and_date(name):
    scan = sf.discover(sf.demo.hospital(100), k=2, mode="any", max_size=1)
    policy = scan.suggest(preset=name)
    words = " ".join(policy.to_yaml().replace("# ", "").split())
    assert PRESETS[name].source in words and PRESETS[name].dated in words
    assert next(iter(policy.promises)).k == PRESETS[name].k


def test_k_is_at_least_what_was_searched_with_and_at_most_the_people():
    people = sf.demo.hospital(100)
    assert next(iter(sf.discover(people, k=20, count=50).suggest().promises)).k == 20
    assert next(iter(sf.discover(people.head(3), k=2, mode="any").suggest().promises)).k == 3
    with pytest.raises(Infeasible):
        few = people.head(3)
        sf.protect(few, sf.discover(few, k=2, mode="any").suggest(preset="ema"))


def test_an_unknown_preset():
    with pytest.raises(UsageError, match="Did you mean ema"):
        sf.discover(sf.demo.hospital(10), k=2, mode="any").suggest("emma")


def test_people_with_several_rows_count_once():
    numbers = [*range(100, 120)] * 3
    frame = pl.DataFrame({"patient_id": numbers, "sex": ["f", "m", "f"] * 20})
    policy = sf.discover(frame, k=2, mode="any").suggest()
    assert policy.person == "patient_id" and policy.dropped == ("patient_id",)
    by_the_state = frame.with_columns(pl.Series("patient_id", KINDS["nl-bsn"][:20] * 3))
    assert sf.discover(by_the_state, k=2, mode="any").suggest().person is None


def test_a_column_left_out_of_the_search_still_gets_a_role():
    frame = pl.DataFrame({"id": list("abcd"), "zip": list("1122"), "sex": list("fmfm")})
    policy = sf.discover(frame, k=2, mode="all", without=["sex"]).suggest()
    assert set(policy.columns) == {"id", "zip", "sex"} and "left out" in policy.columns["sex"].reason
