"""The ready taxonomies, with their sources and licences, as sections of a page."""

from __future__ import annotations

from sfumato.policy.published_forms import example_of
from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyEntry, ReadyTaxonomy


def ready_sections() -> str:
    """Returns a section for every ready taxonomy: an example, levels, near misses, source, licence."""
    return "\n\n".join(_section(entry) for entry in CATALOGUE.values())


def _section(entry: ReadyEntry) -> str:
    rule = rule_from({"ready": entry.name})
    lines = [f"### {entry.name}", "", f"{entry.title}.", "", "| | |", "|---|---|"]
    lines.append(f"| write | `taxonomy: {{ready: {entry.name}}}` |")
    if entry.rule:
        words = ", ".join(f"{key}: {value}" for key, value in rule.spec.items()).replace("'", "")
        lines.append(f"| stands for | `{{{words}}}` |")
    path = [f"`{label}`" for label in example_of(rule, entry.example)]
    lines.append(f"| a value becomes | {', '.join(path)} |")
    if isinstance(rule, ReadyTaxonomy):
        sizes = [len(set(level.tolist())) for level in rule.listed().levels]
        lines.append(f"| values, and groups at each level | {', '.join(f'{size:,}' for size in sizes)} |")
    if entry.near:
        near = ", ".join(f"{miss} ({leaf})" for miss, leaf in entry.near.items())
        lines.append(f"| near misses that `policy check` knows | {near} |")
    lines += [f"| source | {entry.source} |", f"| date | {entry.date} |", f"| licence | {entry.licence} |"]
    return "\n".join(lines)
