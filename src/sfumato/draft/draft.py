"""Drafts: a first policy, from the data alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import BadData, BadPolicy
from sfumato.core.microdata import Role
from sfumato.core.promise import Promises
from sfumato.core.spelling import meaning
from sfumato.core.taxonomy import Label
from sfumato.policy.category_groups import grouped_categories
from sfumato.policy.column_evidence import NO_FINDING, ColumnEvidence, ColumnFinding, TableEvidence, texts
from sfumato.policy.column_guess import guess, is_undecided, without_undecided
from sfumato.policy.column_names import PEOPLE, words
from sfumato.policy.companion_columns import companions
from sfumato.policy.date_differences import DatedColumns, date_differences
from sfumato.policy.person_keys import may_be_number_of_people
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.presets import Preset
from sfumato.policy.presets import preset as preset_of
from sfumato.policy.safe_harbor_cells import rules_kept
from sfumato.policy.spread_categories import FlagColumns, spread_categories
from sfumato.policy.taxonomies import Flat
from sfumato.policy.telling_columns import ColumnsBesideKeys, telling_columns
from sfumato.promises import make

DEFAULT_PRESET = "small-cells-5"
NONE_LEFT = "Give columns names that say what they hold, or draft with another preset."
MOST_UNDECIDED = 6
"""Of so many columns of yes and no, of which nothing is known, all may be quasi-identifiers; of more none."""


def draft(
    survey: TableEvidence,
    *,
    preset: str | None = None,
    findings: Mapping[str, ColumnFinding] | None = None,
    least: int = 1,
    note: str = "",
    source: SourceForm = NO_FORM,
    first_texts: Callable[[Sequence[str]], Mapping[str, Sequence[Label]]] | None = None,
) -> Policy:
    """Returns a policy that works, with a role and a taxonomy for every column, each with its reason.

    Roles are guesses: whoever knows the data should read the comments before anything is published. Where
    nothing speaks for another role a column is a quasi-identifier, which is the cautious choice.
    Without a preset k is 5, or `least` if that is more, less only where the table is about fewer people.
    `findings` are what a closer look at the data found out; `note` is what the file says first. `source` is
    how the data are read: it goes into the policy, and says what numbers and dates in texts look like.
    `first_texts` shows columns row by row, where rows can be looked at.
    """
    if not survey.columns:
        raise BadData("the table has no columns")
    known = findings or {}
    columns = {
        name: guess(
            name,
            column,
            survey.rows,
            finding=known.get(name, NO_FINDING),
            written=source if column.is_text else NO_FORM,
        )
        for name, column in survey.columns.items()
    }
    _look_at_several(columns, survey, first_texts)
    chosen = preset_of(preset or DEFAULT_PRESET)
    if chosen.checks_columns:
        columns.update(rules_kept(columns, survey, known, source))
    waiting = _waiting(columns, survey)
    if not any(rule.role.is_key for rule in columns.values()):
        if chosen.checks_columns and all(rule.role is Role.IDENTIFIER for rule in columns.values()):
            raise BadPolicy(f"under {chosen.name} no column is left to publish", remedy=NONE_LEFT)
        made, named = _quasi_identifier(columns, survey)
        columns.update(made)
        waiting = {**{name: w for name, w in waiting.items() if name not in made}, **named}
    person = _person(columns, survey, known)
    people = survey.rows if person is None else survey.columns[person].distinct
    k = max(chosen.k, least)
    if not preset and people >= 2:
        k = min(k, people)
    if person is None:
        columns.update(grouped_categories(columns, survey, k))
    return Policy(
        columns,
        Promises((make("k-anonymity", {"k": k}), *_diversity_promises(columns, survey))),
        person=person,
        confirm=waiting,
        source=source,
        note="\n".join(line for line in (note, _origin(chosen) if preset else "") if line),
        preset=chosen.name if chosen.checks_columns else None,
    )


def _look_at_several(
    columns: dict[str, ColumnRule],
    survey: TableEvidence,
    first_texts: Callable[[Sequence[str]], Mapping[str, Sequence[Label]]] | None,
) -> None:
    """Changes the rules of columns that others of the table give away, or go with."""
    columns.update(companions(columns, survey))
    dated = DatedColumns.of(columns, survey)
    if dated.names and first_texts is not None:
        columns.update(date_differences(columns, survey, dated, first_texts(dated.names)))
    unchanged = ColumnsBesideKeys.of(columns)
    if unchanged.names and first_texts is not None:
        columns.update(telling_columns(unchanged, survey, first_texts(unchanged.names)))
    flags = FlagColumns.of(columns, survey)
    if flags.names and first_texts is not None:
        columns.update(spread_categories(flags, first_texts(flags.names)))
    if sum(map(is_undecided, columns.values())) > MOST_UNDECIDED:
        columns.update(without_undecided(columns))


def _origin(chosen: Preset) -> str:
    return f"Preset {chosen.name}: {remarks(chosen)}"


def remarks(chosen: Preset) -> str:
    """Returns the source of a preset in a sentence."""
    return (
        f"{chosen.meaning} Source: {chosen.source} ({chosen.dated}). The number is known from {chosen.grade}."
    )


def _diversity_promises(columns: dict[str, ColumnRule], survey: TableEvidence) -> Promises:
    """Returns a promise of two different values per class for every sensitive column that has two."""
    secret = [name for name, rule in columns.items() if rule.role is Role.SENSITIVE]
    several = [name for name in secret if _different(survey.columns[name]) > 1]
    return Promises(tuple(make("l-diversity", {"of": name, "l": 2}) for name in several))


def _different(column: ColumnEvidence) -> int:
    """Returns how many values a promise would count: spellings of one value are one, missing cells none."""
    return len({meaning(text) for text in texts(column)} - {None})


def _quasi_identifier(
    columns: dict[str, ColumnRule], survey: TableEvidence
) -> tuple[dict[str, ColumnRule], dict[str, str]]:
    """Returns the column that becomes the key where no other is: likely to be published, with few values.

    One that was taken for what identifies people is a key column on somebody's word alone: also returns why.
    """
    order = (Role.INSENSITIVE, Role.SENSITIVE, Role.IDENTIFIER)
    name = min(columns, key=lambda n: (order.index(columns[n].role), survey.columns[n].distinct))
    identifies = columns[name].role is Role.IDENTIFIER and survey.columns[name].distinct > 0
    reason = "no other column could be a quasi-identifier"
    reason += f" ({columns[name].reason})" if identifies else ""
    return {name: ColumnRule(Role.QUASI, Flat(), reason)}, {name: reason} if identifies else {}


def _waiting(columns: dict[str, ColumnRule], survey: TableEvidence) -> dict[str, str]:
    """Returns why columns wait for a person: harmless as far as is known, or a secret that all rows share."""
    same = "; published unchanged, with no promise of diversity: all rows have one value"
    return {
        name: rule.reason if rule.role is Role.INSENSITIVE else f"{rule.reason}{same}"
        for name, rule in columns.items()
        if rule.role is Role.INSENSITIVE
        or (rule.role is Role.SENSITIVE and _different(survey.columns[name]) == 1)
    }


def _person(
    columns: dict[str, ColumnRule], survey: TableEvidence, findings: Mapping[str, ColumnFinding]
) -> str | None:
    """Returns the identifier that repeats, so that there are several rows per person; else `None`."""
    for name, rule in columns.items():
        column = survey.columns[name]
        repeats = 1 < column.distinct < survey.rows - column.missing and column.missing == 0
        people = words(name) & PEOPLE or findings.get(name, NO_FINDING).person
        people = people and may_be_number_of_people(name, column)
        if rule.role is Role.IDENTIFIER and repeats and column.complete and people:
            return name
    return None
