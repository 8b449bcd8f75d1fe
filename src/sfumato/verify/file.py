"""A published file, judged from its bytes by a second implementation.

Nothing here is shared with the code that made the file: another reader (SQL over the bytes), other trees
(from the words of the policy), other judges (plain numpy and fractions). Two implementations that agree on
random tables do not share a bug by accident.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.system.errors import BadData
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Verdict
from sfumato.verify.cells import float_marks
from sfumato.verify.file_bytes import (
    LARGEST,
    check_formulas,
    form_of_file,
    is_shortest,
    marks_of,
    written_rows,
)
from sfumato.verify.formats import is_parquet, is_whole, parts_of
from sfumato.verify.policy_data import KEY_ROLES, JudgedPolicy
from sfumato.verify.registry import judge_of, on_rows, rule_all
from sfumato.verify.tables import (
    APART,
    NO_LIMIT,
    RELEASED,
    WHERE,
    Database,
    FileForm,
    HandedRows,
    Relation,
    different_cells,
    header,
    number,
    rows_and_empty_cells,
    strictly,
    text_of,
)
from sfumato.verify.tally import Tally, TallyRequest, count
from sfumato.verify.trees import Text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


PHASE = "judging"
"""What the judge is doing, as progress calls it."""


def recheck(
    path: str | Path,
    policy: Mapping[str, Any],
    *,
    witness: str | Path | None = None,
    form: Mapping[str, str] | None = None,
    memory: Memory | None = None,
    progress: Progress = silent,
) -> tuple[Verdict, ...]:
    """Returns a verdict on every promise of the policy, judged on the bytes of a published file.

    `policy` is plain data, as `policy.judge_data` writes them; where it names a column of bare rows (`bare`),
    these have to be empty but for their boxes, and are judged no further. `form` says how a CSV file and its
    witness are to be written (`encoding`, `delimiter`), where that is not UTF-8 with commas. Raises `BadData`
    where the file cannot be read strictly, changes meanwhile, or has other columns than the policy publishes,
    `BrokenPromise` where a promise has no second judge. Where promises count people, a file without the
    person column tells only rows, and a verdict may stay undecided; a `witness` decides it: a file with the
    same rows and the person column beside them, which is not published. `memory` bounds what is held in
    memory meanwhile; the rest waits on disk.
    """
    place, allowed, meant = Path(path), memory or Memory(), JudgedPolicy.of(policy)
    judges, file_form = [judge_of(promise) for promise in meant.promises], FileForm.of(form)
    steps = 4 + len(judges)
    before = _state(place)
    progress(PHASE, 0, steps)
    names = header(place, form=file_form)
    check_columns(names, meant, where=place.name)
    counted_from, read = place, names
    if meant.person is not None and witness is not None:
        counted_from = Path(witness)
        read = check_witness(place, counted_from, names, meant.person, memory=allowed, form=file_form)
    progress(PHASE, 1, steps)
    request = TallyRequest.of(meant, read)
    _check_bytes(place)
    with Database(place.name, allowed) as db:
        if meant.refuses_formulas:
            check_formulas(db, place, names, file_form)
        progress(PHASE, 2, steps)
        if meant.bare is not None:
            db.ask(lambda connection: check_bare_rows(connection, place, names, meant, file_form))
        tally = db.ask(lambda connection: _count(connection, counted_from, read, request, file_form))
    _check_values(tally, meant, where=place.name)
    verdicts: list[Verdict] = []
    for judge, promise in zip(judges, meant.promises, strict=True):
        progress(PHASE, 3 + len(verdicts), steps)
        verdicts.append(judge(tally, promise))
    if _state(place) != before:
        raise BadData("the file changed while it was judged", where=place.name, remedy="Write it again.")
    progress(PHASE, steps, steps)
    if meant.person is None or request.person is not None:
        return tuple(verdicts)
    return tuple(on_rows(tally, promise, v) for promise, v in zip(meant.promises, verdicts, strict=True))


def check_columns(names: Sequence[str], policy: JudgedPolicy, *, where: str) -> None:
    """Raises where the columns of a file are not those that the policy publishes."""
    remedy = f"The policy publishes: {', '.join(policy.published)}."
    there, published = set(names), set(policy.published)
    if len(there) < len(names):
        raise BadData("a column name occurs twice", where=where, remedy=remedy)
    secret = [n for n in names if n in policy.columns and n not in published]
    if secret:
        raise BadData(f"columns that must not be published: {', '.join(secret)}", where=where, remedy=remedy)
    unknown = [n for n in names if n not in policy.columns]
    if unknown:
        # Without a header the first row stands in its place: its cells are not to be shown.
        listed = f": {', '.join(unknown)}" if len(unknown) < len(names) else ""
        raise BadData(
            f"{len(unknown)} columns are not declared{listed}", where=where, remedy=remedy, values=unknown
        )
    absent = [n for n in policy.published if n not in there]
    if absent:
        raise BadData(f"columns are missing: {', '.join(absent)}", where=where, remedy=remedy)


def check_witness(
    path: Path,
    witness: Path,
    names: Sequence[str],
    person: str,
    *,
    memory: Memory,
    form: FileForm = RELEASED,
) -> tuple[str, ...]:
    """Returns the witness's columns; raises unless it holds the file's rows, and the person beside them."""
    beside = header(witness, form=form)
    if sorted(beside) != sorted([*names, person]):
        raise BadData("the witness must have the columns of the file and the person", where=witness.name)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        ours = Relation.of_file(db, path, names, form).as_text(names)
        theirs = Relation.of_file(db, witness, beside, form).as_text(names)
        either = f"({ours} EXCEPT ALL {theirs}) UNION ALL ({theirs} EXCEPT ALL {ours})"
        return number(db, f"SELECT count(*) FROM ({either})")  # noqa: S608

    differing = strictly(path.name, ask, memory)
    if differing:
        raise BadData(f"{differing} rows differ between the file and its witness", where=path.name)
    return beside


def _count(
    db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], request: TallyRequest, form: FileForm
) -> Tally:
    table = Relation.of_file(db, path, names, form)
    return count(db, without_bare_rows(table, request.policy.bare), request, where=path.name)


def without_bare_rows(table: Relation, bare: str | None) -> Relation:
    """Returns the rows of a file that are of people, each of another one, where a column tells bare rows."""
    if bare is None or bare not in table.names:
        return table
    people = f"(SELECT * FROM {table.query} WHERE {table.place(bare)} = 'no')"  # noqa: S608
    return replace(table, query=people)


def check_bare_rows(
    db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], policy: JudgedPolicy, form: FileForm
) -> None:
    """Raises where a bare row shows more than a box: one that people show, or enough bare rows."""
    if policy.bare is None:
        return
    table = Relation.of_file(db, path, names, form)
    bare, where = table.place(policy.bare), path.name
    unclear = f"coalesce({bare}, '') NOT IN ('yes', 'no')"
    odd = number(db, f"SELECT count(*) FROM {table.query} WHERE {unclear}")  # noqa: S608
    if odd:
        raise BadData(f"{odd} rows do not say whether they are bare", where=where)
    shown = " OR ".join(f"{table.place(name)} IS NOT NULL" for name in policy.unchanged) or "FALSE"
    telling = number(db, f"SELECT count(*) FROM {table.query} WHERE {bare} = 'yes' AND ({shown})")  # noqa: S608
    if telling:
        raise BadData(f"{telling} bare rows show columns that are published unchanged", where=where)
    keys = [name for name, column in policy.columns.items() if column.role in KEY_ROLES]
    box = ", ".join(table.cell(name) for name in keys) or "1"
    least = max((int(promise.least_people) for promise in policy.promises), default=1)
    alone = number(
        db,
        f"SELECT coalesce(sum(bare), 0)::BIGINT FROM (SELECT count(*) FILTER ({bare} = 'yes') AS bare,"  # noqa: S608
        f" count(*) FILTER ({bare} = 'no') AS people FROM {table.query} GROUP BY {box})"
        f" WHERE people = 0 AND bare BETWEEN 1 AND {least - 1}",
    )
    if alone:
        raise BadData(f"{alone} bare rows are in boxes of too few rows, which nobody else shows", where=where)


def _check_bytes(path: Path) -> None:
    """Raises where the bytes of a Parquet file are others than those that its rows give."""
    if not is_parquet(path):
        return
    from sfumato.verify.file_bytes import is_as_released  # noqa: PLC0415  # for Parquet alone

    for part in parts_of(path):
        if not is_as_released(part):
            raise BadData(
                "the file has other bytes than its rows give: it may hold more than they do",
                where=part.name,
                remedy="Write it again from its rows.",
            )


def _check_values(tally: Tally, policy: JudgedPolicy, *, where: str) -> None:
    """Raises where a value has no place in its taxonomy, or somebody holds two of a column that is judged.

    Raises also where a key column shows a text that is finer or coarser than the levels that
    the policy publishes, where a number has more digits or a value several spellings, and where columns that
    move together did not.
    """
    for column, texts in tally.too_fine.items():
        if texts:
            raise BadData(
                f"{texts} texts of {column} are finer than the policy's levels",
                where=where,
                remedy="Publish nodes of the taxonomy, and ranges between nodes of its first level.",
            )
    for column, texts in tally.too_coarse.items():
        if texts:
            raise BadData(
                f"{texts} texts of {column} are coarser than the policy lets it be",
                where=where,
                remedy="Publish the column at the level of at-most or fixed, or below.",
            )
    for column, texts in tally.too_exact.items():
        if texts:
            raise BadData(
                f"{texts} numbers of {column} have more digits than the policy publishes",
                where=where,
                remedy="Round them, and write each in its shortest form.",
            )
    for column, texts in tally.spelled_again.items():
        if texts:
            raise BadData(
                f"{texts} texts of {column} are further spellings of a value, and the policy publishes one",
                where=where,
                remedy="Write each value in one way.",
            )
    for group in tally.apart:
        raise BadData(
            f"columns that move together are at different levels: {', '.join(group)}",
            where=where,
            remedy="Publish them at the same level.",
        )
    for column, spread in tally.spreads.items():
        if spread.unplaced:
            raise BadData(f"{spread.unplaced} values of {column} are not in its taxonomy", where=where)
        if spread.several and any(policy.about(column)):
            raise BadData(
                f"{spread.several} people hold more than one value of {column};"
                " what is promised of it does not protect them",
                where=where,
                remedy="Publish one row per person, or promise only k-anonymity.",
            )


def _state(path: Path) -> list[tuple[str, int, int, int]]:
    """Returns what tells that a file, or a part of a folder, is another one than before."""
    stats = [(part.name, part.stat()) for part in parts_of(path)]
    return [(name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


# A published table as an auditor holds it, a file or rows in memory: what it proves about each promise.
#
# Nothing is refused that can be read: what the table does not decide stays undecided, with the reason.

ROWS_AT_A_TIME = 100_000


def judge_file(
    path: Path,
    columns: Sequence[str],
    policy: Mapping[str, Any],
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory = NO_LIMIT,
) -> tuple[Verdict, ...] | None:
    """Returns a verdict for every promise, from the bytes of a file in the form that releases have.

    `form` tells the `encoding` and the `delimiter` of a CSV file as somebody else has found them. A file in
    another form is judged as it is written: rows are told apart by their quotes and line ends, whatever
    separates the cells. `None` where it is in no form that is known here, or does not begin with these
    `columns`, as somebody else has read them. Raises `BadData` where it cannot be read.
    """
    meant = JudgedPolicy.of(policy)
    request = TallyRequest.of(meant, columns)
    by_rows = meant.person is not None and request.person is None
    found_form: FileForm | None = FileForm.of(form)
    if not is_parquet(path) and not is_whole(path):
        found_form = form_of_file(path, columns, FileForm.of(form))
        if found_form is None:
            return None
        is_small = path.stat().st_size <= LARGEST
        if is_small and not is_shortest(path, columns, memory=memory, form=found_form):
            return rule_all(_count_as_written(path, found_form, columns, request, memory), by_rows=by_rows)
    written = found_form or RELEASED
    names = header(path, notes=True, form=written)
    if names != tuple(columns):
        return None

    def ask(db: duckdb.DuckDBPyConnection) -> Tally:
        return count(db, Relation.of_file(db, path, names, written), request, where=path.name)

    return rule_all(strictly(path.name, ask, memory), by_rows=by_rows)


def _count_as_written(
    path: Path, form: FileForm, names: Sequence[str], request: TallyRequest, memory: Memory
) -> Tally:
    """Returns the counts of a CSV file whose rows can be told apart by their quotes and line ends."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    wanted = [names.index(name) for name in request.columns]
    keys = [names.index(name) for name in request.keys]
    with HandedRows(request.columns, memory=memory, marked=True) as rows:
        read = iter(written_rows(path, names, form))
        while block := list(islice(read, ROWS_AT_A_TIME)):
            columns = [[row.cells[i] for row in block] for i in wanted]
            columns.append([marks_of(row, keys) for row in block])
            cells = [pa.array(column, pa.large_string()) for column in columns]
            rows.add(pa.record_batch(cells, [*request.columns, APART]))
        return rows.ask(lambda db, table: count(db, table, request, where=path.name))


class JudgedRows(HandedRows):
    """Rows of a table in memory that are handed over batch by batch; open while it is used in a `with`.

    `columns` are those of the table, `wanted` those that batches are to have, in that order.
    """

    def __init__(
        self, columns: Sequence[str], policy: Mapping[str, Any], *, memory: Memory = NO_LIMIT
    ) -> None:
        meant = JudgedPolicy.of(policy)
        self._request = TallyRequest.of(meant, columns)
        self._by_rows = meant.person is not None and self._request.person is None
        super().__init__(self._request.columns, memory=memory, marked=True)

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch; `counts` says how many rows each of its rows stands for, if not one."""
        super().add(batch.append_column(APART, float_marks(batch, self._request.keys)), counts)

    def verdicts(self) -> tuple[Verdict, ...]:
        """Returns a verdict for every promise, on all rows that were handed over."""
        tally = self.ask(lambda db, table: count(db, table, self._request, where=WHERE))
        return rule_all(tally, by_rows=self._by_rows)


# The texts that a published file shows, column by column, from its bytes.


@dataclass(frozen=True)
class ColumnTexts:
    """One column of a file: its SQL type, its empty cells, and its different texts with their rows.

    `texts` stand most frequent first and hold no empty cell. It is `None` for a column whose texts were not
    asked for, or which has too many.
    """

    name: str
    kind: str
    empty: int
    texts: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class FileTexts:
    """A published file: its rows, and its columns in their order."""

    rows: int
    columns: tuple[ColumnTexts, ...]


def file_texts(
    path: Path, listed: Sequence[str], *, most: int, form: Mapping[str, str] | None = None
) -> FileTexts:
    """Returns what a file shows; of the columns `listed`, the different texts, unless more than `most`.

    `form` names the encoding and the delimiter of a CSV file, where these are not UTF-8 and commas.
    """
    file_form = FileForm.of(form)
    names = header(path, form=file_form)

    def ask(db: duckdb.DuckDBPyConnection) -> FileTexts:
        table = Relation.of_file(db, path, names, file_form)
        rows, empty = rows_and_empty_cells(db, table, names)
        cells = different_cells(db, table, [name for name in names if name in listed], most=most)
        each = zip(names, empty, strict=True)
        columns = (_column(table, name, gaps, cells.get(name), most) for name, gaps in each)
        return FileTexts(rows, tuple(columns))

    return strictly(path.name, ask)


def _column(
    table: Relation, name: str, empty: int, cells: Sequence[tuple[object, int]] | None, most: int
) -> ColumnTexts:
    kind = table.kind(name)
    if cells is None or len(cells) > most:
        return ColumnTexts(name, kind, empty)
    texts = [(_shown(text_of(value, kind)), rows) for value, rows in cells]
    return ColumnTexts(name, kind, empty, tuple(sorted(texts, key=lambda pair: (-pair[1], pair[0]))))


def _shown(text: Text) -> str:
    return "" if text is None else text


# The judge of data dictionaries: whatever one says of a table must stand in the table's bytes.
#
# It gets the dictionary as plain data, and reads the file by itself. It knows the shape of the document and
# nothing of how it was made.

_FORMS = frozenset(
    ("value", "interval", "whole numbers", "from on", "below", "leading characters", "masked characters")
) | {"calendar unit", "group", "range", "any value", "empty"}
_DETAIL = re.compile(r"|week|month|quarter|year|decade|\d+ of \d+ characters|level \d+ of \d+")
_TYPES = frozenset(["string", "integer", "number", "boolean", "date", "dateTime"])


def dictionary_faults(
    path: Path,
    document: Mapping[str, Any],
    *,
    sentences: Collection[str],
    form: Mapping[str, str] | None = None,
) -> list[str]:
    """Returns what a dictionary says that its table does not show; nothing if it may stand beside it.

    `sentences` are those that do not depend on the table, `form` how a CSV file is written, where not in
    UTF-8 with commas. A fault names a place, never a text.
    """
    file_form = FileForm.of(form)
    names = header(path, form=file_form)
    faults = list(_words(document, sentences, {path.name, *names, "http://www.w3.org/ns/csvw", ""}))
    written = {"encoding": file_form.encoding, "delimiter": file_form.separator}
    if document.get("dialect") != (written if path.suffix == ".csv" else None):
        faults.append("another way of writing than that of the table")
    (notes,) = document["notes"]
    columns = notes["columns"]
    schemas = document["tableSchema"]["columns"]
    if [c["column"] for c in columns] != list(names) or [s["titles"] for s in schemas] != list(names):
        return [*faults, "its columns are not those of the table"]

    def ask(db: duckdb.DuckDBPyConnection) -> list[str]:
        table = Relation.of_file(db, path, names, file_form)
        rows, empty = rows_and_empty_cells(db, table, [column["column"] for column in columns])
        wrong = [] if rows == notes["rows"] else ["its rows"]
        listed = [column["column"] for column in columns if _listed(column)]
        cells = different_cells(db, table, listed)
        for place, (column, gaps) in enumerate(zip(columns, empty, strict=True), 1):
            name, kind = column["column"], table.kind(column["column"])
            texts = {text_of(value, kind) for value, _ in cells.get(name, ())}
            texts |= {None} if gaps else set()
            wrong += [f"column {place}: {what}" for what in _column_faults(column, gaps, texts)]
        return wrong

    return faults + strictly(path.name, ask)


def _listed(column: Mapping[str, Any]) -> set[str]:
    """Returns the texts that a dictionary lists of a column."""
    return {text for form in column.get("forms") or () for text in form["texts"] or ()}


def _column_faults(column: Mapping[str, Any], empty: int, texts: Collection[Text]) -> Iterator[str]:
    if bool(empty) != column["empty_cells"]:
        yield "empty cells"
    if not _listed(column) <= set(texts):
        yield "a text that the table does not show"


def _words(document: Mapping[str, Any], allowed: Collection[str], own: Collection[str]) -> Iterator[str]:
    """Yields a fault for every text at a place where only sentences of the publisher may stand."""
    (notes,) = document["notes"]
    sentences = [notes["rows_are"], *(text for promise in notes["promises"] for text in promise.values())]
    sentences += [column["published"] for column in notes["columns"]]
    forms = [form for column in notes["columns"] for form in column.get("forms") or ()]
    sentences += [form["reading"] for form in forms]
    if not set(sentences) <= {*allowed, ""}:
        yield "a sentence that is not one of the policy"
    if not all(form["form"] in _FORMS and _DETAIL.fullmatch(form["detail"]) for form in forms):
        yield "a form that no published value has"
    schemas = document["tableSchema"]["columns"]
    if not {document["@context"], document["url"], *(schema["null"] for schema in schemas)} <= set(own):
        yield "a name that is not that of the table"
    if not all(schema["datatype"] in _TYPES for schema in schemas):
        yield "a type that no column has"
    shape = {"@context", "url", "tableSchema", "notes"}
    inside = {"sfumato", "rows", "rows_are", "promises", "columns"}
    if set(document) - {"dialect"} != shape or set(notes) != inside:
        yield "a field that no dictionary has"
