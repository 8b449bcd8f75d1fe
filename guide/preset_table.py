"""The presets: thresholds that others have published, as a table."""

from __future__ import annotations

from sfumato.policy.presets import PRESETS


def presets_table() -> str:
    """Returns every preset with its number, what it means, its source, and how the number is known."""
    lines = ["| preset | k | in plain words | source | the number is known from |", "|---|---|---|---|---|"]
    lines += [
        f"| `{preset.name}` | {preset.k} | {preset.meaning} | {preset.source} ({preset.dated}) | {preset.grade} |"
        for preset in PRESETS.values()
    ]
    return "\n".join(lines)
