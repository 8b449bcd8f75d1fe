"""`sfumato init`: six questions, or their answers as flags, and a policy that follows from them."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.completion import complete_column, complete_rule
from sfumato.cli.drafted_policy import draft_for
from sfumato.cli.engine_option import table_read_by
from sfumato.cli.given_answers import GivenAnswers
from sfumato.cli.options import AsJson, Data, HeaderLine, Overwrite, reads_data
from sfumato.cli.questions import can_ask
from sfumato.cli.terminal import document, progress_bar, say, talk, warn
from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import WrongCall

if TYPE_CHECKING:
    from sfumato.journey.draft_evidence import DraftEvidence
    from sfumato.journey.init import FirstPolicy
    from sfumato.policy.intent import Intent


def _column(flag: str, meaning: str) -> Any:  # as Typer declares its options
    """Returns an option that names columns of the data."""
    return typer.Option(flag, metavar="COLUMN", help=meaning, autocompletion=complete_column)


Row = Annotated[
    Literal["person", "event"] | None,
    typer.Option("--row", help="What a row is: a person, or an event of which somebody may have several."),
]
Person = Annotated[str | None, _column("--person", "The column that tells people apart.")]
Since = Annotated[str | None, _column("--since", "The column that says with which delivery a row came.")]
For = Annotated[
    Literal["public", "partners", "inside"] | None,
    typer.Option("--audience", help="Who gets it: everybody, known partners, or colleagues."),
]
Again = Annotated[
    bool | None,
    typer.Option("--again/--once", help="Whether a later table will be about the same people."),
]
Recipients = Annotated[
    int | None,
    typer.Option("--recipients", metavar="NUMBER", min=1, help="How many get a version of their own."),
]
Rule = Annotated[
    str | None,
    typer.Option(
        "--rule",
        metavar="NAME",
        help="The rule that applies: a preset such as ema, a k such as 10, or none.",
        autocompletion=complete_rule,
    ),
]
Exact = Annotated[
    list[str] | None, _column("--exact", "A column whose values must stay as they are; may be repeated.")
]


@reads_data
def init(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="POLICY", help="The policy file to write.")
    ] = Path("policy.yaml"),
    row: Row = None,
    person: Person = None,
    audience: For = None,
    again: Again = None,
    since: Since = None,
    recipients: Recipients = None,
    rule: Rule = None,
    exact: Exact = None,
    nothing_exact: Annotated[
        bool, typer.Option("--nothing-exact", help="No column must stay exact.")
    ] = False,
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
    from sfumato.journey.draft_evidence import DraftEvidence
    from sfumato.journey.init import init as init_
    from sfumato.journey.needed_files import files_of_form
    from sfumato.releases.output_file import check_target

    if exact and nothing_exact:
        raise WrongCall("--exact and --nothing-exact contradict each other", remedy="Leave one of them out.")
    columns = () if nothing_exact else tuple(exact) if exact else None
    given = GivenAnswers(row, person, since, audience, again, recipients, rule, columns)
    asking = can_ask() and not as_json
    if (lacking := given.open_flags()) and not asking:
        raise WrongCall(
            f"nobody can be asked here, and {len(lacking)} of the answers are missing",
            remedy=f"Add {', '.join(lacking)}.",
        )
    if not lacking:
        given.intent()
    check_target(out, source=Path(data), needed=files_of_form(form), overwrite=overwrite)
    with progress_bar() as progress:
        evidence = DraftEvidence.of(table_read_by(None, data, form), header=header, progress=progress)
    intent = _asked(given, evidence) if lacking else given.intent()
    with progress_bar() as progress:
        first = init_(evidence, intent, progress=progress)
    first = replace(first, policy=draft_for(first.policy, out))
    out.write_text(first.policy.to_yaml(), encoding="utf-8")
    _tell(first, data, out, as_json=as_json)


def _asked(given: GivenAnswers, evidence: DraftEvidence) -> Intent:
    """Returns the answers, after asking for those that are missing."""
    from sfumato.cli.six_questions import complete_answers

    complete_answers(given, evidence)
    return given.intent()


def _tell(first: FirstPolicy, data: str, out: Path, *, as_json: bool) -> None:
    """Print the policy in a few lines, what there is to warn of, and what to type next."""
    from sfumato.show.document import json_ready

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
    say(first)
    for warning in first.warnings:
        warn(warning)
    talk(f"\nwrote {out}. Read it: only you know what others know about these people. Then:")
    say("\n".join(f"  {command}" for command in commands))
    if first.intent.since or (first.intent.person and first.policy.person is None):
        talk("Next time: the same release command with the new table, and another folder.")
