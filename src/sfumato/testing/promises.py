"""The conformance suite for class promises: run `check_promise` on yours before others rely on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import known
from sfumato.models.contract import Answer, ClassPromise, Promise, TablePromise, Truth, is_cone, is_relative
from sfumato.models.parameters import ParametrizedPromise
from sfumato.system.verdict import AttackLimit, Evidence, Verdict
from sfumato.table.classes import Classes, Histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import ROOT, Label, Taxonomy

# Claims that every promise makes of itself: words, limits, and the data for its second judge.

PLAIN = (str, int, bool, Fraction, bytes, type(None))
DATA = ("promise", "kind", "sentence", "evidence", "columns", "parameters", "least_people", "least_values")


def check_words(promise: Promise) -> None:
    """Raises `AssertionError` where a promise does not say what everybody may ask of it."""
    by = (promise.by_size, promise.by_values)
    for claim in (promise.monotone, promise.hereditary, is_cone(promise), *by, is_relative(promise)):
        require(
            isinstance(claim, bool),
            "monotone, hereditary, cone, by_size, by_values and relative are True or False",
        )
    require(bool(promise.name) and isinstance(promise.name, str), "it needs a name, its policy key")
    require(isinstance(promise.evidence, Evidence), "evidence is a member of Evidence")
    for columns in (promise.sensitive, promise.reads, promise.ordered_columns):
        right = isinstance(columns, tuple) and all(isinstance(c, str) for c in columns)
        require(right, "sensitive, reads and ordered_columns are tuples of columns")
    for least in (promise.least_people, promise.least_values):
        require(
            type(least) is int and least >= 0, "least_people and least_values are whole numbers from 0 on"
        )
    text = str(promise)
    require(bool(text) and "\n" not in text and text == str(promise), "str() gives one line, always the same")
    _check_limits(promise)
    _check_data(promise)


def _check_limits(promise: Promise) -> None:
    limits = promise.limits()
    require(all(isinstance(limit, AttackLimit) for limit in limits), "limits() gives limits of attacks")
    require(limits == promise.limits(), "limits() gives the same limits every time")
    strange = [name for name in promise.threats if name not in known()]
    require(not strange, f"threats names what is no attack: {', '.join(strange)}")


def _check_data(promise: Promise) -> None:
    data = promise.judge_data()
    require(set(DATA) <= set(data), f"judge_data says {', '.join(DATA)}")
    require(_is_plain(data), "judge_data holds plain data: texts, numbers, fractions, tuples, dictionaries")
    fields = (data["promise"], data["kind"], data["sentence"], data["columns"])
    agree = fields == (promise.name, promise.kind, str(promise), promise.sensitive)
    require(agree and data == promise.judge_data(), "judge_data says what the promise says, always the same")


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(part) for key, part in value.items())
    if isinstance(value, tuple):
        return all(_is_plain(part) for part in value)
    # a model of one's own, which only Python can give, stays the function that it is
    return type(value) in PLAIN or (callable(value) and not type(value).__module__.startswith("sfumato"))


def require(truth: bool, sentence: str) -> None:
    """Raise `AssertionError` with this sentence where it is not so."""
    if not truth:
        raise AssertionError(sentence)


Grid = NDArray[np.int64]
"""Classes x values: how often each value occurs in each class."""


def check_promise(promise: ClassPromise, *, tables: int = 300, seed: int = 0) -> None:
    """Checks a class promise on random tables; raises `AssertionError` with a sentence if it fails.

    Choose parameters that some small classes keep and others break: a claim can only be tested where both
    happen. The same `seed` gives the same tables. Tested are the claims `monotone`, `hereditary`, `cone`,
    `by_size`, `by_values`, `least_people` and `least_values`, and `limits`, `threats` and `judge_data`.

    >>> from sfumato.models.k_anonymity.promise import KAnonymity
    >>> check_promise(KAnonymity(3), tables=20)
    """
    _check_words(promise)
    rng = np.random.default_rng(seed)
    holding = 0
    for taxonomy, grid in _tables(rng, tables):
        overall = grid.sum(axis=0)
        classes = _classes(promise, taxonomy, grid, overall)
        truth = _judge(promise, classes)
        holding += int(truth.sum())
        _check_independence(promise, taxonomy, grid, truth, rng)
        _check_verdict(promise, classes, truth)
        _check_monotone(promise, taxonomy, grid, truth, rng)
        _check_hereditary(promise, taxonomy, grid, truth, rng)
        _check_least(promise, classes, truth)
        _check_cone(promise, taxonomy, grid, truth, rng)
    _check_small(promise)
    require(holding > 0, "no random class keeps the promise; choose parameters that small classes can keep")


def _check_words(promise: ClassPromise) -> None:
    require(
        isinstance(promise, ClassPromise),
        "it is no class promise: derive it from sfumato.extend.ClassPromise",
    )
    check_words(promise)
    if isinstance(promise, ParametrizedPromise):
        again = type(promise).from_parameters(promise.parameters())
        agree = again == promise and str(again) == str(promise)
        require(agree, "made again from its own parameters() it differs")


def _check_verdict(promise: ClassPromise, classes: Classes, truth: Truth) -> None:
    before = _bytes(classes)
    verdict = promise.verdict(classes)
    require(_bytes(classes) == before, "verdict changes the classes it is given")
    require(isinstance(verdict, Verdict), "verdict returns no Verdict")
    if verdict.holds is None:
        require(
            promise.evidence is not Evidence.PUBLISHED, "what the published table decides must be decided"
        )
        return
    broken = ~truth
    require(verdict.holds == bool(truth.all()), "verdict and holds_on disagree on whether the promise holds")
    require(verdict.classes == int(broken.sum()), "verdict counts other classes in violation than holds_on")
    require(
        verdict.people == int(classes.people[broken].sum()), "verdict counts the people in violation wrongly"
    )
    require(verdict.evidence is promise.evidence, "verdict names other evidence than the promise")
    for number in (verdict.measured, verdict.limit):
        right = number is None or isinstance(number, int | Fraction | float)
        require(
            right and not isinstance(number, bool), "measured and limit are an int, a Fraction or a float"
        )
        require(not isinstance(number, float) or math.isfinite(number), "measured and limit are finite")
    if verdict.worst is not None:
        require(0 <= verdict.worst < len(classes), "the worst class does not exist")
        require(
            verdict.holds or bool(broken[verdict.worst]),
            "the worst class keeps the promise, another does not",
        )


def _check_independence(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    order = rng.permutation(len(grid))
    shuffled = _classes(promise, taxonomy, grid[order], grid.sum(axis=0))
    require(np.array_equal(_judge(promise, shuffled), truth[order]), "the order of the classes matters")
    first, second = (
        promise.verdict(_classes(promise, taxonomy, grid, grid.sum(axis=0))),
        promise.verdict(shuffled),
    )
    require(first.measured == second.measured, "what verdict measures depends on the order of the classes")
    sample = order[: rng.integers(0, len(grid) + 1)]
    part = _classes(promise, taxonomy, grid[sample], grid.sum(axis=0))
    require(
        np.array_equal(_judge(promise, part), truth[sample]),
        "a class is judged by more than itself and `overall`",
    )


def _check_monotone(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    if not promise.monotone:
        return
    good = np.flatnonzero(truth)
    if len(good) < 2:
        return
    left, right = rng.choice(good, 8), rng.choice(good, 8)
    apart = left != right
    unions = grid[left[apart]] + grid[right[apart]]
    holds = _judge(promise, _classes(promise, taxonomy, unions, grid.sum(axis=0)))
    require(bool(holds.all()), "it claims to be monotone, but two classes keep it and their union does not")


def _check_hereditary(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    if not promise.hereditary:
        return
    bad = grid[~truth]
    parts = rng.binomial(bad, rng.random((len(bad), 1)))
    parts = np.where(rng.random(parts.shape) < 0.2, 0, parts)
    parts = parts[parts.sum(axis=1) > 0]
    holds = _judge(promise, _classes(promise, taxonomy, parts, grid.sum(axis=0)))
    require(
        not holds.any(), "it claims to be hereditary, but a class breaks it and a part of that class keeps it"
    )


def _check_least(promise: ClassPromise, classes: Classes, truth: Truth) -> None:
    """`least_people` and `least_values` are needed; `by_size` and `by_values` say that one is enough."""
    large: Truth = classes.people >= promise.least_people
    require(not (truth & ~large).any(), "a class of fewer than least_people keeps it")
    require(
        not promise.by_size or bool((truth == large).all()), "by_size: least_people alone decides, or not"
    )
    for name in promise.sensitive:
        by_meaning = classes.histograms[name].by_meaning(missing=False)
        rich: Truth = np.diff(by_meaning.start) >= promise.least_values
        require(not (truth & ~rich).any(), "a class of fewer than least_values different values keeps it")
        enough = not promise.by_values or bool((truth == rich).all())
        require(enough, "by_values: least_values alone decides, or not")


def _check_cone(
    promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, truth: Truth, rng: np.random.Generator
) -> None:
    """Sums of kept histograms are kept; multiples are kept or broken like what they are multiples of."""
    if not promise.cone:
        return
    factor = int(rng.integers(2, 12))
    times = _judge(promise, _classes(promise, taxonomy, grid * factor, grid.sum(axis=0)))
    large = grid.sum(axis=1) >= promise.least_people
    require(
        bool((times == truth)[large].all()), "it claims to be a cone, but a multiple is judged differently"
    )
    require(bool(times[truth].all()), "it claims to be a cone, but a multiple of what is kept is not")
    good = np.flatnonzero(truth)
    if len(good):
        left, right = grid[rng.choice(good, 8)], grid[rng.choice(good, 8)]
        sums = left * rng.integers(1, 9, (8, 1)) + right * rng.integers(1, 9, (8, 1))
        holds = _judge(promise, _classes(promise, taxonomy, sums, grid.sum(axis=0)))
        require(bool(holds.all()), "it claims to be a cone, but a sum of kept histograms is not kept")


def _check_small(promise: ClassPromise) -> None:
    taxonomy = Taxonomy.flat(["a", "b"], ordered=True)
    for grid in (np.zeros((0, 2), np.int64), np.array([[3, 2]]), np.array([[1, 0]])):
        classes = _classes(promise, taxonomy, grid, grid.sum(axis=0))
        _check_verdict(promise, classes, _judge(promise, classes))
    empty = promise.verdict(_classes(promise, taxonomy, np.zeros((0, 2), np.int64), np.zeros(2, np.int64)))
    require(empty.holds is not False, "a table without classes breaks no promise")


def _judge(promise: ClassPromise, classes: Classes) -> Truth:
    before = _bytes(classes)
    truth = promise.holds_on(classes)
    require(_bytes(classes) == before, "holds_on changes the classes it is given")
    right = isinstance(truth, np.ndarray) and truth.dtype == np.bool_ and truth.shape == (len(classes),)
    require(right, "holds_on returns one bool per class, as a numpy array")
    return truth


def _tables(rng: np.random.Generator, count: int) -> Iterator[tuple[Taxonomy, Grid]]:
    """Small tables of many shapes: few and many values, even and skewed, small and large classes; in some of
    them cells are missing."""
    for _ in range(count):
        leaves = int(rng.integers(1, 9))
        taxonomy = _tree(leaves, rng)
        rows = int(rng.integers(1, 9))
        scale = int(rng.choice([1, 2, 3, 10, 1000]))
        skew = rng.dirichlet(np.full(leaves, rng.choice([0.2, 1.0, 20.0])))
        grid = rng.poisson(scale * leaves * skew, size=(rows, leaves))
        if rng.random() < 0.3:
            grid[0] = rng.multinomial(scale * leaves, skew)
            grid[:] = grid[0]
        grid[grid.sum(axis=1) == 0, rng.integers(0, leaves)] = 1
        yield taxonomy, grid.astype(np.int64)


def _tree(leaves: int, rng: np.random.Generator) -> Taxonomy:
    missing: list[Label] = [None] if leaves > 1 and rng.random() < 0.3 else []
    values: list[Label] = [f"v{i}" for i in range(leaves - len(missing))]
    split = int(rng.integers(0, len(values) + 1))
    if split in (0, len(values)):
        return Taxonomy.flat([*values, *missing], ordered=True)
    parent = [-1, 0, 0, *(1 if i < split else 2 for i in range(len(values))), *(0 for _ in missing)]
    return Taxonomy.grow(["*", "low", "high", *values, *missing], parent, ordered=True)


def _classes(promise: ClassPromise, taxonomy: Taxonomy, grid: Grid, overall: Grid) -> Classes:
    owner, values = np.nonzero(grid)
    start = np.searchsorted(owner, np.arange(len(grid) + 1)).astype(np.int64)
    h = Histogram(taxonomy, start, values.astype(np.int32), grid[owner, values], overall)
    people = grid.sum(axis=1)
    return Classes(people, people.copy(), dict.fromkeys(promise.sensitive, h))


def _bytes(classes: Classes) -> bytes:
    parts: list[NDArray[np.generic]] = [classes.people, classes.rows]
    for h in classes.histograms.values():
        parts += [h.start, h.values, h.counts, h.overall]
    return b"".join(part.tobytes() for part in parts)


# The conformance suite for table promises: run `check_table_promise` on yours before others rely on it.

Chosen = tuple[Cut, ...]
"""A recoding: one cut per key column."""


def check_table_promise(
    make: Callable[[Microdata], TablePromise], *, tables: int = 40, steps: int = 12, seed: int = 0
) -> None:
    """Checks a table promise on small random tables; raises `AssertionError` with a sentence if it fails.

    `make(table)` gives the promise for a table with key columns `q0`, `q1`, … and a sensitive column `s`.
    On every table all recodings are tried: a watch says YES exactly where the verdict from scratch holds,
    NEVER only where no finer recoding holds, whatever it was asked before and wherever the search moved;
    and the promise is as monotone as it claims. The same `seed` gives the same tables.

    >>> from fractions import Fraction
    >>> from sfumato.models.freeform.inference import FreeColumn
    >>> from sfumato.models.freeform.promise import Freeform
    >>> secret = {"q0": FreeColumn(sensitive=("*",))}
    >>> check_table_promise(lambda table: Freeform(Fraction(1, 2), columns=secret), tables=5)
    """
    rng = np.random.default_rng(seed)
    holding = broken = 0
    for _ in range(tables):
        table = _table(rng)
        promise = make(table)
        _table_promises_check_words(promise)
        names = [c.name for c in table.keys]
        every = list(product(*(list(every_cut(c.taxonomy)) for c in table.keys)))
        before = table.words.tobytes() + table.counts.tobytes()
        holds = [_verdict(promise, table, dict(zip(names, cuts, strict=True))) for cuts in every]
        _check_claims(promise, every, holds)
        _check_answers(promise, table, names, every, holds)
        for _ in range(steps):
            _check_walk(promise, table, names, dict(zip(every, holds, strict=True)), rng)
        require(table.words.tobytes() + table.counts.tobytes() == before, "it changes the table it is given")
        holding, broken = holding + sum(holds), broken + len(holds) - sum(holds)
    require(
        holding > 0,
        "no recoding of any table keeps the promise; choose parameters that small tables can keep",
    )
    require(broken > 0, "every recoding of every table keeps the promise; choose parameters that some break")


def _table_promises_check_words(promise: TablePromise) -> None:
    require(
        isinstance(promise, TablePromise),
        "it is no table promise: derive it from sfumato.extend.TablePromise",
    )
    check_words(promise)


def _verdict(promise: TablePromise, table: Microdata, cuts: dict[str, Cut]) -> bool:
    verdict = promise.verdict_on(table, cuts)
    require(isinstance(verdict, Verdict), "verdict_on returns no Verdict")
    require(verdict.holds is not None, "with the table at hand a verdict must be decided")
    require(verdict == promise.verdict_on(table, cuts), "asked again, verdict_on answers differently")
    return bool(verdict.holds)


def _check_claims(promise: TablePromise, every: list[Chosen], holds: list[bool]) -> None:
    """Monotone: what holds still holds when it is generalized further."""
    if not promise.monotone:
        return
    for fine, keeps in zip(every, holds, strict=True):
        if keeps:
            coarser = (truth for cuts, truth in zip(every, holds, strict=True) if _finer(fine, cuts))
            require(
                all(coarser), "it claims to be monotone, but a recoding keeps it and a coarser one does not"
            )


def _check_answers(
    promise: TablePromise, table: Microdata, names: list[str], every: list[Chosen], holds: list[bool]
) -> None:
    for cuts, keeps in zip(every, holds, strict=True):
        answer, reason = promise.watch(table).ask(dict(zip(names, cuts, strict=True)))
        _check_answer(answer, reason, keeps)
        if answer is Answer.NEVER:
            finer = (truth for later, truth in zip(every, holds, strict=True) if _finer(later, cuts))
            require(not any(finer), "it says NEVER, and a finer recoding keeps the promise")


def _check_walk(
    promise: TablePromise,
    table: Microdata,
    names: list[str],
    truth: dict[Chosen, bool],
    rng: np.random.Generator,
) -> None:
    """A search that starts at the roots and takes random steps, those that are allowed."""
    here: Chosen = tuple(Cut.root(c.taxonomy) for c in table.keys)
    if not truth[here]:
        return
    watch = promise.watch(table)
    watch.accept(dict(zip(names, here, strict=True)))
    for j, node in _steps(here, rng):
        if node not in here[j].nodes:
            continue
        there = (*here[:j], here[j].specialize(node), *here[j + 1 :])
        answer, reason = watch.ask(dict(zip(names, there, strict=True)), (names[j], node))
        _check_answer(answer, reason, truth[there])
        if answer is Answer.NEVER:
            finer = (keeps for later, keeps in truth.items() if _finer(later, there))
            require(not any(finer), "on its way it says NEVER, and a finer recoding keeps the promise")
        if answer is Answer.YES and rng.random() < 0.8:
            watch.accept(dict(zip(names, there, strict=True)))
            here = there


def _check_answer(answer: Answer, reason: str, keeps: bool) -> None:
    require(isinstance(answer, Answer) and isinstance(reason, str), "ask returns an Answer and why")
    require((answer is Answer.YES) == keeps, "ask and verdict_on disagree on whether the promise holds")


def _steps(start: Chosen, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Every specialization of every column, parents before children, columns mixed."""
    steps = [
        (j, v) for j, cut in enumerate(start) for v in range(len(cut.taxonomy.labels)) if _parent(cut, v)
    ]
    order = np.argsort([v + 3 * float(rng.random()) for _, v in steps], kind="stable")
    yield from (steps[i] for i in order.tolist())


def _parent(cut: Cut, node: int) -> bool:
    return bool(cut.taxonomy.end[node] > node + 1)


def _finer(left: Chosen, right: Chosen) -> bool:
    return all(a <= b for a, b in zip(left, right, strict=True))


def _table(rng: np.random.Generator) -> Microdata:
    rows = int(rng.integers(1, 14))
    columns = [Column(f"q{j}", Role.QUASI, _table_promises_tree(rng)) for j in range(int(rng.integers(1, 3)))]
    columns.append(Column("s", Role.SENSITIVE, Taxonomy.flat(["x", "y", "z"], ordered=True)))
    codes = [rng.integers(0, len(c.taxonomy.leaves), rows).astype(np.int32) for c in columns]
    return Microdata.of_codes(columns, codes)


def _table_promises_tree(rng: np.random.Generator) -> Taxonomy:
    """At most seven nodes of any shape below the root."""
    size = int(rng.integers(2, 9))
    parent = [-1, *(int(rng.integers(ROOT, v)) for v in range(1, size))]
    return Taxonomy.grow(["*", *(f"v{i}" for i in range(1, size))], parent)


# Every recoding of a small table.


def cuts_of(tree: Taxonomy, node: int = 0) -> int:
    """Returns how many cuts the tree below a node has.

    >>> cuts_of(Taxonomy.grow(["*", "A", "a", "b", "c"], [-1, 0, 1, 1, 0]))
    3
    """
    children = tree.children(node)
    return 1 + prod(cuts_of(tree, child) for child in children) if children else 1


def every_cut(tree: Taxonomy) -> Iterator[Cut]:
    """Yields every cut, the root first."""
    for nodes in _below(tree, 0):
        yield Cut.of_nodes(tree, nodes)


def _below(tree: Taxonomy, node: int) -> list[list[int]]:
    children = tree.children(node)
    if not children:
        return [[node]]
    parts = product(*(_below(tree, child) for child in children))
    return [[node], *([n for part in chosen for n in part] for chosen in parts)]
