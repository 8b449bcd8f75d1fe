"""A chain of groups, judged from bytes: what was published stays, and what is new stands by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.system.memory import Memory
from sfumato.system.verdict import Verdict
from sfumato.verify.tables import FileForm, Relation, header, number, strictly

if TYPE_CHECKING:
    import duckdb

GROWTH = "earlier rows stay as they were published"
"""The sentence of the rule that anybody can repeat with a difference of two files."""


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
    read, allowed = FileForm.of(form), memory or Memory()
    names = header(path, form=read)

    def ask(db: duckdb.DuckDBPyConnection) -> int:
        whole = Relation.of_file(db, path, names, read).as_text(names)
        parts = [
            Relation.of_file(db, part, header(part, form=read), read).as_text(names)
            for part in (earlier, added)
            if part is not None
        ]
        union = " UNION ALL ".join(f"({part})" for part in parts)
        either = f"(({whole}) EXCEPT ALL ({union})) UNION ALL (({union}) EXCEPT ALL ({whole}))"
        return number(db, f"SELECT count(*) FROM ({either})")  # noqa: S608

    differing = strictly(path.name, ask, allowed)
    reason = "" if not differing else f"{differing} rows differ"
    return Verdict(GROWTH, holds=differing == 0, measured=differing, limit=0, reason=reason)
