"""What is said where recipients cannot all have versions: why, and which tolerance would be enough."""

from __future__ import annotations

from fractions import Fraction

from sfumato.core.errors import RefusedByHistory


def refused_beside_earlier(enough: Fraction | None) -> RefusedByHistory:
    """Returns the refusal of a version beside earlier ones; with a tolerance of `enough` there is one."""
    if enough is None:
        return RefusedByHistory(
            "no version for a recipient is safe beside what they and others hold",
            remedy="Ask for less frame-proof, or start a new chain; a wider tolerance does not help.",
        )
    return RefusedByHistory(
        "no version for a recipient is safe beside what they and others hold, and as good as the policy asks",
        remedy=f"Set recipients.tolerance to {enough * 100}%, or start a new chain.",
    )


def remedy_for_several(enough: Fraction | None) -> str:
    """Returns what to do where fewer versions of a table fit beside each other than recipients are named."""
    if enough is not None:
        return f"Set recipients.tolerance to {enough * 100}%, or name fewer."
    return "Name fewer, ask for less frame-proof or a smaller coalition, or give taxonomies more levels."
