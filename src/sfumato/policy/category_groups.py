"""Groups of categories: steps between a value without an order and `*`, for drafts."""

from __future__ import annotations

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
MOST_STEPS = 3
"""So many steps lie between a value and `*` at most: 2, 4 and 8 groups."""
NAMED_MEMBERS = 3
"""So many members of a group are named by its label; of a larger one fewer, and how many more there are."""
LONGEST_LABEL = 80


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
            found[name] = ColumnRule(Role.QUASI, tree, f"{rule.reason}; common ones in groups")
    return found


def tree_of_categories(profile: ColumnProfile, least: int) -> NestedTree | None:
    """Returns a tree that joins common values with common ones; none for numbers, few or rare values.

    Classes of k rows mix the common values most often, so these are what a group has to keep together: a
    group of rare values would be published less often, and `*` more often.
    """
    if not profile.column.complete or profile.numbers is not None or ANY in profile.values:
        return None
    if not FEWEST_CATEGORIES <= len(profile.values) <= MOST_CATEGORIES or min(profile.counts) < least:
        return None
    pairs = sorted(zip(profile.counts, profile.values, strict=True), key=lambda pair: (-pair[0], pair[1]))
    branches = _halves([value for _, value in pairs], MOST_STEPS)
    labels = [*_labels(branches)]
    if len(set(labels)) < len(labels) or max(map(len, labels)) > LONGEST_LABEL:
        return None
    return NestedTree(branches)


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
