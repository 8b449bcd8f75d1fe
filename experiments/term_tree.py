"""Figure 3 of the paper on quasi-sensitive values: the search tree of term removal, with tailsets.

Two patients, four cells (a row, a term). A node is a set of cells that are removed; its tailset are the cells
that may be removed next. In the plain tree cells keep their order; in the adaptive one every node tries those
first that raise l most for their cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from experiments.drawing import Diagram, Spot, draw_figure

KNOWN: Mapping[str, frozenset[str]] = {
    "Flu": frozenset({"fever", "cough", "headache"}),
    "Cold": frozenset({"cough", "sneeze", "headache"}),
    "Malaria": frozenset({"fever", "chills", "headache"}),
    "Allergy": frozenset({"sneeze", "rash"}),
}
ROWS = (("fever",), ("fever", "cough", "headache"))
CELLS = tuple((i, term) for i, row in enumerate(ROWS) for term in row)
L, C = 2, Fraction(1)

Removed = tuple[int, ...]


def left(removed: Sequence[int]) -> list[list[str]]:
    """The terms that every row still shows."""
    gone = {CELLS[n] for n in removed}
    return [[term for term in row if (i, term) not in gone] for i, row in enumerate(ROWS)]


def diversity(removed: Sequence[int]) -> int:
    """The largest l for which the class is (c, l)-diverse."""
    beliefs = dict.fromkeys(KNOWN, Fraction(0))
    for terms in left(removed):
        linked = [label for label, held in KNOWN.items() if held >= set(terms)]
        for label in linked:
            beliefs[label] += Fraction(1, len(linked) * len(ROWS))
    p = sorted((b for b in beliefs.values() if b), reverse=True)
    return max((n for n in range(1, len(p) + 1) if p[0] <= C * sum(p[n - 1 :])), default=0)


def cost(removed: Sequence[int]) -> Fraction:
    """T of a removal: 1/w for each term that goes from a row with w terms left, as a share of all."""
    spent, whole = (
        sum(
            (
                Fraction(1, w)
                for row, kept in zip(ROWS, ends, strict=True)
                for w in range(len(kept) + 1, len(row) + 1)
            ),
            Fraction(0),
        )
        for ends in (left(removed), [[] for _ in ROWS])
    )
    return spent / whole


@dataclass(frozen=True)
class Node:
    """A node of the tree: what is removed, and what may be removed next."""

    removed: Removed
    tail: Removed
    parent: int

    @property
    def keeps(self) -> bool:
        return diversity(self.removed) >= L


def gain(node: Removed, cell: int) -> Fraction:
    """Δl/ΔT of one more cell."""
    more = (*node, cell)
    return (diversity(more) - diversity(node)) / (cost(more) - cost(node))


def walk(adaptive: bool) -> Iterator[Node]:
    """The whole tree, depth first."""
    stack = [Node((), tuple(range(len(CELLS))), -1)]
    number = 0
    while stack:
        node = stack.pop()
        tail = sorted(node.tail, key=lambda c: -gain(node.removed, c)) if adaptive else list(node.tail)
        node = Node(node.removed, tuple(tail), node.parent)
        yield node
        children = [Node((*node.removed, c), tuple(tail[i + 1 :]), number) for i, c in enumerate(tail)]
        stack.extend(reversed(children))
        number += 1


def drawn(name: str, nodes: Sequence[Node]) -> Diagram:
    """The tree, lying: the depth to the right, nodes from top to bottom as they are visited."""
    spots, links = [], []
    for number, node in enumerate(nodes):
        removed = " ".join(str(c + 1) for c in node.removed) or "nothing"
        tail = " ".join(str(c + 1) for c in node.tail)
        detail = f"l {diversity(node.removed)}, T {cost(node.removed)}"
        kind = "keeps the promise" if node.keeps else "breaks it"
        spots.append(Spot(len(node.removed), len(nodes) - number, f"{removed} {{{tail}}}", kind, detail))
        if node.parent >= 0:
            links.append((node.parent, number))
    kinds = {"breaks it": "faint", "keeps the promise": "green"}
    return Diagram(f"term-tree-{name}", f"Search tree, {name}", spots, links, kinds, "right", (150, 26))


def main(data: Path, out: Path) -> None:
    """Draw both trees, and tell what each meets first; `data` is not read."""
    del data
    for name, adaptive in (("plain", False), ("adaptive", True)):
        nodes = list(walk(adaptive))
        draw_figure(drawn(name, nodes), out)
        first = next(number for number, node in enumerate(nodes) if node.keeps)
        best = min(cost(node.removed) for node in nodes if node.keeps)
        met = cost(nodes[first].removed)
        print(
            f"  {name}: {len(nodes)} nodes, number {first + 1} keeps the promise first, T {met}; best {best}"
        )
