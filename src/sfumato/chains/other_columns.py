"""A table beside earlier releases that show other columns of the same people."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.chains.history import unchanged_columns
from sfumato.core.aligned_imprints import (
    common_columns,
    in_key_order,
    refuse_renamed,
    refuse_two_roles,
    show_other_columns,
    with_columns,
)
from sfumato.core.cut import Cut
from sfumato.core.imprint import Imprint, KeyImprint
from sfumato.core.microdata import Microdata


def has_other_columns(table: Microdata, earlier: Sequence[Imprint]) -> bool:
    """Whether an earlier release shows other columns than the table will."""
    names, unchanged = [c.name for c in table.keys], unchanged_columns(table)
    return any(show_other_columns(names, unchanged, imprint) for imprint in earlier)


def on_table_columns(
    table: Microdata, earlier: Sequence[Imprint]
) -> tuple[list[str], tuple[KeyImprint, ...], list[Imprint]]:
    """Returns the unchanged columns that records are matched by, key columns that the table lacks, and the
    earlier releases with the key columns of the table first, and then these.

    Raises where columns cannot be compared.
    """
    unchanged = unchanged_columns(table)
    if not has_other_columns(table, earlier):
        names = [c.name for c in table.keys]
        return unchanged, (), [in_key_order(imprint, names) for imprint in earlier]
    keys = {c.name: KeyImprint.of(c.name, Cut.root(c.taxonomy)) for c in table.keys}
    for imprint in earlier:
        refuse_renamed((*keys, *unchanged), imprint)
    others: dict[str, KeyImprint] = {}
    for imprint in reversed(earlier):
        for key in imprint.keys:
            if key.name not in keys:
                others.setdefault(key.name, key)
    common = common_columns([unchanged, *(imprint.unchanged for imprint in earlier)])
    every = {**keys, **others}
    refuse_two_roles(unchanged, every)
    return list(common), tuple(others.values()), [with_columns(i, every, common) for i in earlier]
