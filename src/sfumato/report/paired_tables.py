"""The original and the safe table side by side: both counted, every column read by the same leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.core.errors import BadData
from sfumato.core.microdata import Codes, Coding, Counts, Microdata, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.engine.source import Source
from sfumato.policy.policy import Policy
from sfumato.policy.set_columns import forms_of
from sfumato.usefulness.paired_column import PairedColumn, Ranks, pair_column
from sfumato.usefulness.published_texts import BareTexts, PublishedTexts, TreeTexts


@dataclass(frozen=True, eq=False)
class PairedTables:
    """Both tables, counted: `raw.codes(name)` numbers values, `safe.codes(name)` published texts.

    `columns` are those that both have; `gone` are key columns that the safe table lacks; `k` is the least
    size of a class that the policy promises, or that the safe table has where there is no policy.
    """

    raw: Microdata
    safe: Microdata
    columns: tuple[PairedColumn, ...]
    gone: tuple[str, ...]
    promised: int

    @property
    def rows(self) -> int:
        """The rows of the original."""
        return self.raw.rows

    @property
    def suppressed(self) -> int:
        """The rows of the original that are not published."""
        return self.raw.rows - self.safe.rows

    @cached_property
    def keys(self) -> tuple[PairedColumn, ...]:
        """The columns that are generalized."""
        return tuple(column for column in self.columns if column.is_key)

    @cached_property
    def class_rows(self) -> Counts:
        """The published rows of every class: rows with the same texts in all key columns."""
        table = Microdata.of_codes(
            [self.safe.column(c.name) for c in self.keys],
            [self.safe.codes(c.name) for c in self.keys],
            counts=self.safe.counts,
        )
        return table.counts

    @property
    def k(self) -> int:
        """The size that classes are compared with."""
        return self.promised or int(self.class_rows.min(initial=self.safe.rows))

    def raw_codes(self, column: PairedColumn) -> Codes:
        """Returns the value of every distinct original row."""
        return self.raw.codes(column.name)

    def safe_codes(self, column: PairedColumn) -> Codes:
        """Returns the text of every distinct published row."""
        return self.safe.codes(column.name)


def read_tables(
    raw: Source, safe: Source, policy: Policy | None, *, progress: Progress = silent
) -> PairedTables:
    """Returns both tables, counted in one pass each, as the policy reads them; identifiers are left out.

    Raises `BadData` where the safe table has more rows than the original, or no column in common with it.
    """
    sets = set() if policy is None else {p for n, f in forms_of(policy).items() for p in (f.parts or (n,))}
    roles = {} if policy is None else {name: rule.role for name, rule in policy.columns.items()}
    wanted = [name for name in raw.columns if name not in sets and roles.get(name) is not Role.IDENTIFIER]
    both = [name for name in wanted if name in set(safe.columns)]
    if not both:
        raise BadData(
            "the two tables have no column in common", remedy="Hand in the original, then the safe one."
        )
    before = raw.count([Coding(name, Role.INSENSITIVE, _flat) for name in both], progress=progress)
    after = safe.count([Coding(name, Role.INSENSITIVE, _flat) for name in both], progress=progress)
    if after.rows > before.rows:
        raise BadData(
            f"the safe table has {after.rows:,} rows and the original {before.rows:,}",
            remedy="Hand in the original first, then what was published of it.",
        )
    columns = tuple(_paired(name, roles.get(name), policy, before, after) for name in both)
    gone = tuple(name for name in wanted if name not in set(both) and _is_key(roles.get(name)))
    least = 0 if policy is None else max((p.least_people for p in policy.promises), default=0)
    return PairedTables(before, after, columns, gone, least)


def _is_key(role: Role | None) -> bool:
    return role is None or role.is_key


def _paired(
    name: str, role: Role | None, policy: Policy | None, before: Microdata, after: Microdata
) -> PairedColumn:
    raw, safe = _counted(before, name), _counted(after, name)
    return pair_column(name, role, _texts(name, policy, raw[0], safe[0]), raw, safe)


def _texts(
    name: str, policy: Policy | None, values: Sequence[Label], published: Sequence[Label]
) -> PublishedTexts:
    rule = None if policy is None else policy.columns.get(name)
    if rule is None:
        return BareTexts(values)
    if not rule.role.is_key:
        return BareTexts(list(dict.fromkeys([*values, *published])))
    bare = rule.taxonomy is None and not rule.one_spelling
    tree = Taxonomy.flat(values) if bare else rule.tree_of(values)
    return TreeTexts(tree, rule.start)


def _counted(table: Microdata, name: str) -> tuple[Sequence[Label], Ranks]:
    """Returns the texts of a column, and how many rows have each."""
    texts = table.column(name).taxonomy.leaf_labels
    rows = np.zeros(len(texts), np.int64)
    np.add.at(rows, table.codes(name), table.counts)
    return texts, rows


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))
