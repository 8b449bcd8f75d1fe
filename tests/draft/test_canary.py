"""No value of the data in any message, whatever goes wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draft.fake_survey import survey
from sfumato.draft.doctor import examine, examine_file
from sfumato.draft.draft import draft
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies import rule_from
from sfumato.system.errors import SfumatoError

CANARY = "Kanarienvogel"
SPECS = [
    {"tree": {"A": ["a"]}},
    {"rows": [["a", "*"]]},
    {"intervals": [5], "from": 0, "to": 9},
    {"intervals": [5], "decimal": True},
    {"date": ["year"]},
    {"mask": "right"},
    {"flat": ["a"]},
]


BROKEN_SPECS = {
    "value of two groups": {"tree": {CANARY: ["a", CANARY + "1"], "B": [CANARY + "1"]}},
    "group of two groups": {"tree": {"A": {CANARY: ["x"]}, "B": {CANARY: ["y"]}}},
    "group below itself": {"tree": {CANARY: {"B": {CANARY: ["x"]}}}},
    "row twice": {"rows": [[CANARY, "A", "*"], [CANARY, "B", "*"]]},
    "paths of two lengths": {"rows": [[CANARY, "A", "*"], [CANARY, "A", "B", "*"]]},
}


def words_with(spec):
    return {"columns": {"c": {"role": "quasi", "taxonomy": spec}}, "promises": [{"k-anonymity": {"k": 2}}]}


def told(wrong):
    return str(wrong) + repr(wrong) + wrong.message + wrong.remedy + wrong.where


@pytest.mark.parametrize("spec", BROKEN_SPECS.values(), ids=BROKEN_SPECS)
def test_messages_about_hierarchies_that_are_none(spec):
    """The labels are told apart from the message: `--show-values` shows them."""
    with pytest.raises(SfumatoError) as broken:
        Policy.from_dict(words_with(spec))
    assert CANARY not in told(broken.value)
    assert any(CANARY in value for value in broken.value.values)


FILES = {
    "row twice": f"{CANARY};A;*\n{CANARY};B;*\n",
    "group of two groups": f"x;{CANARY};A;*\ny;{CANARY};B;*\n",
    "group below itself": f"x;{CANARY};B;{CANARY};*\n",
    "value and group": f"{CANARY};A;*\nx;{CANARY};*\n",
    "open quote": f'x;{CANARY};*\n"y;{CANARY}\n',
    "empty level": f"{CANARY};;A;*\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_messages_about_files_of_hierarchies(text, tmp_path):
    file = tmp_path / "h.csv"
    file.write_text(text, encoding="utf-8")
    assert CANARY not in "".join(map(str, examine_file(file)))
    try:
        Policy.from_dict(words_with({"file": "h.csv"}), folder=tmp_path)
    except SfumatoError as wrong:
        assert CANARY not in told(wrong)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: next(iter(spec)))
@given(suffix=st.text(max_size=40))
def test_messages_of_builders(spec, suffix):
    policy = Policy.from_dict(words_with(spec))
    value = CANARY + suffix
    try:
        said = repr(policy.codings[0].build([value, value + "x" * 40]))
    except SfumatoError as wrong:
        said = told(wrong)
    assert CANARY not in said
    for diagnosis in examine(policy, survey(c=[value, None])):
        assert CANARY not in str(diagnosis) + repr(diagnosis)


def test_reprs_of_trees_and_drafts():
    values = [f"{CANARY}{i}" for i in range(60)]
    assert CANARY not in repr(rule_from({"prefix": [3]}).build(values))
    policy = draft(survey(a=values, b=[CANARY, "x"] * 30, c=[f"{i}.5" for i in range(60)]))
    assert CANARY not in repr(policy) + policy.to_yaml()
