"""Cells that are sets of terms, as SQL that makes one text of each."""

from __future__ import annotations

from sfumato.judge.policy_data import ONE, SetColumn
from sfumato.judge.tables.arrow_text import TERM_END
from sfumato.judge.tables.relation import TERMS, Relation


def set_cell(table: Relation, name: str, form: SetColumn) -> str:
    """Returns a term set as one text, in SQL."""
    mark = f"chr({ord(TERM_END)})"
    if form.parts:
        return " || ".join(_part_of_set(table, part, form, mark) for part in form.parts)
    if table.kind(name) == TERMS:
        return table.place(name)
    if table.kind(name).endswith("[]"):
        return f"array_to_string({table.place(name)}, {mark})"
    return f"replace({table.place(name)}::VARCHAR, {_quoted(form.separator)}, {mark})"


def _part_of_set(table: Relation, part: str, form: SetColumn, mark: str) -> str:
    """Returns the term that one column of a set stands for, with its end, in SQL; nothing where it is not."""
    text = f"{table.place(part)}::VARCHAR"
    if part in form.by_value:
        return (
            f"CASE WHEN coalesce({text}, '') = '' THEN '' ELSE {_quoted(part + '=')} || {text} || {mark} END"
        )
    present = ", ".join(_quoted(word) for word in form.marks.get(part, ONE))
    return f"CASE WHEN {text} IN ({present}) THEN {_quoted(part)} || {mark} ELSE '' END"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
