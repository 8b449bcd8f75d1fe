"""What quasi-sensitive promises have in common: term sets, what is known of terms, and links to labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

from sfumato.core.classes import Classes, Histogram
from sfumato.core.derivation import DerivesPromises
from sfumato.core.joint_columns import JointColumn
from sfumato.core.knowledge import Knowledge, Links, merged
from sfumato.core.microdata import Role
from sfumato.core.policy_view import ColumnOptions, PolicyView
from sfumato.core.promise import ClassPromise
from sfumato.core.verdict import Evidence
from sfumato.promises.parameters import Declared, histogram_of
from sfumato.promises.quasi_sensitive.joint_tables import KnownColumn, joint_column, joint_subsets
from sfumato.promises.quasi_sensitive.knowledge_key import KnowledgeFile
from sfumato.promises.quasi_sensitive.prevalence import Prevalence
from sfumato.promises.quasi_sensitive.set_options import SetOptions, options_of
from sfumato.show.card import several

JOINED = ("of", "knowledge")
"""What a promise about several tables has a value of its own for."""


@dataclass(frozen=True)
class LabelPromise(Declared, ClassPromise):
    """What both kinds of quasi-sensitive promises have in common: beliefs in labels that terms link to.

    `tables` is filled where several columns, or several tables about one, are judged together: `of` is then
    the name of a joint column, and `knowledge` what all tables say of it. Such a promise is derived from
    those about each.
    """

    of: str
    knowledge: Knowledge
    prevalence: Prevalence | None = field(default=None, kw_only=True)
    tables: tuple[KnownColumn, ...] = field(default=(), kw_only=True)

    name: ClassVar[str] = "quasi-sensitive"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = False
    evidence: ClassVar[Evidence] = Evidence.REFERENCE
    cone: ClassVar[bool] = True
    roles: ClassVar[tuple[Role, ...]] = (Role.QUASI_SENSITIVE,)
    column_role: ClassVar[Role | None] = Role.QUASI_SENSITIVE
    threats: ClassVar[tuple[str, ...]] = ("quasi-sensitive",)
    column_options: ClassVar[type[ColumnOptions] | None] = SetOptions

    @cached_property
    def known(self) -> Knowledge:
        """What outsiders know: which terms go with which label, and how common labels are."""
        return self.knowledge.weighing(dict(self.prevalence.shares)) if self.prevalence else self.knowledge

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.known  # a label without prevalence is refused at once

    @property
    def sensitive(self) -> tuple[str, ...]:
        return (self.of,)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.tables) or (self.of,)

    @property
    def derived(self) -> bool:
        return bool(self.tables)

    @property
    def joint_columns(self) -> tuple[JointColumn, ...]:
        return (joint_column(self.tables),) if self.tables else ()

    def derived_with(self, others: Sequence[DerivesPromises]) -> tuple[Self, ...]:
        """Returns the same promise about every set of tables that share their labels with its own."""
        all_tables = [(p.of, p.known) for p in others if isinstance(p, LabelPromise)]
        return tuple(
            replace(
                self, of=joint_column(some).name, knowledge=merged([known for _, known in some]), tables=some
            )
            for some in joint_subsets((self.of, self.known), all_tables)
        )

    @property
    def about_what(self) -> str:
        return f"{self.of} together" if self.tables else self.of

    @property
    def parts(self) -> tuple[str, ...]:
        return self.reads if self.tables else ()

    def judge_data(self) -> dict[str, object]:
        """Returns the data of its judge, who is told the tables and not what they come to together."""
        told = super().judge_data()
        if not self.tables:
            return told
        plain = KnowledgeFile("knowledge").plain
        kept = {key.name: key.plain(getattr(self, key.name)) for key in self.keys if key.name not in JOINED}
        tables = tuple((column, plain(known)) for column, known in self.tables)
        return {**told, "columns": self.reads, "parameters": {**kept, "jointly": tables}}

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The knowledge and the prevalence, where they stand in files."""
        told = (self.knowledge, self.prevalence)
        return tuple((one.file, one.digest) for one in told if one is not None and one.file is not None)

    def objections(self, policy: PolicyView) -> list[str]:
        """What it cannot go with."""
        found: list[str] = []
        if self.derived:
            return found
        if policy.person is not None:
            found.append(
                "it judges rows, one per person, but the policy names a person column: join the rows of a"
                " person into one term set first"
            )
        rule = policy.columns.get(self.of)
        separator = options_of(rule).separator if rule else None
        mixed = sum(separator in term for term in self.knowledge.terms) if separator else 0
        if mixed:
            found.append(
                f"{several(mixed, 'term')} of the knowledge with the separator of {self.of} inside,"
                " which no row can hold: choose another separator"
            )
        return found

    def links(self, classes: Classes) -> tuple[Links, Histogram]:
        held = histogram_of(classes, self.of)
        return self.links_in(held), held

    def links_in(self, held: Histogram) -> Links:
        from sfumato.kernels.term_sets.knowledge import links_of  # noqa: PLC0415  # compiled

        return links_of(self.known, held.taxonomy)

    def unlinked(self, links: Links, held: Histogram) -> str:
        """A sentence about rows that link to nothing."""
        count = int(held.counts[links.number[held.values] == 0].sum())
        return f"{several(count, 'row links', 'rows link')} to no label" if count else ""
