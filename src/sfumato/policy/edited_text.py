"""Edited policy files: what changed is written, and every other line stays as somebody wrote it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput
from sfumato.core.json_object import JsonObject
from sfumato.core.problem import Origin
from sfumato.policy import writer, yaml
from sfumato.policy.policy import Policy


def policy_of_text(text: str, *, name: str, folder: Path | None = None) -> Policy:
    """Returns the policy that a text holds; raises `BadPolicy` that names keys and lines."""
    document = yaml.read(text.encode(), name=name)
    words: Any = document.data  # whatever the text holds; checked as a whole
    return Policy.from_dict(words, folder, origin=Origin(name, document.lines))


def edited_text(text: str, before: Policy, after: Policy, *, name: str = "policy.yaml") -> str:
    """Returns the text of a policy that changed: comments and order stay where nothing changed.

    `before` is what the text holds. Where the text cannot be edited so that it holds `after`, which is
    found out by reading it again, it is written anew.
    """
    try:
        edited = _merged_text(text, before.to_dict(), after.to_dict())
        again = policy_of_text(edited, name=name, folder=after.folder)
    except (BadInput, KeyError, TypeError, ValueError, AttributeError):
        return after.to_yaml()
    same = again.digest == after.digest and dict(again.confirm) == dict(after.confirm)
    return edited if same and again.source == after.source else after.to_yaml()


def _merged_text(text: str, before: JsonObject, after: JsonObject) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415  # only needed when a file is written

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 2**30
    editor.indent(mapping=2, sequence=4, offset=2)
    document = editor.load(text)
    _merge(document, before, after)
    out = io.StringIO()
    editor.dump(document, out)
    return out.getvalue()


def _merge(document: dict[Any, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Puts what differs into the document; what is equal in both may be written there in any way."""
    for key in before:
        if key not in after and key in document:
            del document[key]
    for key, value in after.items():
        if key in before and before[key] == value:
            continue
        held, was = document.get(key), before.get(key)
        if isinstance(held, dict) and isinstance(was, Mapping) and isinstance(value, Mapping):
            _merge(held, was, value)
        elif isinstance(held, list) and isinstance(was, Sequence) and len(held) == len(was):
            _merge_list(held, list(was), list(value))
        else:
            document[key] = writer.flowing(value)


def _merge_list(document: list[Any], before: list[Any], after: list[Any]) -> None:
    """Puts what differs into a list: entries are changed in their places, removed, or added at the end."""
    kept = [position for position, value in enumerate(before) if value in after]
    if [before[position] for position in kept] == after[: len(kept)] and len(before) != len(after):
        for position in reversed(range(len(before))):
            if position not in kept:
                del document[position]
        document.extend(writer.flowing(value) for value in after[len(kept) :])
        return
    if len(before) != len(after):
        document[:] = [writer.flowing(value) for value in after]
        return
    for position, (was, value) in enumerate(zip(before, after, strict=True)):
        if was != value:
            held = document[position]
            if isinstance(held, dict) and isinstance(was, Mapping) and isinstance(value, Mapping):
                _merge(held, was, value)
            else:
                document[position] = writer.flowing(value)


def column_comments(text: str) -> dict[str, str]:
    """Returns what a policy file says behind columns that stand on one line: there drafts give reasons."""
    try:
        root = yaml.compose(text)
    except BadInput:
        return {}
    lines = text.splitlines()
    pairs = [] if root is None else root.value
    columns: object = next((value.value for key, value in pairs if key.value == "columns"), [])
    if not isinstance(columns, list):
        return {}
    ends = {key.value: value.end_mark for key, value in columns if value.flow_style}
    behind = {str(name): lines[end.line][end.column :].strip() for name, end in ends.items()}
    return {name: said[1:].strip() for name, said in behind.items() if said.startswith("#")}
