"""Marks: what versions of a chain of groups differ by.

In every marked group one of two columns is *raised*: shown one step coarser than the base shows it. Which of
the two says a symbol, a coin of a secret key for the group and the recipient. Which groups are marked, and by
which columns, follows from boxes alone and is fixed when a group is made: so whatever versions somebody puts
together, they tell no more than the base does, and a recipient can come at any time.
"""
# ruff: noqa: PLC0415  # a policy is read where groups are marked, not where a leak of them is traced

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.system.coins import Coins
from sfumato.system.errors import UsageError
from sfumato.table.base import Base
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import ROOT, Label, Taxonomy

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.releases.ledger.ledger import Ledger

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]

# Symbols: which of its two columns a group shows raised, to whom.


def symbols(coins: Coins, recipient: str, groups: Numbers, bias: Floats) -> Truth:
    """Returns the symbols of a recipient in some groups: 1 with the probability `bias`, each independent.

    A symbol depends on the key, the recipient's name and the number of the group, and on nothing else.

    >>> coins, groups = Coins(b"a key of tests"), np.arange(6)
    >>> later = symbols(coins, "alpha", groups[3:], np.full(3, 0.5))
    >>> (symbols(coins, "alpha", groups, np.full(6, 0.5))[3:] == later).all()
    np.True_
    """
    ones: Truth = _uniform(coins.of("symbols"), recipient, groups) < bias
    return ones


def _uniform(coins: Coins, purpose: str, groups: Numbers) -> Floats:
    """Returns a number between 0 and 1 for every group, the same whichever groups are asked for."""
    drawn = coins.draw(purpose, int(groups.max(initial=-1)) + 1)[groups]
    return np.asarray((drawn >> np.uint64(11)) * 2.0**-53, np.float64)


def biases(coins: Coins, groups: Numbers, collusion: int) -> Floats:
    """Returns for every group how probable the symbol 1 is, so that so many leakers can be found together.

    Up to two: fair coins. More: drawn from the nodes of the Gauss-Legendre rule, the discrete form of
    Tardos's arcsine distribution that needs the fewest groups (Nuida and others 2009, "An improvement of
    discrete Tardos fingerprinting codes"). With fair coins, three who publish the rarer symbol leave no
    trace.
    """
    nodes, _ = np.polynomial.legendre.leggauss((collusion + 1) // 2)
    values = (1 + nodes) / 2
    slopes = np.polynomial.legendre.Legendre.basis(len(nodes)).deriv()(nodes)
    weights = np.cumsum((values * (1 - values)) ** -1.5 / slopes**2)
    place = np.searchsorted(weights / weights[-1], _uniform(coins, "biases", groups), side="right")
    return np.asarray(values[place], np.float64)


@dataclass(frozen=True, eq=False)
class MarkedChain:
    """The base of a chain with its marks, and the key that symbols are drawn from."""

    base: Base
    coins: Coins

    @classmethod
    def of(cls, base: Base) -> MarkedChain:
        """Returns the marks of a base; its key lies in it."""
        return cls(base, Coins(bytes.fromhex(base.marks_key)))

    def symbols(self, recipient: str) -> Truth:
        """Returns the symbol of a recipient in every marked group, in the order of `base.marks`."""
        marks = self.base.marks
        return symbols(
            self.coins, recipient, marks.column("group").to_numpy(), marks.column("bias").to_numpy()
        )

    def version(self, recipient: str) -> Base:
        """Returns the base as a recipient sees it."""
        return self.base.raised(self.symbols(recipient))

    @property
    def commitment(self) -> str:
        """A digest that binds the key: it is in the ledger before a symbol is used."""
        return commitment(self.coins.key)


def commitment(key: bytes) -> str:
    """Returns the digest by which a ledger commits to a key of marks."""
    return sha256(b"sfumato marks " + key).hexdigest()


def marks_of_chain(ledger: Ledger, chain: str) -> MarkedChain:
    """Opens the base of a chain of groups with its marks; raises where the chain is none of groups."""
    from sfumato.releases.base_file import BaseStore  # plans are made without a ledger

    last = next((record for record in reversed(ledger.history(chain)) if record.is_of_groups), None)
    if last is None:
        raise UsageError("this is no chain of groups", where=f"chain {chain}")
    return MarkedChain.of(BaseStore.of(ledger).open(last.memory))


# Planning marks: the two columns of every new group that cost least to raise, the cheapest groups first.

USUAL_TOLERANCE = Fraction(1, 10)
"""How much more than the base a version loses at most, as a share of it."""
EXCEEDED = 1e-6
"""The chance that a version loses more than that is less."""
SPREAD = 0.25
GOLDEN = (5**0.5 - 1) / 2
"""Costs are taken to differ by up to `SPREAD`, so that columns that cost the same share the marks."""


@dataclass(frozen=True)
class MarkRule:
    """How groups are marked: `tolerance` bounds the loss, `collusion` says how many leak together.

    `follows` names for a column those that determine it: raising it tells little, since its value can be
    read off the others, so it is taken last. `barred` columns are never raised.
    """

    tolerance: Fraction = USUAL_TOLERANCE
    collusion: int = 2
    follows: Mapping[str, Collection[str]] = field(default_factory=dict)
    barred: Collection[str] = ()


def mark_rule(policy: Policy, table: Microdata) -> MarkRule:
    """Returns how a policy marks groups of a table."""
    from sfumato.policy.recipients import By, RecipientRule

    asked = policy.recipients or RecipientRule.usual(By.MARKS)
    together = {name for group in policy.protect.together for name in group}
    return MarkRule(asked.tolerance, asked.collusion, follows_of(policy, table), together)


def follows_of(policy: Policy, table: Microdata) -> dict[str, tuple[str, ...]]:
    """Returns for quasi-identifiers by which others they can be told: as a policy says, and as rows show."""
    from sfumato.draft.functional_dependencies import dependencies

    found, published = dependencies(table), {*policy.published}
    both = {name: (*policy.follows.get(name, ()), *found.get(name, ())) for name in (*policy.follows, *found)}
    return {name: tuple(dict.fromkeys(o for o in others if o in published)) for name, others in both.items()}


def with_marks(base: Base, recoding: Recoding, first_group: int, rule: MarkRule) -> Base:
    """Returns a base with marks of new groups: those of the classes of a recoding, numbered from one on."""
    return base.with_marks(
        PlannedMarks.of(recoding, rule).table(MarkedChain.of(base).coins, first_group, rule)
    )


@dataclass(frozen=True, eq=False)
class RaisedBoxes:
    """What every class could show instead, column by column: the next wider texts, and what each step costs.

    `cost[c, j]` is what each row of class c loses more where column j is raised; infinite where it cannot be.
    """

    texts: list[list[Label]]
    which: NDArray[np.intp]
    cost: Floats
    informs: Truth
    """Whether the box of a class tells anything in a column."""

    @classmethod
    def of(cls, recoding: Recoding, rule: MarkRule) -> RaisedBoxes:
        """Returns the boxes of the classes of a recoding, each column raised by a step."""
        keys = recoding.table.keys
        texts: list[list[Label]] = []
        which = np.zeros((recoding.count, len(keys)), np.intp)
        cost = np.full((recoding.count, len(keys)), np.inf)
        for j, column in enumerate(keys):
            tree, low, high = column.taxonomy, recoding.low[:, j].astype(np.int64), recoding.high[:, j]
            spans, one, which[:, j] = np.unique((low << 32) | high, return_index=True, return_inverse=True)
            wider = [next_wider(tree, span >> 32, span & 0xFFFFFFFF) for span in spans.tolist()]
            texts.append([None if span is None else tree.describe(*span) for span in wider])
            if column.name in rule.barred:
                continue
            shown, place = recoding.texts(j)
            same = [shown[text] == raised for text, raised in zip(place[one].tolist(), texts[j], strict=True)]
            widths = np.array([np.inf if span is None else span[1] - span[0] for span in wider], np.float64)
            widths[same] = np.inf
            whole = max(1, len(tree.leaves) - 1) * len(keys)
            cost[:, j] = (widths[which[:, j]] - (high - low)) / whole
        leaves = np.array([len(column.taxonomy.leaves) for column in keys])
        return cls(texts, which, cost, recoding.high - recoding.low < leaves)

    def text(self, column: int, classes: NDArray[np.intp]) -> list[Label]:
        """Returns the raised text of a column in some classes."""
        return [self.texts[column][place] for place in self.which[classes, column].tolist()]


def next_wider(tree: Taxonomy, low: int, high: int) -> tuple[int, int] | None:
    """Returns the lowest node that covers more than leaf ranks low .. high - 1, as an interval of ranks.

    `None` where it is above the ceiling, or there is none. A range that is longer by one value would do, too,
    and cost less; but then it would also cost less to hide which one was raised.

    >>> tree = Taxonomy.grow(["*", "0-1", "0", "1", "2-3", "2", "3"], [-1, 0, 1, 1, 0, 4, 4])
    >>> next_wider(tree, 0, 1), next_wider(tree, 0, 4)
    ((0, 2), None)
    """
    node = tree.lowest_cover(low, high)
    while node != ROOT and tree.leaf_count[node] == high - low:
        node = int(tree.parent[node])
    wider = tree.leaf_count[node] > high - low and tree.levels[tree.ceiling][low] <= node
    return (int(tree.low[node]), int(tree.high[node])) if wider else None


@dataclass(frozen=True, eq=False)
class PlannedMarks:
    """The marks of some new classes: for each marked class its two columns and what raising them costs.

    `losses` are those of all classes, marked or not.
    """

    classes: NDArray[np.intp]
    pairs: NDArray[np.intp]
    costs: Floats
    boxes: RaisedBoxes
    names: tuple[str, ...]
    losses: Floats

    @classmethod
    def of(cls, recoding: Recoding, rule: MarkRule) -> PlannedMarks:
        """Returns marks of the classes of a recoding, the cheapest first, as far as the tolerance goes."""
        boxes, names = RaisedBoxes.of(recoding, rule), tuple(c.name for c in recoding.table.keys)
        rows = recoding.rows.astype(np.float64)
        losses = _losses(recoding)
        late = _undone(names, boxes.informs, rule.follows)
        if len(names) < 2:  # a mark takes two columns
            return cls(
                np.zeros(0, np.intp), np.zeros((0, 2), np.intp), np.zeros((0, 2)), boxes, names, losses
            )
        pairs = _cheapest_pairs(boxes.cost, late)
        costs: Floats = np.take_along_axis(boxes.cost, pairs, axis=1)
        undone = np.take_along_axis(late, pairs, axis=1).sum(axis=1)
        budget = float(rule.tolerance) * float(rows @ losses)
        marked = _cheapest_classes(costs, undone, rows, budget)
        return cls(marked, pairs[marked], costs[marked], boxes, names, losses)

    def table(self, coins: Coins, first_group: int, rule: MarkRule) -> dict[str, object]:
        """Returns the marks as columns of `Base.marks`, for groups that are numbered from `first_group`."""
        groups = self.classes.astype(np.int64) + first_group
        columns: dict[str, object] = {"group": groups, "bias": biases(coins, groups, rule.collusion)}
        for side, name in enumerate(("first", "second")):
            labels: list[Label] = [None] * len(groups)
            for j in range(len(self.names)):
                places = np.flatnonzero(self.pairs[:, side] == j)
                texts = self.boxes.text(j, self.classes[places])
                for place, text in zip(places.tolist(), texts, strict=True):
                    labels[place] = text
            columns[f"{name}_column"] = [self.names[j] for j in self.pairs[:, side].tolist()]
            columns[f"{name}_text"], columns[f"{name}_cost"] = labels, self.costs[:, side]
        return columns


def _losses(recoding: Recoding) -> Floats:
    """Returns the mean share of values that the box of each class stands for."""
    leaves = np.array([max(2, len(column.taxonomy.leaves)) for column in recoding.table.keys])
    lost = (recoding.high - recoding.low - 1) / (leaves - 1)
    return np.asarray(lost.sum(axis=1) / max(1, len(leaves)), np.float64)


def _undone(names: tuple[str, ...], informs: Truth, follows: Mapping[str, Collection[str]]) -> Truth:
    """Returns in which classes a raised column can be read off another one, which shows something."""
    undone = np.zeros(informs.shape, bool)
    for name, others in follows.items():
        for other in others:
            if name in names and other in names:
                undone[:, names.index(name)] |= informs[:, names.index(other)]
            elif name in names:  # published as it is
                undone[:, names.index(name)] = True
    return undone


def _cheapest_pairs(cost: Floats, late: Truth) -> NDArray[np.intp]:
    """Returns the two columns of every class that cost least; those that are undone come last."""
    count, width = cost.shape
    uneven = 1 + SPREAD * (np.arange(count * width).reshape(count, width) * GOLDEN % 1)
    return np.lexsort((cost * uneven, late), axis=1)[:, :2]


def _cheapest_classes(
    costs: Floats, undone: NDArray[np.intp], rows: Floats, budget: float
) -> NDArray[np.intp]:
    """Returns the classes that versions may differ in, the cheapest first, so that none loses too much.

    A version loses one or the other of the two `costs` in each class, as fair coins say: on the whole their
    mean, and by Hoeffding's inequality hardly more.
    """
    order = np.lexsort((costs.mean(axis=1), undone))
    order = order[np.isfinite(costs[order]).all(axis=1)]
    lost = costs[order] * rows[order, None]
    most = np.cumsum(lost.max(axis=1))
    usual = np.cumsum(lost.mean(axis=1))
    apart = np.cumsum((lost[:, 0] - lost[:, 1]) ** 2)
    likely = usual + np.sqrt(np.log(1 / EXCEEDED) / 2 * apart)
    return np.sort(order[np.minimum(most, likely) <= budget])
