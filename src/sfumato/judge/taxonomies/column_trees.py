"""The tree of a column, from the words of the policy and the texts that occur."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sfumato.core.errors import BadTaxonomy
from sfumato.judge.taxonomies import dates, intervals, ready
from sfumato.judge.taxonomies.codes import build_mask, build_prefix
from sfumato.judge.taxonomies.value_tree import Text, ValueTree
from sfumato.judge.taxonomies.written import build_file, build_flat, build_rows, build_tree

Spec = Mapping[str, object]
"""A taxonomy as a policy writes it: `{prefix: [4, 3, 1]}`."""

KINDS: Mapping[str, Callable[[Spec, Sequence[Text]], ValueTree]] = {
    "flat": build_flat,
    "rows": build_rows,
    "tree": build_tree,
    "intervals": intervals.build,
    "date": dates.build,
    "prefix": build_prefix,
    "mask": build_mask,
}
"""By the key that names them in a policy; `file` and `ready` need the content of a file beside it."""


def value_tree(spec: Spec, texts: Sequence[Text], *, content: bytes | None = None) -> ValueTree:
    """Returns the tree that the policy's words make of the texts that occur, `None` for an empty cell.

    Raises `BadTaxonomy` where the words make no tree, or a text has no place in it.
    """
    if "file" in spec:
        if content is None:
            raise BadTaxonomy("the content of a hierarchy file is missing", where=str(spec["file"]))
        return build_file(spec, texts, content)
    if "ready" in spec:
        if content is None:
            raise BadTaxonomy("the content of a ready list is missing", where=str(spec["ready"]))
        return ready.build(spec, texts, content)
    kinds = [build for key, build in KINDS.items() if key in spec]
    if len(kinds) != 1:
        raise BadTaxonomy(f"a taxonomy names one of {', '.join((*KINDS, 'file', 'ready'))}")
    return kinds[0](spec, texts)
