"""What adversaries achieved, on a card."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.verdict import Finding
from sfumato.show.card import Card, several


def attack_card(findings: Sequence[Finding]) -> Card:
    """One line per finding, worst first."""
    order = sorted(findings, key=lambda f: (not f.breach, -f.confidence))
    won = sum(f.breach for f in order)
    partly = "" if won or not any(f.not_tried for f in order) else ", as far as they were tried"
    title = f"{several(won, 'attack')} of {len(order)} succeeded{partly}"
    return Card(title, [finding_line(f) for f in order])


def finding_line(finding: Finding) -> tuple[str, ...]:
    """An attack, whether it got more than is allowed, and how."""
    who, colon, _ = finding.adversary.partition(":")
    name = f"{finding.attack}, {who}" if colon else finding.attack
    return (name, finding.word, finding.told)
