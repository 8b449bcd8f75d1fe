"""Recheck: a published file, judged from its bytes by a second implementation.

Nothing here is shared with the code that made the file: another reader (SQL over the bytes), other judges
(plain numpy and fractions). Two implementations that agree on random tables do not share a bug by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from sfumato.core.errors import BadData
from sfumato.core.microdata import Role
from sfumato.core.taxonomy import Label
from sfumato.core.verdict import Verdict
from sfumato.judge import freeform, quasi_sensitive, t_closeness  # noqa: F401  # each registers its judges
from sfumato.judge.reader import Plant, SetColumn, Tally, check_witness, header, tally
from sfumato.judge.registry import distinct_l_diversity, judge_of
from sfumato.judge.taxonomies import planting
from sfumato.system.memory import Memory

TEXTUAL = ("freeform",)
"""Promises that look at the texts of the key columns."""


class JudgedColumn(Protocol):
    """What the policy says of a column."""

    @property
    def role(self) -> Role: ...

    @property
    def taxonomy(self) -> Any: ...


class JudgedPolicy(Protocol):
    """What the second judge reads of a policy."""

    @property
    def columns(self) -> Mapping[str, JudgedColumn]: ...

    @property
    def promises(self) -> Iterable[Any]: ...

    @property
    def published(self) -> Sequence[str]: ...

    @property
    def person(self) -> str | None: ...


def recheck(
    path: str | Path, policy: JudgedPolicy, *, witness: str | Path | None = None, memory: Memory | None = None
) -> tuple[Verdict, ...]:
    """Every promise of the policy, judged on the bytes of a published file.

    Raises `BadData` where the file cannot be read strictly or its columns are not those that the policy
    publishes, `BrokenPromise` where a promise has no second judge. Where promises count people, a file
    without the person column tells only rows, and a verdict may stay undecided; a `witness` decides it: a
    file with the same rows and the person column beside them, which is not published. `memory` bounds what is
    held in memory meanwhile; the rest waits on disk.
    """
    path, allowed = Path(path), memory or Memory()
    promises = list(policy.promises)
    judges = [judge_of(promise) for promise in promises]
    names = header(path)
    check_columns(names, policy, where=path.name)
    if policy.person is not None and witness is not None:
        check_witness(path, Path(witness), names, policy.person, memory=allowed)
    counted = tally(
        Path(path if witness is None else witness),
        keys=[name for name in names if policy.columns[name].role.is_key],
        sensitive=_plants(promises, policy),
        person=None if witness is None else policy.person,
        sets=_sets(policy),
        texts=any(promise.name in TEXTUAL for promise in promises),
        memory=allowed,
    )
    found = [judge(counted, promise) for judge, promise in zip(judges, promises, strict=True)]
    if policy.person is None or witness is not None:
        _check_people(counted, where=path.name)
        return tuple(found)
    return tuple(_on_rows(counted, promise, v) for promise, v in zip(promises, found, strict=True))


def _plants(promises: Sequence[Any], policy: JudgedPolicy) -> dict[str, Plant]:
    """How the taxonomy of every sensitive column grows; what references speak of is given a place too."""
    spoken: dict[str, list[Label]] = {column: [] for promise in promises for column in promise.sensitive}
    for promise in promises:
        reference = getattr(promise, "reference", None)
        if reference is not None:
            spoken[promise.of] += [label for label, _ in reference.counts]
    return {
        column: planting(getattr(policy.columns.get(column), "taxonomy", None), column, more)
        for column, more in spoken.items()
    }


def _sets(policy: JudgedPolicy) -> dict[str, SetColumn]:
    """The columns of term sets, by the name that promises use."""
    found: dict[str, SetColumn] = {}
    for name, rule in policy.columns.items():
        if rule.role is Role.QUASI_SENSITIVE:
            said = getattr(rule, "options", None)
            whole = getattr(said, "set", None)
            if whole is None:
                found[name] = SetColumn(getattr(said, "separator", None) or ";")
            else:
                found[whole] = SetColumn(parts=(*(found[whole].parts if whole in found else ()), name))
    return found


def check_columns(names: Sequence[str], policy: JudgedPolicy, *, where: str) -> None:
    """Raise where the columns of a file are not those that the policy publishes."""
    remedy = f"The policy publishes: {', '.join(policy.published)}."
    if len(set(names)) < len(names):
        raise BadData("a column name occurs twice", where=where, remedy=remedy)
    secret = [n for n in names if n in policy.columns and n not in policy.published]
    if secret:
        raise BadData(f"columns that must not be published: {', '.join(secret)}", where=where, remedy=remedy)
    unknown = [n for n in names if n not in policy.columns]
    if unknown:
        # Without a header the first row stands in its place: its cells are not to be shown.
        listed = f": {', '.join(unknown)}" if len(unknown) < len(names) else ""
        raise BadData(
            f"{len(unknown)} columns are not declared{listed}", where=where, remedy=remedy, values=unknown
        )
    absent = [n for n in policy.published if n not in names]
    if absent:
        raise BadData(f"columns are missing: {', '.join(absent)}", where=where, remedy=remedy)


def _check_people(counted: Tally, *, where: str) -> None:
    """Raise where somebody holds two values of a column that a promise is about: it cannot protect them."""
    for column, spread in counted.spreads.items():
        if spread.several:
            raise BadData(
                f"{spread.several} people hold more than one value of {column};"
                " what is promised of it does not protect them",
                where=where,
                remedy="Publish one row per person, or promise only k-anonymity.",
            )


def _on_rows(counted: Tally, promise: Any, found: Verdict) -> Verdict:
    """What rows prove about people.

    A class has at least as many rows as people: too few rows are too few people. The values of a class do
    not depend on who holds them, so a class with fewer than l values breaks every kind of l-diversity.
    Everything else stays open: whether somebody holds two of the values is not to be seen.
    """
    if promise.name == "l-diversity":
        found = replace(found, holds=distinct_l_diversity(counted, promise).holds)
    if found.holds is False and promise.name in ("k-anonymity", "l-diversity"):
        return replace(found, reason="rows alone show it: there are at most as many people")
    return replace(
        found,
        holds=None,
        measured=None,
        worst=None,
        people=0,
        classes=0,
        reason="counts people, and the person column is not published",
    )
