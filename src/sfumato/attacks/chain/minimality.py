"""The minimality attack: a value that stayed general could not be specialized."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.registry import register
from sfumato.core.imprint import Imprint
from sfumato.core.limits import UNASKED, AttackLimits
from sfumato.core.verdict import Finding
from sfumato.show.card import several

LEFT_OUT = (
    "an adversary who knows who is in the table (a register); give --register FILE. Nor values that have more"
    " than two finer ones, or stand in several classes"
)
"""The attack of the same name that is given a register runs the search, and seeks sensitive values."""


@register("minimality")
@dataclass(frozen=True)
class Minimality:
    """The search specializes while it can, so a value that stayed general could not be specialized.

    If a node with two children is published in one class of n people, the two child classes cannot both be
    empty or large enough: one of them has between 1 and k - 1 people, the other at least n - k + 1. Most of
    the class then shares one hidden child, up to which one it is. This is a property of every minimal
    recoding; it is reported, and is a breach only where more than nine in ten are so exposed.

    Source: Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing*, 2007; Cohen,
    *Attacks on deidentification's defenses* (downcoding), 2022.
    Silent on: nodes with more children, nodes in several classes, other promises that may have stopped it.
    """

    releases: tuple[Imprint, ...] = ()
    k: int | None = None

    name: ClassVar[str] = "minimality"
    knows: ClassVar[str] = "the release, its trees, k, and that no further specialization was possible"
    seeks: ClassVar[str] = "the value behind a generalized one"
    succeeds: ClassVar[str] = "most of a class must share one of two hidden values"
    needs: ClassVar[str] = (
        "a ledger to hold the table against, promises about class sizes alone, and a chain that nobody "
        "leaves; `sfumato attack minimality --register` looks for sensitive values instead"
    )
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity", "continuous")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if not self.releases:
            return []
        k = self.k or limits.asked_k or UNASKED
        newest = self.releases[-1]
        return [self._column(newest, j, k) for j in range(len(newest.keys))]

    def _column(self, release: Imprint, j: int, k: int) -> Finding:
        share, people, nodes = hidden_majorities(release, j, k)
        sentence = "no generalized value hides a majority"
        if nodes:
            hide = f"{several(nodes, 'generalized value')} {'hides' if nodes == 1 else 'hide'} a majority"
            sentence = f"{hide}; it is up to {share} of the class, for some of {crowd(people)}"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{release.keys[j].name}: {sentence}",
            confidence=share,
            people=people,
            breach=share > Fraction(9, 10),
            columns=(release.keys[j].name,),
            details={"values": nodes, "share": share},
            not_tried=LEFT_OUT,
        )


def hidden_majorities(release: Imprint, j: int, k: int) -> tuple[Fraction, int, int]:
    """Returns the largest share of a class that must share a hidden child; people and nodes concerned."""
    tree = release.keys[j].tree
    shown, classes = np.unique(release.nodes[:, j], return_counts=True)
    best, people, nodes = Fraction(0), 0, 0
    for node in shown[classes == 1].tolist():
        if len(tree.children(node)) != 2:
            continue
        size = int(release.sizes[release.nodes[:, j] == node][0])
        share = Fraction(max(size - k + 1, -(-size // 2)), size)
        best, people, nodes = max(best, share), people + size, nodes + 1
    return best, people, nodes
