"""The work of the page Attack: every adversary, before and after."""

from __future__ import annotations

from sfumato.core.progress import Progress
from sfumato.journey.attack_rehearsal import AttackRehearsal, rehearse_attacks
from sfumato.studio.question import Question


def strike(question: Question, *, progress: Progress) -> AttackRehearsal:
    """Attacks the table as it is and as it would be published; beside earlier releases where there are."""
    policy = question.policy()
    against = question.against if policy.promises.looks_back else None
    return rehearse_attacks(question.data, policy, against=against, progress=progress)
