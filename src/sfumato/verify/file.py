"""A published file, judged from its bytes by a second implementation.

Nothing here is shared with the code that made the file: another reader (SQL over the bytes), other trees
(from the words of the policy), other judges (plain numpy and fractions). Two implementations that agree on
random tables do not share a bug by accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadData
from sfumato.core.progress import Progress, silent
from sfumato.core.verdict import Verdict
from sfumato.judge.file_bytes.spreadsheet_formulas import check_formulas
from sfumato.judge.policy_data import JudgedPolicy
from sfumato.judge.registry import judge_of
from sfumato.judge.rulings import covers_several, on_rows
from sfumato.judge.tables.database import Database, strictly
from sfumato.judge.tables.file_form import RELEASED, FileForm
from sfumato.judge.tables.parquet import is_parquet, parts_of
from sfumato.judge.tables.relation import Relation, header, number
from sfumato.judge.tables.tally import Tally, TallyRequest, count
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb

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

    `policy` is plain data, as `policy.judge_data` writes them. `form` says how a CSV file and its witness are
    to be written (`encoding`, `delimiter`), where that is not UTF-8 with commas. Raises `BadData` where the
    file cannot be read strictly, changes meanwhile, or has other columns than the policy publishes,
    `BrokenPromise` where a promise has no second judge. Where promises count people, a file without the
    person column tells only rows, and a verdict may stay undecided; a `witness` decides it: a file with the
    same rows and the person column beside them, which is not published. `memory` bounds what is held in
    memory meanwhile; the rest waits on disk.
    """
    place, allowed, meant = Path(path), memory or Memory(), JudgedPolicy.of(policy)
    judges, told = [judge_of(promise) for promise in meant.promises], FileForm.of(form)
    steps = 4 + len(judges)
    before = _state(place)
    progress(PHASE, 0, steps)
    names = header(place, form=told)
    check_columns(names, meant, where=place.name)
    counted_from, read = place, names
    if meant.person is not None and witness is not None:
        counted_from = Path(witness)
        read = check_witness(place, counted_from, names, meant.person, memory=allowed, form=told)
    progress(PHASE, 1, steps)
    asked = TallyRequest.of(meant, read)
    _check_bytes(place)
    with Database(place.name, allowed) as db:
        if meant.refuses_formulas:
            check_formulas(db, place, names, told)
        progress(PHASE, 2, steps)
        tally = db.ask(lambda connection: _count(connection, counted_from, read, asked, told))
    _check_values(tally, meant, where=place.name)
    found: list[Verdict] = []
    for judge, promise in zip(judges, meant.promises, strict=True):
        progress(PHASE, 3 + len(found), steps)
        found.append(judge(tally, promise))
    if _state(place) != before:
        raise BadData("the file changed while it was judged", where=place.name, remedy="Write it again.")
    progress(PHASE, steps, steps)
    if meant.person is None or asked.person is not None:
        return tuple(found)
    return tuple(on_rows(tally, promise, v) for promise, v in zip(meant.promises, found, strict=True))


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
    db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], asked: TallyRequest, form: FileForm
) -> Tally:
    return count(db, Relation.of_file(db, path, names, form), asked, where=path.name)


def _check_bytes(path: Path) -> None:
    """Raises where the bytes of a Parquet file are others than those that its rows give."""
    if not is_parquet(path):
        return
    from sfumato.judge.file_bytes.parquet_rewrite import is_as_released  # noqa: PLC0415  # for Parquet alone

    for part in parts_of(path):
        if not is_as_released(part):
            raise BadData(
                "the file has other bytes than its rows give: it may hold more than they do",
                where=part.name,
                remedy="Write it again from its rows.",
            )


def _check_values(tally: Tally, policy: JudgedPolicy, *, where: str) -> None:
    """Raises where a value has no place in its taxonomy, or somebody holds two of a column that is judged.

    A promise about how many people have a value is about people with several of them, too, if it is judged by
    all their rows. Raises also where a key column shows a text that is finer or coarser than the levels that
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
        if spread.several and not all(covers_several(policy, p) for p in policy.about(column)):
            raise BadData(
                f"{spread.several} people hold more than one value of {column};"
                " what is promised of it does not protect them",
                where=where,
                remedy="Publish one row per person, or promise only k-anonymity.",
            )


def _state(path: Path) -> list[tuple[str, int, int, int]]:
    """Returns what tells that a file, or a part of a folder, is another one than before."""
    found = [(part.name, part.stat()) for part in parts_of(path)]
    return [(name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in found]
