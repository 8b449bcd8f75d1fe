"""The verb `init`: six answers become a policy, tried on its table, and the commands that come next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sfumato.draft.doctor import SEVERAL_ROWS, Diagnosis, Severity, several_rows
from sfumato.draft.draft import (
    NO_RULE,
    TOLERANCES,
    Audience,
    Frequency,
    Intent,
    RowMeaning,
    intended,
)
from sfumato.inputs import bind_earlier, count_table
from sfumato.policy.chain import ChainRule
from sfumato.policy.compatibility import against_several_rows
from sfumato.policy.person import PersonRule
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import By, RecipientRule
from sfumato.search.plan import make_plan
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible, UsageError, short
from sfumato.system.presentation.cards import Card, Printable, pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.form_of_source import RowSource
from sfumato.table.known_rows import chosen_rows, known_rows
from sfumato.table.microdata import Role
from sfumato.table.source import Source
from sfumato.workflows.declare import REFUSED, DraftEvidence, tried
from sfumato.workflows.grown_base import who_is_who
from sfumato.workflows.recipient_versions import RecipientVersions


@dataclass(frozen=True)
class FirstPolicy(Printable):
    """A policy that follows from answers, what there is to say about it, and what follows from each."""

    policy: Policy
    intent: Intent
    warnings: tuple[Diagnosis, ...] = ()

    def card(self) -> Card:
        promises = [("promised", promise.in_words()) for promise in self.policy.promises.stated]
        roles = [(word, names) for word, names in self._roles() if names]
        return Card("a policy from your answers", [*promises, *self._later(), *self._recipients(), *roles])

    def _roles(self) -> Iterator[tuple[str, str]]:
        columns = self.policy.columns
        exact = [name for name, rule in columns.items() if rule.role.is_key and rule.controls.ceiling == 0]
        for role, word in ROLE_WORDS.items():
            named = [name for name, rule in columns.items() if rule.role is role and name not in exact]
            yield word, ", ".join(named)
        yield "known, stays exact", ", ".join(exact)

    def _later(self) -> Iterator[tuple[str, str]]:
        if self.policy.chain is not None:
            yield "later releases", "go on as a chain of groups: newcomers are added, earlier rows stay"

    def _recipients(self) -> Iterator[tuple[str, str]]:
        rule = self.policy.recipients
        if rule is not None:
            yield "recipients", f"{self.intent.recipients}, each with a version of its own"

    def commands(self, data: str, file: str) -> tuple[str, ...]:
        """Returns what to type next, in this order; `file` is where the policy was written."""
        source, policy = shlex.quote(data), shlex.quote(file)
        to = "".join(f" --to recipient-{number + 1}" for number in range(self.intent.recipients))
        release = (
            f"sfumato release {source} -p {policy} --into release-1{to if self.policy.recipients else ''}"
        )
        of = "release-1/recipient-1" if self.policy.recipients else "release-1"
        lines = [f"sfumato doctor {source} -p {policy}", release]
        if self.policy.waiting:
            waiting = " ".join(shlex.quote(name) for name in self.policy.waiting)
            lines.insert(0, f"sfumato policy confirm {policy} {waiting}")
        original = f" --original {source}" if self.policy.chain is None else ""
        lines.append(f"sfumato report {of} -p {policy}{original} -o report")
        if self.intent.audience is Audience.PUBLIC:
            lines.append(f"sfumato report {of} -p {policy} --public -o public-report")
        return tuple(lines)


ROLE_WORDS = {
    Role.IDENTIFIER: "never published",
    Role.QUASI: "made coarser",
    Role.SENSITIVE: "secret, published",
    Role.INSENSITIVE: "published as it is",
}


def init(evidence: DraftEvidence, intent: Intent, *, progress: Progress | None = None) -> FirstPolicy:
    """Returns the policy that follows from answers, planned on its table before anybody sees it.

    Raises `UsageError` where answers contradict each other or the table, and what `protect` would raise where
    no table can be published under them.
    """
    show = progress or silent
    intent.check_columns(list(evidence.survey.columns))
    answered = intended(evidence.draft(intent.preset), intent)
    source, wanted = _first_release(answered, evidence)
    policy, warnings = tried(wanted, source, evidence.survey, progress=show)
    if any(warning.name == REFUSED for warning in warnings):
        policy, warnings = _planned_in_full(wanted, source, show), []
    policy = replace(policy, person=answered.person, people=answered.people, chain=answered.chain)
    if intent.recipients > 1 and policy.chain is not None:
        policy = replace(policy, recipients=RecipientRule.usual(By.MARKS))
    elif intent.recipients > 1:
        policy = _for_recipients(policy, evidence, intent, show)
    repeated = several_rows(policy, evidence.survey) if evidence.draft().person else ()
    diagnoses = (*repeated, *_unlike_answer(intent, evidence), *warnings)
    return FirstPolicy(replace(policy, note=_note(policy, intent)), intent, diagnoses)


def _first_release(policy: Policy, evidence: DraftEvidence) -> tuple[Source, Policy]:
    """Returns the rows that a policy is tried on, and by which policy.

    Where a column tells people apart, these are the rows in which they show values: each is a person then.
    """
    source, rule = evidence.source, policy.chain
    if rule is None and (policy.person is None or against_several_rows(policy) is not None):
        return source, policy
    if not isinstance(source, RowSource):
        raise UsageError(
            f"a chain of groups is not released from a {source.kind} table",
            remedy="Write it to Parquet first.",
        )
    known = known_rows(source, who_is_who(policy, rule or ChainRule()), None, SAME_COINS)
    return chosen_rows(source, known.first), replace(policy, person=None, people=PersonRule(), chain=None)


SAME_COINS = Coins(b"sfumato init")
"""A trial draws the same rows each time; they are no secret, since nothing of it is published."""


def _planned_in_full(policy: Policy, source: Source, progress: Progress) -> Policy:
    """Returns a policy that a quick trial could not follow, if `protect` can; raises what it would raise."""
    bound = bind_earlier(policy, ())
    make_plan(count_table(source, bound, progress=progress), bound, progress=progress)
    return policy


def _for_recipients(policy: Policy, evidence: DraftEvidence, intent: Intent, progress: Progress) -> Policy:
    """Returns the policy with the narrowest tolerance under which everybody gets a version."""
    rule = RecipientRule(tolerance=TOLERANCES[0])
    served = replace(policy, recipients=rule)
    table = count_table(evidence.source, served, progress=progress)
    capacity = RecipientVersions(table, served, (), chain="", progress=progress).capacity()
    serves = {**dict(capacity.steps), TOLERANCES[0]: capacity.recipients}
    for tolerance in TOLERANCES:
        if serves[tolerance] >= intent.recipients:
            return replace(policy, recipients=replace(rule, tolerance=tolerance))
    most = max(serves[tolerance] for tolerance in TOLERANCES)
    raise Infeasible(
        f"this table has versions for {pluralize(most, 'recipient')}, not for {intent.recipients}",
        where="--recipients",
        remedy=f"Say --recipients {max(1, most)}; or let several of them share a version; or give columns"
        " taxonomies with more levels, so that there are more versions to choose from.",
    )


def _unlike_answer(intent: Intent, evidence: DraftEvidence) -> Iterator[Diagnosis]:
    """Yields a warning where people are said to have several rows, and nobody has, or the other way round."""
    column = evidence.survey.columns.get(intent.person or "")
    if intent.rows is RowMeaning.PERSON and column is not None and column.repeats:
        yield Diagnosis(
            SEVERAL_ROWS,
            Severity.WARNING,
            f"column {short(str(intent.person))}",
            "values repeat, so somebody has several rows",
            1,
            "If these are events of people, say --row event; if not, bring each person's rows together.",
        )
    if intent.rows is RowMeaning.EVENT and column is not None and column.complete and not column.repeats:
        yield Diagnosis(
            "single-rows",
            Severity.WARNING,
            f"column {short(str(intent.person))}",
            "no value occurs twice, so nobody has several rows",
            1,
            "Is it the number of a row instead of a person's? If everybody has one row, say --row person.",
        )


def _note(policy: Policy, intent: Intent) -> str:
    """Returns what the file says first: the answers, then what the draft says of itself."""
    row = "one person" if intent.rows is RowMeaning.PERSON else "one of several of a person"
    rule = f"none, so {intent.preset} is proposed" if intent.rule == NO_RULE else intent.rule
    again = "the same people again" if intent.frequency is Frequency.AGAIN else "once"
    answers = [f"a row is {row}", f"for {AUDIENCE_WORDS[intent.audience]}", again]
    answers += [pluralize(intent.recipients, "recipient")] if intent.audience is not Audience.PUBLIC else []
    answers += [f"rule: {rule}", f"to stay exact: {', '.join(intent.exact) or 'nothing'}"]
    return "\n".join(line for line in (f"Your answers: {'; '.join(answers)}.", policy.note) if line)


AUDIENCE_WORDS = {
    Audience.PUBLIC: "everybody",
    Audience.PARTNERS: "known partners",
    Audience.INSIDE: "colleagues",
}
