"""`sfumato attack`: one adversary."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand

from sfumato.cli.guide_page import complete_attack
from sfumato.cli.options import (
    Against,
    AsJson,
    Chain,
    Data,
    Engine,
    MemoryLimit,
    Overwrite,
    PolicyFile,
    PublicKey,
    ReferenceFile,
    ShowValues,
    SpillFolder,
    argument,
    option,
    reads_data,
    table_read_by,
    valued,
)
from sfumato.cli.terminal import FAILED, document, print_note, print_or_json, print_result, progress_bar, warn
from sfumato.system.errors import BadData, UsageError
from sfumato.system.presentation.cards import Card, format_number, pluralize
from sfumato.table.data_file import NO_FORM, SourceForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.attacks.audit import Audit
    from sfumato.attacks.correspondence import Correspondence
    from sfumato.models.freeform.attack import FreeformFinding
    from sfumato.system.memory import Memory


Later = Annotated[
    list[str] | None, argument("[LATER]...", "Later files of the same chain, to be judged with the first.")
]

NotTried = Annotated[bool, option("--not-tried", "Also list the attacks that were not tried, and why.")]

MOST_PRINTED = 10
"""So many classes are printed in which rows are ruled out."""
TRILLION = 10**12
MOST_TOLD_APART = 100_000
"""Of so many rows it is said in how many ways they may belong together."""

Register = Annotated[
    Path | None,
    valued(
        "--register",
        "FILE",
        "The original table, or the key columns of everybody in it; for minimality and definetti.",
    ),
]
Steps = Annotated[
    int | None,
    valued("--steps", "N", "How many tables are tried at most (20000)."),
]
Seed = Annotated[int, valued("--seed", "N", "Fixes what is drawn at random.")]
Every = Annotated[bool, option("--every", "For freeform: list every breach, the most general first.")]
PublishedOnly = Annotated[
    bool, option("--published-only", "For freeform: only values that are published are inferred.")
]
Limit = Annotated[int | None, valued("--limit", "N", "With --every: list at most so many (100000).", least=1)]


AttackName = Annotated[str, argument("NAME", "The adversary.", complete=complete_attack)]


class AttackNameArgument(TyperArgument):
    """The name of an attack. Its help lists all names, which are looked up when somebody asks for them."""

    @property
    def help(self) -> str:
        from sfumato.models.attack_contract import built_in, on_request

        *names, last = sorted((*built_in(), *on_request()))
        return f"The adversary: {', '.join(names)} or {last}."

    @help.setter
    def help(self, text: str) -> None:
        del text


class AttackCommand(TyperCommand):
    """The command `attack`, whose first argument knows what it may be."""

    def __init__(self, *arguments: Any, params: list[Any], **options: Any) -> None:  # as Typer passes them on
        super().__init__(*arguments, params=params, **options)
        for parameter in self.params:
            if parameter.name == "name":
                parameter.__class__ = AttackNameArgument


@reads_data
def attack(  # noqa: PLR0917  # Typer reads the options from here
    name: AttackName,
    data: Annotated[
        list[str],
        argument("DATA", "A published file; several releases, oldest first, for who holds them all."),
    ],
    policy: PolicyFile,
    against: Against = None,
    chain: Chain = "main",
    reference: ReferenceFile = None,
    engine: Engine = None,
    register: Register = None,
    steps: Steps = None,
    seed: Seed = 0,
    every: Every = False,
    published_only: PublishedOnly = False,
    limit: Limit = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Try to break a published file as one adversary would.

    Exits 1 if the adversary achieves more than the policy allows, 2 if there is nothing to strike,
    70 if the attack broke down. Three adversaries know how the table is made: downcoding,
    minimality with --register, and term-removal. With --register, definetti measures learned rules.

    Example:  sfumato attack linkage safe.csv --policy policy.yaml

    Example:  sfumato attack correspondence q1.csv q2.csv --policy policy.yaml
    """
    from sfumato.workflows.attack import attack as attack_

    listed = every or published_only or limit is not None
    if listed and (name != "freeform" or (limit is not None and not every)):
        raise UsageError(
            "--every and --published-only are for freeform, and --limit for --every", remedy="Leave it out."
        )
    with progress_bar() as progress:
        tables = [table_read_by(engine, table, form) for table in data]
        one = listed or register is not None or name in ("downcoding", "term-removal")
        if len(tables) > 1 and one:
            raise UsageError(f"{name} looks at one table", remedy="Give one file.")
        if listed:
            found = attack_.freeform(
                tables[0], policy, every=every, extended=not published_only, limit=limit, progress=progress
            )
        elif name == "downcoding":
            audit = attack_.downcoding(tables[0], policy, steps=steps, progress=progress)
        elif name == "definetti":
            if register is None:
                raise UsageError(
                    "definetti guesses at people of the original", remedy="Name it: --register FILE."
                )
            audit = attack_.definetti(tables[0], policy, register, progress=progress)
        elif name == "term-removal":
            audit = attack_.term_removal(tables[0], policy, reference=reference, steps=steps)
        elif name == "minimality" and register is not None:
            audit = attack_.minimality(tables[0], policy, register, steps=steps, seed=seed, progress=progress)
        else:
            audit = attack_(
                name, tables, policy, reference=reference, against=against, chain=chain, progress=progress
            )
    if listed:
        say_inferences(found, limit, every=every, as_json=as_json, show_values=show_values)
    else:
        say_attack(audit, name, policy, as_json=as_json, show_values=show_values)


def say_attack(audit: Audit, name: str, policy: Path, *, as_json: bool, show_values: bool) -> NoReturn:
    """Print what an adversary achieved, and end with what that means for whoever called."""
    from sfumato.attacks.audit import attack_card

    joint = audit.beside.joint if audit.beside is not None and name == "correspondence" else None
    if as_json:
        whole = audit.as_dict()
        fields = {key: whole[key] for key in ("findings", "failed", "beside")}
        if joint is not None:
            fields["cracked"] = joint.cracked_document()
        document({"fails": "attacks" if audit.breaches else None, **fields})
    else:
        print_result(attack_card(audit.findings))
        if joint is not None:
            say_cracked(joint)
        for remark in (*audit.failed, *([str(audit.beside)] if audit.beside else [])):
            print_note(remark)
    if show_values:
        print_note("\n".join(values_shown(audit, joint, policy)))
    raise typer.Exit(1 if audit.breaches else FAILED if audit.failed else 0)


def values_shown(audit: Audit, joint: Correspondence | None, policy: Path) -> list[str]:
    """Returns the values that findings are about, and those of classes in which rows are ruled out."""
    from sfumato.reports.report import values_of

    lines = values_of(audit.findings)
    if joint is not None and audit.beside is not None and audit.beside.table is not None:
        from sfumato.attacks.chain_history import labelled_cracks
        from sfumato.inputs import load_policy

        lines += labelled_cracks(joint, audit.beside.table, load_policy(policy), MOST_PRINTED)
    return lines


def say_inferences(
    found: Sequence[FreeformFinding], limit: int | None, *, every: bool, as_json: bool, show_values: bool
) -> NoReturn:
    """Print freeform attacks in the order in which they were found, and end as `say_attack` does."""
    from sfumato.attacks.audit import finding_fields, finding_line
    from sfumato.models.freeform.attack import LIMIT

    won, most = sum(finding.breach for finding in found), (limit or LIMIT) if every else None
    if as_json:
        fields = [finding_fields(finding) for finding in found]
        whole = {"findings": fields, "complete": len(found) != most, "failed": [], "beside": None}
        document({"fails": "attacks" if won else None, **whole})
    else:
        title = f"{pluralize(won, 'attack')} of {format_number(len(found))} succeeded"
        print_result(Card(title, [finding_line(finding) for finding in found]))
    if len(found) == most:
        print_note(f"{format_number(most)} are listed, and there may be more: --limit says how many")
    if show_values:
        print_note("\n".join(finding.in_full for finding in found))
    raise typer.Exit(1 if won else 0)


def say_cracked(joint: Correspondence) -> None:
    """Print in which classes and groups rows are ruled out, those with the fewest candidates first."""
    for cracked in joint.cracked.classes[:MOST_PRINTED]:
        groups = joint.groups(cracked)
        bound = "at least " if sum(group.cracked for group in groups) < cracked.cracked else ""
        sizes = f"; crack sizes {bound}{', '.join(map(str, groups))}" if groups else ""
        print_result(f"{cracked}{sizes}")
    if len(joint.cracked.classes) > MOST_PRINTED:
        print_result(f"and {len(joint.cracked.classes) - MOST_PRINTED} more classes: --json lists them")
    if len(joint.chain) == 2 and joint.chain.releases[-1].counts.sum() <= MOST_TOLD_APART:
        ways = power_of_ten(joint.generators or 0)
        print_result(f"rows of both releases may belong together in {ways} ways (generators)")


def power_of_ten(number: int) -> str:
    """Returns a number, or for a very large one the nearest power of ten.

    >>> power_of_ten(1200), power_of_ten(2**200)
    ('1,200', 'about 10^60')
    """
    return format_number(number) if number < TRILLION else f"about 10^{round(log10(number))}"


# `sfumato knowledge`: a knowledge table from records, a term-document table or labelled text.


OutFile = Annotated[Path, valued("--out", "FILE", "The knowledge file (CSV) to write.", short="-o")]
LabelColumn = Annotated[str, valued("--label", "COLUMN", "The column of labels.")]
TermColumns = Annotated[
    list[str] | None,
    valued("--terms", "COLUMN", "A column of terms, or several columns of 0 and 1; repeatable."),
]
TextColumn = Annotated[str | None, valued("--text", "COLUMN", "A column of running text instead.")]
Vocabulary = Annotated[
    Path | None, valued("--vocabulary", "FILE", "Terms to look for in text, one per line.")
]
DocumentColumn = Annotated[str | None, valued("--document", "COLUMN", "Rows of one document are one record.")]
CountColumn = Annotated[str | None, valued("--count", "COLUMN", "For how many records a row stands.")]
Separator = Annotated[str, valued("--separator", "MARK", "What stands between terms in a cell.")]
Support = Annotated[int, option("--support", "In how many records of a label a term must occur.", least=1)]
Share = Annotated[str, valued("--share", "SHARE", "In what share of them, such as 5%.")]
PrevalenceOut = Annotated[Path | None, valued("--prevalence", "FILE", "Also write how common labels are.")]


@reads_data
def knowledge(  # noqa: PLR0917  # one parameter per option
    data: Data,
    out: OutFile,
    label: LabelColumn,
    terms: TermColumns = None,
    text: TextColumn = None,
    vocabulary: Vocabulary = None,
    document_column: DocumentColumn = None,
    count: CountColumn = None,
    separator: Separator = ";",
    support: Support = 2,
    share: Share = "0",
    prevalence: PrevalenceOut = None,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Build the knowledge table that quasi-sensitive promises read: which terms go with which label.

    From records (a label and its terms per row), a term-document table, or labelled text. With a support
    of 1 a single record may show in the file.

    Example:  sfumato knowledge visits.csv --label diagnosis --terms symptoms --support 5 -o knowledge.csv
    """
    from sfumato.models.quasi_sensitive.knowledge import save, save_prevalence
    from sfumato.releases.files import check_target
    from sfumato.table.arrays import fraction
    from sfumato.workflows.knowledge import TermPlace, proposed_knowledge

    for path in (out, prevalence):
        if path is not None:
            check_target(path, source=Path(data), overwrite=overwrite)
    columns = terms[0] if terms and len(terms) == 1 else terms
    words = () if vocabulary is None else read_vocabulary(vocabulary)
    place = TermPlace(label, columns, text, document_column, count, words, separator)
    table, least = table_read_by(None, data, form), fraction(share, key="--share")
    proposed = proposed_knowledge(table, place, support=support, share=least)
    save(proposed.knowledge, out)
    if prevalence is not None:
        save_prevalence(proposed.prevalence, prevalence)
    print_or_json(proposed, as_json=as_json)
    print_note(f"wrote {out}; read it, then name it in the policy: knowledge: {out.name}")


def read_vocabulary(file: Path) -> tuple[str, ...]:
    """Returns the terms in a file, one in a line; empty lines are left out."""
    from sfumato.system.disk import LARGEST_LIST, read_document

    try:
        lines = read_document(file, most=LARGEST_LIST).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise BadData("the vocabulary is not written in UTF-8", where=file.name) from None
    return tuple(line.strip() for line in lines if line.strip())


# `sfumato audit`: is this file safe to publish?


Strict = Annotated[bool, option("--strict", "Exit 1 also when a promise cannot be decided from the file.")]


def audit_files(files: list[str], policy: Path, memory: Memory, *, as_json: bool, strict: bool) -> NoReturn:
    """Judges the files of a chain, oldest first."""
    from sfumato.workflows.audit_chain import audit_chain

    with progress_bar() as progress:
        result = audit_chain(files, policy, memory=memory, progress=progress)
    print_or_json(result, as_json=as_json)
    raise typer.Exit(1 if result.holds is False or (strict and result.holds is None) else 0)


@reads_data
def audit(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    policy: PolicyFile,
    later: Later = None,
    against: Against = None,
    chain: Chain = "main",
    reference: ReferenceFile = None,
    key: PublicKey = None,
    as_json: AsJson = False,
    strict: Strict = False,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    not_tried: NotTried = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Judge a published file from its bytes, and attack it.

    DATA may be the address of a release in a store, such as s3://bucket/2026-11.
    With several files, oldest first, they are judged as a chain of groups: rows once published stay, and what
    is new keeps every promise by itself.
    Exits 1 if a promise is broken or a sensitive value is certain for somebody, 70 if an attack broke down.

    Example:  sfumato audit safe.csv --policy policy.yaml --against sqlite:///ledger.db
    """
    from sfumato.system.memory import Memory
    from sfumato.workflows.audit import audit as audit_

    if later:
        audit_files([data, *later], policy, Memory.of(memory, spill=spill), as_json=as_json, strict=strict)
    with progress_bar() as progress:
        result = audit_(
            table_read_by(engine, data, form),
            policy,
            reference=reference,
            against=against,
            chain=chain,
            key=key,
            memory=Memory.of(memory, spill=spill),
            warn=warn,
            progress=progress,
        )
    print_or_json(result, as_json=as_json)
    if not_tried:
        print_note("\n".join(result.reasons()))
    if show_values:
        from sfumato.reports.report import values_of

        print_note("\n".join(values_of(result.findings)))
    broken = result.headline.fails in ("promises", "certain", *(["undecided"] if strict else []))
    raise typer.Exit(1 if broken else FAILED if result.failed else 0)
