"""Sensitivity and observability of one's own: as numbers, from a file, by importable name; judged twice."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from papers.test_wang_2009 import POLICY, T1
from sfumato.models.freeform.inference import particular
from sfumato.models.freeform.promise import NodeNumbers
from sfumato.system.errors import BadPolicy


def severe(taxonomy, sensitive):
    """Half the share of sensitive leaves above leaves."""
    return [
        share if taxonomy.end[node] == node + 1 else share / 2
        for node, share in enumerate(map(Fraction, particular(taxonomy, sensitive)))
    ]


def changed(**words):
    policy = sf.Policy.from_dict(POLICY).to_dict()
    policy["columns"]["Disease"] |= words
    return policy


MODELS = {
    "numbers": {"aggregate": {"values": {"VI": "1/4", "BI": "1/4"}}},
    "name": {"aggregate": "models.freeform.test_models:severe"},
    "seen": {"observable": {"values": {"TB": "1", "BI": "1"}}},
}


@pytest.fixture(params=MODELS)
def policy(request):
    return changed(**MODELS[request.param])


def test_a_policy_is_written_and_read_back_with_its_models(policy, tmp_path):
    made = sf.Policy.from_dict(policy)
    path = tmp_path / "policy.yaml"
    path.write_text(made.to_yaml())
    again = sf.Policy.load(path)
    assert again.digest == made.digest
    assert again.to_dict() == made.to_dict()
    assert sf.attack.freeform(T1, again) == sf.attack.freeform(T1, made)


def test_both_judges_agree_about_every_table(policy):
    for table in (T1, sf.protect(T1, policy).apply(T1)):
        ours = not any(f.breach for f in sf.attack.freeform(table, policy))
        assert sf.audit(table, policy).holds == ours


def test_a_file_of_numbers_becomes_part_of_the_policy(tmp_path):
    (tmp_path / "harm.csv").write_text("VI;1/4\nBI;1/4\n")
    path = tmp_path / "policy.yaml"
    text = sf.Policy.from_dict(changed(aggregate={"values": {"VI": "1/4", "BI": "1/4"}})).to_yaml()
    from ruamel.yaml import YAML

    words = YAML(typ="safe").load(text)
    words["columns"]["Disease"]["aggregate"] = {"file": "harm.csv"}
    with path.open("w") as file:
        YAML().dump(words, file)
    read = sf.Policy.load(path)
    assert read.digest == sf.Policy.from_dict(changed(**MODELS["numbers"])).digest
    assert "harm.csv" not in read.to_yaml()


def test_numbers_replace_those_of_the_usual_model():
    numbers = NodeNumbers({"VI": Fraction(1, 4)})
    tree = sf.Policy.from_dict(POLICY).columns["Disease"].taxonomy.build([])
    guarded = np.array([label in ("AIDS", "TB") for label in tree.leaf_labels])
    found = dict(zip(tree.labels, numbers(tree, guarded), strict=True))
    assert (found["VI"], found["BI"], found["AIDS"]) == (Fraction(1, 4), Fraction(1, 2), 1)


@pytest.mark.parametrize(
    "words",
    [
        {"aggregate": "no.such:model"},
        {"aggregate": "fractions"},
        {"aggregate": "fractions:__doc__"},
        {"aggregate": {"values": {"VI": "3/2"}}},
        {"aggregate": {}},
        {"aggregate": {"file": "absent.csv"}},
        {"observable": {}},
        {"observable": {"boost": 1}},
    ],
)
def test_models_that_cannot_be_had_are_refused(words):
    with pytest.raises(BadPolicy):
        sf.Policy.from_dict(changed(**words))


@pytest.mark.parametrize(
    "words", [{"aggregate": {"values": {"Flu": 1}}}, {"aggregate": {"values": {"Cold": 1}}}]
)
def test_numbers_that_break_the_principle_or_name_nothing_are_refused(words):
    with pytest.raises(BadPolicy):
        sf.protect(T1, changed(**words))


@pytest.mark.parametrize("word", ["mine.models:together", {"file": "together.csv"}, {"values": {}}])
def test_an_observability_of_several_values_is_refused_with_what_can_be_promised(word):
    words = changed()
    words["promises"] = [{"freeform": {"threat": "1/2", "observability": word}}]
    with pytest.raises(BadPolicy, match="at most the least of theirs") as refused:
        sf.Policy.from_dict(words)
    assert "observable" in refused.value.remedy


@given(st.lists(st.fractions(0, 1, max_denominator=6), min_size=16, max_size=16))
def test_the_least_of_single_values_is_the_most_that_any_own_o_may_say(drawn):
    """All sets of four values: whatever o(X) keeps the principle is at most the least of its values' own.

    Every such o is the least of some numbers over subsets, so every one of them is drawn from.
    """
    sets = [frozenset(some) for n in range(5) for some in combinations(range(4), n)]
    raw = dict(zip(sets, drawn, strict=True))
    own = {x: min(raw[y] for y in sets if y <= x) for x in sets}
    assert all(own[x] >= own[y] for x in sets for y in sets if x <= y)
    for x in sets[1:]:
        least = min(own[frozenset({a})] for a in x)
        assert own[x] <= least
        assert all(least >= limit for limit in drawn if own[x] >= limit)
