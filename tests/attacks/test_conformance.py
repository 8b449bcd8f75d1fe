"""The built-in attacks pass the public suite; attacks that break the rules do not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from sfumato.models.attack_contract import Attack, known, make
from sfumato.models.k_anonymity.attack import Linkage
from sfumato.models.l_diversity.attack import Homogeneity
from sfumato.system.errors import UsageError
from sfumato.system.verdict import Finding
from sfumato.testing.attacks import CANARY, check_attack

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", known())
def test_registered_attacks_conform(name):
    attack = make(name)
    assert isinstance(attack, Attack)
    assert attack.name == name
    check_attack(attack)


def test_linkage_with_a_population_conforms():
    check_attack(Linkage(population={(f"{CANARY}a",): 3}))


def test_an_unknown_attack_is_a_wrong_call():
    with pytest.raises(UsageError, match="homogeneity"):
        make("no-such-attack")


@dataclass(frozen=True)
class Careless(Homogeneity):
    """Changes one thing of every finding."""

    change: str = ""

    def strike(self, published, tolerance):
        findings = super().strike(published, tolerance)
        return [Finding(**{**vars(f), **self.spoil(published, f)}) for f in findings]

    def spoil(self, published, finding):
        first = next((v for v in finding.values.values() if v), "")
        return {
            "tells": {"sentence": f"someone at {first}"},
            "sure": {"confidence": Fraction(3, 2)},
            "float": {"confidence": 0.5},
            "crowd": {"people": published.rows + 1},
            "order": {"details": {"first": id(published)}},
            "column": {"columns": ("elsewhere",)},
            "ghost": {"breach": True},
            "mute": {"sentence": ""},
        }[self.change]


@pytest.mark.parametrize("change", ["tells", "sure", "float", "crowd", "order", "column", "ghost", "mute"])
def test_the_suite_catches(change):
    with pytest.raises(AssertionError):
        check_attack(Careless(change))


def test_the_suite_wants_an_adversary():
    @dataclass(frozen=True)
    class Nobody(Homogeneity):
        knows = "  "

    with pytest.raises(AssertionError, match="knows"):
        check_attack(Nobody())
