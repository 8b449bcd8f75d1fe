"""A promise as plain data: what the second judge is told."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.models.beta_likeness.promise import BasicBetaLikeness
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import Prior
from sfumato.models.freeform.inference import Belief, FreeColumn, particular
from sfumato.models.freeform.promise import Freeform
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.parameters import ReferenceDistribution
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.policy.taxonomies import rule_from

HALF = Fraction(1, 2)
KNOWN = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough"])])
ROWS = (("Cold", ("cough",)), ("Flu", ("cough", "fever")))
BELIEF = Belief({"AIDS": HALF}, Fraction(1, 4))
FREE = {"f": FreeColumn(("AIDS",)), "g": FreeColumn((), particular, BELIEF)}

EVERY = [
    (KAnonymity(5), {"k": 5}),
    (DistinctLDiversity("s", 3), {"of": "s", "l": 3, "values": None}),
    (EntropyLDiversity("s", "5/2"), {"of": "s", "l": Fraction(5, 2)}),
    (RecursiveLDiversity("s", 2, "3/2"), {"of": "s", "l": 2, "c": Fraction(3, 2)}),
    (ConfidenceBounding("s", HALF), {"of": "s", "confidence": HALF, "values": None}),
    (AlphaKAnonymity("s", HALF, 4), {"of": "s", "alpha": HALF, "k": 4, "values": None}),
    (
        TCloseness("s", "1/5", values=["b", 1]),
        {"of": "s", "t": Fraction(1, 5), "distance": "equal", "reference": None, "values": ("b", "1")},
    ),
    (
        TCloseness("s", "1/5", "ordered", ReferenceDistribution.of({"b": 1, None: 2})),
        {
            "of": "s",
            "t": Fraction(1, 5),
            "distance": "ordered",
            "reference": ((None, 2), ("b", 1)),
            "values": None,
        },
    ),
    (
        BasicBetaLikeness("s", 2, ReferenceDistribution.of({"b": 1, None: 2})),
        {"of": "s", "beta": Fraction(2), "reference": ((None, 2), ("b", 1))},
    ),
    (
        QuasiSensitiveDiversity("q", KNOWN, 2, 3),
        {"of": "q", "knowledge": ROWS, "l": 2, "c": Fraction(3), "prevalence": ()},
    ),
    (
        QuasiSensitiveCloseness("q", KNOWN, HALF, Prior.of({"Flu": HALF}), prevalence={"Flu": 2, "Cold": 1}),
        {
            "of": "q",
            "knowledge": ROWS,
            "t": HALF,
            "prior": (("Flu", HALF),),
            "distance": "euclidean",
            "prevalence": (("Cold", Fraction(1)), ("Flu", Fraction(2))),
        },
    ),
    (
        QuasiSensitiveCloseness("q", KNOWN, HALF, distance="largest"),
        {
            "of": "q",
            "knowledge": ROWS,
            "t": HALF,
            "prior": "mean",
            "distance": "largest",
            "prevalence": (),
        },
    ),
    (
        Continuous(3, since="batch"),
        {
            "k": 3,
            "since": "batch",
            "person": None,
            "hold": False,
            "survivors": False,
        },
    ),
    (Freeform(HALF, columns=FREE), {"threat": HALF, "observability": Fraction(1)}),
]


@pytest.mark.parametrize(("promise", "parameters"), EVERY, ids=[str(p) for p, _ in EVERY])
def test_every_promise_tells_its_judge_what_it_asks(promise, parameters):
    told = promise.judge_data()
    assert told["parameters"] == parameters
    assert (told["promise"], told["kind"], told["sentence"]) == (promise.name, promise.kind, str(promise))
    assert told["evidence"] == promise.evidence.value
    assert told["columns"] == promise.sensitive
    assert _is_plain(told)


def _is_plain(value):
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(part) for key, part in value.items())
    if isinstance(value, tuple):
        return all(_is_plain(part) for part in value)
    return value is None or type(value) in (bool, int, str, Fraction)


def test_what_rows_prove_about_people_is_told():
    size, values = KAnonymity(5).judge_data(), EntropyLDiversity("s", "5/2").judge_data()
    assert (size["least_people"], size["least_values"]) == (5, 0)
    assert (values["least_people"], values["least_values"]) == (0, 3)


def test_a_prior_that_has_yet_to_be_made_is_told():
    assert QuasiSensitiveCloseness("q", KNOWN, HALF).judge_data()["needs_original"] is True
    assert QuasiSensitiveCloseness("q", KNOWN, HALF, "uniform").judge_data()["needs_original"] is False


def test_free_columns_are_told_with_their_models():
    told = Freeform(HALF, columns=FREE).judge_data()
    assert told["judged_on_labels"] is True
    assert told["free_columns"] == {
        "f": {"sensitive": ("AIDS",), "aggregate": True, "observable": None},
        "g": {
            "sensitive": (),
            "aggregate": False,
            "observable": {"leaf": {"AIDS": HALF}, "boost": Fraction(1, 4)},
        },
    }


def test_of_a_model_of_ones_own_the_numbers_are_told():
    def by_depth(taxonomy, sensitive):
        return [Fraction(int(d), 2) if sensitive.any() else Fraction(0) for d in taxonomy.depth]

    tree = rule_from({"tree": {"A": ["a"], "b": None}})
    free = FreeColumn(("a",), by_depth, by_depth, tree)
    told = Freeform(HALF, columns={"f": free}).judge_data()
    assert _is_plain(told)
    found = told["free_columns"]["f"]["observable"]
    assert found == told["free_columns"]["f"]["aggregate"]
    assert dict(found["without_missing"]) == {
        ("*",): 0,
        ("A", "*"): HALF,
        ("a", "A", "*"): 1,
        ("b", "*"): HALF,
    }
    assert dict(found["with_missing"])[None, "*"] == HALF


def test_a_model_of_values_that_the_policy_does_not_list_has_no_numbers():
    def mine(taxonomy, sensitive):
        raise NotImplementedError

    told = Freeform(HALF, columns={"f": FreeColumn((), mine, mine)}).judge_data()["free_columns"]
    nothing = {"with_missing": (), "without_missing": ()}
    assert told["f"] == {"sensitive": (), "aggregate": nothing, "observable": nothing}
