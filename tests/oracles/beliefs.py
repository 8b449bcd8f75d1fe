"""Links, beliefs and the cheapest removal, as the definitions read: sets, fractions, all cases."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, product


def labels_of(known):
    return sorted({label for label, _ in known})


def linked(known, terms):
    """K: the labels one of whose rows holds all the terms."""
    return {label for label, held in known if set(terms) <= set(held)}


def posterior(known, rows, common=None):
    """The belief in every label; `common` says how common labels are."""
    found = dict.fromkeys(labels_of(known), Fraction(0))
    for terms in rows:
        links = linked(known, terms)
        weigh = {label: Fraction((common or {}).get(label, 1)) for label in links}
        for label in links:
            found[label] += weigh[label] / (sum(weigh.values()) * len(rows))
    return found


def prior(known, table, rule="mean", common=None):
    labels = labels_of(known)
    if rule == "uniform":
        return dict.fromkeys(labels, Fraction(1, len(labels)))
    if rule == "mean":
        return posterior(known, table, common)
    if rule == "prevalence":
        whole = sum(Fraction((common or {}).get(label, 1)) for label in labels)
        return {label: Fraction((common or {}).get(label, 1)) / whole for label in labels}
    counts = {label: sum(label in linked(known, terms) for terms in table) for label in labels}
    return {label: Fraction(n, sum(counts.values())) for label, n in counts.items()}


def diverse(known, rows, c, l, common=None):  # noqa: E741
    return diverse_beliefs(posterior(known, rows, common).values(), c, l)


def diverse_beliefs(beliefs, c, l):  # noqa: E741
    falling = sorted((p for p in beliefs if p), reverse=True)
    return not falling or (len(falling) >= l and falling[0] <= c * sum(falling[l - 1 :]))


def widest(known, rows, c):
    """l*: the largest l for which the rows are (c, l)-diverse."""
    return max(
        (few for few in range(1, len(labels_of(known)) + 1) if diverse(known, rows, c, few)), default=0
    )


def squared_distance(known, rows, before):
    return distance(known, rows, before)


def distance(known, rows, before, name="euclidean", common=None):
    """How far beliefs are from those before; the Euclidean distance is squared."""
    after = posterior(known, rows, common)
    return gap([after[label] - before.get(label, 0) for label in after], name)


def gap(differences, name):
    """What differences of beliefs come to; the Euclidean distance is squared."""
    gaps = [abs(one) for one in differences]
    if name == "euclidean":
        return sum((one**2 for one in gaps), Fraction(0))
    return sum(gaps, Fraction(0)) / 2 if name == "variational" else max(gaps)


def harmonic(n):
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


def pairs(n):
    """All sets of one or two of n terms."""
    return Fraction(n + n * (n - 1) // 2)


def cost(rows, kept, kind="inverse", rows_with=None):
    """T."""
    if kind == "rarity":
        gone = [[t for t in r if t not in k] for r, k in zip(rows, kept, strict=True)]
        own, whole = (
            sum((Fraction(1, rows_with[t]) for r in some for t in r), Fraction(0)) for some in (gone, rows)
        )
        return own / whole if whole else Fraction(0)
    price = {"inverse": harmonic, "count": Fraction, "pairs": pairs}[kind]
    whole = sum((price(len(r)) for r in rows), Fraction(0))
    spent = sum((price(len(r)) - price(len(k)) for r, k in zip(rows, kept, strict=True)), Fraction(0))
    return spent / whole if whole else Fraction(0)


def subsets(terms):
    return list(chain.from_iterable(combinations(terms, n) for n in range(len(terms) + 1)))


def cheapest(rows, holds, kind="inverse", rows_with=None):
    """The least T over all removals after which `holds` is true, None if there is none."""
    costs = [
        cost(rows, kept, kind, rows_with)
        for kept in product(*(subsets(row) for row in rows))
        if holds(list(kept))
    ]
    return min(costs, default=None)
