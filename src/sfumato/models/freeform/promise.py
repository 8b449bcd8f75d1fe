"""FF-anonymity: no inference of what cannot be observed from what can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.core.demand import Order
from sfumato.core.errors import BadPolicy
from sfumato.core.freeform.guard import FreeColumn, Guard
from sfumato.core.freeform.inference import Inference, NodeTable
from sfumato.core.freeform.limit import FreeformLimit
from sfumato.core.freeform.published_nodes import node_table_of_labels, written_down
from sfumato.core.microdata import Codes, Column, Counts, Microdata, Role
from sfumato.core.policy_view import ColumnOptions, ColumnView, PolicyView
from sfumato.core.promise import Cuts, TablePromise
from sfumato.core.taxonomy import Label
from sfumato.core.verdict import Verdict
from sfumato.kernels.freeform.breaches import worst
from sfumato.promises.freeform.conflicts import FreeformConflicts
from sfumato.promises.freeform.options import FreeOptions, plain_column
from sfumato.promises.freeform.watch import FreeformWatch, node_table_under
from sfumato.promises.parameters import Declared, Exact, Parameter, Schema
from sfumato.promises.registry import register
from sfumato.promises.verdicts import NOTHING

LADDER_OF_THREATS = tuple(
    Fraction(*threat)
    for threat in ((9, 10), (4, 5), (3, 4), (2, 3), (3, 5), (1, 2), (2, 5), (1, 3), (1, 4), (1, 5), (1, 10))
)
"""Threats that searches also look at where a larger one is allowed."""


class ObservableFrom(Exact):
    """The observability from which a value counts as observable; a fraction that may be left out.

    A model of what is observed of several values together is refused: whoever observes them observes each, so
    the least of their own is the largest that it may say, and is what is promised against.
    """

    required: ClassVar[bool] = False

    def read(self, value: object) -> Fraction:
        if isinstance(value, Mapping) or callable(value) or (isinstance(value, str) and ":" in value):
            raise BadPolicy(
                "an observability of several values together is not taken: whoever observes them observes"
                " each, so it is at most the least of theirs, which is promised against already",
                where=self.name,
                remedy="Say how observable single values are: `observable` of each column takes a name or a"
                " file.",
            )
        return super().read(value)

    @property
    def schema(self) -> Schema:
        """Anything but a number is refused when it is read, with the reason."""
        return {"type": ["number", "string", "object"]}


@register("freeform")
@dataclass(frozen=True)
class Freeform(Declared, TablePromise):
    """Whatever can be observed of a person, no hidden value is inferred with a threat above `threat`.

    There is no line between quasi-identifiers and secrets: every key column takes part, value by value. An
    attack observes values of any columns at any height and infers one that cannot be observed; its threat
    is the confidence times the sensitivity of what is inferred. A breach is *more* than `threat`. A value
    is observable from `observability` on; roots always are, and are never inferred: they say nothing.
    `columns` says what is declared of the free columns; values of other key columns are observable.

    Source: Wang, Xu, Fu and Wong, *FF-anonymity: when quasi-identifiers are missing*, 2009, with the
    extended breaches of its Definition 3.4. Monotone: yes (a more general table has fewer breaches).
    Evidence: the published table.
    Does not promise: that nobody is recognized (one person with harmless values is no breach: combine with
    k-anonymity), nor anything about columns that are not part of the key.

    >>> str(Freeform(Fraction(1, 2)))
    'freeform, threat at most 1/2, observable from 1'
    """

    threat: Fraction
    observability: Fraction = Fraction(1)
    columns: Mapping[str, FreeColumn] = field(default_factory=dict, hash=False)

    plain: ClassVar[str] = (
        "From whatever can be observed of a person, nothing hidden is inferred with a threat above {threat}."
    )
    silent_on: ClassVar[str] = "Somebody may be recognized, where that tells nothing hidden."
    name: ClassVar[str] = "freeform"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = False
    judged_on_labels: ClassVar[bool] = True
    column_role: ClassVar[Role | None] = Role.FREE
    threats: ClassVar[tuple[str, ...]] = ("freeform",)
    keys: ClassVar[tuple[Parameter, ...]] = (
        Exact(
            "threat",
            Fraction(0),
            Fraction(1),
            meaning="The largest confidence with which observed values may tell a sensitive one.",
        ),
        ObservableFrom(
            "observability",
            Fraction(0),
            Fraction(1),
            strict=True,
            meaning="A value counts as observable from this belief on.",
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {"threat": Order.SMALLER}
    column_options: ClassVar[type[ColumnOptions] | None] = FreeOptions

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threat == 1:
            raise BadPolicy(
                "threat must be below 1: no threat exceeds 1, so nothing would be promised", where="threat"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it was told about."""
        return tuple(self.columns)

    def about(self, columns: Mapping[str, ColumnView]) -> Freeform:
        """The same promise, told what the policy declares of its columns."""
        told = {}
        for name, rule in columns.items():
            if rule.role is Role.FREE:
                options = rule.options if isinstance(rule.options, FreeOptions) else FreeOptions()
                declared = self.columns.get(name) or options.declared(rule.taxonomy)
                told[name] = replace(declared, rule=declared.rule or rule.taxonomy)
        return Freeform(self.threat, self.observability, told)

    def objections(self, policy: PolicyView) -> list[str]:
        """What this promise cannot go with."""
        said = []
        if not any(rule.role is Role.FREE for rule in policy.columns.values()):
            said.append("no column is free, so there is nothing to infer")
        if policy.person is not None:
            said.append("it counts rows, so every person must have one row: drop `person`")
        if policy.protect.suppress > 0:
            said.append("it is about the table as a whole and is not judged with rows suppressed")
        said += [
            f"the taxonomy of {name} grows from the data, and with it what is sensitive: write it down"
            for name, column in self.columns.items()
            if column != FreeColumn() and not written_down(column.rule)
        ]
        return said

    @property
    def stricter(self) -> tuple[Freeform, ...]:
        """The same promise with every smaller threat of a ladder, from the largest down."""
        return tuple(replace(self, threat=threat) for threat in LADDER_OF_THREATS if threat < self.threat)

    def limits(self) -> tuple[FreeformLimit, ...]:
        return (self._limit,)

    @property
    def _limit(self) -> FreeformLimit:
        return FreeformLimit(self.threat, self.observability, self.columns)

    def judge_data(self) -> dict[str, object]:
        """With `free_columns`: what is declared of each, as `plain_column` says."""
        free = {name: plain_column(column) for name, column in self.columns.items()}
        return {**super().judge_data(), "free_columns": free}

    def guards(self, columns: tuple[Column, ...]) -> tuple[Guard, ...]:
        """The key columns with what is declared of them; raises `BadPolicy` where that does not fit."""
        found = []
        for c in columns:
            free = self.columns.get(c.name)
            guard = Guard.all_observable(c.taxonomy) if free is None else None
            found.append(guard or free.guard(c.taxonomy, self.observability, column=c.name))  # type: ignore[union-attr]
        return tuple(found)

    def node_table(self, table: Microdata, cuts: Cuts, guards: tuple[Guard, ...] | None = None) -> NodeTable:
        """What is published under these cuts."""
        return node_table_under(table, cuts, guards or self.guards(table.keys))

    def watch(self, table: Microdata) -> FreeformWatch:
        return FreeformWatch(self._limit, table, self.guards(table.keys))

    def conflicts(self, table: Microdata) -> FreeformConflicts:
        return FreeformConflicts(table, self.guards(table.keys), self.threat)

    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict:
        return self.verdict_of(self.node_table(table, cuts))

    def verdict_on_labels(
        self, labels: Mapping[str, Sequence[Label]], codes: Mapping[str, Codes], counts: Counts
    ) -> Verdict:
        """On the texts of a published table; raises `BadData` where one has no place in its taxonomy."""
        return self.verdict_of(node_table_of_labels(self.columns, self.observability, labels, codes, counts))

    def verdict_of(self, node_table: NodeTable) -> Verdict:
        """The largest threat; `people` match the worst attack on some value, `classes` counts such values."""
        found = worst(node_table)
        broken = [one for one in found if one.threat > self.threat]
        exposed = np.zeros(len(node_table.counts), dtype=bool)
        for one in broken:
            exposed |= matching(node_table, one)
        return Verdict(
            promise=str(self),
            holds=not broken,
            measured=max((one.threat for one in found), default=Fraction(0)),
            limit=self.threat,
            people=int(node_table.counts[exposed].sum()),
            classes=len(broken),
            evidence=self.evidence,
            reason="" if len(node_table.counts) else NOTHING,
        )

    def __str__(self) -> str:
        return f"freeform, threat at most {self.threat}, observable from {self.observability}"


def matching(node_table: NodeTable, one: Inference) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The rows that an attack is right about."""
    wanted = list(one.given)
    wanted[one.target] = one.node
    match = np.ones(len(node_table.counts), dtype=bool)
    for j, (guard, node) in enumerate(zip(node_table.guards, wanted, strict=True)):
        if node:
            match &= (node_table.nodes[j] >= node) & (node_table.nodes[j] < guard.taxonomy.end[node])
    return match
