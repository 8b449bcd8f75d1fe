"""The adversaries: what each attack knows, seeks and threatens, as the attacks themselves say it."""

from __future__ import annotations

from sfumato.models.attack_contract import built_in, make


def adversaries_table() -> str:
    """Returns every built-in attack with what its adversary knows, seeks, counts as success and threatens."""
    lines = ["| attack | knows | seeks | succeeds if | threatens |", "|---|---|---|---|---|"]
    for name in built_in():
        attack = make(name)
        threatened = ", ".join(f"`{promise}`" for promise in attack.threatens)
        lines.append(f"| `{name}` | {attack.knows} | {attack.seeks} | {attack.succeeds} | {threatened} |")
    return "\n".join(lines)
