"""Releases that show other columns of the same people, made comparable a second time.

Whoever holds a release without some key column knows nothing of it there: everybody is in one group. Records
of two releases can be the same person's where the columns agree that both publish as they are. Where a column
is in one release alone, it tells nothing about another; where it is in all, it is matched. Where some of
several releases have it, pairs are matched by different columns, and nothing here decides that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.core.errors import RefusedByHistory
from sfumato.judge.chain.marks import Marks, tuple_marks
from sfumato.judge.chain.remembered_release import MarkedTree, RememberedRelease
from sfumato.judge.tables.spelling import folded

KEEP = "Publish the same columns in the same roles, or start a new chain with people never published."


def in_same_columns(releases: Sequence[RememberedRelease]) -> list[RememberedRelease]:
    """Returns releases with the same columns each, those of the newest first; raises where that fails."""
    if not releases:
        return []
    newest = releases[-1]
    if all(release.shows_columns_of(newest) for release in releases):
        return [release.in_key_order(newest.names) for release in releases]
    for release in releases:
        _refuse_other_spelling(release, newest)
    trees: dict[str, MarkedTree] = {}
    for release in reversed(releases):
        for tree in release.trees:
            trees.setdefault(tree.name, tree)
    matched = _matched([set(release.unchanged) for release in releases])
    if mixed := set(trees) & {name for release in releases for name in release.unchanged}:
        raise RefusedByHistory(
            f"{len(mixed)} columns are a key in one release and published unchanged in another", remedy=KEEP
        )
    return [_shown_in(release, trees, matched) for release in releases]


def _refuse_other_spelling(release: RememberedRelease, newest: RememberedRelease) -> None:
    """Raises where a column of the newest is in another release under a name that is read as the same."""
    before, now = ({*some.names, *some.unchanged} for some in (release, newest))
    read = [folded(name) for name in before - now]
    if same := sum(word is not None and word in read for word in map(folded, now - before)):
        raise RefusedByHistory(
            f"{same} columns have names that another release spells otherwise: that is not decided",
            remedy="Write the names of columns as that release did.",
        )


def _matched(shown: Sequence[set[str]]) -> tuple[str, ...]:
    """Returns what all releases publish as it is."""
    every, any_of_them = set.intersection(*shown), set.union(*shown)
    for name in any_of_them - every:
        if sum(name in some for some in shown) > 1:
            raise RefusedByHistory(
                "several releases publish a column unchanged that others do not: that is not decided",
                remedy=KEEP,
            )
    return tuple(sorted(every))


def _shown_in(
    release: RememberedRelease, trees: dict[str, MarkedTree], matched: tuple[str, ...]
) -> RememberedRelease:
    own = {tree.name: tree for tree in release.trees}
    place = {name: j for j, name in enumerate(release.names)}
    nothing = np.zeros(len(release.nodes), np.int64)
    columns = [release.nodes[:, place[name]] if name in own else nothing for name in trees]
    shown = tuple(own.get(name, replace(tree, cut=np.zeros(1, np.int64))) for name, tree in trees.items())
    values = _values(release, matched)
    whole = np.column_stack([release.owner.astype(np.uint64), values])
    distinct, which = np.unique(whole, axis=0, return_inverse=True)
    counts = np.zeros(len(distinct), np.int64)
    np.add.at(counts, which.ravel(), release.counts)
    return RememberedRelease(
        shown,
        matched,
        np.stack(columns, axis=1) if columns else release.nodes,
        distinct[:, 0].astype(np.int64),
        np.ascontiguousarray(distinct[:, 1:]),
        counts,
    )


def _values(release: RememberedRelease, matched: tuple[str, ...]) -> Marks:
    """Returns the mark of every entry in the matched columns."""
    if set(matched) == set(release.unchanged):
        return release.values
    if any(name not in release.parts for name in matched):
        raise RefusedByHistory(
            "a release is not remembered column by column, and another one shows only some of its columns",
            remedy=KEEP,
        )
    return tuple_marks([release.parts[name] for name in matched], len(release.owner))
