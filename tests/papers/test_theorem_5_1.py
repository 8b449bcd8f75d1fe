"""Theorem 5.1 of the paper on continuous publishing: how often a step to a finer release raises FA or BA.

Figures are by the definitions, over small releases drawn from a number: literal ones over comparable pairs
of classes, realized ones over people. Page `errata.md` names the counts.
"""

import random
import re
from collections import Counter
from pathlib import Path

from papers.test_against_the_papers import climb, drawn_tree, leaves_of, shown_as

ERRATA = Path(__file__).parents[2] / "docs" / "explanation" / "errata.md"
STEPS = 5_000


def drawn_cut(draw, parent):
    cut = {"*"}
    while steps := [label for label in sorted(cut) if label in parent.values()]:
        if draw.random() < 0.4:
            break
        label = draw.choice(steps)
        cut = cut - {label} | {child for child, above in parent.items() if above == label}
    return cut


def candidates(first, second, pairs):
    """A1 of every pair of classes: records of one value that can be a person's in both releases."""
    one, other = Counter(first), Counter(second)
    values = {value for _, value in one}
    return [sum(min(one[a, v], other[b, v]) for v in values) for a, b in pairs]


def figures(parents, old, people, cuts):
    """Literal FA and BA, realized FA and BA."""
    classes = [
        [tuple(shown_as(p, v, c) for p, v, c in zip(parents, row, cut, strict=False)) for row in rows]
        for rows, cut in ((old, cuts[0]), (people, cuts[1]))
    ]
    first, second = ([(q, row[-1]) for q, row in zip(c, people, strict=False)] for c in classes)

    def comparable(a, b):
        return all(x in climb(p, y) or y in climb(p, x) for p, x, y in zip(parents, a, b, strict=True))

    pairs = {(a, b) for a in set(classes[0]) for b in set(classes[1]) if comparable(a, b)}
    real = list(zip(classes[0], classes[1], strict=False))
    sizes, earlier = Counter(second), Counter(first)

    def newcomers(q):
        left = 0
        for value in {v for _, v in second}:
            joined = [a for a in set(classes[0]) if comparable(a, q)]
            block = {b for b in set(classes[1]) if any(comparable(a, b) for a in joined)} | {q}
            extra = sum(sizes[b, value] for b in block) - sum(earlier[a, value] for a in joined)
            left += min(sizes[q, value], max(0, extra))
        return left

    new = classes[1][len(old) :]
    return (
        min(candidates(first, second, pairs)),
        min(map(newcomers, set(classes[1]))),
        min(candidates(first, second, real)),
        min(map(newcomers, new), default=None),
    )


def test_theorem_5_1_is_false_for_literal_fa_and_true_for_realized_figures():
    draw, steps, raised = random.Random(51), 0, Counter()
    while steps < STEPS:
        parents = [drawn_tree(draw, f"c{j}")[1] for j in range(2)]
        rows = draw.randint(2, 7)
        people = [(*(draw.choice(leaves_of(p)) for p in parents), draw.choice("st")) for _ in range(rows)]
        old = people[: draw.randint(1, rows)]
        first, second = ([drawn_cut(draw, p) for p in parents] for _ in range(2))
        j = draw.randrange(2)
        open_ = sorted(label for label in second[j] if label in parents[j].values())
        if not open_:
            continue
        label, finer = draw.choice(open_), list(second)
        finer[j] = second[j] - {label} | {child for child, above in parents[j].items() if above == label}
        steps += 1
        before, after = (figures(parents, old, people, (first, cut)) for cut in (second, finer))
        for name, a, b in zip(("FA", "BA", "realized FA", "realized BA"), before, after, strict=True):
            raised[name] += a is not None and b > a
    assert raised["BA"] == raised["realized FA"] == raised["realized BA"] == 0
    told = re.search(
        r"Of ([\d,]+) random specializations ([\d,]+) raise literal FA", ERRATA.read_text("utf-8")
    )
    assert told is not None and [int(n.replace(",", "")) for n in told.groups()] == [STEPS, raised["FA"]]
