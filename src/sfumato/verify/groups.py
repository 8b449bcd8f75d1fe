"""A chain of groups, judged from bytes: what was published stays, and what is new stands by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.system.errors import BadData
from sfumato.system.memory import Memory
from sfumato.system.verdict import Verdict
from sfumato.verify.policy_data import KEY_ROLES, JudgedPolicy
from sfumato.verify.registry import judge_of
from sfumato.verify.tables import FileForm, Relation, header, number, strictly
from sfumato.verify.tally import TallyRequest, count

if TYPE_CHECKING:
    import duckdb

GROWTH = "earlier rows stay as they were published"
"""The sentence of the rule that anybody can repeat with a difference of two files."""
BARE = "bare_row"
"""The column that names bare rows; the writer of releases has the same word."""
MEMBERS = "every class has one row of each member of its group"
"""The sentence of what the numbers of people show, which the publisher alone has."""
PERSON_NUMBER, GROUP_NUMBER, CLASS_NUMBER = "number_of_person", "number_of_group", "number_of_class"
"""Columns of a private file that the judge reads beside a published one."""


def check_growth(
    path: Path,
    earlier: Path | None,
    added: Path | None,
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory | None = None,
) -> Verdict:
    """Returns whether a file holds exactly the rows of an earlier one and those that were added.

    Rows are compared as text, as often as they occur. `earlier` lacks the rows of groups that were withheld.
    """
    read = FileForm.of(form)
    names = header(path, form=read)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        whole = _as_text(db, path, names, read)
        union = " UNION ALL ".join(
            f"({_as_text(db, part, names, read)})" for part in (earlier, added) if part is not None
        )
        return _differing(db, whole, union)

    differing = strictly(path.name, ask, memory or Memory())
    reason = "" if not differing else f"{differing} rows differ"
    return Verdict(GROWTH, holds=differing == 0, measured=differing, limit=0, reason=reason)


def _as_text(db: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str], form: FileForm) -> str:
    return Relation.of_file(db, path, header(path, form=form), form).as_text(names)


def check_members(
    path: Path,
    numbered: Path,
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory | None = None,
) -> Verdict:
    """Returns whether a file shows groups: the classes of each have the same members, one row each.

    `numbered` has the same rows, with numbers of people, groups and classes beside them. Nobody's bare row
    may stand in a class of their own group, where it would be told whose it is.
    """
    read = FileForm.of(form)
    names = header(path, form=read)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        rows = Relation.of_file(db, numbered, header(numbered, form=read), read)
        ours, theirs = _as_text(db, path, names, read), rows.as_text(names)
        differing = _differing(db, ours, theirs)
        who, group, own = (rows.place(name) for name in (PERSON_NUMBER, GROUP_NUMBER, CLASS_NUMBER))
        bare = f"{rows.place(BARE)} = 'yes'" if BARE in rows.names else "FALSE"
        people = f"(SELECT * FROM {rows.query} WHERE NOT ({bare}))"  # noqa: S608
        wrong = (
            # somebody is twice in a class, or in two groups
            f"SELECT 1 FROM {people} GROUP BY {own}, {who} HAVING count(*) > 1",  # noqa: S608
            f"SELECT 1 FROM {people} GROUP BY {who} HAVING count(DISTINCT {group}) > 1",  # noqa: S608
            # a class belongs to two groups, or has other members than another class of its group
            f"SELECT 1 FROM {people} GROUP BY {own} HAVING count(DISTINCT {group}) > 1",  # noqa: S608
            f"SELECT 1 FROM {people} GROUP BY {group}"  # noqa: S608
            f" HAVING count(DISTINCT {who}) * count(DISTINCT {own}) <> count(*)",
            # a bare row beside the rows of its own group
            f"SELECT 1 FROM (SELECT * FROM {rows.query} WHERE {bare})"  # noqa: S608
            f" SEMI JOIN {people} USING ({own}, {group})",
        )
        return differing + sum(number(db, f"SELECT count(*) FROM ({query})") for query in wrong)  # noqa: S608

    broken = strictly(path.name, ask, memory or Memory())
    reason = "" if not broken else f"{broken} faults"
    return Verdict(MEMBERS, holds=broken == 0, measured=broken, limit=0, reason=reason)


VERSION = "every group shows what the base shows, or less"
"""The sentence that versions for recipients are judged by."""


def check_version(
    version: Path,
    base: Path,
    policies: Sequence[Mapping[str, Any]],
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory | None = None,
) -> Verdict:
    """Returns whether a version shows the rows of a base, every class in one box that covers the base's.

    Both are private files with numbers of people, groups and classes. What rows show unchanged is the same;
    which text covers which, the trees of one of the `policies` say that groups were made by.
    """
    read, rules = FileForm.of(form), [JudgedPolicy.of(policy) for policy in policies]
    names = header(version, form=read)
    keys = [name for name in names if name in rules[0].columns and rules[0].columns[name].role in KEY_ROLES]
    unchanged = [name for name in names if name not in keys]

    def ask(db: duckdb.DuckDBPyConnection) -> tuple[int, int, int]:
        ours, theirs = (Relation.of_file(db, file, header(file, form=read), read) for file in (version, base))
        rows = _differing(db, ours.as_text(unchanged), theirs.as_text(unchanged))
        boxes = [f"SELECT DISTINCT * FROM ({part.as_text([CLASS_NUMBER, *keys])})" for part in (ours, theirs)]  # noqa: S608
        cells = ", ".join(f"c{i}" for i in range(len(keys) + 1))
        torn = number(db, f"SELECT count(*) - count(DISTINCT c0) FROM ({boxes[0]}) AS ours({cells})")  # noqa: S608
        both = f"({boxes[0]}) AS ours({cells}) JOIN ({boxes[1]}) AS theirs({cells}) USING (c0)"
        wrong = 0
        for i, name in enumerate(keys, start=1):
            pairs = db.execute(f"SELECT DISTINCT ours.c{i}, theirs.c{i} FROM {both}").fetchall()  # noqa: S608
            for policy in rules:
                pairs = policy.columns[name].not_covered(pairs)
            wrong += len(pairs)
        return rows, torn, wrong

    rows, torn, wrong = strictly(version.name, ask, memory or Memory())
    faults = {"rows differ": rows, "boxes too many": torn, "texts say more or something else": wrong}
    reason = ", ".join(f"{count} {what}" for what, count in faults.items() if count)
    return Verdict(VERSION, holds=not reason, measured=rows + torn + wrong, limit=0, reason=reason)


def _differing(db: duckdb.DuckDBPyConnection, here: str, there: str) -> int:
    """Returns how many rows are in one of two queries alone, counting how often they occur."""
    either = f"(({here}) EXCEPT ALL ({there})) UNION ALL (({there}) EXCEPT ALL ({here}))"
    return number(db, f"SELECT count(*) FROM ({either})")  # noqa: S608


def judge_step(
    earlier: Path,
    later: Path,
    policy: Mapping[str, Any],
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory | None = None,
) -> tuple[Verdict, ...]:
    """Returns what two files of a chain show, one after the other, of the rule that its publisher follows.

    Rows of the earlier file are all in the later one, or all rows of a box are gone; rows that are new keep
    every promise by themselves. A box of which some rows are gone and others are not may be that of two
    groups: then the files do not decide it, if at least as many rows are gone as a group has people.
    """
    meant, read = JudgedPolicy.of(policy), FileForm.of(form)
    published = meant.published
    for path in (earlier, later):
        if lacking := [name for name in published if name not in header(path, form=read)]:
            raise BadData(f"columns are missing: {', '.join(lacking)}", where=path.name)

    def ask(db: duckdb.DuckDBPyConnection) -> tuple[Verdict, ...]:
        before, after = (_first_rows(db, path, published, read) for path in (earlier, later))
        growth, unsure = _growth(db, before, after, meant)
        fresh = f"(SELECT * FROM {after.query} EXCEPT ALL SELECT * FROM {before.query})"  # noqa: S608
        if unsure:
            fresh = f"(SELECT * FROM {fresh} ANTI JOIN ({unsure}) USING ({_box(after, meant)}))"  # noqa: S608
        if not number(db, f"SELECT count(*) FROM {fresh}"):  # noqa: S608
            return (growth,)
        tally = count(db, replace(after, query=fresh), TallyRequest.of(meant, published), where=later.name)
        verdicts = [judge_of(promise)(tally, promise) for promise in meant.promises]
        if unsure:
            verdicts = [
                replace(v, holds=None, measured=None, reason=CANCELLED) if v.holds else v for v in verdicts
            ]
        return (growth, *verdicts)

    return strictly(later.name, ask, memory or Memory())


def _first_rows(
    db: duckdb.DuckDBPyConnection, path: Path, published: Sequence[str], form: FileForm
) -> Relation:
    """Returns the published columns of a file, without bare rows."""
    names = header(path, form=form)
    whole = Relation.of_file(db, path, names, form)
    cells = ", ".join(f"{whole.place(name)} AS c{i}" for i, name in enumerate(published))
    shown = f"WHERE {whole.place(BARE)} <> 'yes'" if BARE in names else ""
    kinds = tuple(whole.kind(name) for name in published)
    return Relation(f"(SELECT {cells} FROM {whole.query} {shown})", tuple(published), kinds)  # noqa: S608


CANCELLED = "a group may have gone where another came that shows equal rows: these cancel between the files"


def _box(relation: Relation, policy: JudgedPolicy) -> str:
    """Returns the columns of a box; empty where there are none."""
    return ", ".join(relation.place(n) for n in relation.names if policy.columns[n].role in KEY_ROLES)


def _growth(
    db: duckdb.DuckDBPyConnection, before: Relation, after: Relation, policy: JudgedPolicy
) -> tuple[Verdict, str]:
    """Returns whether what is gone are whole boxes, and the query of boxes of which the files do not tell.

    Rows that a group takes along and rows that another brings cancel where they are equal. So where rows of a
    box are gone, others came and others stayed, two groups of enough people each may have changed places.
    """
    box, least = _box(after, policy), max((int(p.least_people) for p in policy.promises), default=1)
    gone = f"SELECT * FROM {before.query} EXCEPT ALL SELECT * FROM {after.query}"  # noqa: S608
    left = number(db, f"SELECT count(*) FROM ({gone})")  # noqa: S608
    if not box:
        return Verdict(GROWTH, holds=left == 0, measured=left, limit=0), ""
    fresh = f"SELECT * FROM {after.query} EXCEPT ALL SELECT * FROM {before.query}"  # noqa: S608
    stayed = f"SELECT * FROM {before.query} INTERSECT ALL SELECT * FROM {after.query}"  # noqa: S608
    counted = " UNION ALL ".join(
        f"SELECT {box}, {', '.join(str(int(i == j)) + ' AS ' + n for j, n in enumerate('gfs'))} FROM ({rows})"  # noqa: S608
        for i, rows in enumerate((gone, fresh, stayed))
    )
    torn = (
        f"SELECT {box}, sum(g) AS g, sum(f) AS f, sum(s) AS s FROM ({counted}) GROUP BY {box}"  # noqa: S608
        " HAVING sum(g) > 0 AND sum(s) > 0"
    )
    cancels = f"f > 0 AND g + s >= {least} AND f + s >= {least}"
    few = number(
        db,
        f"SELECT coalesce(sum(g), 0) FROM ({torn}) WHERE g < {least} AND NOT ({cancels})",  # noqa: S608
    )
    unsure = f"SELECT {box} FROM ({torn}) WHERE {cancels}"  # noqa: S608
    unsure = unsure if number(db, f"SELECT count(*) FROM ({unsure})") else ""  # noqa: S608
    if few:
        return Verdict(GROWTH, False, few, 0, reason=f"{few} rows are gone or changed"), unsure
    if unsure:
        return Verdict(GROWTH, None, None, 0, reason=CANCELLED), unsure
    if number(db, f"SELECT count(*) FROM ({torn})"):  # noqa: S608
        reason = "groups with equal boxes: the files do not tell whether whole groups are gone"
        return Verdict(GROWTH, None, None, 0, reason=reason), ""
    reason = f"{left} rows are gone, with all that show the same" if left else ""
    return Verdict(GROWTH, True, 0, 0, reason=reason), ""
