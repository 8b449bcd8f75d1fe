"""Ready taxonomies for people to look at: a card of all, or one as a hierarchy file."""

from __future__ import annotations

from sfumato.core.errors import WrongCall
from sfumato.core.problem import did_you_mean
from sfumato.policy.taxonomies import as_csv
from sfumato.policy.taxonomies.ready import CATALOGUE, ReadyTaxonomy
from sfumato.show.card import Card


def ready_list() -> list[dict[str, str]]:
    """Returns name, title, source, date and licence of every ready taxonomy."""
    return [
        {
            "name": entry.name,
            "title": entry.title,
            "source": entry.source,
            "date": entry.date,
            "licence": entry.licence,
        }
        for entry in CATALOGUE.values()
    ]


def ready_card() -> Card:
    """Returns the names and titles of all."""
    lines = [(entry.name, entry.title) for entry in CATALOGUE.values()]
    return Card(
        "ready taxonomies", lines, ["sources and licences: --json; as a file: sfumato policy ready NAME"]
    )


def ready_text(name: str) -> str:
    """Returns a ready taxonomy as a hierarchy file; raises `WrongCall` where it has no list."""
    entry = CATALOGUE.get(name)
    if entry is None:
        hint = did_you_mean(name, list(CATALOGUE), otherwise=f"There are {', '.join(CATALOGUE)}.")
        raise WrongCall("there is no ready taxonomy of this name", remedy=hint)
    if entry.rule:
        raise WrongCall(
            f"{name} has no list: it stands for other words of a policy",
            remedy=f"Write taxonomy: {dict(entry.rule)} instead, and change it there.",
        )
    return as_csv(ReadyTaxonomy(name).listed())
