"""What every search must do: run `check_search` on yours before others rely on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import ClassVar

import numpy as np

from sfumato.models.contract import (
    Answer,
    ClassPromise,
    Cuts,
    Deliberate,
    IncrementalChecker,
    Promises,
    TablePromise,
    Truth,
)
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.policy.searches import LOSSES, Ability
from sfumato.search.contract import Aim, Outcome, Search
from sfumato.search.loss import UNPRICED, MeasuredRecoding, column_weights, find_measure, measure
from sfumato.search.suppression import keep
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Verdict
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Column, Microdata, Role
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.promises import cuts_of, every_cut, require

SHARE = Fraction(1, 4)
"""The share of rows that may be suppressed, where the search makes use of one."""
PRICE = Fraction(3, 2)
"""What a suppressed row costs, where the search is told."""


def check_search(search: Search, *, ability: Ability | None = None, tables: int = 40, seed: int = 0) -> None:
    """Checks a search on small random tables; raises `AssertionError` with a sentence if it fails.

    Every result publishes each row in one class or not at all, as something that covers it; the classes that
    a reader of the published table sees keep every promise; no more rows are suppressed than allowed; the
    loss it tells is the loss of its recoding; the same rows give the same result, in whatever order; and
    `Infeasible` is raised where even the fully generalized table breaks a promise, and only where nothing
    keeps them all. `ability` is the search's own unless given.

    >>> from sfumato.policy.searches import BUILT_IN
    >>> from sfumato.search.mondrian import mondrian
    >>> check_search(mondrian, ability=BUILT_IN["mondrian"], tables=3)
    """
    # `getattr`: a search is any function, and only those of other packages say what they can do.
    able = ability if ability is not None else getattr(search, "ability", None)
    if not isinstance(able, Ability):
        raise AssertionError("it does not say what it can do: give it an attribute `ability`, an Ability")
    _check_words(able)
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        table, again = random_tables(rng)
        for promises, aim in _requests(able, table, rng):
            before = _bytes(table)
            outcome = _outcome_of(search, table, promises, aim)
            require(_bytes(table) == before, "it changes the table it is given")
            if outcome is None:
                sure = _root_keeps(table, promises, aim)
                require(not sure, f"it finds nothing, and the roots keep {_in_words(promises)}")
                continue
            _check_recoding(outcome.recoding, table)
            _check_promises(outcome, promises, aim)
            _check_words_of(outcome, aim)
            _check_same(outcome, _outcome_of(search, again, promises, aim))
        _check_infeasible(search, table)


def _check_words(able: Ability) -> None:
    require(
        bool(able.losses) and set(able.losses) <= set(LOSSES), f"its losses are some of {', '.join(LOSSES)}"
    )


def random_tables(rng: np.random.Generator) -> tuple[Microdata, Microdata]:
    """A random table, and the same rows counted from another order; nobody has two sensitive values."""
    rows = int(rng.integers(1, 25))
    columns = [Column(f"q{j}", Role.QUASI, _tree(rng)) for j in range(int(rng.integers(1, 4)))]
    codes = [rng.integers(0, len(c.taxonomy.leaves), rows).astype(np.int32) for c in columns]
    columns.append(Column("s", Role.SENSITIVE, Taxonomy.flat(["x", "y", "z"], ordered=True)))
    people = rng.integers(0, rows, rows).astype(np.int32) if rng.random() < 0.3 else None
    drawn = rng.integers(0, 3, rows).astype(np.int32)
    codes.append(drawn if people is None else drawn[people])
    order, dropped = rng.permutation(rows), int(rng.integers(0, 2))
    table = Microdata.of_codes(columns, codes, person=people, dropped=dropped)
    reordered = [code[order] for code in codes]
    moved = None if people is None else people[order]
    return table, Microdata.of_codes(columns, reordered, person=moved, dropped=dropped)


def _tree(rng: np.random.Generator) -> Taxonomy:
    """At most six leaves, in groups of unlike depth, ordered or not."""
    leaves, ordered = int(rng.integers(1, 7)), bool(rng.integers(0, 2))
    labels, split = [f"v{i}" for i in range(leaves)], int(rng.integers(0, leaves + 1))
    if split in (0, leaves):
        return Taxonomy.flat(labels, ordered=ordered)
    parent = [-1, 0, *(1 if i < split else 0 for i in range(leaves))]
    return Taxonomy.grow(["*", "group", *labels], parent, ordered=ordered)


def _requests(able: Ability, table: Microdata, rng: np.random.Generator) -> Iterator[tuple[Promises, Aim]]:
    """What the search says it can do: every loss, and each kind of promise."""
    choices = [
        Promises((KAnonymity(2),)),
        Promises((KAnonymity(2), DistinctLDiversity("s", 2))),
        Promises((KAnonymity(1), TCloseness("s", Fraction(1, 3), "ordered"))),
    ]
    if able.any_promise:
        choices.append(Promises((_NotThree(),)))
    for i, loss in enumerate(able.losses):
        price = PRICE if rng.random() < 0.5 else None
        aim = Aim(
            suppress=SHARE if able.can_suppress(price) and rng.random() < 0.5 else _dropped(table),
            loss=loss,
            weights={"q0": Fraction(2)} if rng.random() < 0.5 else {},
            relaxed=able.relaxes and rng.random() < 0.5,
            price=price,
        )
        yield choices[(i + int(rng.integers(0, len(choices)))) % len(choices)], aim
    if able.whole_table and not table.dropped:
        yield Promises((KAnonymity(2), _Coarse())), Aim(loss=able.losses[0])


def _dropped(table: Microdata) -> Fraction:
    """Returns the share of suppressed rows that the rows with empty key cells need."""
    return Fraction(table.dropped, table.rows + table.dropped)


def _outcome_of(search: Search, table: Microdata, promises: Promises, aim: Aim) -> Outcome | None:
    try:
        outcome = search(table, promises, aim, progress=lambda *_: None)
    except Infeasible as refused:
        require(bool(refused.message and refused.remedy), "Infeasible says what is wrong and what would help")
        return None
    require(isinstance(outcome, Outcome), "it returns no Outcome")
    return outcome


def _check_recoding(recoding: Recoding, table: Microdata) -> None:
    require(recoding.table is table, "the recoding is about another table")
    owner, count = recoding.class_of, len(recoding.low)
    require(owner.shape == (table.distinct,), "every distinct row has one class, or is suppressed")
    require(bool(((owner >= SUPPRESSED) & (owner < count)).all()), "a row is in a class that is not there")
    require(set(range(count)) <= set(owner.tolist()), "a class has no rows")
    shape = (count, len(table.keys))
    require(recoding.low.shape == recoding.high.shape == shape, "every class has an interval per key column")
    is_published = owner != SUPPRESSED
    for j, column in enumerate(table.keys):
        low, high = recoding.low[:, j], recoding.high[:, j]
        require(
            bool(((low >= 0) & (high <= len(column.taxonomy.leaves))).all()),
            "an interval leaves the taxonomy",
        )
        codes = table.codes(column.name)[is_published]
        inside = (low[owner[is_published]] <= codes) & (codes < high[owner[is_published]])
        require(bool(inside.all()), "a row is published as something that does not cover its value")
    if recoding.cuts is not None:
        _check_cuts(recoding, recoding.cuts)


def _check_cuts(recoding: Recoding, cuts: Cuts) -> None:
    class_of, nodes = classes_under(recoding.table, cuts)
    for j, column in enumerate(recoding.table.keys):
        is_published = recoding.class_of != SUPPRESSED
        node, owner = nodes[class_of[is_published], j], recoding.class_of[is_published]
        agree = (column.taxonomy.low[node] == recoding.low[owner, j]) & (
            column.taxonomy.high[node] == recoding.high[owner, j]
        )
        require(bool(agree.all()), "its classes publish other values than its cuts")


def _seen(recoding: Recoding) -> Codes:
    """Returns the class that a reader sees every row in: all that publish the same."""
    both = np.hstack([recoding.low, recoding.high])
    _, number = np.unique(both, axis=0, return_inverse=True)
    return np.append(number.ravel(), SUPPRESSED).astype(np.int32)[recoding.class_of]


def _check_promises(outcome: Outcome, promises: Promises, aim: Aim) -> None:
    recoding = outcome.recoding
    lost, allowed = recoding.suppressed, aim.allowed(recoding.table)
    require(lost <= allowed, f"it suppresses {lost} rows where {allowed} are allowed")
    classes = Classes.of(recoding.table, _seen(recoding), sensitive=promises.sensitive)
    broken = [v.promise for v in promises.verdicts(classes) if v.holds is not True]
    for promise in promises.of_table:
        require(recoding.cuts is not None, "a promise about the whole table needs a recoding with cuts")
        if recoding.cuts is not None and not promise.verdict_on(recoding.table, recoding.cuts).holds:
            broken.append(str(promise))
    require(not broken, f"the published classes break {', '.join(broken)}")


def _check_words_of(outcome: Outcome, aim: Aim) -> None:
    recoding, levels = outcome.recoding, outcome.levels
    if levels is not None:
        trees = {c.name: c.taxonomy for c in recoding.table.keys}
        require(set(levels) == set(trees), "levels name every key column")
        of_levels = {name: Cut.level(trees[name], level) for name, level in levels.items()}
        agree = recoding.cuts is not None and all(
            np.array_equal(recoding.cuts[name].node_of, cut.node_of) for name, cut in of_levels.items()
        )
        require(agree, "its levels are not what its cuts are")
    require(outcome.checked > 0, "it counts no recoding as judged")
    if levels is None and aim.loss == "height":
        return
    stated, true = outcome.loss, measure(aim.loss, recoding, levels, aim.weights, aim.price)
    require(bool(np.isclose(stated, true, rtol=1e-9, atol=1e-12)), f"it tells another {aim.loss} than it has")


def _check_same(first: Outcome, second: Outcome | None) -> None:
    agree = second is not None and first.levels == second.levels
    if second is not None:
        pairs = zip(_arrays(first.recoding), _arrays(second.recoding), strict=True)
        agree = agree and all(np.array_equal(a, b) for a, b in pairs)
    require(agree, "the same rows give another result")


def _arrays(recoding: Recoding) -> tuple[Codes, Codes, Codes]:
    return recoding.class_of, recoding.low, recoding.high


def _check_infeasible(search: Search, table: Microdata) -> None:
    promises = Promises((KAnonymity(table.rows + 1),))
    aim = Aim(suppress=_dropped(table), loss="loss")
    require(_outcome_of(search, table, promises, aim) is None, "it publishes what even the roots cannot keep")
    if table.dropped:
        aim = Aim(suppress=Fraction(0), loss="loss")
        nothing = _outcome_of(search, table, Promises((KAnonymity(1),)), aim) is None
        require(nothing, "rows with empty key cells are suppressed rows, and none is allowed")


def _root_keeps(table: Microdata, promises: Promises, aim: Aim) -> bool:
    everything = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=promises.sensitive)
    return table.dropped <= aim.allowed(table) and bool(promises.holds_on(everything).all())


def _bytes(table: Microdata) -> bytes:
    return table.words.tobytes() + table.counts.tobytes()


def _in_words(promises: Promises) -> str:
    return " and ".join(str(promise) for promise in promises)


@dataclass(frozen=True)
class _NotThree(ClassPromise):
    """No class of exactly three people: a promise that is neither monotone nor hereditary."""

    name: ClassVar[str] = "not three"

    def holds_on(self, classes: Classes) -> Truth:
        truth: Truth = classes.people != 3
        return truth

    def verdict(self, classes: Classes) -> Verdict:
        return Verdict(str(self), bool(self.holds_on(classes).all()), None, 3)

    def __str__(self) -> str:
        return "no class of three"


@dataclass(frozen=True)
class _Coarse(TablePromise):
    """The first key column is published as its root or the nodes right below: a promise about the table."""

    name: ClassVar[str] = "coarse"
    monotone: ClassVar[bool] = True

    def watch(self, table: Microdata) -> IncrementalChecker:  # noqa: ARG002  # it looks at cuts alone
        return _CoarseWatch()

    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict:
        return Verdict(str(self), self.watch(table).ask(cuts)[0] is Answer.YES, None, 1)

    def __str__(self) -> str:
        return "a coarse first column"


class _CoarseWatch(IncrementalChecker):
    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:  # noqa: ARG002
        first = next(iter(cuts.values()))
        deep = first.taxonomy.depth[first.node_of] > 1
        return (Answer.NEVER, "too fine") if deep.any() else (Answer.YES, "")

    def accept(self, cuts: Cuts) -> None:
        """Nothing to remember."""


# What every loss must do: run `check_loss` on yours before a search keeps it small.

ROUNDING = 1e-9
"""By so much, as a share, a loss may fall for the sake of floats alone."""


def check_loss(measure: Callable[[MeasuredRecoding], float], *, tables: int = 40, seed: int = 0) -> None:
    """Checks a loss on small random tables; raises `AssertionError` with a sentence if it fails.

    It is a finite number, not negative, the same for the same rows in whatever order, and it never falls when
    a value becomes more general: exact searches rely on that.

    >>> from sfumato.search.loss import MEASURES
    >>> check_loss(MEASURES["entropy"], tables=3)
    """
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        table, again = random_tables(rng)
        cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
        before = _measured(measure, Recoding.of_cuts(table, cuts))
        while True:
            reordered_loss = _measured(measure, Recoding.of_cuts(again, cuts))
            require(
                abs(reordered_loss - before) <= ROUNDING * max(1.0, before), "it depends on the order of rows"
            )
            coarser = [(name, node) for name, cut in cuts.items() for node in _parents(cut)]
            if not coarser:
                break
            name, node = coarser[int(rng.integers(len(coarser)))]
            cuts = {**cuts, name: _raised(cuts[name], node)}
            after = _measured(measure, Recoding.of_cuts(table, cuts))
            require(after >= before - ROUNDING * max(1.0, before), "it falls where a table is more general")
            before = after


def _measured(measure: Callable[[MeasuredRecoding], float], recoding: Recoding) -> float:
    weights = column_weights(recoding.table.keys, None)
    measured = float(measure(MeasuredRecoding(recoding, None, weights, UNPRICED)))
    require(isfinite(measured) and measured >= 0, "it is not a finite number of at least 0")
    return measured


def _parents(cut: Cut) -> list[int]:
    parents = cut.taxonomy.parent[cut.nodes]
    return sorted({int(v) for v in parents.tolist() if v >= 0})


def _raised(cut: Cut, node: int) -> Cut:
    """The finest cut above this one that publishes the node."""
    tree, node_of = cut.taxonomy, cut.node_of.copy()
    node_of[tree.low[node] : tree.high[node]] = node
    return Cut(tree, node_of)


# The exhaustive search: every recoding of a small table, to know what other searches miss.

MOST_RECODINGS = 200_000
"""So many recodings are tried at most."""


def exhaustive(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best global recoding that suppresses nothing and keeps every promise; the first of ties."""
    find_measure(aim.loss)
    columns = table.keys
    total = prod(cuts_of(c.taxonomy) for c in columns)
    if total > MOST_RECODINGS:
        raise UsageError(
            f"there are {total:,} recodings; at most {MOST_RECODINGS:,} can be tried", remedy="Search."
        )
    watches = [p.watch(table) for p in promises.of_table]
    for watch in watches:
        if isinstance(watch, Deliberate):
            watch.deliberate()
    best: tuple[float, Recoding] | None = None
    for checked, chosen in enumerate(product(*(every_cut(c.taxonomy) for c in columns)), 1):
        cuts: Cuts = {c.name: cut for c, cut in zip(columns, chosen, strict=True)}
        recoding = Recoding.of_cuts(table, cuts)
        loss = measure(aim.loss, recoding, weights=aim.weights, price=aim.price)
        progress("exhaustive", checked, total)
        if best is not None and loss >= best[0]:
            continue
        classes = Classes.of(table, recoding.class_of, sensitive=promises.sensitive)
        if keep(classes, promises).all() and all(w.ask(cuts)[0] is Answer.YES for w in watches):
            best = loss, recoding
    if best is None:
        raise Infeasible("no recoding keeps the promises", remedy="Relax one of them.")
    return Outcome(best[1], best[0], optimal=True, checked=total)
