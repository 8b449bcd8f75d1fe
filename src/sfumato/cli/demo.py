"""`sfumato demo`: the whole journey on made-up people."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import argument, option
from sfumato.cli.terminal import print_note, print_result, progress_bar

if TYPE_CHECKING:
    from sfumato.attacks.audit import Audit
    from sfumato.policy.policy import Policy
    from sfumato.reports.report import Report
    from sfumato.search.plan import Plan
    from sfumato.system.presentation.cards import Card

SHOWN = 6
COLUMNS = ("name", "born", "zip", "job", "income", "disease")


def demo(
    folder: Annotated[Path, argument("FOLDER", "The folder for the files.")] = Path("demo-out"),
    rows: Annotated[int, option("--rows", "How many patients to make up.", least=1)] = 20_000,
    seed: Annotated[int, option("--seed", "Another number makes up other patients.", least=0)] = 0,
) -> None:
    """Make up a hospital, attack it, protect it, attack it again.

    Example:  sfumato demo demo-out --rows 20000
    """
    from sfumato.demo.hospital import write
    from sfumato.reports.report import side_by_side
    from sfumato.workflows.audit import audit as audit_
    from sfumato.workflows.protect_file import protect_file as protect_file_

    print_note(f"making up {rows:,} patients in {folder}")
    raw, policy, *_ = write(folder, rows, seed)
    safe, report = folder / "safe.csv", folder / "report.html"
    with progress_bar() as progress:
        before = audit_(raw, policy, progress=progress)
        plan, _ = protect_file_(raw, policy, safe, overwrite=True, progress=progress)
        after = audit_(safe, policy, progress=progress)
    cards = (
        titled("before, hospital.csv as it is", before.card()),
        plan.card(),
        plan.explain().card(),
        titled("after, safe.csv", after.card()),
    )
    for card in cards:
        print_result(card)
        print_result("")
    raw_rows, safe_rows = examples(raw, plan)
    print_result(side_by_side(raw_rows, safe_rows, titles=("Six people before", "The same six as published")))
    report_on(raw, safe, plan.policy, before, after).save(report, overwrite=True)
    print_note(f"\nthe files: {raw}, {policy}, {safe}, {report}")


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
