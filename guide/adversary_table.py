"""The adversaries: what each attack knows and seeks, and whom certificates name whom no promise stops."""

from __future__ import annotations

from sfumato.models.attack_contract import built_in, make
from sfumato.releases.certificate import STATED


def adversaries_table() -> str:
    """Returns every built-in attack with what its adversary knows, seeks, counts as success and threatens."""
    lines = ["| attack | knows | seeks | succeeds if | threatens |", "|---|---|---|---|---|"]
    for name in built_in():
        attack = make(name)
        threatened = ", ".join(f"`{promise}`" for promise in attack.threatens)
        lines.append(f"| `{name}` | {attack.knows} | {attack.seeks} | {attack.succeeds} | {threatened} |")
    return "\n".join(lines)


def stated_table() -> str:
    """Returns whom certificates name, with the sentence, its state, and where it is said."""
    lines = ["| somebody who | what holds | state | said where there are |", "|---|---|---|---|"]
    for told in STATED:
        state = f"{told.state} (`{'`, `'.join(told.by)}`)" if told.by else told.state
        sentence = told.sentence.format(refused="n times")
        lines.append(f"| {told.who} | {sentence} | {state} | {told.applies.words} |")
    return "\n".join(lines)
