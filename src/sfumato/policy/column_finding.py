"""A hint: what a closer look at the data found out about a column, for the draft to weigh."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hint:
    """Reasons, not decisions: what a column becomes is decided in one place, by the draft.

    `identifies` says why the column names people by itself (empty: it does not), `remark` what else was
    found, `person` that equal values mean the same person.
    """

    identifies: str = ""
    remark: str = ""
    person: bool = False


NOTHING = Hint()
