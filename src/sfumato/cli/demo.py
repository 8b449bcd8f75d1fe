"""`sfumato demo`: the life of a release, on made-up people."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import argument, option
from sfumato.cli.terminal import print_note, print_result, progress_bar
from sfumato.system.errors import UsageError
from sfumato.system.presentation.cards import Card, pluralize

if TYPE_CHECKING:
    from sfumato.attacks.audit import Audit
    from sfumato.policy.policy import Policy
    from sfumato.recipients.trace import Trace
    from sfumato.releases.receipt import Event, Receipt
    from sfumato.reports.report import Report
    from sfumato.search.plan import Plan
    from sfumato.system.progress import Progress

SHOWN = 6
COLUMNS = ("name", "born", "zip", "job", "income", "disease")
RECIPIENTS = ("registry", "university", "insurer")
LEAKER = "university"
LEAKED_ROWS = 60
OWN_FOLDER = ".sfumato-demo"
"""Marks a folder of releases as the demo's own: the next demo removes it."""


def demo(
    folder: Annotated[Path, argument("FOLDER", "The folder for the files.")] = Path("demo-out"),
    rows: Annotated[int, option("--rows", "How many patients a year to make up.", least=200)] = 20_000,
    seed: Annotated[int, option("--seed", "Another number makes up other patients.", least=0)] = 0,
    details: Annotated[
        bool, option("--details", "Print every attack, and why others were not tried.")
    ] = False,
) -> None:
    """Show the life of a release on made-up people: from a table to a leak.

    Example:  sfumato demo demo-out --rows 20000
    """
    from sfumato.demo.hospital import write_quarters
    from sfumato.workflows.audit import audit as audit_
    from sfumato.workflows.protect_file import protect_file as protect_file_

    print_note(f"making up {rows:,} patients in {folder}")
    first, second, quarters = write_quarters(folder, rows, seed)
    releases = _emptied(folder / "releases")
    raw, policy, safe, report = (
        folder / name for name in ("hospital.csv", "policy.yaml", "safe.csv", "report.html")
    )
    with progress_bar() as progress:
        before = audit_(raw, policy, progress=progress)
        plan, _ = protect_file_(raw, policy, safe, overwrite=True, progress=progress)
        after = audit_(safe, policy, progress=progress)
        events = _released(first, second, quarters, releases, progress)
        found = _leaked(releases, folder / "leak.csv", progress)
    print_result(_exposed(before, plan))
    print_result("")
    print_result(_safe_table(after, plan))
    print_result(side_by_side_of(raw, plan))
    for card in (*_of_recipients(events), _of_leak(found)):
        print_result("")
        print_result(card)
    if details:
        for card in (
            titled("before, hospital.csv as it is", before.card()),
            plan.card(),
            plan.explain().card(),
            titled("after, safe.csv", after.card()),
        ):
            print_result("")
            print_result(card)
    report_on(raw, safe, plan.policy, before, after).save(report, overwrite=True)
    print_note(
        f"\nthe files: {', '.join(map(str, (raw, policy, safe, report, first, second, quarters, releases)))}"
    )


def _emptied(releases: Path) -> Path:
    """Returns a folder for releases, without those of the last demo; never removes anything else."""
    if releases.exists() and not (releases / OWN_FOLDER).exists():
        raise UsageError(
            "the folder has releases that no demo made", where=releases.name, remedy="Name another folder."
        )
    if releases.exists():
        shutil.rmtree(releases)
    releases.mkdir(parents=True)
    (releases / OWN_FOLDER).touch()
    return releases


def _released(first: Path, second: Path, policy: Path, releases: Path, progress: Progress) -> list[Event]:
    """Releases both quarters to three recipients."""
    from sfumato.inputs import unheard
    from sfumato.releases.receipt import Event
    from sfumato.workflows.release import release as release_

    ledger, events = f"sqlite:///{releases / 'ledger.db'}", []
    for table, name in ((first, "Q1"), (second, "Q2")):
        into = releases / name
        event = release_(
            table, policy, ledger=ledger, into=into, to=RECIPIENTS, warn=unheard, progress=progress
        )
        if not isinstance(event, Event):
            raise AssertionError  # several recipients were named
        events.append(event)
    return events


def _leaked(releases: Path, leak: Path, progress: Progress) -> Trace:
    """Puts some rows of a copy into a file, and traces it."""
    from sfumato.workflows.trace import trace as trace_

    lines = (releases / "Q2" / LEAKER / "data.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    step = max(1, (len(lines) - 1) // LEAKED_ROWS)
    leak.write_text("".join([lines[0], *lines[1::step][:LEAKED_ROWS]]), encoding="utf-8")
    return trace_(leak, ledger=f"sqlite:///{releases / 'ledger.db'}", progress=progress)


def _exposed(before: Audit, plan: Plan) -> Card:
    """What stands out in the table as it is."""
    names = [column.name for column in plan.recoding.table.keys]
    alone = int(plan.recoding.table.counts[plan.recoding.table.counts == 1].sum())
    known = f"{', '.join(names[:-1])} and {names[-1]}"
    return Card(
        "1. What stands out",
        notes=(
            f"  {alone:,} of {before.rows:,} patients are the only ones with their {known}.",
            f"  Whoever knows these reads their diagnosis. {_attacks(before)}",
        ),
    )


def _attacks(audit: Audit) -> str:
    head = audit.headline
    if not head.succeeded:
        return f"None of {head.attacks} attacks succeeds."
    names = ", ".join(dict.fromkeys(finding.attack for finding in audit.breaches))
    beyond = ", which no promise covers" if audit.holds else ""
    word = "succeeds" if head.succeeded == 1 else "succeed"
    return f"{head.succeeded} of {pluralize(head.attacks, 'attack')} {word}{beyond}: {names}."


def _rounded(loss: float) -> str:
    return f"{loss:.3f}"


def _safe_table(after: Audit, plan: Plan) -> Card:
    """What is published instead."""
    kept = "All promises hold" if after.holds else "NOT every promise holds"
    promises = ", ".join(verdict.promise for verdict in after.verdicts)
    return Card(
        "2. The safe table",
        notes=(
            f"  {kept}: {promises}.",
            f"  {_attacks(after)} Utility loss {_rounded(plan.loss)}: 0 is the original, 1 nothing but *.",
        ),
    )


def side_by_side_of(raw: Path, plan: Plan) -> str:
    """The first made-up people, before and after."""
    from sfumato.reports.report import side_by_side

    before, after = examples(raw, plan)
    text = side_by_side(before, after, titles=("Six people before", "The same six as published"))
    return "\n".join(f"  {line}" for line in text.splitlines())


def _of_recipients(events: Sequence[Event]) -> Iterator[Card]:
    """What everybody gets: in the first quarter, and in the next."""
    first, second = ([receipt.record.figures for receipt in event.receipts] for event in events)
    yield Card(
        "3. The first quarter goes to three recipients, in a version for each",
        [_version(receipt) for receipt in events[0].receipts],
        (
            f"  One table for all would lose {_rounded(first[0]['loss of the base'])}."
            " Together, the three know no more than it would tell.",
        ),
    )
    came, left = int(second[0]["newcomers"]), int(second[0]["left"])
    back = int(first[0]["newcomers"]) - left
    yield Card(
        "4. The second quarter",
        [_version(receipt) for receipt in events[1].receipts],
        (
            f"  {came:,} patients are new, {back:,} came again, {left:,} did not.",
            "  Everybody who was published stays as they were; of a second visit no diagnosis is shown.",
        ),
    )


def _version(receipt: Receipt) -> tuple[str, ...]:
    figures = receipt.record.figures
    rows, marked = int(figures["rows"]), int(figures["marked rows"])
    holds = all(verdict["holds"] for verdict in receipt.record.verdicts)
    return (
        str(receipt.record.recipient),
        f"loss {_rounded(figures['loss'])}",
        f"{rows:,} rows",
        f"{marked:,} carry a mark",
        "every promise holds" if holds else "NOT every promise holds",
    )


def _of_leak(found: Trace) -> Card:
    """Whose copy the leak is."""
    lines = [
        (
            suspect.recipient,
            "charged" if suspect.charged else "not charged",
            f"{suspect.agree:,} of {suspect.groups:,} marks agree",
            suspect.chance,
        )
        for suspect in found.suspects
    ]
    title = f"5. Somebody leaks {found.rows['all']:,} rows of a copy"
    told = "Nobody is charged: too few marks leaked to tell the recipients apart."
    if found.charged:
        share = f"{found.error.numerator} of {found.error.denominator:,} traces"
        told = f"Traced to {' and '.join(found.charged)}: an innocent is charged in at most {share}."
    return Card(title, lines, (f"  {told}",))


def report_on(raw: Path, safe: Path, policy: Policy, before: Audit, after: Audit) -> Report:
    """The report that an owner would get of this table; both tables were attacked already."""
    from datetime import UTC, datetime

    from sfumato.system.progress import silent
    from sfumato.workflows.report import internal_report, of_published, published_evidence, with_original

    published = published_evidence(safe, policy, attacked=after, progress=silent)
    evidence = of_published(published, None, safe, silent)
    evidence = with_original(evidence, raw, safe, silent, attacked=before)
    made_up = replace(evidence, subject="a made-up hospital", remarks=("Nobody in this table is real.",))
    return internal_report(made_up, written_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))


def titled(title: str, card: Card) -> Card:
    """The same card, its title with another in front."""
    return replace(card, title=f"{title}: {card.title}")


def examples(raw: Path, plan: Plan) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The first made-up people, and what is published of them. Real people's rows are never shown."""
    with raw.open(encoding="utf-8", newline="") as file:
        people = list(islice(csv.DictReader(file), SHOWN))
    names = [name for name in people[0] if name in COLUMNS]
    published_names = set(plan.policy.published)
    columns = [name for name in names if name in published_names]
    before = [tuple(names), *(tuple(person[name] for name in names) for person in people)]
    return before, [tuple(columns), *(published(plan, person, columns) for person in people)]


def published(plan: Plan, person: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """One person's row as it is published; dashes if it is suppressed."""
    import numpy as np

    from sfumato.table.recoding import SUPPRESSED

    recoding = plan.recoding
    table = recoding.table
    matches = np.ones(table.distinct, bool)
    for column in (*table.keys, *table.sensitive):
        matches &= table.codes(column.name) == column.taxonomy.rank(person[column.name])
    of_class = int(recoding.class_of[matches].max(initial=SUPPRESSED))
    if of_class == SUPPRESSED:
        return ("–",) * len(names)
    cells = dict(person)
    for number, column in enumerate(table.keys):
        texts, which = recoding.texts(number)
        cells[column.name] = str(texts[which[of_class]])
    return tuple(cells[name] for name in names)
