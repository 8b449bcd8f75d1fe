"""`sfumato init`: six questions, or their answers as flags, and a policy that follows from them."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.declare import draft_for
from sfumato.cli.guide_page import complete_column, complete_rule
from sfumato.cli.options import AsJson, Data, HeaderLine, Overwrite, option, reads_data, table_read_by, valued
from sfumato.cli.terminal import (
    ask,
    ask_choice,
    can_ask,
    document,
    print_note,
    print_result,
    progress_bar,
    warn,
)
from sfumato.system.errors import UsageError, did_you_mean, short
from sfumato.table.data_file import NO_FORM, SourceForm

if TYPE_CHECKING:
    from sfumato.draft.draft import Audience, Intent
    from sfumato.policy.policy import Policy
    from sfumato.workflows.declare import DraftEvidence
    from sfumato.workflows.init import FirstPolicy


# The six questions of `sfumato init`, asked one by one where flags did not answer them.

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


def complete_answers(answers: GivenAnswers, evidence: DraftEvidence) -> None:
    """Asks for every answer that is missing, and fills it in; questions that were answered are not asked."""
    from sfumato.draft.draft import Audience

    draft, names = evidence.draft(), list(evidence.survey.columns)
    if answers.row is None:
        usual = "event" if draft.person else "person"
        answers.row = ask_choice("1 of 6. What is it: what is one row?", ROWS, usual=usual)
    if answers.row == "event" and answers.person is None:
        answers.person = _column("Which column tells people apart?", names, usual=draft.person)
    if answers.audience is None:
        answers.audience = ask_choice("2 of 6. Who gets it?", AUDIENCES, usual="public")
    if answers.again is None:
        answers.again = ask_choice("3 of 6. Once or again?", FREQUENCIES, usual="once") == "again"
    if answers.again and not (answers.since or answers.person):
        _ask_who_was_there(answers, names, draft)
    if answers.recipients is None and answers.audience != "public":
        answers.recipients = ask(
            "4 of 6. How many recipients? Each gets a version of their own: a leak shows whose it was.",
            _number,
            usual="1",
        )
    if answers.rule is None:
        answers.rule = _rule(Audience(answers.audience))
    if answers.exact is None:
        answers.exact = _exact(names, draft)


def _ask_who_was_there(answers: GivenAnswers, names: Sequence[str], draft: Policy) -> None:
    """Asks which column tells who was in earlier tables: people by their numbers, or rows by deliveries."""
    from sfumato.table.microdata import Role

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
        usual = draft.person or (identifiers[0] if len(identifiers) == 1 else None)
        answers.person = _column("Which column tells people apart?", names, usual=usual)
    else:
        answers.since = _column("Which column says with which delivery a row came?", names)


def _rule(audience: Audience) -> str:
    """Asks which rule applies; what it says is listed."""
    from sfumato.draft.draft import NO_RULE, USUAL_RULE, rule_of
    from sfumato.policy.presets import PRESETS

    listed = "\n".join(f"  {name}: k = {preset.k}. {preset.source}" for name, preset in PRESETS.items())
    question = (
        "5 of 6. Which rule applies? A preset, a number (the smallest group), or none: then"
        f" {USUAL_RULE[audience]} is proposed.\n{listed}"
    )

    def read(text: str) -> str:
        rule_of(text)
        return text

    return ask(question, read, usual=NO_RULE)


def _exact(names: Sequence[str], draft: Policy) -> tuple[str, ...]:
    """Asks which columns must stay exact; those that stay as they are anyway are not listed."""
    coarser = [name for name, rule in draft.columns.items() if rule.role.is_key]

    def read(text: str) -> tuple[str, ...]:
        if text == "nothing" and "nothing" not in names:
            return ()
        chosen = (text,) if text in names else tuple(part.strip() for part in text.split(","))
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
    return ask(f"{question}\n  {', '.join(map(short, names))}", lambda text: _known(text, names), usual=usual)


def _known(name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise UsageError(f"there is no column {short(name)}", remedy=did_you_mean(name, names))
    return name


def _number(text: str) -> int:
    from sfumato.draft.draft import MOST_RECIPIENTS

    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MOST_RECIPIENTS):
        raise UsageError(f"say a number from 1 to {MOST_RECIPIENTS:,}")
    return int(text)


# The answers that were given as flags of `sfumato init`, and which are still missing.


@dataclass
class GivenAnswers:
    """The answers that were given as flags; `None` is a question that is still open."""

    row: str | None
    person: str | None
    since: str | None
    audience: str | None
    again: bool | None
    recipients: int | None
    rule: str | None
    exact: tuple[str, ...] | None

    def open_flags(self) -> list[str]:
        """Returns the flags of all questions that are still open."""
        questions = [
            ("--row person|event", self.row is None),
            ("--person COLUMN", self.row == "event" and self.person is None),
            ("--audience public|partners|inside", self.audience is None),
            ("--once or --again", self.again is None),
            ("--since COLUMN or --person COLUMN", bool(self.again) and not (self.since or self.person)),
            ("--recipients NUMBER", self.recipients is None and self.audience != "public"),
            ("--rule NAME", self.rule is None),
            ("--exact COLUMN or --nothing-exact", self.exact is None),
        ]
        return [flag for flag, is_open in questions if is_open]

    def intent(self) -> Intent:
        """Returns the answers, checked against each other."""
        from sfumato.draft.draft import Audience, Frequency, Intent, RowMeaning

        return Intent(
            RowMeaning(str(self.row)),
            Audience(str(self.audience)),
            Frequency.AGAIN if self.again else Frequency.ONCE,
            self.recipients or 1,
            self.rule or "none",
            self.exact or (),
            self.person,
            self.since,
        )


def _init_column(flag: str, meaning: str) -> Any:  # as Typer declares its options
    """Returns an option that names columns of the data."""
    return typer.Option(flag, metavar="COLUMN", help=meaning, autocompletion=complete_column)


Row = Annotated[
    Literal["person", "event"] | None,
    option("--row", "What a row is: a person, or an event of which somebody may have several."),
]
Person = Annotated[str | None, _init_column("--person", "The column that tells people apart.")]
Since = Annotated[str | None, _init_column("--since", "The column that says with which delivery a row came.")]
For = Annotated[
    Literal["public", "partners", "inside"] | None,
    option("--audience", "Who gets it: everybody, known partners, or colleagues."),
]
Again = Annotated[
    bool | None, option("--again/--once", "Whether a later table will be about the same people.")
]
Recipients = Annotated[
    int | None, valued("--recipients", "NUMBER", "How many get a version of their own.", least=1)
]
Rule = Annotated[
    str | None,
    valued(
        "--rule",
        "NAME",
        "The rule that applies: a preset such as ema, a k such as 10, or none.",
        complete=complete_rule,
    ),
]
Exact = Annotated[
    list[str] | None, _init_column("--exact", "A column whose values must stay as they are; may be repeated.")
]


@reads_data
def init(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    out: Annotated[Path, valued("--out", "POLICY", "The policy file to write.", short="-o")] = Path(
        "policy.yaml"
    ),
    row: Row = None,
    person: Person = None,
    audience: For = None,
    again: Again = None,
    since: Since = None,
    recipients: Recipients = None,
    rule: Rule = None,
    exact: Exact = None,
    nothing_exact: Annotated[bool, option("--nothing-exact", "No column must stay exact.")] = False,
    header: HeaderLine = False,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Answer six questions, get a policy and the commands that come next.

    Asks what a row is, who gets the table, once or again, how many recipients, which rule applies, and what
    must stay exact. Flags answer beforehand; with all of them, or --json, nothing is asked.

    Example:  sfumato init patients.csv --row person --audience public --once --rule ema --nothing-exact
    """
    from sfumato.inputs import files_of_form
    from sfumato.releases.files import check_target
    from sfumato.workflows.declare import DraftEvidence
    from sfumato.workflows.init import init as init_

    if exact and nothing_exact:
        raise UsageError("--exact and --nothing-exact contradict each other", remedy="Leave one of them out.")
    columns = () if nothing_exact else tuple(exact) if exact else None
    answers = GivenAnswers(row, person, since, audience, again, recipients, rule, columns)
    asking = can_ask() and not as_json
    if (lacking := answers.open_flags()) and not asking:
        raise UsageError(
            f"nobody can be asked here, and {len(lacking)} of the answers are missing",
            remedy=f"Add {', '.join(lacking)}.",
        )
    if not lacking:
        answers.intent()
    check_target(out, source=Path(data), needed=files_of_form(form), overwrite=overwrite)
    with progress_bar() as progress:
        evidence = DraftEvidence.of(table_read_by(None, data, form), header=header, progress=progress)
    intent = _asked(answers, evidence) if lacking else answers.intent()
    with progress_bar() as progress:
        first = init_(evidence, intent, progress=progress)
    first = replace(first, policy=draft_for(first.policy, out))
    out.write_text(first.policy.to_yaml(), encoding="utf-8")
    _tell(first, data, out, as_json=as_json)


def _asked(answers: GivenAnswers, evidence: DraftEvidence) -> Intent:
    """Returns the answers, after asking for those that are missing."""

    complete_answers(answers, evidence)
    return answers.intent()


def _tell(first: FirstPolicy, data: str, out: Path, *, as_json: bool) -> None:
    """Print the policy in a few lines, what there is to warn of, and what to type next."""
    from sfumato.draft.draft import Frequency
    from sfumato.system.presentation.cards import json_ready

    commands = first.commands(data, str(out))
    if as_json:
        document(
            {
                "answers": first.intent.words(),
                "policy": first.policy.to_dict(),
                "written": str(out),
                "warnings": [json_ready(warning) for warning in first.warnings],
                "next": list(commands),
            }
        )
        return
    print_result(first)
    for warning in first.warnings:
        warn(warning)
    print_note(f"\nwrote {out}. Read it: only you know what others know about these people. Then:")
    print_result("\n".join(f"  {command}" for command in commands))
    if first.intent.frequency is Frequency.AGAIN:
        print_note("Next time: the same release command with the new table, and another folder.")
