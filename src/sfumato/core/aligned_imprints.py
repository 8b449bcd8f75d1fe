"""Releases with other columns of the same people, side by side: what all show, and roots for the rest.

A key column that a release does not show is at its root there: it rules nobody out. What is published
unchanged matches records only where both show it. A column that one release alone shows unchanged can be left
out: within a class, its values go with any of the records that match otherwise. One that several show but not
all says something about pairs that no single matching value holds: that is refused.

The same columns in another order are no other columns: earlier releases are put in the order of the newest.
Nor is a column whose name is written otherwise: taken for another one, it would match nobody. It is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint, KeyImprint
from sfumato.core.marks import Marks, numbered_together
from sfumato.core.spelling import meaning
from sfumato.core.value_parts import ValueParts

SAME_COLUMNS = "Publish the same columns in the same roles, or start a new chain with people never published."


def common_columns(shown: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns the columns that all releases publish unchanged; raises where several, but not all, share one.

    >>> common_columns([["disease", "wage"], ["disease"], ["disease", "job"]])
    ('disease',)
    """
    times = Counter(name for names in shown for name in set(names))
    if some := [name for name, n in times.items() if 1 < n < len(shown)]:
        raise RefusedByHistory(
            f"{len(some)} columns are published unchanged by several releases of the chain and not by all:"
            " what they say together is not judged",
            where=", ".join(sorted(some)),
            remedy=SAME_COLUMNS,
        )
    return tuple(sorted(name for name, n in times.items() if n == len(shown)))


def show_other_columns(names: Sequence[str], unchanged: Sequence[str], imprint: Imprint) -> bool:
    """Whether a release shows other columns than these, in whatever order."""
    return sorted(imprint.names) != sorted(names) or sorted(imprint.unchanged) != sorted(unchanged)


def in_key_order(imprint: Imprint, names: Sequence[str]) -> Imprint:
    """Returns a release with its key columns in this order, to be compared; `names` are just these columns.

    Its classes keep their numbers. Other releases know it by its digest in its own order.
    """
    if imprint.names == tuple(names):
        return imprint
    place = {name: j for j, name in enumerate(imprint.names)}
    order = [place[name] for name in names]
    nodes = np.ascontiguousarray(imprint.nodes[:, order])
    return replace(imprint, keys=tuple(imprint.keys[j] for j in order), nodes=nodes)


def aligned(imprints: Sequence[Imprint]) -> list[Imprint]:
    """Returns the releases with the same columns each: those of the newest first, then those of others."""
    newest = imprints[-1] if imprints else None
    if newest is None:
        return []
    if not any(show_other_columns(newest.names, newest.unchanged, i) for i in imprints):
        return [in_key_order(imprint, newest.names) for imprint in imprints]
    known: dict[str, KeyImprint] = {}
    for imprint in reversed(imprints):
        for key in imprint.keys:
            known.setdefault(key.name, key)
    for imprint in imprints:
        refuse_renamed((*newest.names, *newest.unchanged), imprint)
    unchanged = common_columns([i.unchanged for i in imprints])
    return [with_columns(imprint, known, unchanged) for imprint in imprints]


def with_columns(imprint: Imprint, keys: Mapping[str, KeyImprint], unchanged: Sequence[str]) -> Imprint:
    """Returns a release with these key columns, in this order, and these unchanged columns.

    Keys that it does not show are at their roots. Raises where a column was a key and is published unchanged
    now, or the other way round, and where the release is not remembered column by column.
    """
    own = {key.name: (j, key) for j, key in enumerate(imprint.keys)}
    refuse_two_roles(imprint.unchanged, keys)
    nodes = np.zeros((len(imprint.nodes), len(keys)), np.int32)
    shown = []
    for place, (name, key) in enumerate(keys.items()):
        if name in own:
            nodes[:, place] = imprint.nodes[:, own[name][0]]
            shown.append(own[name][1])
        else:
            shown.append(replace(key, cut=np.zeros(1, np.int32)))
    values = _values(imprint, unchanged)
    (number,), count = numbered_together([values])
    pair = imprint.owner.astype(np.int64) * max(1, count) + number
    groups, first, group = np.unique(pair, return_index=True, return_inverse=True)
    counts = np.zeros(len(groups), np.int64)
    np.add.at(counts, group.ravel(), imprint.counts)
    return replace(
        imprint,
        keys=tuple(shown),
        unchanged=tuple(sorted(unchanged)),
        nodes=nodes,
        owner=imprint.owner[first],
        values=values[first],
        counts=counts,
        parts=ValueParts(),
    )


def refuse_two_roles(unchanged: Iterable[str], keys: Iterable[str]) -> None:
    """Raises where a column is a key of one release and published unchanged by another."""
    if confused := set(unchanged) & set(keys):
        raise RefusedByHistory(
            f"{len(confused)} columns are keys of one release and published unchanged by another",
            where=", ".join(sorted(confused)),
            remedy=SAME_COLUMNS,
        )


def refuse_renamed(names: Iterable[str], imprint: Imprint) -> None:
    """Raises where one of these columns is in a release under another spelling of its name."""
    now, before = set(names), {*imprint.names, *imprint.unchanged}
    spelled = {meaning(name) for name in before - now} - {None}
    if renamed := [name for name in now - before if meaning(name) in spelled]:
        raise RefusedByHistory(
            f"{len(renamed)} columns are in an earlier release under another spelling of their names:"
            " what both say together is not judged",
            where=", ".join(sorted(renamed)),
            remedy="Write these names, in the policy and in the table, as that release did.",
        )


def _values(imprint: Imprint, unchanged: Sequence[str]) -> Marks:
    """The mark of every group's value in some of the unchanged columns."""
    if set(unchanged) == set(imprint.unchanged):
        return imprint.values
    if not unchanged:
        return np.zeros_like(imprint.values)
    try:
        return imprint.parts.joined(unchanged)
    except KeyError:
        raise RefusedByHistory(
            "an earlier release is remembered by all of its unchanged columns together, and this one shows"
            " some of them",
            where=", ".join(sorted(unchanged)),
            remedy=SAME_COLUMNS,
        ) from None
