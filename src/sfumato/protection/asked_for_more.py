"""A search that is asked for more than is promised, so that knowing how it decides tells less."""

from __future__ import annotations

from sfumato.core.errors import Infeasible
from sfumato.policy.policy import Policy


def asked_lines(policy: Policy) -> tuple[str, ...]:
    """Returns what the search was asked for beyond what is promised, in a line; nothing where it was not."""
    pairs = zip(policy.promises, policy.searched_promises, strict=True)
    more = ", ".join(str(asked) for promised, asked in pairs if asked is not promised)
    return (f"the search was asked for more than is promised: {more}",) if more else ()


def refusal_of_more(policy: Policy, refused: Infeasible) -> Infeasible:
    """Returns a refusal, which says so where the search was asked for more than is promised."""
    if policy.searched_promises is policy.promises:
        return refused
    remedy = f"{refused.remedy} The search is asked for more than is promised (protect: stricter)."
    return Infeasible(refused.message, where=refused.where, remedy=remedy.strip(), values=refused.values)
