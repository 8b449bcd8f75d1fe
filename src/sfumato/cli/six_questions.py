"""The six questions of `sfumato init`, asked one by one where flags did not answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.cli.questions import ask, ask_choice
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Role
from sfumato.core.problem import did_you_mean, short
from sfumato.policy.intent import MOST_RECIPIENTS, NO_RULE, USUAL_RULE, Audience, rule_of
from sfumato.policy.presets import PRESETS

if TYPE_CHECKING:
    from sfumato.cli.given_answers import GivenAnswers
    from sfumato.journey.draft_evidence import DraftEvidence
    from sfumato.policy.policy import Policy

ROWS = {
    "person": "everybody has one row",
    "event": "somebody may have several rows: visits, orders, test results",
}
AUDIENCES = {
    "public": "everybody; it can never be called back",
    "partners": "others whom you know by name, under a contract",
    "inside": "colleagues in your own organization",
}
FREQUENCIES = {
    "once": "this is the only table about these people",
    "again": "a later table will hold these people, and new ones",
}


def complete_answers(given: GivenAnswers, evidence: DraftEvidence) -> None:
    """Asks for every answer that is missing, and fills it in; questions that were answered are not asked."""
    draft, names = evidence.draft(), list(evidence.survey.columns)
    if given.row is None:
        usual = "event" if draft.person else "person"
        given.row = ask_choice("1 of 6. What is it: what is one row?", ROWS, usual=usual)
    if given.row == "event" and given.person is None:
        given.person = _column("Which column tells people apart?", names, usual=draft.person)
    if given.audience is None:
        given.audience = ask_choice("2 of 6. Who gets it?", AUDIENCES, usual="public")
    if given.again is None:
        given.again = ask_choice("3 of 6. Once or again?", FREQUENCIES, usual="once") == "again"
    if given.again and not (given.since or given.person):
        _ask_who_was_there(given, names, draft)
    if given.recipients is None and given.audience != "public":
        given.recipients = ask(
            "4 of 6. How many recipients? Each gets a version of their own: a leak shows whose it was.",
            _number,
            usual="1",
        )
    if given.rule is None:
        given.rule = _rule(Audience(given.audience))
    if given.exact is None:
        given.exact = _exact(names, draft)


def _ask_who_was_there(given: GivenAnswers, names: Sequence[str], draft: Policy) -> None:
    """Asks which column tells who was in earlier tables: people by their numbers, or rows by deliveries."""
    which = ask_choice(
        "Next time, how can old rows be told from new ones?",
        {
            "person": "a column has a number for each person",
            "since": "a column says with which delivery a row came",
        },
        usual="person",
    )
    if which == "person":
        identifiers = [name for name, rule in draft.columns.items() if rule.role is Role.IDENTIFIER]
        usual = identifiers[0] if len(identifiers) == 1 else None
        given.person = _column("Which column tells people apart?", names, usual=usual)
    else:
        given.since = _column("Which column says with which delivery a row came?", names)


def _rule(audience: Audience) -> str:
    """Asks which rule applies; what it says is listed."""
    listed = "\n".join(f"  {name}: k = {preset.k}. {preset.source}" for name, preset in PRESETS.items())
    question = (
        "5 of 6. Which rule applies? A preset, a number (the smallest group), or none: then"
        f" {USUAL_RULE[audience]} is proposed.\n{listed}"
    )

    def read(said: str) -> str:
        rule_of(said)
        return said

    return ask(question, read, usual=NO_RULE)


def _exact(names: Sequence[str], draft: Policy) -> tuple[str, ...]:
    """Asks which columns must stay exact; those that stay as they are anyway are not listed."""
    coarser = [name for name, rule in draft.columns.items() if rule.role.is_key]

    def read(said: str) -> tuple[str, ...]:
        if said == "nothing" and "nothing" not in names:
            return ()
        chosen = (said,) if said in names else tuple(part.strip() for part in said.split(","))
        for name in chosen:
            _known(name, names)
        return chosen

    return ask(
        "6 of 6. What must stay exact? Columns, with commas between them. These would be made coarser: "
        f"{', '.join(map(short, coarser)) or 'none'}",
        read,
        usual="nothing",
    )


def _column(question: str, names: Sequence[str], *, usual: str | None = None) -> str:
    return ask(f"{question}\n  {', '.join(map(short, names))}", lambda said: _known(said, names), usual=usual)


def _known(name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise WrongCall(f"there is no column {short(name)}", remedy=did_you_mean(name, names))
    return name


def _number(said: str) -> int:
    if not (said.isascii() and said.isdigit() and len(said) < 10 and 1 <= int(said) <= MOST_RECIPIENTS):
        raise WrongCall(f"say a number from 1 to {MOST_RECIPIENTS:,}")
    return int(said)
