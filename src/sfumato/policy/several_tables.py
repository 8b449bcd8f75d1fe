"""What a policy says of several tables in one hand: against whom they are judged, what is asked of them."""

from __future__ import annotations

from sfumato.core.adversary import Adversary
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition, RecipientRule

BY_POSITIONS = "asked of every position of people, on the data"
"""The reason of verdicts that nobody can repeat who sees the tables alone."""


def is_for_colluders(policy: Policy) -> bool:
    """Tells whether recipients who put their versions together are promised anything."""
    return policy.recipients is not None and policy.recipients.coalition is not Coalition.NONE


def against_register(policy: Policy) -> bool:
    """Tells whether several tables are judged against somebody who has everybody's key values."""
    beside = [p.adversary for p in policy.promises if p.adversary is not None]
    if beside:
        return Adversary.REGISTER in beside
    rule = policy.recipients
    return rule is not None and is_for_colluders(policy) and rule.adversary is Adversary.REGISTER


def asks_of_several(policy: Policy) -> bool:
    """Tells whether what is promised of values is promised of several tables together, too."""
    return is_for_colluders(policy) or any(p.asks_others for p in policy.promises)


def together_sentence(policy: Policy) -> str:
    """Returns how verdicts name that versions keep every promise when they are put together."""
    rule = policy.recipients or RecipientRule()
    return f"every promise, {rule.coalition} of versions together, against a {rule.adversary}"
