"""Keys that other columns give away: rows show coarsely what an unchanged cell tells, as other rows show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sfumato.attacks.objections import Objection, written_down
from sfumato.core.interval_texts import PLAIN_NUMBER
from sfumato.core.taxonomy import ANY, Label
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.flat import Flat
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.telling_columns import ColumnsBesideKeys


def given_away(
    policy: Policy, columns: ColumnsBesideKeys, rows: Mapping[str, Sequence[Label]]
) -> Iterator[Objection]:
    """Yields the columns that are published unchanged and tell a key where it is published coarsely.

    `rows` are the texts of some published rows, column by column. Where a row shows a raw value of a key, it
    shows what an unchanged cell goes with; if such cells tell that value nearly always, they tell it in
    coarser rows, too. Keys whose raw values cannot be told from groups by their texts are not looked at.
    """
    fine = {name: _fine(policy, name, rows[name]) for name in columns.keys}
    unchanged = {name: rows[name] for name in columns.unchanged}
    for telling in columns.telling({**unchanged, **fine}):
        cells, key = rows[telling.column], fine[telling.key]
        seen = {cell for cell, value in zip(cells, key, strict=True) if value is not None}
        told = sum(
            value is None and label is not None and cell in seen
            for cell, value, label in zip(cells, key, rows[telling.key], strict=True)
        )
        if told:
            rows_told = f"{told:,} rows that show it coarsely"
            sentence = f"a column that is published as insensitive tells a key in {rows_told}"
            yield Objection(sentence, (telling.column, telling.key), True)


def _fine(policy: Policy, name: str, labels: Sequence[Label]) -> list[Label]:
    """Returns the raw values among the labels of a key; `None` in place of groups, and of what is unclear."""
    rule = policy.columns[name].taxonomy
    different = set(labels)
    if rule is None or isinstance(rule, Flat):
        raw = {label for label in different if label != ANY}
    elif isinstance(rule, Intervals):
        raw = {label for label in different if label is not None and PLAIN_NUMBER.fullmatch(label)}
    else:
        tree = written_down(policy, name)
        raw = set() if tree is None else {label for label in different if tree.rank(label) is not None}
    return [label if label in raw else None for label in labels]
