"""Attacks on a table before and after: what adversaries get from it as it is, and as it would be published.

Everything that is returned is plain data without a cell value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.attacks.attack import Attack
from sfumato.attacks.audit import Audit
from sfumato.attacks.registry import make_all
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promise
from sfumato.core.verdict import Finding
from sfumato.engine import AnyTable
from sfumato.journey.audit import audit
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.protect_file import protect_file
from sfumato.policy.policy import Policy
from sfumato.promises.registry import definitions
from sfumato.reports.evidence import chance
from sfumato.show.card import verdict_lines
from sfumato.system.private_folder import private_folder

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


@dataclass(frozen=True)
class Strike:
    """What an adversary got: how sure they are, in words, and whether that is more than is allowed."""

    sentence: str
    chance: str
    people: int
    breach: bool
    partly_tried: bool = False

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Strike | None:
        """Returns the worst of some findings."""
        worst = max(findings, key=lambda f: (f.breach, f.confidence), default=None)
        if worst is None:
            return None
        partly = not worst.breach and any(finding.not_tried for finding in findings)
        return cls(worst.told, chance(worst), worst.people, worst.breach, partly)


@dataclass(frozen=True)
class AdversaryLine:
    """An adversary, what they know and seek, and what they get before and after.

    `stopped_by` are the promises of the policy that limit this attack, `would_stop` the policy keys of all
    that do; `about` names the column that is attacked, where there are several.
    """

    attack: str
    who: str
    about: str
    knows: str
    seeks: str
    succeeds: str
    before: Strike | None
    after: Strike | None
    stopped_by: tuple[str, ...]
    would_stop: tuple[str, ...]

    @property
    def rank(self) -> tuple[bool, bool, str, str]:
        """Those first who get too much after, then those who did before."""
        won = [one is not None and one.breach for one in (self.after, self.before)]
        return (not won[0], not won[1], self.attack, self.who)


@dataclass(frozen=True)
class AttackRehearsal:
    """All adversaries, worst first; what was promised and whether it holds; which attacks had no target."""

    adversaries: tuple[AdversaryLine, ...]
    before: str
    after: str
    promises: tuple[tuple[str, ...], ...]
    holds: bool | None
    rows: int
    not_tried: Mapping[str, str]
    failed: tuple[str, ...]


def rehearse_attacks(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    against: Ledger | str | None = None,
    chain: str = "main",
    spill: Path | None = None,
    progress: Progress | None = None,
) -> AttackRehearsal:
    """Attacks a table as it is, then as `protect` would publish it, judged from its bytes.

    The safe file is written to a private folder and gone afterwards. With `against`, a ledger, also beside
    every release of a chain. Raises what `protect` refuses.
    """
    rules, show = load_policy(policy), progress or silent
    before = audit(data, rules, progress=show)
    with private_folder(spill) as private:
        safe = private / "safe.csv"
        protect_file(data, rules, safe, against=against, chain=chain, progress=show)
        after = audit(safe, rules, against=against, chain=chain, progress=show)
    return AttackRehearsal(
        _lines(before, after, rules),
        before.headline.title,
        after.headline.title,
        tuple(verdict_lines(after.verdicts)),
        after.holds,
        after.rows,
        dict(after.not_tried),
        after.failed,
    )


def _lines(before: Audit, after: Audit, policy: Policy) -> tuple[AdversaryLine, ...]:
    attacks = {attack.name: attack for attack in make_all()[0]}
    secrets = {name for name in policy.published if not policy.columns[name].role.is_key}
    sides: dict[tuple[str, str, str], tuple[list[Finding], list[Finding]]] = {}
    for side, one in enumerate((before, after)):
        for finding in one.findings:
            who, colon, _ = finding.adversary.partition(":")
            about = ", ".join(name for name in finding.columns if name in secrets)
            key = (finding.attack, who if colon else "", about)
            sides.setdefault(key, ([], []))[side].append(finding)
    lines = [
        _line(attacks.get(attack), (attack, who, about), found, policy)
        for (attack, who, about), found in sides.items()
    ]
    return tuple(sorted(lines, key=lambda line: line.rank))


def _line(
    attack: Attack | None,
    named: tuple[str, str, str],
    found: tuple[Sequence[Finding], Sequence[Finding]],
    policy: Policy,
) -> AdversaryLine:
    name, who, about = named
    promised = [p for p in policy.promises if name in p.threats and _concerns(p, about)]
    told = ("", "", "") if attack is None else (attack.knows, attack.seeks, attack.succeeds)
    return AdversaryLine(
        name,
        who,
        about,
        *told,
        Strike.of(found[0]),
        Strike.of(found[1]),
        tuple(str(promise) for promise in promised),
        tuple(dict.fromkeys(maker.name for maker in definitions() if name in maker.threats)),
    )


def _concerns(promise: Promise, about: str) -> bool:
    """Whether a promise is about the attacked column, or about no column at all."""
    return not about or not promise.sensitive or about in promise.sensitive
