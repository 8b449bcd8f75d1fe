"""What a promise is: everything that searches, judges, attacks and reports may ask of one, in one place.

There are two kinds. A *class promise* is a property of every equivalence class; it judges arrays and
never sees a row. A *table promise* (freeform, continuous) is a property of the whole recoded table; it
opens a `Watch` that a search asks before each step. Both compose with `&` into `Promises`. A definition
derives from one of them and says what differs from the defaults here. Nothing outside asks for its name or
class in order to treat it differently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.conflicts import Conflicts
from sfumato.core.cut import Cut
from sfumato.core.demand import Demand
from sfumato.core.derivation import DerivesPromises
from sfumato.core.errors import WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.limits import AttackLimit, AttackLimits
from sfumato.core.looks_back import LooksBack
from sfumato.core.microdata import Codes, Counts, Microdata, Role
from sfumato.core.plain_words import InPlainWords
from sfumato.core.policy_view import ColumnOptions, ColumnView, PolicyView
from sfumato.core.prior import KeptPrior
from sfumato.core.taxonomy import Label
from sfumato.core.verdict import Evidence, Verdict
from sfumato.core.watch import Watch
from sfumato.core.weights import WeightedClass

Cuts = Mapping[str, Cut]
"""For every key column, by name, how it is published."""
Truth = NDArray[np.bool_]
"""An array of yes and no, one entry per class or per row."""


class Promise(DerivesPromises, InPlainWords, LooksBack, ABC):
    """What every promise says of itself; each member has a default that claims nothing.

    Any member may be a class variable, a field or a property in a definition.
    """

    # Who it is.
    name: ClassVar[str]
    """Its key in a policy."""
    kind: ClassVar[str | None] = None
    """Which of several definitions under one key it is; the word that the key `kind` of a policy takes."""

    # How a search may use it.
    monotone: ClassVar[bool] = False
    """If two classes keep it, so does their union: a search may drop what breaks it for good."""
    hereditary: ClassVar[bool] = False
    """If a class breaks it, so does every part of it: rows to suppress only grow under specialization."""
    searches: ClassVar[tuple[str, ...] | None] = None
    """The searches that can keep it; `None`: all that can keep promises of its sort."""

    # Its columns.
    roles: ClassVar[tuple[Role, ...]] = (Role.SENSITIVE,)
    """The roles that the columns in `sensitive` may have."""
    column_role: ClassVar[Role | None] = None
    """A role of columns that means nothing in a policy without this promise."""
    column_options: ClassVar[type[ColumnOptions] | None] = None
    """The keys that columns of that role may have in a policy."""
    several_values: ClassVar[bool] = False
    """Whether it bounds how many people have a value, and so covers people who have several values, too."""
    known_alone: ClassVar[bool] = False
    """Whether it looks at those who have a value by themselves: where few do, groups have to be larger."""

    # What threatens it.
    threats: ClassVar[tuple[str, ...]] = ()
    """The names of the attacks that succeed where it is broken."""

    @property
    def evidence(self) -> Evidence:
        """What it can be judged on."""
        return Evidence.PUBLISHED

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns whose histograms it reads."""
        return ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Every column that it speaks of: each is coded."""
        return self.sensitive

    @property
    def ordered_columns(self) -> tuple[str, ...]:
        """The columns whose values it takes to be in order."""
        return ()

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The name and the digest of every file that it was made from; part of a policy's digest."""
        return ()

    # How large a class must be, whatever is in it.
    @property
    def least_people(self) -> int:
        """The smallest number of people it allows in a class; 0 where it says nothing of that."""
        return 0

    @property
    def least_values(self) -> int:
        """The smallest number of different values of its column in a class; 0 where it says nothing.

        Too few rows or values break the promise also where a file does not tell whose rows they are.
        """
        return 0

    @property
    def by_size(self) -> bool:
        """Whether it asks for `least_people` and for nothing else."""
        return False

    @property
    def by_values(self) -> bool:
        """Whether it asks for `least_values` and for nothing else."""
        return False

    def with_least_people(self, k: int) -> Self:
        """Returns the same promise asking for k people instead, if that is what it is about, else itself."""
        del k
        return self

    def with_least_values(self, l: int) -> Self:  # noqa: E741  # the name in every policy
        """Returns the same promise asking for l values instead, if that is what it is about, else itself."""
        del l
        return self

    @property
    def stricter(self) -> tuple[Self, ...]:
        """The same promise asking for more, by a fixed ladder, nearest first: what keeps one keeps this."""
        return ()

    # What several tables say together.
    @property
    def cone(self) -> bool:
        """Whether the histograms that keep it form a convex cone, the whole table held fixed (`relative`)."""
        return False

    @property
    def relative(self) -> bool:
        """Whether it compares classes with the whole published table, and so depends on which one that is."""
        return False

    def most_kept(self, classes: Classes, spare: int) -> Counts | None:
        """Returns how many rows of each class can be published at most, however finely it is split.

        Parts of a class that do not keep the promise are suppressed, up to `spare` rows of the whole table.
        `None`, the default: it cannot tell. Only asked where rows are people.
        """
        del classes, spare
        return None

    def keeps_weights(self, held: WeightedClass) -> bool | None:
        """Returns whether a class with rational counts keeps it, exactly; `None` where it cannot tell."""
        del held
        return None

    # What it has to be told.
    def about(self, columns: Mapping[str, ColumnView]) -> Self:
        """Returns the same promise, told what a policy says of the columns; `reads` may follow from that."""
        del columns
        return self

    def objections(self, policy: PolicyView) -> list[str]:
        """Returns sentences about what in a policy it cannot go with."""
        del policy
        return []

    @property
    def needs_original(self) -> bool:
        """Whether it has to be given the original table before it can be judged."""
        return False

    def given_original(self, table: Microdata) -> Self:
        """Returns the same promise with what it needs of the original table."""
        del table
        return self

    @property
    def kept_of_original(self) -> tuple[KeptPrior, ...]:
        """What it took from the original table, for the owner to keep, so that others can judge it later."""
        return ()

    def given_kept(self, kept: Sequence[KeptPrior]) -> Self:
        """Returns the same promise with what an owner kept of the original table, where it fits."""
        del kept
        return self

    def given(self, earlier: Sequence[Imprint], promises: Promises) -> Self:
        """Returns the same promise beside these releases, oldest first, and among these promises."""
        del earlier, promises
        return self

    # What others are told.
    def parameters(self) -> dict[str, object]:
        """Returns its parameters as a policy holds them; what stands at its default is left out."""
        return {}

    def limits(self) -> tuple[AttackLimit, ...]:
        """Returns what an adversary may achieve at most where it is kept, as data for attacks."""
        return ()

    def demands(self) -> tuple[Demand, ...]:
        """Returns what it asks, then what follows from that; by default its parameters as they are."""
        return (Demand.of_parameters(self.name, self.kind, self.parameters(), str(self)),)

    def judge_data(self) -> dict[str, object]:
        """Returns the promise as plain data for the second judge, which shares no code with it.

        The data are texts, whole numbers, truths, fractions, tuples and dictionaries of these, and `None`:
        `promise`, `kind`   the policy key, and which definition under it
        `sentence`          the promise in words: what verdicts are filed under
        `evidence`          what it can be judged on
        `columns`           the columns whose values it is about
        `parameters`        every parameter with its exact value; where it names a file, what that file holds
        `least_people`, `least_values`, `by_size`, `by_values`   what it asks of people and values alone
        `several_values`    whether it is about people who have several values, too
        `needs_original`, `earlier`   whether it cannot be judged yet; beside how many earlier releases it is
        A definition adds what else its judge needs.
        """
        return {
            "promise": self.name,
            "kind": self.kind,
            "sentence": str(self),
            "evidence": self.evidence.value,
            "columns": self.sensitive,
            "parameters": {},
            "least_people": self.least_people,
            "least_values": self.least_values,
            "by_size": self.by_size,
            "by_values": self.by_values,
            "several_values": self.several_values,
            "needs_original": self.needs_original,
            "earlier": len(self.earlier),
        }

    @abstractmethod
    def __str__(self) -> str:
        """Returns the promise in words, on one line, with its parameters and no cell values."""

    def __and__(self, other: Promises | Promise) -> Promises:
        return Promises((self,)) & other


class ClassPromise(Promise):
    """A property of every class."""

    @abstractmethod
    def holds_on(self, classes: Classes) -> Truth:
        """Returns one truth per class, exact at the border."""

    @abstractmethod
    def verdict(self, classes: Classes) -> Verdict:
        """Returns the worst class and its margin."""

    def margins(self, classes: Classes) -> NDArray[np.float64] | None:
        """Returns how far the whole table may move before the answer on a class may change, rounded down.

        A number per class: as long as the distribution of every sensitive column has moved by less, in
        total variation, `holds_on` says the same of it. `None`, the default: it cannot tell. Only asked of a
        promise that is `relative`.
        """
        del classes
        return None

    def keeps_weights(self, held: WeightedClass) -> bool | None:
        """Returns whether a class with rational counts keeps it.

        For a cone this is decided on a multiple of the class in whole numbers, where that fits 64 bits.
        """
        if not self.cone:
            return None
        if held.people < self.least_people:
            return False
        whole = held.in_whole_numbers(least=self.least_people)
        return None if whole is None else bool(self.holds_on(whole)[0])


class TablePromise(Promise):
    """A property of the recoded table as a whole."""

    judged_on_labels: ClassVar[bool] = False
    """Whether the published texts of the key columns decide it: `verdict_on_labels` then does."""

    @abstractmethod
    def watch(self, table: Microdata) -> Watch:
        """Returns the promise at work on one table."""

    @abstractmethod
    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict:
        """Returns a judgement of the table under these cuts, from scratch."""

    def verdict_on_labels(
        self, labels: Mapping[str, Sequence[Label]], codes: Mapping[str, Codes], counts: Counts
    ) -> Verdict:
        """Returns a judgement of a published table by its texts alone, where `judged_on_labels`.

        Column -> its texts, and for every distinct row which of them it shows, and how often it occurs.
        Raises `BadData` where a text has no place in its taxonomy.
        """
        del labels, codes, counts
        return Verdict(str(self), None, None, 0, evidence=self.evidence, reason="its texts do not decide it")

    def conflicts(self, table: Microdata) -> Conflicts | None:
        """Returns what an exact search can learn from; `None` where it is told no more than yes or no."""
        del table
        return None

    def judge_data(self) -> dict[str, object]:
        return {**super().judge_data(), "judged_on_labels": self.judged_on_labels}


@dataclass(frozen=True)
class Promises:
    """Several promises, kept together: each on every class, each on the table."""

    members: tuple[Promise, ...]

    def __post_init__(self) -> None:
        for member in self.members:
            if not isinstance(member, ClassPromise | TablePromise):
                raise WrongCall(
                    f"{type(member).__name__} is no promise: nothing would judge it.",
                    remedy="Derive it from sfumato.extend.ClassPromise or TablePromise.",
                )

    def __iter__(self) -> Iterator[Promise]:
        return iter(self.members)

    def __and__(self, other: Promises | Promise) -> Promises:
        more = other.members if isinstance(other, Promises) else (other,)
        return Promises(self.members + more)

    @cached_property
    def of_class(self) -> tuple[ClassPromise, ...]:
        return tuple(p for p in self.members if isinstance(p, ClassPromise))

    @cached_property
    def of_table(self) -> tuple[TablePromise, ...]:
        return tuple(p for p in self.members if isinstance(p, TablePromise))

    @cached_property
    def about_beliefs(self) -> tuple[ClassPromise, ...]:
        """The class promises that say how sure somebody may be: not by sizes, nor by which values occur."""
        return tuple(p for p in self.of_class if not (p.by_size or p.by_values))

    def given(self, earlier: Sequence[Imprint]) -> Promises:
        """Returns the promises beside the imprints of earlier releases, oldest first."""
        return Promises(tuple(p.given(earlier, self) for p in self.members))

    @property
    def looks_back(self) -> bool:
        """Whether any member is judged beside earlier releases."""
        return any(p.looks_back for p in self.members)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns whose histograms any member reads, each once."""
        return tuple(dict.fromkeys(name for p in self.members for name in p.sensitive))

    @property
    def monotone(self) -> bool:
        return all(p.monotone for p in self.members)

    @property
    def hereditary(self) -> bool:
        return all(p.hereditary for p in self.members)

    @property
    def limits(self) -> AttackLimits:
        """What an adversary may achieve at most, by any member."""
        return AttackLimits.of(limit for p in self.members for limit in p.limits())

    def holds_on(self, classes: Classes) -> Truth:
        """Returns one truth per class: it keeps the promises when it keeps each of them."""
        truth = np.ones(len(classes), dtype=bool)
        for promise in self.of_class:
            truth &= promise.holds_on(classes)
        return truth

    def verdicts(self, classes: Classes) -> tuple[Verdict, ...]:
        return tuple(p.verdict(classes) for p in self.of_class)
