"""The public suite passes every promise of ours, and catches each kind of liar."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.contract import ClassPromise
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.parameters import IntegerParam, Parameter, ParametrizedPromise, verdict
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.testing.promises import check_promise

pytestmark = pytest.mark.slow

KNOWN = {"A": ["v0", "v1"], "B": ["v1", "v2", "v3"], "C": ["v3", "v4"], "D": ["v0", "v5"], "E": ["v6"]}

OURS = [
    QuasiSensitiveDiversity("s", KNOWN, l=2, c=1),
    QuasiSensitiveDiversity("s", KNOWN, l=3, c=Fraction(3, 2)),
    QuasiSensitiveCloseness("s", KNOWN, t=Fraction(1, 2), prior="uniform"),
    QuasiSensitiveCloseness("s", KNOWN, t=Fraction(1, 4), prior={"A": "1/2", "B": "1/4"}),
    KAnonymity(1),
    KAnonymity(3),
    DistinctLDiversity("s", 3),
    EntropyLDiversity("s", Fraction(5, 2)),
    EntropyLDiversity("s", 3),
    RecursiveLDiversity("s", 2, 2),
    RecursiveLDiversity("s", 3, Fraction(3, 2)),
    ConfidenceBounding("s", Fraction(2, 3)),
    AlphaKAnonymity("s", Fraction(3, 5), 3),
    TCloseness("s", Fraction(1, 5), "equal"),
    TCloseness("s", Fraction(1, 5), "ordered"),
    TCloseness("s", Fraction(1, 5), "hierarchical"),
    TCloseness("s", 0),
    TCloseness("s", Fraction(1, 2), "equal", {"v0": 1, "v1": 1, "v2": 1}),
]


@pytest.mark.parametrize("promise", OURS, ids=str)
def test_our_promises_keep_to_the_seam(promise):
    check_promise(promise, tables=150, seed=1)


@dataclass(frozen=True)
class Small(ParametrizedPromise, ClassPromise):
    """At most k people: not monotone, not hereditary."""

    k: int
    name: ClassVar[str] = "small"
    keys: ClassVar[tuple[Parameter, ...]] = (IntegerParam("k"),)

    def holds_on(self, classes):
        return classes.people <= self.k

    def verdict(self, classes):
        worst = int(classes.people.argmax()) if len(classes) else None
        measured = int(classes.people.max()) if len(classes) else None
        return verdict(self, classes, self.holds_on(classes), limit=self.k, worst=worst, measured=measured)

    def __str__(self):
        return f"at most {self.k} people"


class SaysMonotone(Small):
    monotone = True


class SaysHereditary(Small):
    hereditary = True


class EntropySaysHereditary(EntropyLDiversity):
    hereditary = True


class RecursiveSaysHereditary(RecursiveLDiversity):
    hereditary = True


class ClosenessSaysHereditary(TCloseness):
    hereditary = True


class LooksAtItsNeighbours(Small):
    def holds_on(self, classes):
        return (classes.people <= self.k) & (classes.people <= classes.people.sum() / max(1, len(classes)))


class DependsOnOrder(KAnonymity):
    def holds_on(self, classes):
        return (classes.people >= self.k) & (np.arange(len(classes)) != 2)


class Forgetful(KAnonymity):
    def verdict(self, classes):
        return replace(super().verdict(classes), people=0)


class Optimist(KAnonymity):
    def verdict(self, classes):
        return replace(super().verdict(classes), holds=True)


class NamesTheBest(KAnonymity):
    def verdict(self, classes):
        return replace(super().verdict(classes), worst=int(classes.people.argmax()) if len(classes) else None)


class Meddler(KAnonymity):
    def holds_on(self, classes):
        classes.people[:] = np.maximum(classes.people, self.k)
        return classes.people >= self.k


class Shapeless(KAnonymity):
    def holds_on(self, classes):
        return bool((classes.people >= self.k).all())


class Undecided(KAnonymity):
    def verdict(self, classes):
        return replace(super().verdict(classes), holds=None)


class BreaksOnNothing(KAnonymity):
    def verdict(self, classes):
        found = super().verdict(classes)
        return found if len(classes) else replace(found, holds=False)


class Chatty(KAnonymity):
    said: ClassVar[list[int]] = []

    def __str__(self):
        self.said.append(1)
        return f"k-anonymity, asked {len(self.said)} times"


class ReadsBackDifferently(KAnonymity):
    def parameters(self):
        return {"k": self.k + 1}


class SaysCone(Small):
    cone = True


class ConeOfEvenSizes(Small):
    """Sums and multiples of what is kept are kept, but so is the double of what is not."""

    cone = True

    def holds_on(self, classes):
        return classes.people % 2 == 0

    def verdict(self, classes):
        return replace(super().verdict(classes), worst=None)


class AsksForMore(KAnonymity):
    by_size = False

    @property
    def least_people(self):
        return self.k + 1


class OnlyBySize(AlphaKAnonymity):
    by_size = True


class ManyValues(DistinctLDiversity):
    @property
    def least_values(self):
        return self.l + 1


class FearsNobody(KAnonymity):
    threats = ("moriarty",)


class LimitsByWords(KAnonymity):
    def limits(self):
        return ("at most a little",)


class HandsItselfOver(KAnonymity):
    def judge_data(self):
        return {**super().judge_data(), "me": self}


class JudgedUnderAnotherName(KAnonymity):
    def judge_data(self):
        return {**super().judge_data(), "promise": "another"}


LIARS = [
    (SaysCone(9), "cone"),
    (ConeOfEvenSizes(9), "a multiple"),
    (AsksForMore(3), "fewer than least_people"),
    (OnlyBySize("s", Fraction(1, 2), 3), "by_size"),
    (ManyValues("s", 2), "least_values"),
    (FearsNobody(3), "no attack: moriarty"),
    (LimitsByWords(3), "limits"),
    (HandsItselfOver(3), "plain data"),
    (JudgedUnderAnotherName(3), "judge_data says"),
    (SaysMonotone(9), "monotone"),
    (SaysHereditary(9), "hereditary"),
    (EntropySaysHereditary("s", Fraction(2)), "hereditary"),
    (RecursiveSaysHereditary("s", 2, Fraction(2)), "hereditary"),
    (ClosenessSaysHereditary("s", Fraction(1, 5)), "hereditary"),
    (LooksAtItsNeighbours(9), "more than itself"),
    (DependsOnOrder(2), "order of the classes"),
    (Forgetful(5), "people"),
    (Optimist(5), "disagree"),
    (NamesTheBest(5), "worst class"),
    (Meddler(5), "changes the classes"),
    (Shapeless(5), "one bool per class"),
    (Undecided(5), "must be decided"),
    (BreaksOnNothing(5), "disagree"),
    (Chatty(5), "always the same"),
    (ReadsBackDifferently(5), "parameters"),
    (KAnonymity(2**31 - 1), "no random class"),
    (object(), "no class promise"),
]


@pytest.mark.parametrize(
    ("liar", "word"), LIARS, ids=lambda x: type(x).__name__ if not isinstance(x, str) else x
)
def test_a_liar_is_caught(liar, word):
    with pytest.raises(AssertionError, match=word):
        check_promise(liar)


def test_the_honest_twin_of_the_liar_passes():
    check_promise(Small(9))
