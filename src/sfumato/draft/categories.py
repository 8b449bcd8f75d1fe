"""Groups of categories: steps between a value without an order and `*`, for drafts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfumato.core.microdata import Role
from sfumato.core.taxonomy import ANY
from sfumato.policy.column_evidence import NO_FINDING, TableEvidence
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies.flat import Flat
from sfumato.policy.taxonomies.tree import Branch, NestedTree

FEWEST_CATEGORIES = 3
"""Two values have no group but all."""
MOST_CATEGORIES = 40
"""Groups of more values are what a hierarchy file is for."""
MOST_CODES = 120
"""The same of codes whose numbers say which belong together."""
MOST_STEPS = 3
"""So many steps lie between a value and `*` at most: 2, 4 and 8 groups."""
NAMED_MEMBERS = 3
"""So many members of a group are named by its label; of a larger one fewer, and how many more there are."""
LONGEST_LABEL = 80
_NUMBERED = re.compile(r"(?P<number>[0-9]{1,3})[ ./-]?(?P<letter>[A-Za-z])", re.ASCII)


def grouped_categories(
    columns: Mapping[str, ColumnRule], survey: TableEvidence, least: int
) -> dict[str, ColumnRule]:
    """Returns new rules for the key columns whose words have no hierarchy, and could have one.

    A value that fewer than `least` rows have is written into no policy: such a column stays as it is.
    """
    found = {}
    for name, rule in columns.items():
        if rule.role is not Role.QUASI or rule.taxonomy != Flat():
            continue
        tree = tree_of_categories(
            ColumnProfile.of(name, survey.columns[name], survey.rows, NO_FINDING), least
        )
        if tree is not None:
            how = "neighbours in groups, by their number" if tree.ordered else "common ones in groups"
            found[name] = ColumnRule(Role.QUASI, tree, f"{rule.reason}; {how}")
    return found


def tree_of_categories(profile: ColumnProfile, least: int) -> NestedTree | None:
    """Returns a tree that joins common values with common ones; none for numbers, few or rare values.

    Numbered codes such as school classes (`5a`, `10c`) are joined by their number, in its order.
    Classes of k rows mix the common values most often, so these are what a group has to keep together: a
    group of rare values would be published less often, and `*` more often.
    """
    if not profile.column.complete or profile.numbers is not None or ANY in profile.values:
        return None
    if not FEWEST_CATEGORIES <= len(profile.values) <= MOST_CODES or min(profile.counts) < least:
        return None
    numbered = tree_of_numbered_codes(profile.values)
    if numbered is not None or len(profile.values) > MOST_CATEGORIES:
        return numbered
    pairs = sorted(zip(profile.counts, profile.values, strict=True), key=lambda pair: (-pair[0], pair[1]))
    branches = _halves([value for _, value in pairs], MOST_STEPS)
    labels = [*_labels(branches)]
    if len(set(labels)) < len(labels) or max(map(len, labels)) > LONGEST_LABEL:
        return None
    return NestedTree(branches)


def tree_of_numbered_codes(values: Sequence[str]) -> NestedTree | None:
    """Returns numbers with a letter (`5a`, `10 c`, `7-B`) in groups of one number, then of neighbouring ones.

    None where values have another shape, or a group would be everything or nothing: all have one number, or
    every number has one letter. Each code is written in one way.

    >>> tree = tree_of_numbered_codes(["10a", "9b", "9a", "10b"])
    >>> tree and tree.spec
    {'tree': {'9a … 9b': ['9a', '9b'], '10a … 10b': ['10a', '10b']}, 'ordered': True}
    """
    shaped = [(found, value) for value in values if (found := _NUMBERED.fullmatch(value)) is not None]
    read = sorted((int(found["number"]), found["letter"].lower(), value) for found, value in shaped)
    numbers = list(dict.fromkeys(number for number, _, _ in read))
    codes = {(number, letter) for number, letter, _ in read}
    if not len(values) == len(read) == len(codes) or not 1 < len(numbers) < len(values):
        return None
    groups = [[value for at, _, value in read if at == number] for number in numbers]
    branches = [_span(group, tuple(group)) for group in groups]
    for _ in range(MOST_STEPS - 1):
        if len(groups) <= FEWEST_CATEGORIES:
            break
        pairs = range(0, len(groups), 2)
        branches = [
            _span([v for group in groups[i : i + 2] for v in group], tuple(branches[i : i + 2]))
            for i in pairs
        ]
        groups = [[v for group in groups[i : i + 2] for v in group] for i in pairs]
    return NestedTree(tuple(branches), ordered=True)


def _span(values: Sequence[str], below: tuple[Branch, ...]) -> Branch:
    """Returns a group of neighbours, named by its ends; what stands alone is no group."""
    return below[0] if len(below) == 1 else (f"{values[0]} … {values[-1]}", below)


def _halves(values: Sequence[str], steps: int) -> tuple[Branch, ...]:
    """Returns the values in two groups, each again in two; the first has one more where they are odd."""
    if len(values) < FEWEST_CATEGORIES or not steps:
        return tuple(values)
    middle = (len(values) + 1) // 2
    halves = (values[:middle], values[middle:])
    return tuple(half[0] if len(half) == 1 else (label_of(half), _halves(half, steps - 1)) for half in halves)


def label_of(values: Sequence[str]) -> str:
    """Returns the text that a group is published as.

    >>> label_of(["Arts", "Law"]), label_of(["Arts", "Law", "Music", "Physics"])
    ('Arts / Law', 'Arts / Law / 2 more')
    """
    if len(values) <= NAMED_MEMBERS:
        return " / ".join(values)
    return f"{' / '.join(values[: NAMED_MEMBERS - 1])} / {len(values) - NAMED_MEMBERS + 1} more"


def _labels(branches: Sequence[Branch]) -> Sequence[str]:
    """Returns the labels of all values and groups."""
    found: list[str] = []
    for branch in branches:
        if isinstance(branch, str):
            found.append(branch)
        else:
            found += [branch[0], *_labels(branch[1])]
    return found
