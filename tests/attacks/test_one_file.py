"""An attack is one file: being in the folder of adversaries is enough for everybody to know it."""

from __future__ import annotations

import sys

import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks import adversaries
from sfumato.attacks.chain_history import holds_several
from sfumato.cli.main import run
from sfumato.models import attack_contract
from sfumato.models.attack_contract import Criterion, criterion_of
from sfumato.testing.attacks import check_attack

FILE = '''
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.models.attack_contract import Criterion, HeldReleases, PublishedTable, register
from sfumato.system.verdict import AttackLimits, Finding


@register
@dataclass(frozen=True)
class Guess:
    """Somebody guesses."""

    releases: tuple = ()

    name: ClassVar[str] = "guess"
    knows: ClassVar[str] = "nothing"
    seeks: ClassVar[str] = "which row is theirs"
    succeeds: ClassVar[str] = "the table has one row"
    needs: ClassVar[str] = "a row"
    criterion: ClassVar[Criterion] = Criterion.SINGLING_OUT
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity",)

    @classmethod
    def holding(cls, held: HeldReleases) -> "Guess":
        return cls(held.releases)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        if self.releases or not published.rows:
            return []
        return [
            Finding(
                attack=self.name,
                adversary="somebody",
                sentence="a guess is right",
                confidence=Fraction(1, published.rows),
                people=published.table.people,
                breach=False,
            )
        ]
'''


@pytest.fixture
def guess(tmp_path, monkeypatch):
    attack_contract.built_in()  # what registers itself is to stay when the copy below is gone
    (tmp_path / "guess.py").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(adversaries, "__path__", [*adversaries.__path__, str(tmp_path)])
    monkeypatch.setattr(attack_contract, "_built_in", dict(attack_contract._built_in))
    monkeypatch.setattr(attack_contract, "_loaded", set())
    yield "guess"
    sys.modules.pop("sfumato.attacks.adversaries.guess", None)


def test_an_attack_is_added_as_one_file(guess, capsys):
    assert guess in attack_contract.known()
    check_attack(attack_contract.make(guess))
    assert criterion_of(guess) is Criterion.SINGLING_OUT
    assert holds_several(guess)
    assert run(["attack"]) == 2
    assert f", {guess}, " in capsys.readouterr().err
    rows = pl.DataFrame({"zip": ["1", "1", "2", "2"]})
    policy = {"columns": {"zip": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 2}}]}
    assert guess in {finding.attack for finding in sf.audit(rows, policy).findings}
    [finding] = sf.attack(guess, rows, policy).findings
    assert finding.sentence == "a guess is right"


def test_it_is_unknown_without_its_file():
    assert "guess" not in attack_contract.known()
