"""Tables of figures that took long to measure: from dated files that experiments wrote.

The first line of such a file says when, by which commit and of what; the others are a table. `make reference`
writes them into pages, so a page shows what its file has. `python -m experiments --figures` copies new ones.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

MEASURED = Path(__file__).parent.parent / "docs" / "reference" / "measured"

Lines = list[dict[str, str]]
KS = ("2", "5", "20", "100")
"""Of these pages show what recipients Adult serves; the files have more."""


def read(name: str) -> tuple[str, Lines]:
    """Returns what the first line says, and the rows."""
    first, *lines = (MEASURED / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return first.removeprefix("# "), list(csv.DictReader(lines))


def table(heads: list[str], rows: list[list[str]], said: str) -> str:
    """Returns a table with its date below."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", f"*{said}*"])


def removal_costs(knowledge: str) -> str:
    """The mean cost T of every cell of the grid: three methods, and the share of answers that are proved."""
    said, rows = read("quasi_sensitive")
    grid = [row for row in rows if row["figure"] == "removal" and row["knowledge"] == knowledge]
    shown = []
    for row in grid:
        if row["searched"] == "0":
            continue
        plain, adaptive, exact = (float(row[f"cost {method}"]) for method in ("plain", "adaptive", "exact"))
        against = f"{adaptive / plain - 1:+.0%}".replace("-", "−").replace("+0%", "0").replace("−0%", "0")
        costs = [f"{plain:.4f}", f"{adaptive:.4f}", against.replace("%", " %"), f"{exact:.4f}"]
        shown.append(
            [
                row["k"],
                f"{row['l']}, {row['c']}",
                row["violating"],
                *costs,
                f"{float(row['proved exact']):.2f}",
            ]
        )
    heads = ["k", "l, c", "classes that break it", "plain", "adaptive", "against plain", "exact", "proved"]
    idle = len(grid) - len(shown)
    told = f"{said} In {idle} of {len(grid)} cells no class breaks the promise." if idle else said
    return table(heads, shown, told)


def phases(knowledge: str) -> str:
    """Cost of removal and loss of generalization against the square of t."""
    said, rows = read("quasi_sensitive")
    mine = [row for row in rows if row["figure"] == "phases" and row["knowledge"] == knowledge]
    squares = list(dict.fromkeys(row["t squared"] for row in mine))
    ways = list(dict.fromkeys((row["way"], row["k"]) for row in mine))
    shown = []
    for way, k in ways:
        cells = {row["t squared"]: row for row in mine if (row["way"], row["k"]) == (way, k)}
        name = f"both, k = {k}" if way == "both" else way
        costs = [
            f"{float(cells[t]['cost']):.3f} / {float(cells[t]['loss']):.3f}" if t in cells else ""
            for t in squares
        ]
        shown.append([name, *costs])
    heads = ["cost T / loss", *(f"t² = {Fraction(t).limit_denominator(100)}" for t in squares)]
    return table(heads, shown, said)


def defences() -> str:
    """What somebody believes who knows that removals are minimal, by what is done against it."""
    said, rows = read("term_removal")
    heads = ["defence", "broken", "largest belief, mean", "as published", "cost T"]
    return table(heads, [list(row.values()) for row in rows], said)


def recipients_served(suppressed: str) -> str:
    """Recipients of Adult of whom none can make another's version, by k, metric and tolerance."""
    said, rows = read("fingerprint_capacity")
    shares = [key for key in rows[0] if key.endswith(" %")]
    mine = [row for row in rows if row["suppress"] == suppressed and row["k"] in KS]
    shown = [[row["k"], row["metric"], row["allowed"], *(row[share] for share in shares)] for row in mine]
    return table(
        ["k", "equally good by", "patterns allowed", *(f"+ {share}" for share in shares)], shown, said
    )


def recipients_guarded() -> str:
    """The same by what recipients are safe from, with nothing suppressed."""
    said, rows = read("fingerprint_guarded")
    shares = [key for key in rows[0] if key.endswith(" %")]
    mine = [row for row in rows if row["k"] in KS]
    shown = [[row["safe"], row["k"], row["metric"], *(row[share] for share in shares)] for row in mine]
    return table(["safe from", "k", "equally good by", *(f"+ {share}" for share in shares)], shown, said)


def metric_agreement() -> str:
    """How far metrics agree on which patterns of Adult are equally good."""
    said, rows = read("fingerprint_agreement")
    keys = ("adjusted Rand", "best class in common", "rank correlation")
    shown = [[row["metrics"], *(f"{float(row[key]):.2f}" for key in keys)] for row in rows]
    return table(["metrics", *keys], shown, said)


def leaks_named() -> str:
    """How many leaks of Adult name their source alone, if nobody guesses."""
    said, rows = read("fingerprint_leaks")
    shown = [[row["recipients"], row["leak"], row["leaks"], row["names its source alone"]] for row in rows]
    return table(["recipients", "leak", "leaks tried", "share that name their source alone"], shown, said)


MAKERS = {
    "removal costs of": removal_costs,
    "two phases of": phases,
    "defences of removal": defences,
    "recipients served": recipients_served,
    "recipients guarded": recipients_guarded,
    "agreement of metrics": metric_agreement,
    "leaks named": leaks_named,
}
