"""Drafts: a first policy, from the data alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from sfumato.draft.evidence import NO_FINDING, ColumnEvidence, ColumnFinding, TableEvidence, texts
from sfumato.draft.functional_dependencies import (
    ColumnsBesideKeys,
    DatedColumns,
    companions,
    date_differences,
    telling_columns,
)
from sfumato.draft.roles import grouped_categories, guess, is_undecided, unpublished, without_undecided
from sfumato.draft.safe_harbor_cells import may_be_number_of_people, rules_kept
from sfumato.models.contract import (
    ClassPromise,
    ColumnRolePromise,
    Promise,
    Promises,
    TablePromise,
    is_relative,
    with_least_people,
)
from sfumato.models.registry import make
from sfumato.policy.chain import ChainRule
from sfumato.policy.columns import PEOPLE, words
from sfumato.policy.content import ColumnRule
from sfumato.policy.header_lexicon import lexicon
from sfumato.policy.person import PersonRule
from sfumato.policy.policy import Policy
from sfumato.policy.presets import PRESETS, Preset
from sfumato.policy.presets import preset as preset_of
from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.errors import BadData, BadPolicy, UsageError, did_you_mean, short
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.microdata import Role
from sfumato.table.spelling import meaning
from sfumato.table.taxonomy import Label

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
    by_column = findings or {}
    columns = {
        name: guess(
            name,
            column,
            survey.rows,
            finding=by_column.get(name, NO_FINDING),
            written=source if column.is_text else NO_FORM,
        )
        for name, column in survey.columns.items()
    }
    _look_at_several(columns, survey, first_texts)
    chosen = preset_of(preset or DEFAULT_PRESET)
    if chosen.checks_columns:
        columns.update(rules_kept(columns, survey, by_column, source))
    waiting = _waiting(columns, survey)
    if not any(rule.role.is_key for rule in columns.values()):
        if chosen.checks_columns and all(rule.role is Role.IDENTIFIER for rule in columns.values()):
            raise BadPolicy(f"under {chosen.name} no column is left to publish", remedy=NONE_LEFT)
        rules, named = _quasi_identifier(columns, survey)
        columns.update(rules)
        waiting = {**{name: w for name, w in waiting.items() if name not in rules}, **named}
    person = _person(columns, survey, by_column)
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
        note="\n".join(filter(None, (note, f"Preset {chosen.name}: {remarks(chosen)}" if preset else ""))),
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
    unchanged = ColumnsBesideKeys.of({**columns, **without_undecided(columns)})
    if unchanged.names and first_texts is not None:
        columns.update(telling_columns(unchanged, survey, first_texts(unchanged.names)))
    if sum(map(is_undecided, columns.values())) > MOST_UNDECIDED:
        columns.update(without_undecided(columns))


def remarks(chosen: Preset) -> str:
    """Returns the source of a preset in a sentence."""
    source = f"{chosen.source} ({chosen.dated})"
    return f"{chosen.meaning} Source: {source}. The number is known from {chosen.provenance}."


def _diversity_promises(columns: dict[str, ColumnRule], survey: TableEvidence) -> Promises:
    """Returns a promise of two different values per class for every sensitive column that has two."""
    secret = [name for name, rule in columns.items() if rule.role is Role.SENSITIVE]
    several = (name for name in secret if _different(survey.columns[name]) > 1)
    return Promises(tuple(make("l-diversity", {"of": name, "l": 2}) for name in several))


def harmful_values(name: str, column: ColumnEvidence) -> dict[str, Fraction]:
    """Returns the values of a sensitive column that harm whoever is known to have them, with their shares.

    That is a guess, for a person to confirm: what is no word of being well or of having none of it, or
    nothing but these under a header of what is good to have (*vaccinated: no*); else what is rare beside a
    value that most have. `{}` where nothing tells, or too many values would have to be named. One spelling
    stands for all.
    """
    shares: dict[str, Fraction] = {}
    spelled: dict[str, str] = {}
    for text, count in zip(column.values, column.counts.tolist(), strict=False):
        value = meaning(text)
        if text is not None and value is not None:
            shares[value] = shares.get(value, Fraction(0)) + count
            spelled.setdefault(value, text)
    known, harmless = sum(shares.values()), {v for v in shares if _CODE.sub("", v) in HARMLESS}
    if not column.complete or not 1 < len(shares) <= MOST_HARMFUL:
        return {}
    harmful = {value for value in shares if value not in harmless}
    if words(name) & GOOD_TO_HAVE and harmless:
        harmful = harmless
    elif not harmless or not harmful:
        common = max(shares, key=lambda value: (shares[value], value))
        harmful = {value for value in shares if value != common} if 2 * shares[common] >= known else set()
    return {spelled[value]: shares[value] / known for value in shares if value in harmful}


_CODE = re.compile(r"^[0-9]{1,2}(?=[^\W\d])")
"""The number of an answer, where separators are folded: `0no`."""
MOST_HARMFUL = 50
"""With more values none are named: a policy would be a list of them."""
_HARMLESS = """
    0 no n non nein nee nej não nao ne false faux falsch falso never nie jamais nunca mai normal negative
    negativ neg healthy gesund sain sano well absent notpresent notmentioned unchecked notselected
    nodisability keine aucun aucune ninguno ninguna nessuno nessuna
"""
HARMLESS = frozenset(_HARMLESS.split())
"""Words, as spellings are folded, of people who have nothing that would harm them; not their opposites."""
_GOOD_TO_HAVE = """
    vaccinated vaccination immunized immunised employed employment working job insured insurance citizen
    literate legal registered housed geimpft impfung beschäftigt beschaeftigt berufstätig versichert vacciné
    vaccine employé assuré vacunado empleado asegurado vaccinato occupato assicurato consent adherent
"""
GOOD_TO_HAVE = frozenset(_GOOD_TO_HAVE.split())
"""Words of headers under which `no` is what harms."""


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
    note = "; published unchanged, with no promise of diversity: all rows have one value"
    return {
        name: rule.reason if rule.role is Role.INSENSITIVE else f"{rule.reason}{note}"
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
        people = words(name) & PEOPLE and not findings.get(name, NO_FINDING).identifies
        people = people and may_be_number_of_people(name, column)
        if rule.role is Role.IDENTIFIER and repeats and column.complete and people:
            return name
    return None


# The intent of a release: what a steward answers before a policy is drafted, and what follows from it.

NO_RULE = "none"
MOST_RECIPIENTS = 1000


class RowMeaning(StrEnum):
    """What one row of the table is."""

    PERSON = "person"
    """A person: everybody has one row."""
    EVENT = "event"
    """A visit, an order: somebody may have several rows."""


class Audience(StrEnum):
    """Who gets the table."""

    PUBLIC = "public"
    PARTNERS = "partners"
    """Others who are known by name, and have signed something."""
    INSIDE = "inside"
    """Colleagues in the same organization."""


class Frequency(StrEnum):
    """Whether a later table is about the same people."""

    ONCE = "once"
    AGAIN = "again"


USUAL_RULE: Mapping[Audience, str] = {
    Audience.PUBLIC: "ema",
    Audience.PARTNERS: "small-cells-5",
    Audience.INSIDE: "small-cells-5",
}
"""The preset that is proposed where no rule applies: for everybody the strictest number that is known."""


@dataclass(frozen=True)
class Intent:
    """The answers to the six questions.

    `person` is the column that tells people apart, `since` the one that says with which delivery a row came:
    events need the former, a table that comes again one of them. `rule` is a preset, a k, or `none`. `exact`
    are the columns whose values have to stay as they are.
    """

    rows: RowMeaning
    audience: Audience
    frequency: Frequency = Frequency.ONCE
    recipients: int = 1
    rule: str = NO_RULE
    exact: tuple[str, ...] = ()
    person: str | None = None
    since: str | None = None

    def __post_init__(self) -> None:
        rule_of(self.rule)
        if not 1 <= self.recipients <= MOST_RECIPIENTS:
            raise UsageError(f"recipients are a number from 1 to {MOST_RECIPIENTS:,}")
        if self.audience is Audience.PUBLIC and self.recipients > 1:
            raise UsageError(
                "what is public is one table for everybody, not a version for each of several recipients",
                remedy="Say --recipients 1, or --audience partners.",
            )
        if self.frequency is Frequency.AGAIN:
            self._check_again()
        elif self.since is not None:
            raise UsageError("a column of deliveries is for tables that come again", remedy="Say --again.")
        if self.rows is RowMeaning.EVENT and self.person is None:
            raise UsageError(
                "which rows are whose has to be known where somebody has several",
                remedy="Name the column that tells people apart: --person COLUMN.",
            )

    def _check_again(self) -> None:
        if (self.person is None) == (self.since is None):
            raise UsageError(
                "a release beside earlier ones has to know who was in them",
                remedy="Name one column: --since COLUMN, which says with which delivery a row came, or"
                " --person COLUMN, which tells people apart.",
            )

    @property
    def preset(self) -> str | None:
        """The preset whose number is promised; `None` where a k was named."""
        named = rule_of(self.rule)
        return USUAL_RULE[self.audience] if named == NO_RULE else named if isinstance(named, str) else None

    def check_columns(self, names: Sequence[str]) -> None:
        """Raises `UsageError` for a column that the table does not have."""
        for flag, name in self._named:
            if name not in names:
                raise UsageError(
                    f"the table has no column {short(name)}",
                    where=f"--{flag}",
                    remedy=did_you_mean(name, names, otherwise="`sfumato doctor DATA` lists its columns."),
                )

    @property
    def _named(self) -> list[tuple[str, str]]:
        single = [("person", self.person), ("since", self.since)]
        return [(flag, n) for flag, n in single if n is not None] + [("exact", name) for name in self.exact]

    def words(self) -> dict[str, object]:
        """The answers by the names of their flags."""
        return {
            "row": self.rows.value,
            "person": self.person,
            "since": self.since,
            "audience": self.audience.value,
            "again": self.frequency is Frequency.AGAIN,
            "recipients": self.recipients,
            "rule": self.rule,
            "exact": list(self.exact),
        }


def rule_of(word: str) -> str | int:
    """Returns the rule that a word names: a preset, a k, or `none`; raises `UsageError` for anything else.

    >>> rule_of("ema"), rule_of("7"), rule_of("none")
    ('ema', 7, 'none')
    """
    if word == NO_RULE:
        return word
    if word.isascii() and word.isdigit() and len(word) < 10:
        if int(word) < 2:
            raise UsageError("a group of one person hides nobody", remedy="Name a k of 2 or more.")
        return int(word)
    if word not in PRESETS:
        choices = [*PRESETS, NO_RULE]
        hint = did_you_mean(word, choices, otherwise=f"There is {', '.join(choices)}, or a number (k).")
        raise UsageError("there is no rule of this name", where="--rule", remedy=hint)
    return preset_of(word).name


def intended(draft: Policy, intent: Intent) -> Policy:
    """Returns a draft as it follows from the answers; versions for recipients are chosen later.

    Raises `UsageError` where an answer contradicts what a column is.
    """
    intent.check_columns(list(draft.columns))
    columns = dict(draft.columns)
    for name in intent.exact:
        columns[name] = _exact(name, columns[name], intent)
    for name in filter(None, (intent.person, intent.since)):
        why = "says with which delivery a row came" if name == intent.since else "tells people apart"
        columns[name] = unpublished(f"{why}, as you said")
    named, promises = rule_of(intent.rule), _about_published(draft.promises, columns)
    if isinstance(named, int):
        promises = tuple(with_least_people(p, named) if p.least_people else p for p in promises)
    further = _further(Promises(promises), columns, intent)
    protect = draft.protect
    if further.chain is None and (intent.recipients > 1 or intent.frequency is Frequency.AGAIN):
        protect = replace(protect, suppress=Fraction(0))
    has_person = intent.rows is RowMeaning.EVENT or further.chain is not None
    try:
        return replace(
            draft,
            columns=columns,
            promises=Promises(further.promises),
            protect=protect,
            person=intent.person if has_person else None,
            people=PersonRule(by=further.by),
            chain=further.chain,
            confirm={n: why for n, why in draft.confirm.items() if columns[n].role is draft.columns[n].role},
            note="\n".join(filter(None, (draft.note, *further.remarks))),
        )
    except BadPolicy as wrong:
        raise UsageError(
            f"these answers do not go together: {wrong.message}", where=wrong.where, remedy=wrong.remedy
        ) from None


def _exact(name: str, rule: ColumnRule, intent: Intent) -> ColumnRule:
    """Returns the rule of a column whose values stay as they are, if they are published at all."""
    if name in (intent.person, intent.since):
        raise UsageError(f"column {short(name)} tells who somebody is, and is never published")
    if rule.role is Role.IDENTIFIER:
        raise UsageError(
            f"column {short(name)} is an identifier ({rule.reason}), and is never published",
            where="--exact",
            remedy="Leave it out here. If it identifies nobody, correct its role in the policy afterwards.",
        )
    return replace(rule, controls=replace(rule.controls, at_most=0)) if rule.role.is_key else rule


def _about_published(promises: Promises, columns: Mapping[str, ColumnRule]) -> tuple[Promise, ...]:
    """Returns the promises about columns that are still secrets: others lost what they are about."""
    return tuple(
        promise
        for promise in promises.stated
        if all(columns[name].role is Role.SENSITIVE for name in promise.sensitive)
    )


# How later releases go on: as a chain of groups where that can be, else by whole columns.


@dataclass(frozen=True)
class FurtherReleases:
    """What a policy promises, how later releases go on from it, and what the policy says about that.

    `chain` is `None` where no release follows, or where releases go on by whole columns. `by` orders a
    person's rows.
    """

    promises: tuple[Promise, ...]
    chain: ChainRule | None = None
    by: str | None = None
    remarks: tuple[str, ...] = ()


def _further(promises: Promises, columns: Mapping[str, ColumnRule], intent: Intent) -> FurtherReleases:
    """Returns how the answers let later releases go on.

    Raises `UsageError` where somebody has several rows, and only whole columns would be left.
    """
    stated = promises.stated
    if intent.frequency is Frequency.ONCE:
        return FurtherReleases(stated)
    obstacle = _obstacle_to_groups(stated)
    if obstacle is not None:
        if intent.recipients > 1:
            raise UsageError(
                f"versions for recipients go on as a chain of groups alone, and {obstacle}",
                remedy="Say --once, or --recipients 1.",
            )
        if intent.rows is RowMeaning.EVENT:
            raise UsageError(
                f"somebody has several rows, and the table cannot come again: {obstacle}",
                remedy="Bring each person's rows together in one row (--row person), or say --once.",
            )
        remark = f"Later releases go on by whole columns (continuous), which loses more: {obstacle}."
        return FurtherReleases((*stated, _continuous(stated, intent)), remarks=(remark,))
    kept, left_out = _promises_of_groups(stated)
    if intent.since is not None:
        said = (
            f"Later releases go on as a chain of groups: rows with a new {short(intent.since)} are newcomers,"
            " and nobody has two rows."
        )
        return FurtherReleases(kept, ChainRule(since=intent.since), remarks=(said, *left_out))
    dated = _columns_that_order_rows(columns, intent)
    said = f"Later releases go on as a chain of groups: {short(str(intent.person))} tells who is new."
    if not dated:
        said += " No column of dates orders a person's rows: name one (by), or hand in cumulative tables."
        return FurtherReleases(kept, ChainRule(), remarks=(said, *left_out))
    said += f" By {short(dated[0])} a person's rows are told apart; the values of the first are shown."
    if len(dated) > 1:
        said += f" If another column orders them, name it instead: {', '.join(map(short, dated[1:]))}."
    return FurtherReleases(kept, ChainRule(), dated[0], (said, *left_out))


def _obstacle_to_groups(promises: Sequence[Promise]) -> str | None:
    """Returns why releases cannot be a chain of groups; `None` where they can."""
    for promise in promises:
        if isinstance(promise, TablePromise | ColumnRolePromise):
            return f"{promise.name} cannot be promised of groups yet"
    return None


def _promises_of_groups(promises: Sequence[Promise]) -> tuple[tuple[Promise, ...], tuple[str, ...]]:
    """Returns the promises that later releases cannot break, and a remark on each that is left out.

    A column that no other promise is about is promised two different values per class.
    """
    lasting = [promise for promise in promises if _lasts(promise)]
    remarks = []
    for promise in promises:
        if promise in lasting:
            continue
        for name in promise.sensitive:
            if not any(name in other.sensitive for other in lasting):
                lasting.append(make("l-diversity", {"of": name, "l": 2}))
        about = ", ".join(map(short, promise.sensitive))
        instead = ", ".join(p.name for p in lasting if set(p.sensitive) & set(promise.sensitive))
        why = "compares groups with a table that changes from release to release"
        if not is_relative(promise):
            why = "may break where groups are put together"
        remarks.append(f"{promise.name} of {about} is left out, since it {why}; promised instead: {instead}.")
    return tuple(lasting), tuple(remarks)


def _lasts(promise: Promise) -> bool:
    """Whether a group that keeps a promise keeps it whatever other groups come."""
    return not is_relative(promise) and (not isinstance(promise, ClassPromise) or promise.monotone)


def _columns_that_order_rows(columns: Mapping[str, ColumnRule], intent: Intent) -> list[str]:
    """Returns the columns of dates that tell a person's rows apart; dates of birth do not.

    Rows are ordered as texts, so where somebody has several, texts have to be in the order of dates.
    """
    dated = []
    for name, rule in columns.items():
        if not isinstance(rule.taxonomy, Dates) or "birth" in lexicon().read(name).kinds:
            continue
        if intent.rows is RowMeaning.PERSON or rule.taxonomy.written in SORTED_AS_TEXT:
            dated.append(name)
    return dated


SORTED_AS_TEXT = ("yyyy-mm-dd", "yyyymmdd", "yyyy-mm")
"""Forms of dates that are in the same order as texts and as dates."""


def _continuous(promises: Sequence[Promise], intent: Intent) -> Promise:
    """Returns the promise that this release and all later ones of its chain are safe together."""
    parameters: dict[str, object] = {"k": max(p.least_people for p in promises)}
    parameters |= {"person": intent.person} if intent.since is None else {"since": intent.since}
    if any(not promise.by_size for promise in promises):
        parameters["survivors"] = True
    return make("continuous", parameters)


TOLERANCES = (Fraction(1, 5), Fraction(1, 2))
"""How much more than the best a version may lose, the first that serves everybody."""
