"""The adversary with a knowledge table keeps to the rules of the seam."""

from __future__ import annotations

from fractions import Fraction

from sfumato.models.quasi_sensitive.attack import IndirectLabel
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.system.verdict import AttackLimits
from sfumato.testing.attacks import CANARY, check_attack

KNOWN = Knowledge.of(
    [("A", [f"{CANARY}s", f"{CANARY}21"]), ("B", [f"{CANARY}21", f"{CANARY}22"]), ("C", [f"{CANARY}23"])]
)


def test_it_conforms_with_knowledge():
    for promise in (
        QuasiSensitiveDiversity("s0", KNOWN, l=2, c=Fraction(1)),
        QuasiSensitiveCloseness("s0", KNOWN, t=Fraction(1, 2)),
        QuasiSensitiveDiversity("s", KNOWN, l=1, c=Fraction(1)),
    ):
        check_attack(IndirectLabel(), limits=AttackLimits(promise.limits()))
