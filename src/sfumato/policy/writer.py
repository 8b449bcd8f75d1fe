"""Writing a policy as YAML, the way a person would."""

from __future__ import annotations

import io
from textwrap import wrap
from typing import Any

from sfumato.policy.content import PolicyContent


def as_yaml(policy: PolicyContent) -> str:
    """The policy as a file: one line per column, reasons as comments."""
    from ruamel.yaml import YAML  # noqa: PLC0415  # only needed when a file is written
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415  # as above

    words: dict[str, Any] = policy.to_dict()
    columns = CommentedMap()
    for name, rule in words.pop("columns").items():
        columns[_text(name)] = _flowing(rule)
        if reason := policy.columns[name].reason:
            columns.yaml_add_eol_comment(" ".join(reason.split()), name)
    asked = words.pop("promises")
    promises = CommentedSeq(CommentedMap((name, _flowing(p)) for name, p in one.items()) for one in asked)
    whole = CommentedMap(sfumato=words.pop("sfumato"), columns=columns, promises=promises)
    for key, value in words.items():
        whole[key] = _flowing(value)
    if policy.note:
        whole.yaml_set_start_comment(_wrapped(policy.note))
    writer = YAML()
    writer.width = 2**30
    writer.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    writer.dump(whole, out)
    return out.getvalue()


def _wrapped(note: str) -> str:
    """The lines of a note, none too long to read."""
    return "\n".join(part for line in note.splitlines() for part in wrap(line, 108))


def _flowing(value: Any) -> Any:
    """The value on one line, in brackets and braces."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415  # as above

    found: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        found = CommentedMap((_text(key), _flowing(child)) for key, child in value.items())
    elif isinstance(value, list):
        found = CommentedSeq(_flowing(child) for child in value)
    else:
        return _text(value)
    found.fa.set_flow_style()
    return found


def _text(value: Any) -> Any:
    """Text with line breaks or invisible characters goes into double quotes, where they are escaped."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString  # noqa: PLC0415  # as above

    plain = not isinstance(value, str) or (value.isprintable() and value.strip() == value)
    return value if plain else DoubleQuotedScalarString(value)
