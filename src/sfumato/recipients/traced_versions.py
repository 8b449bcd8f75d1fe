"""The versions of a table that a ledger says were issued, each with its recipient and its cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sfumato.system.errors import BadInput, UsageError
from sfumato.table.release_summary import POOL, ReadingTree, trees_in

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import ReleaseRecord

Cuts = tuple[tuple[int, ...], ...]
"""For every key column the nodes of a cut."""
UNNAMED = "(unnamed)"
"""Whoever received a release that names no recipient: anybody, perhaps."""


@dataclass(frozen=True)
class HeldVersion:
    """A release as its recipient holds it: for every key column the nodes of its cut.

    `event` is common to the versions that were made of one table for several recipients; a version is `whole`
    if it shows every row of that table.
    `cuts` is `None` where the ledger does not say how columns were recoded, or cannot read their values: then
    nothing can be ruled out about it. `pool` holds the cuts of all versions that coins could have drawn
    in its place; none where it was not drawn.
    """

    recipient: str
    release: str
    event: str
    whole: bool
    columns: tuple[str, ...]
    digests: tuple[str, ...]
    cuts: Cuts | None
    pool: tuple[Cuts, ...] = ()

    def cut_of(self, tree: ReadingTree) -> tuple[int, ...] | None:
        """Returns the cut of the column that this tree is of; `None` where it is read by another tree."""
        if self.cuts is None or tree.name not in self.columns:
            return None
        j = self.columns.index(tree.name)
        return self.cuts[j] if self.digests[j] == tree.digest else None


@dataclass(frozen=True, eq=False)
class IssuedVersions:
    """All issued versions in the order of the ledger, and the trees their columns are read by."""

    versions: tuple[HeldVersion, ...]
    trees: Mapping[tuple[str, str], ReadingTree]

    @classmethod
    def of(cls, records: Sequence[ReleaseRecord], *, chain: str | None = None) -> IssuedVersions:
        """Returns the releases of a ledger, or of one of its chains; raises where none can be traced."""
        trees_by_digest = trees_in(record.trees for record in records)
        trees = {
            (name, digest): replace(trees_by_digest[digest], name=name)
            for name, digest in {pair for record in records for pair in record.taxonomies.items()}
            if digest in trees_by_digest
        }
        if chain is not None and not any(record.chain == chain for record in records):
            raise UsageError("the ledger has no such chain", remedy="See `sfumato history`.")
        wanted = [record for record in records if chain in (None, record.chain)]
        versions = tuple(_version(record, trees) for record in wanted)
        if not any(version.cuts for version in versions):
            raise BadInput(
                "the ledger holds no patterns"
                + (f": none of its {len(versions)} releases can be traced" if versions else ": it is empty"),
                remedy="Only what was released to named recipients, by a search that recodes a column as a"
                " whole, can be traced.",
            )
        return cls(versions, trees)

    @cached_property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who received something, the first first."""
        return tuple(dict.fromkeys(version.recipient for version in self.versions))

    @cached_property
    def columns(self) -> Mapping[str, tuple[ReadingTree, ...]]:
        """The trees of every key column."""
        by_column: dict[str, dict[str, ReadingTree]] = {}
        for version in self.versions:
            for name, digest in zip(version.columns, version.digests, strict=True):
                if (name, digest) in self.trees:
                    by_column.setdefault(name, {})[digest] = self.trees[name, digest]
        return {name: tuple(trees.values()) for name, trees in by_column.items()}

    def of_columns(self, names: Sequence[str]) -> IssuedVersions:
        """Returns only the versions that have one of these columns: the others say nothing about them."""
        relevant = tuple(v for v in self.versions if set(names) & set(v.columns))
        return IssuedVersions(relevant, self.trees)


def _version(record: ReleaseRecord, trees: Mapping[tuple[str, str], ReadingTree]) -> HeldVersion:
    listed = [str(words.get("name")) for words in record.trees.get("columns", ())]
    columns = tuple(sorted(record.taxonomies, key=lambda n: listed.index(n) if n in listed else len(listed)))
    digests = tuple(record.taxonomies[name] for name in columns)
    own = [trees.get(pair) for pair in zip(columns, digests, strict=True)]
    known = [tree for tree in own if tree is not None]
    cuts: Cuts | None = None
    pool: tuple[Cuts, ...] = ()
    if record.cuts is not None and columns and set(record.cuts) == set(columns) and len(known) == len(own):
        cuts = tuple(tuple(record.cuts[name]) for name in columns)
        pool = _pool(record.trees.get(POOL), known)
    recipient, event = record.recipient or UNNAMED, record.event or record.release
    whole = not record.figures.get("suppressed")
    return HeldVersion(recipient, record.release, event, whole, columns, digests, cuts, pool)


def _pool(levels: Mapping[str, Sequence[int]] | None, trees: Sequence[ReadingTree]) -> tuple[Cuts, ...]:
    """Returns the cuts of the patterns that a version was drawn from."""
    if levels is None or set(levels) != {tree.name for tree in trees}:
        return ()
    cuts = [[tuple(tree.level_nodes(level).tolist()) for level in range(tree.height + 1)] for tree in trees]
    by_column = [[cut[level] for level in levels[tree.name]] for cut, tree in zip(cuts, trees, strict=True)]
    return tuple(zip(*by_column, strict=True))
