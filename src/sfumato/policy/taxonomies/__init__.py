"""The builders of taxonomies, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.files import HierarchyFile, NestedTree, WrittenRows
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyTaxonomy
from sfumato.policy.taxonomies.texts import Flat, Mask, Prefix
from sfumato.system.errors import BadPolicy
from sfumato.table.taxonomy import Builder, Taxonomy, TaxonomyRule

_CLASSES = (NestedTree, HierarchyFile, WrittenRows, Intervals, Dates, Prefix, Mask, Flat, ReadyTaxonomy)
BUILDERS: Mapping[str, type[Builder]] = {builder.key: builder for builder in _CLASSES}
"""The builders, by the key that names them in a policy."""


def rule_from(spec: object, folder: Path | None = None) -> TaxonomyRule:
    """Returns the rule that a policy describes: a mapping with one builder's key, a word, or a `Taxonomy`.

    A ready taxonomy that stands for another one is that one from here on.

    >>> rule_from({"prefix": [3, 1]}), rule_from({"ready": "isco-08"})
    (Prefix(keep=(3, 1)), Prefix(keep=(3, 2, 1)))
    """
    if isinstance(spec, Taxonomy):
        return WrittenRows.of(spec)
    if spec == "flat":
        return Flat()
    if not isinstance(spec, Mapping):
        raise BadPolicy(f"a taxonomy names one of {', '.join(BUILDERS)}")
    named = [key for key in spec if key in BUILDERS]
    if len(named) != 1:
        near = [hit for key in spec for hit in get_close_matches(str(key), BUILDERS, n=1)]
        hint = f"Did you mean {near[0]}?" if near and not named else ""
        raise BadPolicy(f"a taxonomy names exactly one of {', '.join(BUILDERS)}", remedy=hint)
    builder = BUILDERS[named[0]]
    allowed = builder.schema["properties"]
    assert isinstance(allowed, Mapping)  # noqa: S101  # ours
    for key in spec:
        if key not in allowed:
            near = get_close_matches(str(key), allowed, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(allowed)}."
            raise BadPolicy(f"{builder.key} has no key {key}", where=str(key), remedy=hint)
    stands_for = CATALOGUE[str(spec["ready"])].rule if spec.get("ready") in CATALOGUE else {}
    return rule_from(stands_for) if stands_for else builder.read(spec, folder)
