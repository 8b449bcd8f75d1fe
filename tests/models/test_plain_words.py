"""Every promise says what it means in a sentence that stands alone, and what it leaves open."""

from __future__ import annotations

import re

import pytest

from sfumato.models.contract import ClassPromise
from sfumato.models.parameters import IntegerParam, ParametrizedPromise
from sfumato.models.registry import definitions, make

BUILT_IN = [one for one in definitions() if one.__module__.startswith("sfumato.models.")]

MADE = {
    "k-anonymity": {"k": 5},
    "l-diversity": {"of": "disease", "l": 3, "kind": "distinct"},
    "confidence-bounding": {"of": "disease", "confidence": "1/2"},
    "alpha-k-anonymity": {"of": "disease", "alpha": "1/2", "k": 5},
    "t-closeness": {"of": "disease", "t": "1/5", "distance": "equal"},
    "beta-likeness": {"of": "disease", "beta": 2},
    "continuous": {"k": 4},
    "freeform": {"threat": "3/5"},
}


@pytest.mark.parametrize("definition", BUILT_IN, ids=lambda one: one.__name__)
def test_every_definition_has_both_sentences(definition):
    """Parameters in braces are those that a policy has to name, so that no sentence can lack one."""
    for sentence in (definition.plain, definition.silent_on):
        assert sentence.endswith(".") and sentence[0].isupper()
    assert "{" not in definition.silent_on
    needed = {key.name for key in definition.keys if key.required} | {"l", "c", "t"}
    assert set(re.findall(r"\{(\w+)\}", definition.plain)) <= needed


@pytest.mark.parametrize("name", MADE)
def test_parameters_are_filled_in(name):
    promise = make(name, MADE[name])
    sentence = promise.in_words()
    assert "{" not in sentence
    for value in MADE[name].values():
        if value not in ("distinct", "equal"):
            assert str(value) in sentence


class Plain(ParametrizedPromise, ClassPromise):
    """A promise of another package that says nothing in plain words."""

    name, keys = "plain", (IntegerParam("k"),)

    def holds_on(self, classes):
        return classes.people > 0

    def verdict(self, classes):
        raise NotImplementedError

    def __str__(self):
        return "plain, k = 2"


def test_a_promise_without_words_is_called_by_its_name():
    promise = Plain.__new__(Plain)
    assert (promise.in_words(), promise.silent_on) == ("plain, k = 2", "")
