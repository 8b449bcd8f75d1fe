"""The verb `protect`: what each column has to become so that every promise holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.inputs import (
    AnyImprint,
    AnyMemory,
    AnyPolicy,
    AnyTransformation,
    NotedWarnings,
    Warn,
    bind_earlier,
    count_table,
    load_policy,
    load_transformation,
    open_original,
    with_name_check,
    with_preset_check,
    with_warnings,
)
from sfumato.policy.compatibility import against_several_rows
from sfumato.policy.policy import Names, Policy, RoleNames, with_confirmed
from sfumato.search.best import Foretell
from sfumato.search.plan import Plan, check_need, make_plan, may_be_blind
from sfumato.search.reuse_plan import Transformation
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.form_of_source import RowSource
from sfumato.table.known_rows import people_with_several_rows
from sfumato.table.microdata import Role
from sfumato.table.release_summary import Imprint
from sfumato.table.source import SPARK, AnyTable, Source
from sfumato.workflows.history import EarlierReleases

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


def protect(
    data: AnyTable,
    policy: AnyPolicy | None = None,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741  # the name of the papers
    t: object = None,
    identifier: Names = (),
    quasi: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    confirm: Names = (),
    earlier: Sequence[AnyImprint] = (),
    against: Ledger | str | None = None,
    chain: str = "main",
    reuse_plan: AnyTransformation | None = None,
    memory: AnyMemory = None,
    warn: Warn | None = None,
    foretell: Foretell | None = None,
    progress: Progress | None = None,
    **changes: object,
) -> Plan:
    """Find out what each column has to become so that every promise holds.

    Nothing is written; `plan.apply(data)` makes the safe table.

    Without a policy, one is made, and is `plan.policy`: what `declare` proposes, but for what is said here.
    Where `quasi` is given, no other column is a quasi-identifier. What is promised of columns named as
    `sensitive` is never given up. With a policy, the same words change it, as `policy.with_` does.

    Raises `Infeasible` where no table keeps the promises, and `BrokenPromise` where a plan is reused and a
    promise does not hold any more.

    Args:
        data: the table: a dataframe (pandas, Polars eager or lazy, PyArrow, DuckDB relation) or the path of a
            file.
        policy: the policy: a `Policy`, the path of its file, or what the file would say.
        k: the fewest people in a class.
        l: the fewest different values of every sensitive column in a class; 2 without a policy.
        t: how far the values of a class may be from those of the whole table.
        identifier: columns that name people; they are not published.
        quasi: columns that others may know; they are generalized.
        sensitive: columns that promises protect.
        insensitive: columns that are published unchanged.
        confirm: columns that may be published unchanged although nothing is promised of them, as somebody
            who read the reasons says: those that wait for that (`policy.waiting`).
        earlier: imprints of all earlier releases of these people, oldest first (`plan.imprint`, or the paths
            of JSON files of them).
        against: a ledger, or its URL, which has the imprints of a chain.
        chain: the chain of that ledger.
        reuse_plan: an earlier plan, the JSON of one, or the certificate of a release. Its cuts are taken, and
            nothing is searched for.
        memory: how much memory may be used, such as "4GB". What would take more is refused.
        warn: receives each `Diagnosis`: what the policy allows and probably does not mean, and what `release`
            would refuse it for in that chain. By default each is a `SfumatoWarning` of Python's `warnings`.
        foretell: receives about how long each search will take on this machine, before the first begins.
        progress: receives the phase, how much is done, and out of how much.
        changes: other words of a policy, as for `policy.with_`: `suppress`, `search`, `weights`, `person`.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> plan.apply(people)["age"].to_list()
    ['[20, 25)', '[20, 25)', '[35, 40)', '[35, 40)']
    """
    show = progress or silent
    names = RoleNames(identifier, quasi, sensitive, insensitive)
    numbers = {key: value for key, value in (("k", k), ("l", l), ("t", t)) if value is not None}
    policy = None if policy is None else load_policy(policy)  # what is wrong with it is told first
    before, noted = EarlierReleases.of(earlier, against, chain), NotedWarnings.of(warn)
    rules = _rules(data, policy, names, {**numbers, **changes}, noted, memory, show)
    rules = with_confirmed(rules, confirm)
    opened = open_original(data, memory, rules)
    before.warn_of_baseline(rules, noted)
    source = with_warnings(
        with_name_check(with_preset_check(opened, rules, show), rules), rules, noted, progress=show
    )
    earlier_plan = load_transformation(reuse_plan, rules)
    return plan_table(
        source,
        rules,
        earlier=before.imprints,
        noted=noted,
        reuse_plan=earlier_plan,
        foretell=foretell,
        progress=show,
    )


def _rules(
    data: AnyTable,
    policy: Policy | None,
    names: RoleNames,
    changes: Mapping[str, Any],
    noted: NotedWarnings | None,
    memory: AnyMemory,
    progress: Progress,
) -> Policy:
    """Returns the policy that a caller hands in, changed as they say, or a draft as they say."""
    roles = names.roles
    if policy is not None and not roles and not changes:
        return policy
    from sfumato.workflows.declare import policy_of_roles, with_taxonomies  # noqa: PLC0415  # drafts

    if policy is None:
        if not roles and not changes:
            raise UsageError(
                "neither a policy nor a role is given", remedy="As in protect(table, k=5, quasi=['age'])."
            )
        return policy_of_roles(data, names, changes, noted, memory=memory, progress=progress)
    changed = policy.with_(**vars(names), **changes)
    new = [n for n, role in roles.items() if role is Role.QUASI and policy.columns[n].role is not role]
    bare = [n for n in new if changed.columns[n].taxonomy is None]
    if not bare:
        return changed
    survey = open_original(data, memory, changed).survey(bare, progress=progress)
    return replace(
        changed, columns={**changed.columns, **with_taxonomies(changed.columns, policy.columns, survey)}
    )


def plan_table(
    source: Source,
    policy: Policy,
    *,
    earlier: Sequence[Imprint] = (),
    noted: NotedWarnings | None = None,
    reuse_plan: Transformation | None = None,
    coins: Coins | None = None,
    one_by_one: bool = False,
    foretell: Foretell | None = None,
    progress: Progress = silent,
) -> Plan:
    """Returns the plan for an opened table: one pass over its rows, then the search.

    `noted` are the warnings of that pass: what they say of the rows is part of how the plan speaks of them.
    With `reuse_plan` there is no search: an earlier transformation is taken over. `coins` are what blind
    groups are drawn from; with `one_by_one` equal rows stay apart, each a person.
    """
    bound = bind_earlier(policy, earlier)
    if bound.person is not None and isinstance(source, RowSource):
        many = people_with_several_rows(source, bound.person)
        if many:
            return _plan_of_people(
                source, bound, many, coins=coins, reuse_plan=reuse_plan, foretell=foretell, progress=progress
            )
    asked = coins is None and bound.protect.grouping == "blind"
    drawn = Coins.fresh() if asked else coins
    if reuse_plan is not None or not may_be_blind(bound):
        drawn = None
    one_by_one = one_by_one or (drawn is not None and source.kind != SPARK)
    table = count_table(source, bound, one_by_one=one_by_one, progress=progress)
    if noted is not None and noted.rows_only:
        table = replace(table, rows_only=True)
    check_need(table, bound, source.memory)
    return make_plan(
        table,
        bound,
        reuse_plan=reuse_plan,
        coins=drawn,
        everybody=one_by_one,
        foretell=foretell,
        progress=progress,
    )


def _plan_of_people(
    source: RowSource,
    policy: Policy,
    many: int,
    *,
    coins: Coins | None,
    reuse_plan: Transformation | None,
    foretell: Foretell | None,
    progress: Progress,
) -> Plan:
    """Returns the plan of a table in which so many people have several rows."""
    from sfumato.workflows.grown_base import plan_of_people  # noqa: PLC0415  # for such tables alone

    reason = against_several_rows(policy)
    if reason is not None:
        raise BadData(
            f"{pluralize(many, 'person has', 'people have')} several rows, and {reason}",
            remedy="Bring each person's rows together in one.",
        )
    plan_rows = partial(plan_table, reuse_plan=reuse_plan, foretell=foretell)
    drawn = Coins.fresh() if coins is None else coins
    return plan_of_people(source, policy, drawn, plan_rows=plan_rows, progress=progress)
