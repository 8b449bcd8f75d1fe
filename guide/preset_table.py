"""The presets: thresholds that others have published, as a table."""

from __future__ import annotations

from sfumato.policy.presets import PRESETS


def presets_table() -> str:
    """Returns every preset with its number, what it means, its source, and how the number is known."""
    lines = ["| preset | k | in plain words | source | the number is known from |", "|---|---|---|---|---|"]
    for one in PRESETS.values():
        cells = (
            f"`{one.name}`",
            str(one.k),
            one.meaning,
            f"{one.source} ({one.dated})",
            one.provenance,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
