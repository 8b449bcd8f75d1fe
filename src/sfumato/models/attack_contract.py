"""What an attack is: the seam between adversaries and the audit."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from sfumato.attacks.published_table import PublishedTable
from sfumato.core.errors import SfumatoError
from sfumato.core.limits import AttackLimits
from sfumato.core.progress import Progress, silent
from sfumato.core.verdict import Finding

SEVERAL_RELEASES = (
    "two or more releases of the same people: a ledger to hold the table against, or the releases themselves,"
    " oldest first"
)
"""What adversaries need who hold several releases."""
NOTHING_FOR_IT = "something that it can strike, which this table and this policy do not have"
"""What an attack needs that does not say so itself."""


@runtime_checkable
class Attack(Protocol):
    """An adversary with a method.

    `knows` says what is known beforehand, `seeks` what is sought, `succeeds` what counts as success, each in
    a plain sentence part. `threatens` names the promises that this attack breaks, or shows to be too weak.
    Knowledge beyond the published table (a population, a register) is a field of the attack. One that may
    have nothing to strike also says what it `needs`.
    """

    name: ClassVar[str]
    knows: ClassVar[str]
    seeks: ClassVar[str]
    succeeds: ClassVar[str]
    threatens: ClassVar[tuple[str, ...]]

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        """What the adversary achieves, from the published table alone; `breach` where it is not tolerated."""
        ...


@runtime_checkable
class NeedsMore(Protocol):
    """An attack that has nothing to strike at times, and says what it `needs` then, in a sentence part."""

    needs: ClassVar[str]


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
        progress("attacks", number, len(attacks))
        try:
            struck = attack.strike(published, limits)
            if not all(isinstance(finding, Finding) for finding in struck):
                raise TypeError
            findings += struck
        except MemoryError:
            raise
        except Exception as wrong:  # whatever the code of another package raises
            failed.append(f"{attack.name}: {_told(wrong)}")
    progress("attacks", len(attacks), len(attacks))
    return worst_first(findings), tuple(failed)


def attacks_without_target(
    attacks: Iterable[Attack], findings: Collection[Finding], failed: Collection[str]
) -> dict[str, str]:
    """Maps the attacks that found nothing at all, and did not fail, to the reason: what each needs.

    An attack that was withstood has a finding that says so.
    """
    struck = {finding.attack for finding in findings} | {why.partition(":")[0] for why in failed}
    return {
        attack.name: f"it needs {attack.needs if isinstance(attack, NeedsMore) else NOTHING_FOR_IT}"
        for attack in attacks
        if attack.name not in struck
    }


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Breaches, then what the adversary is surest of."""
    return tuple(sorted(findings, key=lambda f: (not f.breach, -f.confidence, f.attack, f.columns)))


def _told(wrong: Exception) -> str:
    if isinstance(wrong, SfumatoError):
        return wrong.message
    frame = traceback.extract_tb(wrong.__traceback__)[-1]
    return f"{type(wrong).__name__} at {Path(frame.filename).name}:{frame.lineno}"
