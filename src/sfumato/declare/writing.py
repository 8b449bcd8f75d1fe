"""Writing a policy as YAML, the way a person would."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.declare.policy import Policy


def as_yaml(policy: Policy) -> str:
    """The policy as a file: one line per column, reasons as comments."""
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415

    def flowing(value: Any) -> Any:
        found: CommentedMap | CommentedSeq
        if isinstance(value, dict):
            found = CommentedMap((key, flowing(child)) for key, child in value.items())
        elif isinstance(value, list):
            found = CommentedSeq(flowing(child) for child in value)
        else:
            return value
        found.fa.set_flow_style()
        return found

    words = policy.to_dict()
    columns = CommentedMap()
    for name, rule in words.pop("columns").items():  # type: ignore[attr-defined]
        columns[name] = flowing(rule)
        if reason := policy.columns[name].reason:
            columns.yaml_add_eol_comment(" ".join(reason.split()), name)
    promises = words.pop("promises")
    asked = CommentedSeq(CommentedMap((k, flowing(v)) for k, v in p.items()) for p in promises)  # type: ignore[attr-defined]
    top = CommentedMap(sfumato=words.pop("sfumato"), columns=columns, promises=asked)
    for key, value in words.items():
        top[key] = flowing(value)
    writer = YAML()
    writer.width = 2**30
    writer.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    writer.dump(top, out)
    return out.getvalue()
