"""`sfumato demo`: the whole journey on made-up people."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.terminal import progress_bar, say, talk

if TYPE_CHECKING:
    from sfumato.protect.plan import Plan
    from sfumato.terms.card import Card

SHOWN = 6


def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go.")] = Path("demo-out"),
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many patients to make up.")] = 100_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another number, other patients.")] = 0,
) -> None:
    """Make up a hospital, attack it, protect it, attack it again.

    Example:  sfumato demo demo-out --rows 20000
    """
    from sfumato import journey
    from sfumato.demo import write
    from sfumato.report.card import audit_card, side_by_side
    from sfumato.report.html import page

    talk(f"making up {rows:,} patients in {folder}")
    raw, policy, *_ = write(folder, rows, seed)
    safe, report = folder / "safe.csv", folder / "report.html"
    with progress_bar() as progress:
        before = journey.audit(raw, policy, progress=progress)
        plan, _ = journey.protect_file(raw, policy, safe, overwrite=True, progress=progress)
        after = journey.audit(safe, policy, progress=progress)
    cards = (
        titled("before, hospital.csv as it is", audit_card(before)),
        plan.card(),
        plan.explain().card(),
        titled("after, safe.csv", audit_card(after)),
    )
    for card in cards:
        say(f"{card}\n")
    raw_rows, safe_rows = examples(raw, plan)
    say(side_by_side(raw_rows, safe_rows, titles=("Six people before", "The same six as published")))
    report.write_text(page("A made-up hospital, before and after", cards), encoding="utf-8")
    talk(f"\nthe files: {raw}, {policy}, {safe}, {report}")


def titled(title: str, card: Card) -> Card:
    """The same card, its title with another in front."""
    return replace(card, title=f"{title}: {card.title}")


def examples(raw: Path, plan: Plan) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The first made-up people, and what is published of them. Real people's rows are never shown."""
    shown = {"name", "born", "zip", "job", "income", "disease"}
    with raw.open(encoding="utf-8", newline="") as file:
        people = [{k: v for k, v in row.items() if k in shown} for row in islice(csv.DictReader(file), SHOWN)]
    before, after = [tuple(people[0])], [tuple(name for name in people[0] if name in plan.policy.published)]
    cuts = plan.recoding.cuts or {}
    for person in people:
        before.append(tuple(person.values()))
        became = []
        for name in after[0]:
            if name in cuts:
                tree = cuts[name].taxonomy
                became.append(str(tree.labels[cuts[name].node_of[tree.rank(person[name])]]))
            else:
                became.append(person[name])
        after.append(tuple(became))
    return before, after
