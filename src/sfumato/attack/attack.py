"""What an attack is: the seam between adversaries and the audit."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from sfumato.attack.published import Published
from sfumato.attack.tolerance import Tolerance
from sfumato.terms.verdict import Finding


@runtime_checkable
class Attack(Protocol):
    """An adversary with a method.

    `knows` says what is known beforehand, `seeks` what is sought, `succeeds` what counts as success, each in
    a plain sentence part. `threatens` names the promises that this attack breaks, or shows to be too weak.
    Knowledge beyond the published table (a population, a register) is a field of the attack.
    """

    name: ClassVar[str]
    knows: ClassVar[str]
    seeks: ClassVar[str]
    succeeds: ClassVar[str]
    threatens: ClassVar[tuple[str, ...]]

    def strike(self, published: Published, tolerance: Tolerance) -> list[Finding]:
        """What the adversary achieves, from the published table alone; `breach` where it is not tolerated."""
        ...


def strike_all(
    published: Published, attacks: tuple[Attack, ...], tolerance: Tolerance
) -> tuple[Finding, ...]:
    """The findings of several attacks, breaches first, then by how sure the adversary is."""
    findings = [finding for attack in attacks for finding in attack.strike(published, tolerance)]
    return tuple(sorted(findings, key=lambda f: (not f.breach, -f.confidence, f.attack, f.columns)))
