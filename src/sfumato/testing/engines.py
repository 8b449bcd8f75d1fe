"""The conformance suite for engines, whatever library stands behind them.

`check_engine` makes small tables with all that is awkward about tables, hands them to a source, and compares
what comes back with plain Python: dictionaries, tuples and sorting, no arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sfumato.system.errors import BadData
from sfumato.table.cell_text import canonical
from sfumato.table.cut import Cut
from sfumato.table.microdata import Coding, Microdata, Missing, Role
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.source import Source, open_source
from sfumato.table.taxonomy import Label, Taxonomy

Cells = Mapping[str, Sequence[Label]]
"""A table of text, column by column; `None` is a missing cell."""

Row = tuple[Label, ...]

NativeTable = Any
"""A table of any library: what an engine takes and returns; no type is common to all of them."""


def flat(values: Sequence[Label]) -> Taxonomy:
    """Returns all values right below the root: the taxonomy that any column can have."""
    return Taxonomy.grow(["*", *values], [-1, *[0] * len(values)])


def by_length(values: Sequence[Label]) -> Taxonomy:
    """Returns a tree in which values of the same length are one leaf; a missing cell has no length.

    >>> by_length(["a", "b", "", None]).leaf_labels
    ('0 characters', '1 characters')
    """
    lengths = sorted({len(value or "") for value in values})
    aliases = {value: 1 + lengths.index(len(value or "")) for value in values}
    labels = ["*", *(f"{length} characters" for length in lengths)]
    return Taxonomy.grow(labels, [-1, *[0] * len(lengths)], aliases=aliases)


def codings(
    keys: Sequence[str], sensitive: Sequence[str] = (), *, build: Callable[[Sequence[Label]], Taxonomy] = flat
) -> list[Coding]:
    """Returns codings with flat taxonomies, or others, for these columns."""
    return [Coding(name, Role.QUASI, build) for name in keys] + [
        Coding(name, Role.SENSITIVE, build) for name in sensitive
    ]


def counted(
    cells: Cells,
    columns: Sequence[Coding],
    *,
    missing: Missing = Missing.OWN_VALUE,
    person: str | None = None,
) -> Counter[Row]:
    """Counts how often each row occurs, in plain Python."""
    names = [c.name for c in columns] + ([] if person is None else [person])
    keys = [i for i, c in enumerate(columns) if c.role.is_key]
    rows = zip(*(cells[name] for name in names), strict=True) if names else iter(())
    if missing is Missing.SUPPRESS:
        rows = iter([row for row in rows if all(row[i] is not None for i in keys)])
    return Counter(rows)


def decoded(table: Microdata) -> Counter[Row]:
    """Returns the rows of a coded table as texts; people appear as their numbers."""
    columns: list[list[Label]] = []
    for column in table.columns:
        labels = column.taxonomy.leaf_labels
        columns.append([labels[code] for code in table.codes(column.name).tolist()])
    if table.person is not None:
        columns.append([str(number) for number in table.person.tolist()])
    counts: Counter[Row] = Counter()
    for row, count in zip(zip(*columns, strict=True), table.counts.tolist(), strict=True):
        counts[row] += count
    return counts


def published(cells: Cells, recoding: Recoding, drop: Sequence[str] = ()) -> list[Row]:
    """Returns the published rows in canonical order, in plain Python."""
    table = recoding.table
    row_numbers = _whole(cells, table) if table.dropped else range(len(next(iter(cells.values()))))
    people = sorted({str(cells[table.person_column][i]) for i in row_numbers}) if table.person_column else []
    codes = [table.codes(c.name).tolist() for c in table.columns]
    if table.person is not None:
        codes.append(table.person.tolist())
    class_at = {row: int(recoding.class_of[i]) for i, row in enumerate(zip(*codes, strict=True))}
    names = [name for name in cells if name not in set(drop)]
    keys = {c.name: j for j, c in enumerate(table.keys)}
    rows: list[Row] = []
    for i in row_numbers:
        row = [c.taxonomy.rank(cells[c.name][i]) for c in table.columns]
        if table.person_column is not None:
            row.append(people.index(str(cells[table.person_column][i])))
        class_number = class_at[tuple(row)] if row else 0
        if class_number != SUPPRESSED:
            rows.append(tuple(_shown(cells, recoding, name, i, class_number, keys) for name in names))
    return sorted(rows, key=canonical_order)


def _whole(cells: Cells, table: Microdata) -> list[int]:
    keys = [cells[c.name] for c in table.keys]
    return [i for i in range(len(keys[0])) if all(column[i] is not None for column in keys)]


def _shown(
    cells: Cells, recoding: Recoding, name: str, row: int, class_number: int, keys: Mapping[str, int]
) -> Label:
    if name not in keys:
        return cells[name][row]
    j = keys[name]
    tree, low, high = (
        recoding.table.keys[j].taxonomy,
        recoding.low[class_number, j],
        recoding.high[class_number, j],
    )
    if recoding.cuts is not None:
        return tree.labels[int(recoding.cuts[name].node_of[low])]
    return tree.describe(int(low), int(high))


def canonical_order(row: Row) -> tuple[tuple[bool, bytes], ...]:
    """Returns the key to sort rows by: column by column, text by its UTF-8 bytes, missing cells last."""
    return tuple((cell is None, b"" if cell is None else cell.encode()) for cell in row)


AWKWARD: tuple[Cells, ...] = (
    {
        "a": ["x", "y", "x", "x"],
        "b": ["1", "2", "1", "2"],
        "s": ["u", "v", "u", "v"],
        "p": ["1", "2", "3", "3"],
    },
    {
        "a": ["é", "e\u0301", "É", " é"],
        "b": ["", "NA", "null", "None"],
        "s": ["007", "7", "-0", "𝄞"],
        "p": list("aabb"),
    },
    {"a": [None, "x", None, "x"], "b": ["y", None, "y", "z"], "s": [None, "s", "s", None], "p": list("abab")},
    {"a": ["=1", 'q"', "a,b", "l\nm"], "b": list("zyxw"), "s": ["9007199254740993"] * 4, "p": list("cdef")},
    {"a": ["x"], "b": ["y"], "s": ["z"], "p": ["p"]},
)


def check_engine(
    make_source: Callable[[Cells], Source],
    *,
    read: Callable[[NativeTable], Cells] | None = None,
    endings: Sequence[str] = ("csv", "parquet"),
    tables: Sequence[Cells] = AWKWARD,
) -> None:
    """Checks an engine against the contract; raises `AssertionError` with what differs.

    `make_source` turns a table of text into a source; `read` turns what `recode` returns back into one
    (default: by opening it as a source). `endings` are the formats it writes.
    """
    for cells in tables:
        for person in (None, "p"):
            for missing in (Missing.OWN_VALUE, Missing.SUPPRESS):
                _check_table(make_source, read or read_back, cells, missing, person)
            _check_aliases(make_source(cells), read or read_back, cells, person)
        _check_refusals(make_source, cells)
        _check_files(make_source(cells), cells, endings)
        _check_numbers(make_source(cells), cells, endings)
        _same(make_source(cells).digest(), plain_digest(cells), "digest of the table")


def read_back(native: NativeTable) -> dict[str, list[Label]]:
    """Returns a table of text from any table that can be opened as a source, in its own order."""
    reader = open_source(native).reader  # type: ignore[attr-defined]
    names = reader.schema.names
    columns: dict[str, list[Label]] = {name: [] for name in names}
    for batch in reader.batches(names):
        for name in names:
            columns[name] += canonical(batch.column(name), name).to_pylist()
    return columns


def plain_digest(cells: Cells) -> str:
    """Returns the digest of a table of text, in plain Python."""
    total, rows = 0, list(zip(*cells.values(), strict=True))
    for row in rows:
        texts = [None if cell is None else cell.encode() for cell in row]
        whole = b"".join(b"-" if text is None else b"%d:%b" % (len(text), text) for text in texts)
        total += int.from_bytes(hashlib.sha256(whole).digest(), "big")
    document = ["sfumato table 1", list(cells), len(rows), f"{total % 2**256:064x}"]
    return hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()


def _check_files(source: Source, cells: Cells, endings: Sequence[str]) -> None:
    """Written files hold the same rows in the same order."""
    recoding = list(recodings(source.count(codings(["a", "b"], ["s"]))))[-1]
    with TemporaryDirectory() as folder:
        for ending in endings:
            got = read_back(source.write(recoding, Path(folder) / f"rows.{ending}", drop=["p"]))
            _same(list(zip(*got.values(), strict=True)), published(cells, recoding, ["p"]), f"{ending} rows")


def _check_numbers(source: Source, cells: Cells, endings: Sequence[str]) -> None:
    """A numbered column tells which rows are alike in it, to the owner of the file alone."""
    recoding = list(recodings(source.count(codings(["a", "b"], ["s"]), person="p")))[-1]
    with TemporaryDirectory() as folder:
        for ending in endings:
            path = source.write(recoding, Path(folder) / f"rows.{ending}", numbered=["p"])
            got = read_back(path)
            _same(list(got), ["a", "b", "s", "p"], "columns with numbers")
            _same(set(got["p"]), {str(i) for i in range(len(set(got["p"])))}, "numbers")
            _same(_groups(zip(*got.values(), strict=True)), _groups(published(cells, recoding)), "groups")
            if os.name == "posix":
                _same(oct(path.stat().st_mode & 0o077), oct(0), "mode of a file with numbers")


def _groups(rows: Iterable[Row]) -> Counter[tuple[Row, ...]]:
    """The rows of each value of the last column, without that value."""
    groups: dict[Label, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[-1], []).append(row[:-1])
    return Counter(tuple(sorted(group, key=canonical_order)) for group in groups.values())


def _check_aliases(
    source: Source, read: Callable[[NativeTable], Cells], cells: Cells, person: str | None
) -> None:
    """Values that are one leaf are published as they are, unless the column is generalized."""
    table = source.count(codings(["a", "b"], ["s"], build=by_length), person=person)
    for recoding in recodings(table):
        got = read(source.recode(recoding))
        _same(list(zip(*got.values(), strict=True)), published(cells, recoding), "rows of shared leaves")


def _check_table(
    make_source: Callable[[Cells], Source],
    read: Callable[[NativeTable], Cells],
    cells: Cells,
    missing: Missing,
    person: str | None,
) -> None:
    columns = codings(["a", "b"], ["s"])
    source = make_source(cells)
    _same(list(source.columns), list(cells), "names of the columns")
    table = source.count(columns, missing=missing, person=person)
    rows = counted(cells, columns, missing=missing)
    _same(_without_person(decoded(table), person), rows, "counted rows")
    _same(table.dropped, len(cells["a"]) - sum(rows.values()), "rows left out")
    for order in _orders(len(cells["a"])):
        moved = {name: [column[i] for i in order] for name, column in cells.items()}
        again = make_source(moved).count(columns, missing=missing, person=person)
        _same(again.digest, table.digest, "digest after moving rows")
    for recoding in recodings(table):
        expected = published(cells, recoding, ["p"])
        for opened in (source, make_source(cells)):  # the one that counted the rows, and one that did not
            got = read(opened.recode(recoding, drop=["p"]))
            _same(list(got), ["a", "b", "s"], "published columns")
            _same(list(zip(*got.values(), strict=True)), expected, "published rows")


def _check_refusals(make_source: Callable[[Cells], Source], cells: Cells) -> None:
    columns = codings(["a", "b"], ["s"])
    source = make_source(cells)
    if any(cell is None for name in ("a", "b") for cell in cells[name]):
        _refused(lambda: source.count(columns, missing=Missing.REFUSE), "missing cells were accepted")
    recoding = next(recodings(source.count(columns)))
    longer = {name: [*column, column[0]] for name, column in cells.items()}
    _refused(lambda: make_source(longer).recode(recoding), "another table was recoded")


def recodings(table: Microdata) -> Iterator[Recoding]:
    """Some recodings of a small table: global ones, with and without suppressed classes, and a local one."""
    keys = [c.taxonomy for c in table.keys]
    names = [c.name for c in table.keys]
    for choose in (Cut.root, Cut.leaves):
        whole = Recoding.of_cuts(table, dict(zip(names, map(choose, keys), strict=True)))
        yield whole
        keep = np.arange(whole.count) % 2 == 0
        yield Recoding.of_cuts(table, dict(whole.cuts or {}), keep=keep)
    if table.distinct > 1:
        class_of = (np.arange(table.distinct) % 2).astype(np.int32)
        full = np.array([[len(k.leaves) for k in keys]] * 2, np.int32)
        yield Recoding(table, class_of, np.zeros_like(full), full)


def _orders(rows: int) -> list[list[int]]:
    return [list(range(rows))[::-1], [*range(1, rows), 0][:rows]]


def _without_person(rows: Counter[Row], person: str | None) -> Counter[Row]:
    if person is None:
        return rows
    counts: Counter[Row] = Counter()
    for row, count in rows.items():
        counts[row[:-1]] += count
    return counts


def _refused(call: Callable[[], object], complaint: str) -> None:
    try:
        call()
    except BadData:
        return
    raise AssertionError(complaint)


def _same(got: object, expected: object, what: str) -> None:
    if got != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {got!r}")
