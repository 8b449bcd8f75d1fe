"""The writer of policies: YAML as a person would write it."""

from __future__ import annotations

import io
from fractions import Fraction
from textwrap import wrap

from sfumato.core.exact_numbers import written
from sfumato.core.json_object import JsonObject
from sfumato.policy.confirmation import KEY
from sfumato.policy.content import PolicyContent


def as_yaml(policy: PolicyContent) -> str:
    """Returns the policy as a file: one line per column, reasons as comments."""
    from ruamel.yaml import YAML  # noqa: PLC0415  # only needed when a file is written
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415  # as above

    words: JsonObject = policy.to_dict()
    columns = CommentedMap()
    for name, rule in words.pop("columns").items():
        columns[_text(name)] = flowing(rule)
        if reason := policy.columns[name].reason:
            columns.yaml_add_eol_comment(" ".join(reason.split()), name)
    asked = words.pop("promises")
    promises = CommentedSeq(CommentedMap((name, flowing(p)) for name, p in one.items()) for one in asked)
    whole = CommentedMap(columns=columns, promises=promises)
    words["protect"]["suppress"] = _share(policy.protect.suppress)
    for key, value in words.items():
        whole[key] = (
            flowing(value) if key != KEY else CommentedMap((_text(n), _text(w)) for n, w in value.items())
        )
    if policy.note:
        whole.yaml_set_start_comment(_wrapped(policy.note))
    writer = YAML()
    writer.width = 2**30
    writer.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    writer.dump(whole, out)
    return out.getvalue()


def _share(share: Fraction) -> object:
    """Returns a share as a person would write it: a whole percentage, or a fraction.

    >>> _share(Fraction(1, 20)), _share(Fraction(1, 3)), _share(Fraction(0))
    ('5%', '1/3', 0)
    """
    percent = share * 100
    return f"{percent}%" if share and percent.denominator == 1 else written(share)


def _wrapped(note: str) -> str:
    """Returns the lines of a note, none too long to read."""
    return "\n".join(part for line in note.splitlines() for part in wrap(line, 108))


def flowing(value: object) -> object:
    """Returns the value on one line, in brackets and braces."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415  # as above

    line: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        line = CommentedMap((_text(key), flowing(child)) for key, child in value.items())
    elif isinstance(value, list):
        line = CommentedSeq(flowing(child) for child in value)
    else:
        return _text(value)
    line.fa.set_flow_style()
    return line


def _text(value: object) -> object:
    """Returns the value; text with line breaks or invisible characters in double quotes, escaped."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString  # noqa: PLC0415  # as above

    if not isinstance(value, str) or (value.isprintable() and value.strip() == value):
        return value
    return DoubleQuotedScalarString(value)
