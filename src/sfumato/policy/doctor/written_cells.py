"""How the cells of a column are written: numbers that are to be rounded, and texts that look alike."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.core.rounded_number import rounded_number
from sfumato.core.spelling import Folding, Spelling
from sfumato.policy.column_evidence import ColumnEvidence, texts
from sfumato.policy.column_evidence import look_alikes as groups_alike
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity, look_alike_spellings
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.taxonomies.spelled_leaves import LISTING
from sfumato.show.card import several


def no_numbers(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    """Yields an error where a column is to be rounded that holds something else than numbers."""
    del policy, rows
    if rule.digits is None:
        return
    held = texts(column)
    wrong = [text for text in held if rounded_number(text, rule.digits) is None]
    if wrong or (not column.complete and column.kind not in ("integer", "decimal")):
        count = several(len(wrong), "value is", "values are") if wrong else "some values are"
        remedy = "Drop `digits`, or write every value as a number; read texts for nothing with --empty."
        where = f"column {short(name)}"
        what = f"{count} no number written as 1234.5, and the column is to be rounded"
        yield Diagnosis("no-numbers", Severity.ERROR, where, what, max(1, len(wrong)), remedy, tuple(wrong))


def look_alikes(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    """Yields a warning where values are written in several ways that look alike, or count as one."""
    del policy, rows
    if rule.role is Role.SENSITIVE and rule.spelling is Spelling.FOLDED:
        yield from _folded_spellings(name, column)
        return
    if not rule.role.is_key and rule.role is not Role.SENSITIVE:
        return
    if rule.one_spelling:
        return
    if groups := groups_alike(texts(column)):
        remedy = "Write each in one way: they count as different values and split groups."
        if rule.role is Role.QUASI and (rule.taxonomy is None or isinstance(rule.taxonomy, LISTING)):
            remedy += " With spelling: folded they are published as one."
        yield look_alike_spellings(f"column {short(name)}", "value", groups, remedy=remedy)


def _folded_spellings(name: str, column: ColumnEvidence) -> Iterator[Diagnosis]:
    """Yields what promises count as one value, and as none, though it is published as it stands."""
    folding = Folding.of(column.values)
    if folding:
        yield Diagnosis(
            "folded",
            Severity.WARNING,
            f"column {short(name)}",
            f"{folding}; that is how promises count them",
            folding.texts + folding.missing,
            _remedy(folding),
        )


def _remedy(folding: Folding) -> str:
    said = "or say spelling: exact if"
    if not folding.missing:
        return f"Write each value in one way, {said} they differ."
    if not folding.texts:
        return f"Leave a cell empty where nothing is known, {said} such a text (none, n/a) is a value."
    return f"Write each value in one way and leave what is unknown empty, {said} each text is a value."
