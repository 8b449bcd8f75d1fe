"""What a promise is: everything that searches, judges, attacks and reports may ask of one, in one place.

There are two kinds. A *class promise* is a property of every equivalence class; it judges arrays and
never sees a row. A *table promise* (freeform, continuous) is a property of the whole recoded table; it
opens an `IncrementalChecker` that a search asks before each step. Both compose with `&` into `Promises`. A
definition derives from one of them and says what differs from the defaults here. Nothing outside asks for its
name or class in order to treat it differently.
"""

from __future__ import annotations

import csv
import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadPolicy, UsageError
from sfumato.system.json_object import InPlainWords
from sfumato.system.verdict import AttackLimit, AttackLimits, Evidence, PromiseStrength, Verdict
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Counts, JointColumn, Microdata, Role
from sfumato.table.release_summary import Imprint, ProvedCandidates
from sfumato.table.taxonomy import ROOT, Label, Taxonomy, TaxonomyRule

# What a search asks before each step: a promise about the whole table, at work on one table.


class Answer(Enum):
    """What a table promise says to a proposed recoding."""

    YES = "keeps the promise"
    LATER = "breaks it now; may be proposed again after another step"
    NEVER = "breaks it now and after any further specialization"


class IncrementalChecker(ABC):
    """A table promise at work on one table; may remember the recoding it last accepted."""

    in_full: str = ""
    """The last objection with its values, for somebody who asks to see them."""

    @abstractmethod
    def ask(self, cuts: Mapping[str, Cut], step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        """Returns a judgement of a recoding, and why.

        `step` is (column, node) if the recoding is the last accepted one with that node specialized, so that
        an incremental check need not start over.
        """

    @abstractmethod
    def accept(self, cuts: Mapping[str, Cut]) -> None:
        """The search moved here."""


@runtime_checkable
class Deliberate(Protocol):
    """A watch that answers by a bound while a search runs, because the truth takes longer to find."""

    def resolve(self, cuts: Mapping[str, Cut]) -> bool:
        """Whether the promise is kept for certain under these cuts."""
        ...

    def deliberate(self, most: int | None = None) -> None:
        """Answer exactly from now on; after `most` such answers, LATER where a bound does not say NEVER."""
        ...


# Conflicts: what cannot all stay in a table that keeps its promises.
#
# A conflict holds one node per key column (the root where a column does not matter). Wherever all of them
# are published, or lie above what is published, a promise is broken; so a recoding that keeps it must lose
# at least one. Both kinds of promises have them. A freeform breach is one: supports of values at or above a
# cut do not depend on the cut. A class that breaks a monotone class promise is one: if something finer is
# published, the class is a union of finer classes, and they cannot all keep what their union breaks.

Conflict = NDArray[np.int64]
"""A node per key column."""


class Conflicts(Protocol):
    """Where the conflicts of a promise come from."""

    def of(self, cuts: Mapping[str, Cut]) -> list[Conflict] | None:
        """Conflicts that these cuts hold; `[]` if they hold none, `None` if they do but cannot be told."""
        ...


def most_general(
    values: Conflict, trees: list[Taxonomy], still: Callable[[Conflict], bool], *, turns: int | None = None
) -> list[Conflict]:
    """Conflicts above a conflict that cannot be raised any further, by the column that is raised first."""
    conflicts: dict[tuple[int, ...], Conflict] = {}
    columns = np.arange(len(values))
    for turn in range(len(values) if turns is None else min(turns, len(values))):
        current, moved = values.copy(), True
        while moved:
            moved = False
            for j in np.roll(columns, -turn).tolist():
                while current[j] != ROOT:
                    raised = current.copy()
                    raised[j] = trees[j].parent[current[j]]
                    if not still(raised):
                        break
                    current, moved = raised, True
        conflicts.setdefault(tuple(current.tolist()), current)
    return list(conflicts.values())


def below(tree: Taxonomy, nodes: NDArray[np.integer], node: int) -> NDArray[np.bool_]:
    """Which of the shown nodes are this one or below it."""
    return np.asarray((nodes >= node) & (nodes < tree.end[node]))


# A policy as promises see it: the columns they are about, and how the table is to be protected.
#
# The policy itself is defined further up. What stands here is all that a promise may ask of it.


class ColumnOptions(Protocol):
    """What a policy says of a column beyond role and taxonomy, for the promise that its role belongs to."""

    schema: ClassVar[Mapping[str, Any]]
    """The keys as fragments of JSON Schema, whose values are of any kind."""

    @classmethod
    def read(cls, words: Mapping[str, Any]) -> Self:
        """From the keys of one column, as YAML gives them; raises `BadPolicy` that names the key."""
        ...

    def words(self) -> dict[str, object]:
        """The keys as a policy writes them."""
        ...


class ColumnView(Protocol):
    """What a policy says of one column."""

    @property
    def role(self) -> Role: ...

    @property
    def taxonomy(self) -> TaxonomyRule | None: ...

    @property
    def options(self) -> ColumnOptions | None: ...


class ProtectView(Protocol):
    """How a policy wants its table to be protected."""

    @property
    def search(self) -> str: ...

    @property
    def suppress(self) -> Fraction:
        """The largest share of the rows that may be left out."""
        ...


class PolicyView(Protocol):
    """What a policy says, apart from its promises."""

    @property
    def columns(self) -> Mapping[str, ColumnView]: ...

    @property
    def protect(self) -> ProtectView: ...

    @property
    def person(self) -> str | None:
        """The column that tells people apart where somebody has several rows."""
        ...


class PolicyWithPromises(PolicyView, Protocol):
    """What a policy says."""

    @property
    def promises(self) -> Promises: ...


# A prior: what outsiders believe about labels before anything is published.

HEADER = ["label", "share"]
LONGEST = 4096
"""Bits of a number that is written in decimal digits; longer ones in hexadecimal."""


@dataclass(frozen=True)
class Prior:
    """The share of every label, exactly; labels that are not listed have none.

    `rule` says how it was made from a table, if it was.

    >>> Prior.of({"Flu": Fraction(5, 8), "Cold": Fraction(1, 4)}).total
    Fraction(7, 8)
    """

    shares: tuple[tuple[str, Fraction], ...]
    file: str | None = field(default=None, compare=False)
    rule: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if any(share < 0 for _, share in self.shares) or self.total > 1:
            raise BadPolicy(
                "a prior gives every label a share of at least 0, at most 1 in all", where="prior"
            )

    @classmethod
    def of(cls, shares: Mapping[str, Fraction], *, file: str | None = None, rule: str = "") -> Prior:
        listed = sorted((label, Fraction(share)) for label, share in shares.items() if share)
        return cls(tuple(listed), file, rule)

    def to_csv(self) -> str:
        """The prior as a file, to be named in policies that judge what was published."""
        out = io.StringIO()
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(HEADER)
        lines.writerows((label, share_text(share)) for label, share in self.shares)
        return out.getvalue()

    @cached_property
    def total(self) -> Fraction:
        return sum((share for _, share in self.shares), Fraction(0))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the shares."""
        return hashlib.sha256(self.to_csv().encode()).hexdigest()

    def on(self, labels: Sequence[str]) -> list[Fraction]:
        """The share of each of these labels."""
        shares = dict(self.shares)
        return [shares.get(label, Fraction(0)) for label in labels]

    def __repr__(self) -> str:
        return f"Prior({len(self.shares)} labels)"


@dataclass(frozen=True)
class KeptPrior:
    """A prior, and what it is the prior of: a column, by which rule, under which knowledge (its digest)."""

    of: str
    rule: str
    knowledge: str
    prior: Prior

    @property
    def names(self) -> dict[str, str]:
        """All but the shares, with the digest of these."""
        return {"of": self.of, "rule": self.rule, "knowledge": self.knowledge, "digest": self.prior.digest}


def share_text(share: Fraction) -> str:
    """A share as files hold it.

    >>> share_text(Fraction(5, 8)), share_of("5/8") == share_of("0x5/0x8") == Fraction(5, 8)
    ('5/8', True)
    """
    if share.denominator.bit_length() <= LONGEST:
        return str(share)
    return f"{share.numerator:#x}/{share.denominator:#x}"


def share_of(text: str) -> Fraction:
    """The share that a file holds."""
    if text.startswith("0x"):
        above, below = text.split("/")
        return Fraction(int(above, 16), int(below, 16))
    return Fraction(text)


Cuts = Mapping[str, Cut]
"""For every key column, by name, how it is published."""
Truth = NDArray[np.bool_]
"""An array of yes and no, one entry per class or per row."""

P = TypeVar("P", bound="Promise")


class Promise(InPlainWords, ABC):
    """What every promise says of itself; each member has a default that claims nothing.

    Any member may be a class variable, a field or a property in a definition. What only a few promises have
    to say stands in classes of its own, from which these derive besides: `RelativePromise`,
    `AdjustablePromise`, `ColumnRolePromise`, `TermPromise` and `CrossReleasePromise`.
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
    def protects(self) -> bool:
        """Whether it bounds anything at all with these parameters: every share is at most 1."""
        return True

    @property
    def by_size(self) -> bool:
        """Whether it asks for `least_people` and for nothing else."""
        return False

    @property
    def by_values(self) -> bool:
        """Whether it asks for `least_values` and for nothing else."""
        return False

    # What it has to be told.
    def about(self, columns: Mapping[str, ColumnView]) -> Self:
        """Returns the same promise, told what a policy says of the columns; `reads` may follow from that."""
        del columns
        return self

    def objections(self, policy: PolicyView) -> list[str]:
        """Returns sentences about what in a policy it cannot go with."""
        del policy
        return []

    # What others are told.
    def parameters(self) -> dict[str, object]:
        """Returns its parameters as a policy holds them; what stands at its default is left out."""
        return {}

    def limits(self) -> tuple[AttackLimit, ...]:
        """Returns what an adversary may achieve at most where it is kept, as data for attacks."""
        return ()

    def strengths(self) -> tuple[PromiseStrength, ...]:
        """Returns what it asks, then what follows from that; by default its parameters as they are."""
        return (PromiseStrength.of_parameters(self.name, self.kind, self.parameters(), str(self)),)

    def judge_data(self) -> dict[str, object]:
        """Returns the promise as plain data for the second judge, which shares no code with it.

        The data are texts, whole numbers, truths, fractions, tuples and dictionaries of these, and `None`:
        `promise`, `kind`   the policy key, and which definition under it
        `sentence`          the promise in words: what verdicts are filed under
        `evidence`          what it can be judged on
        `columns`           the columns whose values it is about
        `parameters`        every parameter with its exact value; where it names a file, what that file holds
        `least_people`, `least_values`, `by_size`, `by_values`   what it asks of people and values alone
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
            "needs_original": False,
            "earlier": 0,
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

    @property
    def cone(self) -> bool:
        """Whether the histograms that keep it form a convex cone, the whole table held fixed."""
        return False

    def most_kept(self, classes: Classes, spare: int) -> Counts | None:
        """Returns how many rows of each class can be published at most, however finely it is split.

        Parts of a class that do not keep the promise are suppressed, up to `spare` rows of the whole table.
        `None`, the default: it cannot tell. Only asked where rows are people.
        """
        del classes, spare
        return None


class RelativePromise(ClassPromise):
    """A class promise that compares classes with the whole published table."""

    @property
    def relative(self) -> bool:
        """Whether it does so with these parameters, and so depends on which rows are published."""
        return True

    def margins(self, classes: Classes) -> NDArray[np.float64] | None:
        """Returns how far the whole table may move before the answer on a class may change, rounded down.

        A number per class: as long as the distribution of every sensitive column has moved by less, in
        total variation, `holds_on` says the same of it. `None`, the default: it cannot tell. Only asked where
        it is `relative`.
        """
        del classes
        return None


class AdjustablePromise(Promise):
    """A promise that can be made stricter or weaker by one of its numbers."""

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


class ColumnRolePromise(Promise):
    """A promise that a role of columns belongs to: without it, the role means nothing in a policy."""

    column_role: ClassVar[Role]
    """The role."""
    column_options: ClassVar[type[ColumnOptions] | None] = None
    """The keys that columns of that role may have in a policy."""


class TermPromise(ClassPromise, ColumnRolePromise):
    """A class promise about term sets: what it takes of the original table, and what follows from others."""

    @property
    def derived(self) -> bool:
        """Whether it was made from other promises, and so stands in no policy."""
        return False

    def derived_with(self, promises: Sequence[Promise]) -> tuple[TermPromise, ...]:
        """Returns what has to be kept besides, because these are promised; itself is among them."""
        del promises
        return ()

    @property
    def joint_columns(self) -> tuple[JointColumn, ...]:
        """The columns that it looks at together, each such group under one name in `sensitive`."""
        return ()

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

    def judge_data(self) -> dict[str, object]:
        return {**super().judge_data(), "needs_original": self.needs_original}


class TablePromise(Promise):
    """A property of the recoded table as a whole."""

    judged_on_labels: ClassVar[bool] = False
    """Whether the published texts of the key columns decide it: `verdict_on_labels` then does."""

    @abstractmethod
    def watch(self, table: Microdata) -> IncrementalChecker:
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


class CrossReleasePromise(TablePromise):
    """A table promise that is judged beside earlier releases of the same table."""

    @property
    @abstractmethod
    def earlier(self) -> tuple[Imprint, ...]:
        """The earlier releases that it was given, oldest first."""

    @abstractmethod
    def given(self, earlier: Sequence[Imprint], promises: Promises) -> Self:
        """Returns the same promise beside these releases, oldest first, and among these promises."""

    @property
    def batch_column(self) -> str | None:
        """The column that tells the rows of earlier releases from new ones; it is not published."""
        return None

    @property
    def tells_people(self) -> bool:
        """Whether that column says who a row is about, not which batch it came with."""
        return False

    def candidates(self, verdict: Verdict) -> ProvedCandidates | None:
        """Returns what its verdict proves of everybody's candidates, for later releases; `None`: nothing."""
        del verdict
        return None

    @property
    def asks_others(self) -> bool:
        """Whether it asks the policy's class promises beside earlier releases, too."""
        return False

    def judge_data(self) -> dict[str, object]:
        return {**super().judge_data(), "earlier": len(self.earlier)}


@dataclass(frozen=True)
class Promises:
    """Several promises, kept together: each on every class, each on the table."""

    members: tuple[Promise, ...]

    def __post_init__(self) -> None:
        for member in self.members:
            if not isinstance(member, ClassPromise | TablePromise):
                raise UsageError(
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
        return Promises(
            tuple(p.given(earlier, self) if isinstance(p, CrossReleasePromise) else p for p in self.members)
        )

    @cached_property
    def cross_release(self) -> tuple[CrossReleasePromise, ...]:
        """The members that are judged beside earlier releases."""
        return tuple(p for p in self.members if isinstance(p, CrossReleasePromise))

    @property
    def looks_back(self) -> bool:
        """Whether any member is judged beside earlier releases."""
        return bool(self.cross_release)

    @cached_property
    def of_terms(self) -> tuple[TermPromise, ...]:
        """The members about term sets, derived ones among them."""
        return tuple(p for p in self.members if isinstance(p, TermPromise))

    @cached_property
    def stated(self) -> tuple[Promise, ...]:
        """The members that stand in a policy: all but derived ones."""
        return tuple(p for p in self.members if not is_derived(p))

    @cached_property
    def relative(self) -> tuple[RelativePromise, ...]:
        """The members that compare classes with the whole published table."""
        return tuple(p for p in self.members if isinstance(p, RelativePromise) and p.relative)

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


def is_cone(promise: Promise) -> bool:
    """Returns whether the histograms that keep a promise form a convex cone, the whole table held fixed."""
    return isinstance(promise, ClassPromise) and promise.cone


def is_relative(promise: Promise) -> bool:
    """Returns whether a promise compares classes with the whole published table."""
    return isinstance(promise, RelativePromise) and promise.relative


def with_least_people(promise: P, k: int) -> P:
    """Returns a promise asking for k people instead, if that is what it is about, else itself."""
    return promise.with_least_people(k) if isinstance(promise, AdjustablePromise) else promise


def with_least_values(promise: P, l: int) -> P:  # noqa: E741  # the name in every policy
    """Returns a promise asking for l values instead, if that is what it is about, else itself."""
    return promise.with_least_values(l) if isinstance(promise, AdjustablePromise) else promise


# Derived promises: what has to be kept because several promises are made, and no policy writes.


def is_derived(promise: Promise) -> bool:
    """Returns whether a promise was made from others, and so stands in no policy."""
    return isinstance(promise, TermPromise) and promise.derived


def with_derived(promises: Promises) -> Promises:
    """Returns the promises with what follows from several of them; as they are, where that is there."""
    if len(promises.stated) < len(promises.members):
        return promises
    derived = (new for promise in promises.of_terms for new in promise.derived_with(promises.members))
    more = dict.fromkeys(derived)
    return Promises((*promises.members, *more)) if more else promises


def joint_columns_of(promises: Promises) -> tuple[JointColumn, ...]:
    """Returns the columns that any promise looks at together, each group once."""
    return tuple(dict.fromkeys(joint for p in promises.of_terms for joint in p.joint_columns))
