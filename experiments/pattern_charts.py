"""Charts of patterns: the levels of each column, the lattice, anonymity against quality."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np

from experiments.drawing import Diagram, Mark, Scatter, Spot
from sfumato.recipients.pattern_quality import PatternTable, quality_classes
from sfumato.search.loss import Reals
from sfumato.system.presentation.cards import format_number, pluralize
from sfumato.system.presentation.charts import Chart, Grid, Tone
from sfumato.table.microdata import Column
from sfumato.table.taxonomy import Label

MOST_LEAVES = 40
"""A tree with more leaves is drawn as a chain of its levels."""
MOST_PATTERNS_DRAWN = 60
"""A lattice with more patterns is drawn by its heights."""
MOST_CLASSES_DRAWN = 3
"""So many quality classes have a colour on the map."""
MOST_POINTS = 3_000
"""Where more patterns lie apart on the map, near ones are drawn as one."""

BEST, ALLOWED, NOT = "best class", "allowed", "not allowed"


def level_tree(column: Column, words: Collection[Label], number: int = 1) -> Diagram:
    """Returns the levels of a column as a tree that lies, raw values on the right.

    Only labels among `words`, those of the policy itself, are written; a tree that would say little for its
    size is a chain: how many values each level has.
    """
    tree = column.taxonomy
    name = f"levels-{number}-{re.sub('[^a-z0-9]+', '-', column.name.lower()).strip('-')}".rstrip("-")
    title = f"Levels of {column.name}"
    kinds: dict[str, Tone] = {"node": "ink"}
    if len(tree.leaves) > MOST_LEAVES or not {tree.labels[v] for v in tree.leaves.tolist()} <= {*words, None}:
        counts = [len(np.unique(level)) for level in tree.levels]
        spots = [
            Spot(tree.height - i, 0, f"level {i}\n{pluralize(n, 'value')}", "node")
            for i, n in enumerate(counts)
        ]
        return Diagram(name, title, spots, [(i + 1, i) for i in range(tree.height)], kinds, step=(120, 70))
    spots, links, place = [], [], {}
    top = len(tree.leaves) - 1
    for i, level in reversed(list(enumerate(tree.levels))):
        for node in np.unique(level).tolist():
            ranks = np.flatnonzero(level == node)
            text = tree.labels[node] if i == 0 or node not in tree.levels[i - 1] else ""
            middle = top - (ranks[0] + ranks[-1]) / 2
            place[i, node] = len(spots)
            spots.append(Spot(tree.height - i, middle, _text(text), "node", f"level {i}"))
            if i < tree.height:
                links.append((place[i + 1, int(tree.levels[i + 1][ranks[0]])], place[i, node]))
    return Diagram(name, title, spots, links, kinds, words="right", step=(150, 24))


def _text(label: Label) -> str:
    return "(empty)" if label is None else label


def lattice_chart(patterns: PatternTable, metric: str, tolerance: Fraction = Fraction(0)) -> Diagram | Chart:
    """Returns every pattern with its k and its quality, by height; a large lattice by the heights alone."""
    if patterns.count > MOST_PATTERNS_DRAWN:
        return _by_height(patterns)
    classes = quality_classes(patterns, metric, tolerance=tolerance)
    best = set(classes[0].members.tolist()) if classes else set()
    heights = patterns.grid.sum(axis=0).tolist()
    wide, seen = Counter(heights), Counter[int]()
    middle, spots = (max(wide.values()) - 1) / 2, []
    for at in range(patterns.count):
        h = heights[at]
        x = middle + seen[h] - (wide[h] - 1) / 2
        seen[h] += 1
        quality = f"{float(patterns.value(metric, at)):,.4g}"
        text = f"({', '.join(map(str, patterns.levels(at)))})\nk {patterns.k[at]} · {quality}"
        kind = BEST if at in best else ALLOWED if patterns.allowed[at] else NOT
        spots.append(Spot(x, h, text, kind, pluralize(int(patterns.suppressed[at]), "row") + " suppressed"))
    links = [
        (at, patterns.index([*levels[:j], levels[j] + 1, *levels[j + 1 :]]))
        for at in range(patterns.count)
        for j, (levels, size) in enumerate((patterns.levels(at), size) for size in patterns.shape)
        if levels[j] + 1 < size
    ]
    title = f"Patterns ({', '.join(patterns.names)}), their k and their {metric}"
    return Diagram("lattice", title, spots, links, _kinds())


def _by_height(patterns: PatternTable) -> Chart:
    heights = patterns.grid.sum(axis=0)
    every = np.bincount(heights)
    allowed = np.bincount(heights[patterns.allowed], minlength=len(every))
    return Chart(
        "lattice",
        f"Patterns that keep the promises, of {patterns.count:,}, by height",
        "bars",
        ("sum of levels", "patterns allowed"),
        [(str(h), float(n)) for h, n in enumerate(allowed.tolist())],
        [f"of {pluralize(n, 'pattern')}" for n in every.tolist()],
    )


def quality_map(patterns: PatternTable, metric: str, tolerance: Fraction = Fraction(0)) -> Scatter:
    """Returns every pattern by its quality and its smallest class, and the best classes of allowed ones."""
    classes = quality_classes(patterns, metric, tolerance=tolerance)[:MOST_CLASSES_DRAWN]
    names = [f"class {i + 1}: {format_number(one.quality)}" for i, one in enumerate(classes)]
    kind = np.where(patterns.allowed, len(names), len(names) + 1)
    for i, one in enumerate(classes):
        kind[one.members] = i
    kinds = [*names, ALLOWED, NOT]
    tones: list[Tone] = ["accent", "green", "sand"]
    quality = patterns.metric(metric) / patterns.scale(metric)
    size = np.where(patterns.allowed, patterns.smallest, patterns.k)
    asked = max((p.least_people for p in patterns.promises), default=0)
    places: Counter[tuple[float, float, int]] = Counter(
        zip(*_places(quality, size.astype(float), max(asked, 1)), kind.tolist(), strict=True)
    )
    marks = [
        Mark(x, y, kinds[i], n, f"{pluralize(n, 'pattern')}, k {'' if y.is_integer() else 'about '}{y:,.0f}")
        for (x, y, i), n in places.items()
    ]
    return Scatter(
        "quality-map",
        "Patterns by quality and anonymity",
        (f"{metric} (less is better)", "smallest class that is published"),
        sorted(marks, key=lambda m: (m.x, m.y, m.kind)),
        {**dict(zip(names, tones, strict=False)), ALLOWED: "ink", NOT: "faint"},
        (float(asked), f"k = {asked}") if asked > 1 else None,
    )


def _places(x: Reals, y: Reals, k: int) -> tuple[list[float], list[float]]:
    """Where the points are drawn: as they are, or on a grid of about 80 by 60 places.

    The grid has a line at k, and points move down to lines: none crosses it.
    """
    if len(set(zip(x.tolist(), y.tolist(), strict=True))) > MOST_POINTS:
        wide = float(np.ptp(x)) / 80 or 1.0
        x = x.min() + np.round((x - x.min()) / wide) * wide
        logs = np.log(np.maximum(y, 1) / k)
        high = float(np.ptp(logs)) / 60 or 1.0
        y = np.maximum(k * np.exp(np.floor(logs / high) * high), 1.0)
    return x.tolist(), y.tolist()


def _kinds() -> dict[str, Tone]:
    return {BEST: "accent", ALLOWED: "ink", NOT: "faint"}


LEAK, KNEW, LESS, ALONE = "in the leak", "knew at least this", "knew less", "alone"


def tracing_chart(
    columns: Sequence[str],
    leaked: Sequence[str],
    cells_by_recipient: Mapping[str, Sequence[tuple[str, bool]]],
    verdicts: Mapping[str, str],
    *,
    title: str = "Whose version the leak can come from",
) -> Grid:
    """Returns a grid with a line per recipient below that of the leak.

    `leaked` says for every column what leaked ("level 1", "*"); `cells_by_recipient` the same of every
    version, and whether it is at least as fine; `verdicts` has a word for each: "alone" could have made it.
    """
    lines = [("leak", [*((text, LEAK) for text in leaked), ("", LEAK)])]
    for name, cells in cells_by_recipient.items():
        line = [(text, KNEW if fine else LESS) for text, fine in cells]
        word = verdicts.get(name, "")
        lines.append((name, [*line, (word, ALONE if word == ALONE else LESS)]))
    kinds: dict[str, Tone] = {LEAK: "ink", KNEW: "sand", LESS: "faint", ALONE: "accent"}
    return Grid("tracing", title, [*columns, "verdict"], lines, kinds)
