"""Confirmation: columns that a draft would publish unchanged, until a person says that this is right."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sfumato.policy.content import PolicyContent
from sfumato.policy.yaml import compose
from sfumato.system.errors import BadPolicy, Problem, UsageError, did_you_mean, short
from sfumato.system.json_object import JsonObject

KEY = "confirm"
MOST_NAMED = 8


def read_entries(words: object) -> dict[str, str]:
    """Returns the columns that wait, and why; a list names columns without a reason."""
    if isinstance(words, Mapping):
        return {str(name): " ".join(str(reason or "").split()) for name, reason in words.items()}
    return {str(name): "" for name in words} if isinstance(words, list | tuple) else {}


def schema() -> JsonObject:
    """Returns the schema of the key."""
    return {
        "oneOf": [
            {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            {"type": "array", "items": {"type": "string"}},
        ],
        "description": (
            "Columns that would be published unchanged on a guess, with the reason; nothing is published"
            " before a person has confirmed them."
        ),
    }


def unknown_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields a problem for every column that waits and is not declared."""
    for name in policy.confirm:
        if name not in policy.columns:
            near = did_you_mean(name, list(policy.columns), otherwise="Take it out.")
            yield Problem((KEY, name), f"there is no column {short(name)}.", near)


def check_confirmed(policy: PolicyContent) -> None:
    """Raises `BadPolicy` while a column waits for a person's word: nothing may be published before that."""
    waiting = list(policy.confirm)
    if not waiting:
        return
    named = ", ".join(short(name) for name in waiting[:MOST_NAMED])
    more = f" and {len(waiting) - MOST_NAMED} more" if len(waiting) > MOST_NAMED else ""
    single = len(waiting) == 1
    raise BadPolicy(
        f"{'a column waits' if single else f'{len(waiting)} columns wait'} for somebody to confirm that"
        f" {'it' if single else 'they'} may be published unchanged: {named}{more}.",
        where=f"{policy.origin.name}, {KEY}",
        remedy="Read the reasons in the policy; change a role that is wrong, and say"
        " `sfumato policy confirm POLICY COLUMN…` (or --all) of those that are right; in Python,"
        " policy.confirm_columns(…). Planning (--dry-run) works before that.",
    )


def remaining_columns(policy: PolicyContent, columns: Sequence[str]) -> dict[str, str]:
    """Returns what still waits when these columns are confirmed; raises where one of them does not wait."""
    for name in columns:
        if name not in policy.confirm:
            declared = name in policy.columns
            what = (
                f"{short(name)} does not wait for confirmation"
                if declared
                else f"there is no column {short(name)}"
            )
            hint = did_you_mean(name, list(policy.confirm))
            waiting = ", ".join(map(short, policy.confirm)) or "none"
            raise UsageError(f"{what}.", remedy=hint or f"Columns that wait: {waiting}.")
    return {name: why for name, why in policy.confirm.items() if name not in set(columns)}


def without_entries(text: str, names: Collection[str]) -> str:
    """Returns the text of a policy file without these entries of `confirm`; nothing else in it changes."""
    start, end, entries = _section(text)
    remaining = [(name, entry) for name, entry in entries if name not in names]
    if len(remaining) == len(entries):
        return text
    if not remaining:
        return text[:start] + text[end:]
    lines = "".join(f"  {entry}\n" for _, entry in remaining)
    return f"{text[:start]}{KEY}:\n{lines}{text[end:]}"


def _section(text: str) -> tuple[int, int, list[tuple[str, str]]]:
    """Returns where the key starts and ends in the text, and its entries, each as it is written."""
    root = compose(text)
    pairs = [] if root is None else root.value
    for key, value in pairs:
        if key.value != KEY:
            continue
        start = key.start_mark.index
        if type(value).__name__ == "MappingNode":
            spans = [(k.value, k.start_mark.index, v.end_mark.index) for k, v in value.value]
        else:
            spans = [(item.value, item.start_mark.index, item.end_mark.index) for item in value.value]
        listed = type(value).__name__ != "MappingNode"
        dash = "- " if listed else ""
        entries = [(name, dash + " ".join(text[a:b].split())) for name, a, b in spans]
        last = max([value.end_mark.index if value.flow_style else 0, *(b for _, _, b in spans), start])
        line_end = text.find("\n", last)
        return start, len(text) if line_end < 0 else line_end + 1, entries
    return 0, 0, []
