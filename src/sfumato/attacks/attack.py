"""What an attack is: the seam between adversaries and the audit."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from sfumato.attacks.published_table import PublishedTable
from sfumato.core.errors import SfumatoError
from sfumato.core.limits import AttackLimits
from sfumato.core.progress import Progress, silent
from sfumato.core.verdict import Finding


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

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        """What the adversary achieves, from the published table alone; `breach` where it is not tolerated."""
        ...


def strike_all(
    published: PublishedTable,
    attacks: Sequence[Attack],
    limits: AttackLimits,
    *,
    progress: Progress = silent,
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The findings of several attacks, breaches first, then by how sure the adversary is; and what failed.

    An attack that fails keeps no other from being tried. What it says may quote cells, so only the kind of
    its error and the place in its code are told.
    """
    findings: list[Finding] = []
    failed = []
    for number, attack in enumerate(attacks):
        progress("attack", number, len(attacks))
        try:
            struck = attack.strike(published, limits)
            if not all(isinstance(finding, Finding) for finding in struck):
                raise TypeError
            findings += struck
        except MemoryError:
            raise
        except Exception as wrong:  # whatever the code of another package raises
            failed.append(f"{attack.name}: {_told(wrong)}")
    return worst_first(findings), tuple(failed)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Breaches, then what the adversary is surest of."""
    return tuple(sorted(findings, key=lambda f: (not f.breach, -f.confidence, f.attack, f.columns)))


def _told(wrong: Exception) -> str:
    if isinstance(wrong, SfumatoError):
        return wrong.message
    frame = traceback.extract_tb(wrong.__traceback__)[-1]
    return f"{type(wrong).__name__} at {Path(frame.filename).name}:{frame.lineno}"
