"""The check of people: whether promises can be kept for those who have several rows, or several values."""

from __future__ import annotations

from sfumato.core.errors import BadData
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Promises
from sfumato.show.card import several


def check_people(table: Microdata, promises: Promises) -> None:
    """Raises `BadData` where somebody has several rows, or several values, that a promise cannot be kept for.

    Two people with flu and HIV each fill a class with two values and two people: the counts look safe, and
    yet everybody in it has both. Only a promise about how many people have a value (`several_values`) covers
    them. And whoever knows two rows of a person looks at what both classes leave: unless positions are
    judged, nothing but a number of people can be promised.
    """
    if table.has_person and not table.profiles and table.people != table.rows:
        _refuse_several_rows(table, promises)
    for promise in promises:
        for name in promise.sensitive:
            people = 0 if promise.several_values else table.people_with_several_values(name)
            if people:
                raise BadData(
                    f"{several(people, 'person has', 'people have')} several values of {name}, and {promise}"
                    " is sound only where everybody has one.",
                    where=f"column {name}",
                    remedy="Bound how many people have a value (confidence-bounding or alpha-k-anonymity),"
                    " give every person one row, or promise only k-anonymity.",
                )
    if table.profiles and promises.of_table:
        raise BadData(
            f"{_people_with_several_rows(table)}, and {promises.of_table[0]} judges one row per person.",
            remedy="Bring each person's rows together in one.",
        )


def _refuse_several_rows(table: Microdata, promises: Promises) -> None:
    """Raises where anything but a number of people is promised, although rows are judged one by one."""
    for promise in promises.of_class:
        if not promise.by_size:
            raise BadData(
                f"{_people_with_several_rows(table)}, and {promise} is judged class by class: who knows two"
                " rows of a person learns what both classes leave.",
                remedy="Say knows: profile under person, or promise only k-anonymity.",
            )


def _people_with_several_rows(table: Microdata) -> str:
    return f"{several(table.people_with_several_rows, 'person has', 'people have')} several rows"
