"""The lattice search done stupidly: every node, by the written definitions."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from sfumato.models.contract import Answer
from sfumato.search.loss import measure
from sfumato.search.suppression import keep
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding, classes_under


@dataclass(frozen=True)
class Node:
    levels: tuple
    score: float
    suppressed: int
    recoding: Recoding


def all_nodes(table):
    return list(product(*(range(c.taxonomy.height + 1) for c in table.keys)))


def recode(table, promises, levels):
    cuts = {c.name: Cut.level(c.taxonomy, i) for c, i in zip(table.keys, levels, strict=True)}
    class_of, _ = classes_under(table, cuts)
    kept = keep(Classes.of(table, class_of, sensitive=promises.sensitive), promises)
    return Recoding.of_cuts(table, cuts, keep=kept)


def judged(table, promises, aim):
    """Every node with its score, allowed or not."""
    nodes = []
    for levels in all_nodes(table):
        recoding = recode(table, promises, levels)
        named = {c.name: i for c, i in zip(table.keys, levels, strict=True)}
        score = measure(aim.loss, recoding, named, aim.weights, aim.price)
        nodes.append(Node(levels, score, recoding.suppressed, recoding))
    return nodes


def exhaustive(table, promises, aim):
    """The node that the rule of the search names, or None."""
    watches = [p.watch(table) for p in promises.of_table]
    allowed = [
        node
        for node in judged(table, promises, aim)
        if node.suppressed <= aim.allowed(table)
        and not (table.rows and node.suppressed == table.rows + table.dropped)
        and all(watch.ask(node.recoding.cuts)[0] is Answer.YES for watch in watches)
    ]
    if not allowed:
        return None
    least = min(node.score for node in allowed)
    ties = [node for node in allowed if np.isclose(node.score, least, rtol=1e-10, atol=0)]
    return min(ties, key=lambda node: (node.suppressed, node.levels))
