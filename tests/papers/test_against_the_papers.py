"""Public words against the definitions of the five papers, written down once more from the papers alone.

Every case is drawn from its number. `SFUMATO_PAPER_CASES=500` tries so many of each, otherwise a few.
"""

import os
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import polars as pl
import pytest

import sfumato as sf
from oracles.generators import figures

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("SFUMATO_PAPER_CASES", "25"))
every_case = pytest.mark.parametrize("case", range(CASES))


def drawn_tree(draw, prefix):
    """A tree of two or three levels: group -> leaves, and the parent of every label ("*" has none)."""
    groups = {
        f"{prefix}{g}": [f"{prefix}{g}{i}" for i in range(draw.randint(2, 3))]
        for g in "AB"[: draw.randint(1, 2)]
    }
    if len(groups) == 1 or draw.random() < 0.3:
        leaves = [f"{prefix}{i}" for i in range(draw.randint(2, 4))]
        return {"*": leaves}, dict.fromkeys(leaves, "*")
    parent = {leaf: group for group, leaves in groups.items() for leaf in leaves}
    return groups, {**parent, **dict.fromkeys(groups, "*")}


def leaves_of(parent):
    return [label for label in parent if label not in parent.values()]


def climb(parent, label):
    """The label and everything above it."""
    found = [label]
    while found[-1] != "*":
        found.append(parent[found[-1]])
    return found


def shown_as(parent, leaf, cut):
    """What a cut shows of a leaf."""
    return next(label for label in climb(parent, leaf) if label in cut)


def frame_of(rows, names):
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


# FF-anonymity: Definitions 2.1 to 3.4.


def free_case(case):
    draw = random.Random(f"free {case}")
    columns, parents, sensitivity, observed = {}, [], [], []
    for j in range(draw.randint(2, 3)):
        groups, parent = drawn_tree(draw, f"c{j}")
        leaves = leaves_of(parent)
        guard = draw.sample(list(parent), draw.randint(0, 2))
        secret = {leaf for leaf in leaves if set(climb(parent, leaf)) & set(guard)}
        aggregate, boost = draw.random() < 0.6, Fraction(draw.randint(0, 2), 2)
        share, seen = {}, {}
        for label in [*parent, "*"]:
            below = [leaf for leaf in leaves if label in climb(parent, leaf)]
            count = sum(leaf in secret for leaf in below)
            share[label] = Fraction(count, len(below)) / (1 if aggregate else len(below))
            seen[label] = Fraction(count < len(below))
        rule = {"role": "free", "taxonomy": {"tree": groups}, "aggregate": aggregate}
        if guard:
            rule["sensitive"] = guard
            if draw.random() < 0.5:
                beliefs = {leaf: Fraction(draw.randint(0, 4), 4) for leaf in leaves}
                for label in sorted([*parent, "*"], key=lambda v: -len(climb(parent, v))):
                    children = [c for c, above in parent.items() if above == label]
                    best = max((seen[c] for c in children), default=Fraction(0))
                    seen[label] = min(Fraction(1), boost + best) if children else beliefs[label]
                told = {leaf: str(b) for leaf, b in beliefs.items()}
                rule["observable"] = {"leaf": told, "boost": str(boost)}
        columns[f"q{j}"] = rule
        parents.append(parent)
        sensitivity.append(share)
        observed.append(seen)
    rows = [[draw.choice(leaves_of(p)) for p in parents] for _ in range(draw.randint(1, 9))]
    threat, from_here = Fraction(draw.randint(0, 5), 6), Fraction(draw.choice([2, 3, 4]), 4)
    promise = {"freeform": {"threat": str(threat), "observability": str(from_here)}}
    policy = {"columns": columns, "promises": [promise], "protect": {"search": "top-down", "suppress": 0}}
    return rows, policy, parents, sensitivity, observed, threat, from_here


def free_breaches(rows, parents, sensitivity, observed, threat, from_here, *, extended):
    """BR(T*): every observable X and every value a that is not, with X -> a above the threat allowed."""
    above = [[set(climb(p, cell)) for p, cell in zip(parents, row, strict=True)] for row in rows]
    values = [set().union(*(row[j] for row in above)) for j in range(len(parents))]
    seen = [[v for v in values[j] if v == "*" or observed[j][v] >= from_here] for j in range(len(parents))]
    found = {}
    for j in range(len(parents)):
        shown = values[j] if extended else {row[j] for row in rows}
        hidden = [a for a in shown if a != "*" and observed[j][a] < from_here]
        for x in product(*(["*"] if i == j else seen[i] for i in range(len(parents)))):
            here = [row for row in above if all(v in cell for v, cell in zip(x, row, strict=True))]
            for a in hidden if here else ():
                held = sum(a in row[j] for row in here)
                if Fraction(held, len(here)) * sensitivity[j][a] > threat:
                    given = tuple((f"q{i}", v) for i, v in enumerate(x) if v != "*")
                    found[given, (f"q{j}", a)] = (held, len(here))
    return found


@every_case
def test_freeform_breaches_and_a_minimal_table(case):
    rows, policy, parents, *rest = free_case(case)
    people = frame_of(rows, policy["columns"])
    for extended in (True, False):
        expected = free_breaches(rows, parents, *rest, extended=extended)
        got = sf.attack.freeform(people, policy, every=True, extended=extended)
        told = {
            (tuple(sorted(f.given.items())), f.infers): (f.confidence * f.support, f.support) for f in got
        }
        assert told == expected
    safe = sf.protect(people, policy).apply(people)
    published = [list(row) for row in safe.rows()]
    assert not free_breaches(published, parents, *rest, extended=True)
    cuts = [{row[j] for row in published} for j in range(len(parents))]
    for j, parent in enumerate(parents):  # Definition 3.5: no single step to a finer table is safe
        for label in cuts[j] - set(leaves_of(parent)):
            children = {child for child, above in parent.items() if above == label}
            steps = [*cuts[:j], cuts[j] - {label} | children, *cuts[j + 1 :]]
            finer = [
                [shown_as(p, v, cut) for p, v, cut in zip(parents, row, steps, strict=True)] for row in rows
            ]
            assert free_breaches(finer, parents, *rest, extended=True)


# QS (c, l)-diversity, QS t-closeness: Definitions 1 to 4.


def term_case(case):
    draw = random.Random(f"terms {case}")
    terms = "abcdef"[: draw.randint(3, 5)]
    known = {
        label: sorted(draw.sample(terms, draw.randint(1, min(4, len(terms)))))
        for label in "VWXYZ"[: draw.randint(2, 5)]
    }
    rows = [
        (draw.choice("pq"), tuple(sorted(draw.sample(terms, draw.randint(0, 3)))))
        for _ in range(draw.randint(1, 5))
    ]
    return draw, known, rows


def beliefs(known, sets):
    """Posterior belief of a class: every row believes equally in the labels that have all of its terms."""
    found = dict.fromkeys(known, Fraction(0))
    for terms in sets:
        linked = [label for label, held in known.items() if set(terms) <= set(held)]
        for label in linked:
            found[label] += Fraction(1, len(linked) * len(sets))
    return found


def is_diverse(known, sets, c, l):  # noqa: E741  # the name in the paper
    p = sorted((b for b in beliefs(known, sets).values() if b), reverse=True)
    return not p or (len(p) >= l and p[0] <= c * sum(p[l - 1 :]))


def harmonic(n):
    return sum(Fraction(1, i) for i in range(1, n + 1))


def cheapest(sets, keeps):
    """The least cost T of all removals after which a class keeps its promise; None where none does."""
    ways = [[s for n in range(len(t) + 1) for s in combinations(t, n)] for t in sets]
    costs = [
        sum(harmonic(len(old)) - harmonic(len(new)) for old, new in zip(sets, kept, strict=True))
        for kept in product(*ways)
        if keeps(kept)
    ]
    return min(costs, default=None)


@every_case
def test_quasi_sensitive_beliefs_and_the_cheapest_removal(case):
    draw, known, rows = term_case(case)
    c, l = Fraction(draw.randint(1, 6), 2), draw.randint(1, 3)  # noqa: E741
    columns = {"q": {"role": "quasi"}, "s": {"role": "quasi-sensitive", "separator": ";"}}
    ask = {"of": "s", "knowledge": known, "l": l, "c": str(c)}
    policy = {"columns": columns, "promises": [{"quasi-sensitive": ask}], "protect": {"suppress": 0}}
    people = pl.DataFrame({"q": [q for q, _ in rows], "s": [";".join(t) or None for _, t in rows]})
    classes = {q: [t for key, t in rows if key == q] for q, _ in rows}
    reachable = c * (len(known) - l + 1) >= 1
    if not reachable:
        with pytest.raises(sf.errors.BadPolicy):
            sf.audit(people, policy)
        return
    holds = all(is_diverse(known, sets, c, l) for sets in classes.values())
    assert sf.audit(people, policy).holds is holds
    least = [cheapest(sets, lambda k: is_diverse(known, k, c, l)) for sets in classes.values()]
    plan = sf.protect(people, {**policy, "protect": {"search": "top-down", "suppress": 0}})
    safe = plan.apply(people)
    kept = {q: [() if t is None else tuple(t.split(";")) for k, t in safe.rows() if k == q] for q in classes}
    if set(safe["q"]) == set(classes):
        assert all(is_diverse(known, sets, c, l) for sets in kept.values())
        whole = [sum(harmonic(len(t)) for t in sets) for sets in classes.values()]
        if plan.terms is not None and sum(whole):
            spent = sum(n for n in least if n is not None)
            assert plan.terms.total == spent / sum(whole)


@every_case
def test_quasi_sensitive_closeness_to_the_prior(case):
    draw, known, rows = term_case(case)
    rule, t = draw.choice(["mean", "count", "uniform"]), Fraction(draw.randint(0, 8), 8)
    sets = [terms for _, terms in rows]
    if rule == "mean":
        prior = beliefs(known, sets)
    else:
        links = Counter(label for terms in sets for label, held in known.items() if set(terms) <= set(held))
        every = links.total() if rule == "count" else len(known)
        prior = {
            x: Fraction(links[x] if rule == "count" else 1, every) if every else Fraction(0) for x in known
        }
    columns = {"q": {"role": "quasi"}, "s": {"role": "quasi-sensitive", "separator": ";"}}
    shares = {x: str(p) for x, p in prior.items() if p}
    if sum(prior.values()) != 1:
        return
    ask = {"of": "s", "knowledge": known, "kind": "closeness", "t": str(t), "prior": shares}
    people = pl.DataFrame({"q": [q for q, _ in rows], "s": [";".join(x) or None for _, x in rows]})
    policy = {"columns": columns, "promises": [{"quasi-sensitive": ask}], "protect": {"suppress": 0}}
    classes = {q: [terms for key, terms in rows if key == q] for q, _ in rows}
    squares = [
        sum((believed[x] - prior[x]) ** 2 for x in known)
        for believed in (beliefs(known, held) for held in classes.values())
    ]
    assert sf.audit(people, policy).holds is (max(squares) <= t * t)


# Generalization patterns: Tables I to V.


@every_case
def test_patterns_and_their_quality(case):
    draw = random.Random(f"patterns {case}")
    trees = [drawn_tree(draw, f"c{j}") for j in range(draw.randint(1, 3))]
    parents = [parent for _, parent in trees]
    rows = [[draw.choice(leaves_of(p)) for p in parents] for _ in range(draw.randint(1, 10))]
    k = draw.randint(1, 3)
    columns = {f"q{j}": {"role": "quasi", "taxonomy": {"tree": g}} for j, (g, _) in enumerate(trees)}
    policy = {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": k}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    found = sf.patterns(frame_of(rows, columns), policy, quality="height")
    heights = [max(len(climb(p, leaf)) - 1 for leaf in leaves_of(p)) for p in parents]
    assert found.shape == tuple(h + 1 for h in heights)
    for levels in product(*(range(h + 1) for h in heights)):
        shown = [
            tuple(climb(p, cell)[level] for p, cell, level in zip(parents, row, levels, strict=True))
            for row in rows
        ]
        sizes = list(Counter(shown).values())
        at = found.index(levels)
        assert found.k[at] == min(sizes) and bool(found.allowed[at]) is (min(sizes) >= k)
        assert found.value("height", at) == sum(levels)
        assert found.value("precision", at) == sum(
            Fraction(n, h) for n, h in zip(levels, heights, strict=True)
        )
        assert found.value("discernibility-star", at) == sum(n * n for n in sizes)
        if found.allowed[at]:
            dm = sum(n * n if n >= k else n * len(rows) for n in sizes)
            assert found.value("discernibility", at) == dm


# Quasi-identifiers: Definitions 2 to 5, Algorithm 5.1.


@every_case
def test_quasi_identifiers_and_the_algorithm(case):
    draw = random.Random(f"keys {case}")
    names = "abcde"[: draw.randint(1, 5)]
    rows = [tuple(draw.choice("xyz") for _ in names) for _ in range(draw.randint(1, 8))]
    mode = draw.choice(["any", "all", "distinct"])
    k = 2 if mode == "distinct" else draw.randint(2, 3)

    def identifies(chosen):
        shown = [tuple(row[names.index(c)] for c in chosen) for row in rows]
        if mode == "distinct":  # the paper's algorithm: as many different rows as under all columns
            return len(set(shown)) == len(set(rows))
        exposed = [Counter(shown)[row] < k for row in shown]
        return any(exposed) if mode == "any" else all(exposed)

    subsets = [s for n in range(len(names) + 1) for s in combinations(names, n) if identifies(s)]
    minimal = [s for s in subsets if not any(set(other) < set(s) for other in subsets)]
    people = frame_of(rows, list(names))
    scan = sf.discover(people, k=k, mode=mode)
    assert scan.complete and sorted(scan.minimal) == sorted(minimal)
    assert scan.minimum == (min(minimal, key=lambda s: (len(s), s)) if minimal else None)
    fields, found = tuple(names), bool(subsets)
    while found:
        smaller = [s for s in combinations(fields, len(fields) - 1) if identifies(s)] if fields else []
        fields, found = (smaller[0], True) if smaller else (fields, False)
    one = sf.discover(people, k=k, mode=mode, method="descend", orders=0)
    assert one.minimal == ([fields] if subsets else [])


# Continuous publishing: Definitions 3.1 to 3.7, by all generators.


@every_case
def test_correspondence_attacks_on_two_releases(case):
    draw = random.Random(f"releases {case}")
    trees = [drawn_tree(draw, f"c{j}") for j in range(2)]
    parents = [parent for _, parent in trees]
    people = [
        (*(draw.choice(leaves_of(p)) for p in parents), draw.choice("st")) for _ in range(draw.randint(1, 6))
    ]
    old = draw.randint(1, min(4, len(people)))
    tables, records = [], []
    for rows in (people[:old], people):
        depth = [draw.randint(0, 2) for _ in parents]
        shown = [
            (
                *(climb(p, cell)[::-1][: d + 1][-1] for p, cell, d in zip(parents, row, depth, strict=False)),
                row[-1],
            )
            for row in rows
        ]
        tables.append(frame_of(shown, ["q0", "q1", "s"]))
        cells = [
            tuple(
                frozenset(leaf for leaf in leaves_of(p) if label in climb(p, leaf))
                for p, label in zip(parents, row, strict=False)
            )
            for row in shown
        ]
        records.append([(cell, row[-1]) for cell, row in zip(cells, shown, strict=True)])
    columns = {f"q{j}": {"role": "quasi", "taxonomy": {"tree": g}} for j, (g, _) in enumerate(trees)}
    k = draw.randint(1, 4)
    policy = {"columns": {**columns, "s": {"role": "sensitive"}}, "promises": [{"k-anonymity": {"k": k}}]}
    found = sf.attack.correspondence(*tables, policy=policy)
    fa, ca, ba = figures(*records)
    assert (fa, ca, ba) == (found.FA, found.CA, found.BA)
    assert found.holds is all(n is None or n >= k for n in (fa, ba))
