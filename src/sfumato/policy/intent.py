"""The intent of a release: what a steward answers before a policy is drafted, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from sfumato.core.adversary import Adversary
from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.microdata import Role
from sfumato.core.problem import did_you_mean, short
from sfumato.core.promise import Promise, Promises
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.presets import PRESETS
from sfumato.policy.presets import preset as preset_of
from sfumato.policy.recipients import Coalition
from sfumato.promises import make

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
            raise WrongCall(f"recipients are a number from 1 to {MOST_RECIPIENTS:,}")
        if self.audience is Audience.PUBLIC and self.recipients > 1:
            raise WrongCall(
                "what is public is one table for everybody, not a version for each of several recipients",
                remedy="Say --recipients 1, or --audience partners.",
            )
        if self.frequency is Frequency.AGAIN:
            self._check_again()
        elif self.since is not None:
            raise WrongCall("a column of deliveries is for tables that come again", remedy="Say --again.")
        if self.rows is RowMeaning.EVENT and self.person is None:
            raise WrongCall(
                "which rows are whose has to be known where somebody has several",
                remedy="Name the column that tells people apart: --person COLUMN.",
            )

    def _check_again(self) -> None:
        if self.rows is RowMeaning.EVENT:
            raise WrongCall(
                "nothing can be promised yet of several releases about people who have several rows each",
                remedy="Bring each person's rows together in one row (--row person), or say --once: every"
                " release is then safe alone, and nothing is promised of two together.",
            )
        if (self.person is None) == (self.since is None):
            raise WrongCall(
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
        """Raises `WrongCall` for a column that the table does not have."""
        for flag, name in self._named:
            if name not in names:
                raise WrongCall(
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
    """Returns the rule that a word names: a preset, a k, or `none`; raises `WrongCall` for anything else.

    >>> rule_of("ema"), rule_of("7"), rule_of("none")
    ('ema', 7, 'none')
    """
    if word == NO_RULE:
        return word
    if word.isascii() and word.isdigit() and len(word) < 10:
        if int(word) < 2:
            raise WrongCall("a group of one person hides nobody", remedy="Name a k of 2 or more.")
        return int(word)
    if word not in PRESETS:
        choices = [*PRESETS, NO_RULE]
        hint = did_you_mean(word, choices, otherwise=f"There is {', '.join(choices)}, or a number (k).")
        raise WrongCall("there is no rule of this name", where="--rule", remedy=hint)
    return preset_of(word).name


def intended(draft: Policy, intent: Intent) -> Policy:
    """Returns a draft as it follows from the answers; versions for recipients are chosen later.

    Raises `WrongCall` where an answer contradicts what a column is.
    """
    intent.check_columns(list(draft.columns))
    columns = dict(draft.columns)
    for name in intent.exact:
        columns[name] = _exact(name, columns[name], intent)
    for name in filter(None, (intent.person, intent.since)):
        columns[name] = _unpublished(of_deliveries=name == intent.since)
    named, kept = rule_of(intent.rule), _about_published(draft.promises, columns)
    if isinstance(named, int):
        kept = tuple(p.with_least_people(named) if p.least_people else p for p in kept)
    protect = draft.protect
    if intent.frequency is Frequency.AGAIN:
        kept = (*kept, _continuous(kept, intent))
    if intent.frequency is Frequency.AGAIN or intent.recipients > 1:
        protect = replace(protect, suppress=Fraction(0))
    try:
        return replace(
            draft,
            columns=columns,
            promises=Promises(kept),
            protect=protect,
            person=intent.person if intent.rows is RowMeaning.EVENT else None,
            confirm={n: why for n, why in draft.confirm.items() if columns[n].role is draft.columns[n].role},
        )
    except BadPolicy as wrong:
        raise WrongCall(
            f"these answers do not go together: {wrong.message}", where=wrong.where, remedy=wrong.remedy
        ) from None


def _exact(name: str, rule: ColumnRule, intent: Intent) -> ColumnRule:
    """Returns the rule of a column whose values stay as they are, if they are published at all."""
    if name in (intent.person, intent.since):
        raise WrongCall(f"column {short(name)} tells who somebody is, and is never published")
    if rule.role is Role.IDENTIFIER:
        raise WrongCall(
            f"column {short(name)} is an identifier ({rule.reason}), and is never published",
            where="--exact",
            remedy="Leave it out here. If it identifies nobody, correct its role in the policy afterwards.",
        )
    if not rule.role.is_key:
        return rule
    return replace(rule, controls=replace(rule.controls, at_most=0))


def _unpublished(*, of_deliveries: bool) -> ColumnRule:
    why = "says with which delivery a row came" if of_deliveries else "tells people apart"
    return ColumnRule(Role.IDENTIFIER, None, f"{why}, as you said")


def _about_published(promises: Promises, columns: Mapping[str, ColumnRule]) -> tuple[Promise, ...]:
    """Returns the promises about columns that are still secrets: others lost what they are about."""
    return tuple(
        promise
        for promise in promises
        if not promise.derived and all(columns[name].role is Role.SENSITIVE for name in promise.sensitive)
    )


def _continuous(promises: Sequence[Promise], intent: Intent) -> Promise:
    """Returns the promise that this release and all later ones of its chain are safe together."""
    parameters: dict[str, object] = {"k": max(p.least_people for p in promises)}
    parameters |= {"person": intent.person} if intent.since is None else {"since": intent.since}
    if any(not promise.by_size for promise in promises):
        parameters["survivors"] = True
    if intent.recipients > 1:
        parameters["adversary"] = Adversary.REGISTER.value
    return make("continuous", parameters)


TOLERANCES = (Fraction(1, 5), Fraction(1, 2))
"""How much more than the best a version may lose, the first that serves everybody."""
COALITIONS = (Coalition.ANY, Coalition.PAIRS, Coalition.NONE)
"""Who may put versions together, what is promised most first: the first that serves everybody is taken."""
