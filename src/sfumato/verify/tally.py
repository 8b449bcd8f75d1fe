"""A published table, counted: rows are grouped once in SQL, and promises are judged on the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BadTaxonomy
from sfumato.verify.cells import one_value_each
from sfumato.verify.policy_data import JudgedColumn, JudgedPolicy
from sfumato.verify.tables import APART, Relation, number, set_cell, text_of, too_exact_cells
from sfumato.verify.trees import Text, ValueTree

if TYPE_CHECKING:
    import duckdb

Counts = NDArray[np.int64]

Grow = Callable[[Sequence[Text]], tuple[ValueTree, int]]
"""Makes the tree of a column from the texts that occur, and says how many of them have no place in it."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """One sensitive column: in entry i, `count[i]` people of class `owner[i]` hold the leaf `value[i]`.

    Entries are sorted by class, then leaf. `several` people hold more than one value, in whatever classes; it
    is 0 where rows stand for people. `unplaced` of its texts are no values of the policy's taxonomy; the tree
    is then that of the texts alone. `spelling` says which leaves are spellings of one value.
    """

    owner: Counts
    value: Counts
    count: Counts
    tree: ValueTree
    several: int = 0
    unplaced: int = 0
    spelling: str = "exact"

    @cached_property
    def meant(self) -> Counts:
        """The number of the value that each leaf is a spelling of; -1 where it is a missing cell."""
        return one_value_each(self.tree.values, self.spelling)

    def by_meaning(self, *, missing: bool) -> ValueCounts:
        """Returns the counts of values in whatever spelling; `value` then numbers values, not leaves.

        Missing cells are one more value, or left out.
        """
        number = self.meant[self.value]
        included = (number >= 0) | missing
        width = len(self.tree.values) + 1
        cell, place = np.unique(self.owner[included] * width + number[included] + 1, return_inverse=True)
        count = np.zeros(len(cell), dtype=np.int64)
        np.add.at(count, place, self.count[included])
        return replace(self, owner=cell // width, value=cell % width, count=count)

    def numbers_of(self, texts: Sequence[Text]) -> list[int]:
        """Returns the numbers of the values that these texts spell, one each; -1 where a text says nothing.

        Values that do not occur have numbers beyond those that do.
        """
        numbers = one_value_each([*self.tree.values, *texts], self.spelling)
        return [int(number) for number in numbers[len(self.tree.values) :]]


@dataclass(frozen=True, eq=False)
class JointCounts:
    """Several columns together: `count[i]` rows of class `owner[i]` hold the cells `texts[value[i]]`."""

    owner: Counts
    value: Counts
    count: Counts
    texts: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True, eq=False)
class ClassTexts:
    """One key column: its texts, and which of them every class shows."""

    texts: tuple[Text, ...]
    code: Counts


@dataclass(frozen=True, eq=False)
class Tally:
    """A published table, counted: people and rows of every class, and the values of every judged column.

    Classes are in the order of their texts. Where the policy has people judged by all their rows, and the
    table tells whose they are, a class here is a position: the people whose rows are in the same classes,
    equally often in each. `shown` is filled where a promise looks at texts, `together` where one looks at
    several columns at once. `policy` is what the judge was handed. `overall` counts the leaves of the whole
    table, where these classes are not it. `too_fine` says how many texts of a key column are finer than its
    levels, `too_coarse` how many are coarser; `apart` lists columns that move together and did not.
    `too_exact` counts numbers with more digits than are published, `spelled_again` further spellings of keys.
    """

    people: Counts
    rows: Counts
    spreads: Mapping[str, ValueCounts]
    shown: Mapping[str, ClassTexts] = field(default_factory=dict)
    policy: JudgedPolicy = field(default_factory=lambda: JudgedPolicy({}, ()))
    overall: Mapping[str, Counts] = field(default_factory=dict)
    too_fine: Mapping[str, int] = field(default_factory=dict)
    too_coarse: Mapping[str, int] = field(default_factory=dict)
    apart: Sequence[tuple[str, ...]] = ()
    too_exact: Mapping[str, int] = field(default_factory=dict)
    spelled_again: Mapping[str, int] = field(default_factory=dict)
    together: Mapping[tuple[str, ...], JointCounts] = field(default_factory=dict)

    def whole(self, column: str) -> Counts:
        """Returns how often every leaf of a judged column occurs in the whole table."""
        spread = self.spreads[column]
        counts = np.zeros(len(spread.tree.values), dtype=np.int64)
        np.add.at(counts, spread.value, spread.count)
        return self.overall.get(column, counts)

    def expected(self, column: str, reference: Sequence[tuple[Text, int]] | None) -> tuple[Counts, int]:
        """Returns how often each value is expected, and how many of a reference have no place in the tree.

        Without a reference, as often as in the published table.
        """
        counts, outside = self.whole(column), 0
        if reference is not None:
            counts = np.zeros_like(counts)
            for label, count in reference:
                place = self.spreads[column].tree.place(label)
                if place is None:
                    outside += count
                else:
                    counts[place] += count
        return counts, outside


@dataclass(frozen=True)
class TallyRequest:
    """What is counted: the policy's key columns and judged columns among the names of a table.

    `person` tells people apart, where the table has such a column. Of the columns that are `rounded`, the
    digits are looked at.
    """

    policy: JudgedPolicy
    keys: tuple[str, ...]
    judged: tuple[str, ...]
    person: str | None
    texts: bool
    rounded: tuple[str, ...] = ()

    @classmethod
    def of(cls, policy: JudgedPolicy, names: Sequence[str]) -> TallyRequest:
        """Returns what can be asked of a table with these columns."""
        sets = policy.sets
        judged = [
            name
            for name in policy.judged
            if all(part in names for part in (sets[name].parts if name in sets else ()) or (name,))
        ]
        return cls(
            policy,
            tuple(name for name in names if name in policy.columns and policy.columns[name].is_key),
            tuple(judged),
            policy.person if policy.person in names else None,
            any(promise.get("judged_on_labels") for promise in policy.promises),
            tuple(name for name in names if name in policy.digits),
        )

    @property
    def together(self) -> tuple[tuple[str, ...], ...]:
        """The columns that a promise looks at together, where the table has all of them."""
        return tuple(group for group in self.policy.judged_jointly if set(group) <= set(self.judged))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that have to be read, each once."""
        sets = self.policy.sets
        judged = [p for name in self.judged for p in (sets[name].parts if name in sets else ()) or (name,)]
        return tuple(
            dict.fromkeys([*self.keys, *judged, *self.rounded, *([self.person] if self.person else [])])
        )

    def grow(self, column: str) -> Grow:
        """Returns how the tree of a judged column grows from its texts."""
        return lambda texts: grown(self.policy.columns.get(column), texts, [*self.policy.spoken_of(column)])


def grown(rule: JudgedColumn | None, texts: Sequence[Text], spoken: Sequence[Text]) -> tuple[ValueTree, int]:
    """Returns the tree of a column, and how many texts have no place in it; these make a tree of their own.

    `spoken` are texts of references: they are given a place, too, if the taxonomy has one.
    """
    flat = JudgedColumn("sensitive")
    chosen = rule if rule is not None and rule.role != "quasi-sensitive" else flat
    lacking = 0
    for wanted in ([*dict.fromkeys([*texts, *spoken])], texts):
        try:
            tree = chosen.tree(wanted)
        except BadTaxonomy as problem:
            lacking = max(1, len(problem.values))
            continue
        lacking = sum(tree.place(text) is None for text in texts)
        if not lacking:
            return tree, 0
    return flat.tree(texts), lacking


def count(db: duckdb.DuckDBPyConnection, table: Relation, request: TallyRequest, *, where: str) -> Tally:
    """Returns the counts of a table: grouped once by all columns that matter, then counted.

    Term sets are compared as one text, terms joined by a mark.
    """
    place, kinds = _group(db, table, request)
    who = place[request.person] if request.person else None
    if who and number(db, f"SELECT coalesce(sum(n), 0)::BIGINT FROM held WHERE {who} IS NULL"):  # noqa: S608
        raise BadData("the person column has missing cells", where=where)
    _number_classes(db, place, request)
    many = f"count(DISTINCT {who})" if who else "sum(n)"
    people, rows = _arrays(
        db,
        f"SELECT {many}::BIGINT, sum(n)::BIGINT FROM numbered GROUP BY class ORDER BY class",  # noqa: S608
    )
    spreads = {
        name: replace(
            _spread(db, place[name], kinds[name], request.grow(name), many),
            several=_with_several(db, place[name], who),
            spelling=request.policy.spelling_of(name),
        )
        for name in request.judged
    }
    class_texts = (
        {name: _shown(db, place[name], kinds[name]) for name in request.keys} if request.texts else {}
    )
    together = {
        columns: _together(db, [place[name] for name in columns], [kinds[name] for name in columns])
        for columns in request.together
    }
    rules, texts = request.policy.columns, {n: _texts(db, place[n], kinds[n]) for n in request.keys}
    return Tally(
        people,
        rows,
        spreads,
        class_texts,
        request.policy,
        too_fine={name: rules[name].too_fine(shown_texts) for name, shown_texts in texts.items()},
        too_coarse={name: rules[name].too_coarse(shown_texts) for name, shown_texts in texts.items()},
        apart=[group for group in request.policy.together if _at_different_levels(rules, group, texts)],
        together=together,
        spelled_again={name: rules[name].spelled_again(shown_texts) for name, shown_texts in texts.items()},
        too_exact=too_exact_cells(db, table, {name: request.policy.digits[name] for name in request.rounded}),
    )


def _at_different_levels(
    rules: Mapping[str, JudgedColumn], group: Sequence[str], texts: Mapping[str, Sequence[Text]]
) -> bool:
    """Tells whether no level is there at which all columns may be; one without it stays at its last."""
    levels = [rules[name].levels(texts[name]) for name in group if texts.get(name)]
    tried = range(max((last for _, last in levels), default=0) + 1)
    return bool(levels) and not any(all(min(level, last) in here for here, last in levels) for level in tried)


def _group(
    db: duckdb.DuckDBPyConnection, table: Relation, request: TallyRequest
) -> tuple[dict[str, str], dict[str, str]]:
    """Makes the table `held` of all combinations that occur; returns the place and kind of its columns."""
    sets = request.policy.sets
    wanted = dict.fromkeys([*request.keys, *request.judged, *([request.person] if request.person else [])])
    place = {name: f"h{i}" for i, name in enumerate(wanted)}
    kinds, cells = {}, []
    for name in wanted:
        is_set = name in sets and name in request.judged
        kinds[name] = "VARCHAR" if is_set else table.kind(name)
        cell = set_cell(table, name, sets[name]) if is_set else table.cell(name)
        cells.append(f"{cell} AS {place[name]}")
    if (apart := table.told_apart(request.keys)) is not None:
        place[APART] = "told_apart"
        cells.append(f"{apart} AS {place[APART]}")
    grouped = ", ".join([*cells, f"{table.weight}::BIGINT AS n"])
    by = "GROUP BY ALL" if cells else "HAVING count(*) > 0"
    db.execute(f"CREATE TEMP TABLE held AS SELECT {grouped} FROM {table.query} {by}")  # noqa: S608
    return place, kinds


def _number_classes(db: duckdb.DuckDBPyConnection, place: Mapping[str, str], request: TallyRequest) -> None:
    """Rows with the same text, or the same lack of it, in every key column are one class; `numbered` holds it
    in place of the keys that are not judged."""
    names = [name for name in (*request.keys, APART) if name in place]
    if not names:
        db.execute("CREATE TEMP TABLE numbered AS SELECT *, 0 AS class FROM held")
        return
    keys = [place[name] for name in names]
    excluded = [place[name] for name in names if name not in (*request.judged, request.person)]
    listed = ", ".join(keys)
    order = ", ".join(f"{key} NULLS LAST" for key in keys)
    condition = " AND ".join(f"held.{key} IS NOT DISTINCT FROM classes.{key}" for key in keys)
    db.execute(
        f"CREATE TEMP TABLE classes AS SELECT {listed}, row_number() OVER (ORDER BY {order}) - 1 AS class "  # noqa: S608
        f"FROM (SELECT DISTINCT {listed} FROM held)"
    )
    others = f"held.* EXCLUDE ({', '.join(excluded)})" if excluded else "held.*"
    db.execute(f"CREATE TEMP TABLE numbered AS SELECT {others}, class FROM held JOIN classes ON {condition}")  # noqa: S608


def _spread(db: duckdb.DuckDBPyConnection, column: str, kind: str, grow: Grow, many: str) -> ValueCounts:
    cells = [cell for (cell,) in db.execute(f"SELECT DISTINCT {column} FROM held").fetchall()]  # noqa: S608
    texts = [text_of(cell, kind) for cell in cells]
    tree, unplaced = grow(sorted(texts, key=lambda text: (text is None, text or "")))
    leaves = [tree.place(text) for text in texts]
    db.execute(f"CREATE OR REPLACE TEMP TABLE coded AS SELECT {column} AS v, 0 AS leaf FROM held LIMIT 0")  # noqa: S608
    db.execute("INSERT INTO coded SELECT unnest($1), unnest($2)", [cells, leaves])
    owner, value, counts = _arrays(
        db,
        f"SELECT class, leaf, {many}::BIGINT FROM numbered JOIN coded "  # noqa: S608
        f"ON numbered.{column} IS NOT DISTINCT FROM coded.v GROUP BY class, leaf ORDER BY class, leaf",
    )
    return ValueCounts(owner, value, counts, tree, unplaced=unplaced)


def _together(db: duckdb.DuckDBPyConnection, columns: Sequence[str], kinds: Sequence[str]) -> JointCounts:
    """Counts the combinations of cells of several columns, class by class; a column may be named twice."""
    cells = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
    names = [f"c{i}" for i in range(len(columns))]
    listed, order = ", ".join(names), ", ".join(f"{name} NULLS LAST" for name in names)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE combined AS "  # noqa: S608
        f"SELECT {listed}, row_number() OVER (ORDER BY {order}) - 1 AS v "
        f"FROM (SELECT DISTINCT {cells} FROM numbered)"
    )
    combinations = db.execute(f"SELECT {listed} FROM combined ORDER BY v").fetchall()  # noqa: S608
    condition = " AND ".join(
        f"numbered.{column} IS NOT DISTINCT FROM combined.{name}"
        for column, name in zip(columns, names, strict=True)
    )
    owner, value, counts = _arrays(
        db,
        f"SELECT class, v, sum(n)::BIGINT FROM numbered JOIN combined ON {condition} "  # noqa: S608
        "GROUP BY class, v ORDER BY class, v",
    )
    texts = tuple(
        tuple(text_of(cell, kind) for cell, kind in zip(row, kinds, strict=True)) for row in combinations
    )
    return JointCounts(owner, value, counts, texts)


def _shown(db: duckdb.DuckDBPyConnection, column: str, kind: str) -> ClassTexts:
    cells = [cell for (cell,) in db.execute(f"SELECT {column} FROM classes ORDER BY class").fetchall()]  # noqa: S608
    numbers: dict[object, int] = {}
    code = [numbers.setdefault(cell, len(numbers)) for cell in cells]
    return ClassTexts(tuple(text_of(cell, kind) for cell in numbers), np.array(code, dtype=np.int64))


def _texts(db: duckdb.DuckDBPyConnection, column: str, kind: str) -> list[Text]:
    """Returns the different texts of a key column."""
    return [text_of(c, kind) for (c,) in db.execute(f"SELECT DISTINCT {column} FROM classes").fetchall()]  # noqa: S608


def _with_several(db: duckdb.DuckDBPyConnection, column: str, who: str | None) -> int:
    """Returns how many people hold several leaves of the column coded last; a missing cell is one, too."""
    if who is None:
        return 0
    query = (
        f"SELECT {who} FROM numbered JOIN coded ON numbered.{column} IS NOT DISTINCT FROM coded.v "  # noqa: S608
        f"GROUP BY {who} HAVING count(DISTINCT leaf) > 1"
    )
    return number(db, f"SELECT count(*) FROM ({query})")  # noqa: S608


def _arrays(db: duckdb.DuckDBPyConnection, query: str) -> list[Counts]:
    return [np.asarray(array, dtype=np.int64) for array in db.execute(query).fetchnumpy().values()]
