"""The verb `compare`: what the safe table still tells of the one that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.inputs import (
    AnyMemory,
    AnyPolicy,
    bind_earlier,
    check_some_declared,
    count_table,
    load_policy,
    open_original,
    open_table,
    without_bare_rows,
)
from sfumato.models.contract import Promises, with_least_people
from sfumato.policy.chain import ChainRule
from sfumato.policy.policy import Policy
from sfumato.reports.paired_tables import PairedTables, read_tables
from sfumato.reports.usefulness import (
    ModelFigures,
    Price,
    Usefulness,
    default_target,
    measure_usefulness,
    model_figures,
)
from sfumato.search.plan import Plan, make_plan
from sfumato.system.coins import Coins
from sfumato.system.errors import BadInput, Infeasible, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.form_of_source import RowSource
from sfumato.table.kept_order import IntervalForm, numbers_of_intervals
from sfumato.table.known_rows import chosen_rows, known_rows
from sfumato.table.microdata import BARE, Microdata
from sfumato.table.source import AnyTable, Source
from sfumato.workflows.grown_base import who_is_who


def compare(
    raw: AnyTable,
    safe: AnyTable,
    policy: AnyPolicy | None = None,
    *,
    target: str | None = None,
    prices: bool = False,
    seed: int = 0,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Usefulness:
    """Measure what a safe table still tells of the original.

    No figure is for publication, but for what `published` returns.

    Args:
        raw: the original table, as for `protect`.
        safe: the published table, as for `protect`.
        policy: the policy that the safe table was published under; its taxonomies tell what a published text
            stands for. Without it intervals, prefixes, dates and `*` are read, and columns count as
            generalized whose texts changed.
        target: a column that is published unchanged. A model trained on the safe table tells it from the
            others, beside one trained on the original. By default it is the first sensitive column, where
            scikit-learn is installed.
        prices: plan the policy again without each promise and with k + 1, and say what each costs.
        seed: chooses the range queries.
        memory: how much memory may be used, such as "4GB".
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> sf.compare(people, plan.apply(people), plan.policy).published["classes"]
    2
    """
    show = progress or silent
    rules = None if policy is None else load_policy(policy)
    if prices and rules is None:
        raise UsageError("prices are those of a policy", remedy="Hand in the policy, too: -p POLICY.")
    original = open_original(raw, memory, rules)
    if rules is not None:
        check_some_declared(original.columns, rules)
    published = open_table(safe, memory, rules)
    of_chain: tuple[str, ...] = ()
    if rules is not None and (rules.chain is not None or BARE in published.columns):
        original, published, rules, of_chain = _first_rows(original, published, rules)
    tables = read_tables(original, published, rules, progress=show)
    if of_chain:
        _check_people(tables)
    show("comparing", 0)
    model, notes = _model(tables, target)
    notes = (*of_chain, *notes)
    price_list = () if rules is None or not prices else tuple(prices_of(original, rules, progress=show))
    return measure_usefulness(tables, seed=seed, model=model, prices=price_list, notes=notes)


def _first_rows(
    original: Source, published: Source, policy: Policy
) -> tuple[Source, Source, Policy, tuple[str, ...]]:
    """Returns what can be compared of a file with bare rows: rows in which people show values."""
    if not isinstance(original, RowSource):
        raise UsageError(
            f"a file of groups is not compared with a {original.kind} table",
            remedy="Write it to Parquet first.",
        )
    shown, rules = without_bare_rows(published, policy)
    rows, notes = original, ["rows of a chain are compared as they were when people came"]
    if policy.chain is None:
        notes = []
    if policy.person is not None:
        known = known_rows(original, who_is_who(policy, ChainRule()), None, Coins.fresh())
        rows = chosen_rows(original, known.first)
        if further := len(known.first) - int(known.first.sum()):
            words = pluralize(further, "further row is", "further rows are")
            notes.append(f"{words} left aside: they show no values, which are not missing at random")
    return rows, shown, rules, tuple(notes)


def _check_people(tables: PairedTables) -> None:
    """Raises where a file shows values that the table lacks: then it is of other people, or of more."""
    for column in tables.columns:
        if column.is_key:
            continue
        had = np.bincount(column.raw_leaf, column.raw_rows, column.leaves)
        if (np.bincount(column.low, column.safe_rows, column.leaves) > had).any():
            raise UsageError(
                "rows of the file are not in this table: people left, or rows were changed",
                remedy="Compare with the tables of all releases, put together.",
            )


def _model(tables: PairedTables, target: str | None) -> tuple[ModelFigures | None, tuple[str, ...]]:
    """Returns the scores of the target that was named or, where it can be had, of a sensitive column."""
    if target is not None:
        return model_figures(tables, target), ()
    chosen = default_target(tables)
    if chosen is None:
        return None, ()
    try:
        return model_figures(tables, chosen), ()
    except UsageError as lacking:
        return None, (f"{lacking.message}: {lacking.remedy}",)


def prices_of(source: Source, policy: Policy, *, progress: Progress = silent) -> Iterator[Price]:
    """Yields what the policy costs, what it would without each promise, and what with k + 1.

    The table is counted once. A policy with one promise has none to leave out.
    """
    table = count_table(source, policy, progress=progress)
    yield _price("as promised", table, policy, progress)
    stated = policy.promises.stated
    for promise in stated if len(stated) > 1 else ():
        others = Promises(tuple(promise_left for promise_left in stated if promise_left is not promise))
        yield _price(f"without {promise}", table, replace(policy, promises=others), progress)
    people = [promise.least_people for promise in stated if promise.by_size]
    if people:
        k = max(people) + 1
        more = Promises(tuple(with_least_people(p, k) if p.by_size else p for p in stated))
        yield _price(f"with k = {k}", table, replace(policy, promises=more), progress)


def _price(change: str, table: Microdata, policy: Policy, progress: Progress) -> Price:
    try:
        plan = make_plan(table, bind_earlier(policy, ()), progress=progress)
    except (BadInput, Infeasible):
        return Price(change, None, None)
    return Price(change, plan.loss, plan.suppressed, _lost(plan))


def _lost(plan: Plan) -> tuple[str, ...]:
    """Returns the key columns that have several values and publish one."""
    columns = enumerate(plan.recoding.table.keys)
    return tuple(
        column.name
        for j, column in columns
        if len(plan.recoding.texts(j)[0]) <= 1 and len(column.taxonomy.leaves) > 1
    )


# The verb `as_numbers`: the intervals of a published table, to calculate with.


def as_numbers(
    table: AnyTable, *, form: str = "midpoint", columns: Sequence[str] | None = None
) -> Any:  # a table of the kind that was handed in
    """Give the intervals of a published table as numbers, so that a model can be fitted.

    Every column becomes one of numbers that holds intervals of numbers (`[20, 30)`, `20-29`, `90+`), numbers
    and `*`, and nothing else. What has no such number is missing. Nothing is read but these texts, so nothing
    is told that they do not tell.

    Args:
        table: the published table: a dataframe or the path of a file.
        form: "midpoint" for the middle, or "bounds" for two columns, `…_from` and `…_to` (excluded).
        columns: the columns to be read; one that holds something else is then refused. By default all.

    >>> import polars as pl, sfumato as sf
    >>> sf.as_numbers(pl.DataFrame({"age": ["[20, 30)", "[30, 40)", "*"]}))["age"].to_list()
    [24.5, 34.5, None]
    """
    if form not in tuple(IntervalForm):
        raise UsageError(f"intervals have no form {form}", remedy=f"There are {', '.join(IntervalForm)}.")
    return numbers_of_intervals(table, IntervalForm(form), columns)
