"""Freeform attacks: inferring what cannot be observed of a person from whatever can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar

from sfumato.models.attack_contract import PublishedTable, register
from sfumato.models.contract import PolicyWithPromises
from sfumato.models.freeform.inference import (
    NESTED,
    FreeformLimit,
    Inference,
    NodeTable,
    breaches,
    node_table_of_labels,
    people_exposed,
    worst,
)
from sfumato.system.errors import BadData, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import AttackLimits, Finding
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Label, TaxonomyRule

LIMIT = 100_000
"""Breaches that are listed unless the caller asks for more."""

AT_A_TIME = 5_000_000
"""Breaches over the same columns that are held in memory together."""


@dataclass(frozen=True)
class FreeformFinding(Finding):
    """An attack X -> a: whoever observes `given` infers `infers`, right in `confidence` of the cases.

    `support` people match what is given. `threat` is the confidence times the sensitivity of what is
    inferred. `given` and `infers` hold values, so no repr shows them.
    """

    given: Mapping[str, Label] = field(default_factory=dict, repr=False)
    infers: tuple[str, Label] = field(default=("", None), repr=False)
    support: int = 0
    threat: Fraction = Fraction(0)

    @property
    def in_full(self) -> str:
        """The sentence with the values in it."""
        column, value = self.infers
        conditions = " and ".join(f"{name} is {label}" for name, label in self.given.items())
        right = self.confidence * self.support
        whoever = f"Whoever knows that {conditions}" if conditions else "Anybody"
        return (
            f"{whoever} infers that {column} is {value}: right for {right} of"
            f" {pluralize(self.support, 'person', 'people')} (threat {self.threat})."
        )


@register
@dataclass(frozen=True)
class FreeformAttack:
    """Every column may be known and every column may be sought, value by value.

    An adversary observes values of any columns, at any height of their taxonomies, and infers a value that
    cannot be observed. What is observable and what is sensitive is declared by the promise `freeform`;
    without it there is nothing to say.

    Source: Wang, Xu, Fu and Wong, *FF-anonymity: when quasi-identifiers are missing*, 2009.
    Silent on: recognizing a person (see linkage).
    """

    name: ClassVar[str] = "freeform"
    knows: ClassVar[str] = "any values of a person that can be observed, exact or in general"
    seeks: ClassVar[str] = "a value that cannot be observed"
    succeeds: ClassVar[str] = (
        "the chance of inferring it, times how sensitive it is, exceeds the threat allowed"
    )
    needs: ClassVar[str] = "the promise freeform, and texts that are values of its taxonomies"
    threatens: ClassVar[tuple[str, ...]] = ("freeform",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        """The worst attack on every free column."""
        return [finding for limit in limits.of_kind(FreeformLimit) for finding in _strike(published, limit)]


def _strike(published: PublishedTable, limit: FreeformLimit) -> Iterator[Finding]:
    try:
        node_table, names = _node_table(published, limit)
    except BadData:
        return
    attacks = worst(node_table)
    for j in dict.fromkeys(inference.target for inference in attacks):
        here = [inference for inference in attacks if inference.target == j]
        hardest = max(here, key=lambda inference: (inference.threat, inference.support))
        over = [inference for inference in here if inference.threat > limit.threat]
        yield _finding(node_table, names, hardest, limit, exposed=people_exposed(node_table, over))


def freeform(
    frame: Any,
    policy: PolicyWithPromises,
    *,
    every: bool = False,
    extended: bool = True,
    limit: int = LIMIT,
    progress: Progress = silent,
) -> list[FreeformFinding]:
    """What can be inferred from a table as it stands, published or raw.

    By default the worst attack on every value that is worth inferring, breach or not, the largest threat
    first. `every` lists all breaches instead, the most general first, `limit` at most: through values at any
    height of every column's taxonomy, so each must have a place there. `extended` counts the inference of a
    value more general than those in the table too (Definition 3.4 of the paper); without it only published
    values are inferred (Definition 3.3).
    """
    if every:
        return list(islice(streamed(frame, policy, extended=extended, progress=progress), limit))
    allowed, node_table, names = _opened(frame, policy, progress)
    attacks = sorted(
        worst(node_table, extended=extended),
        key=lambda inference: (-inference.threat, -inference.support, inference),
    )
    return [_finding(node_table, names, inference, allowed) for inference in attacks]


def streamed(
    frame: Any,
    policy: PolicyWithPromises,
    *,
    extended: bool = True,
    limit: int = AT_A_TIME,
    progress: Progress = silent,
) -> Iterator[FreeformFinding]:
    """All breaches, one by one, the most general first.

    Those that use the same columns are held in memory together, `limit` at most; further ones are left out.
    """
    allowed, node_table, names = _opened(frame, policy, progress, every=True)
    for inference in breaches(node_table, allowed.threat, extended=extended, limit=limit):
        yield _finding(node_table, names, inference, allowed)


def _opened(
    frame: Any, policy: PolicyWithPromises, progress: Progress, *, every: bool = False
) -> tuple[FreeformLimit, NodeTable, tuple[str, ...]]:
    limit = next(iter(policy.promises.limits.of_kind(FreeformLimit)), None)
    if limit is None:
        raise UsageError("the policy makes no freeform promise", remedy="Add `freeform: {threat: 1/2}`.")
    roles = {name: rule.role for name, rule in policy.columns.items() if rule.role.is_key}
    published = PublishedTable.read(open_source(frame), roles, progress=progress)
    rules = {name: policy.columns[name].taxonomy for name in published.keys} if every else None
    return limit, *_node_table(published, limit, rules)


def _node_table(
    published: PublishedTable, limit: FreeformLimit, rules: Mapping[str, TaxonomyRule | None] | None = None
) -> tuple[NodeTable, tuple[str, ...]]:
    node_table = node_table_of_labels(limit.columns, limit.observability, *published.texts, rules=rules)
    return node_table, published.keys


def _finding(
    node_table: NodeTable,
    names: tuple[str, ...],
    inference: Inference,
    limit: FreeformLimit,
    *,
    exposed: int | None = None,
) -> FreeformFinding:
    trees = [guard.taxonomy for guard in node_table.guards]
    observed = {names[j]: trees[j].labels[v] for j, v in enumerate(inference.given) if v}
    target, conditions = names[inference.target], " and ".join(observed)
    whoever = f"whoever observes {conditions}" if conditions else "anybody"
    people = inference.held if exposed is None else exposed
    return FreeformFinding(
        attack=FreeformAttack.name,
        adversary=f"someone who knows {FreeformAttack.knows}",
        sentence=(
            f"{whoever} can infer {target}: right for {inference.held:,} of"
            f" {pluralize(inference.support, 'person', 'people')}, threat {inference.threat}"
        ),
        confidence=inference.confidence,
        people=people,
        breach=inference.threat > limit.threat,
        columns=(*observed, target),
        details={
            "threat": inference.threat,
            "threat allowed": limit.threat,
            "people who match": inference.support,
        },
        values={**observed, target: trees[inference.target].labels[inference.node]},
        not_tried=NESTED if node_table.nested else "",
        given=observed,
        infers=(target, trees[inference.target].labels[inference.node]),
        support=inference.support,
        threat=inference.threat,
    )
