"""What a promise is: the seam between definitions, searches and judges.

There are two kinds. A *class promise* is a property of every equivalence class; it judges arrays and
never sees a row. A *table promise* (freeform, continuous) is a property of the whole recoded table; it
opens a `Watch` that a search asks before each step. Both compose with `&` into `Promises`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.microdata import Codes, Counts, Microdata
from sfumato.core.taxonomy import Label
from sfumato.core.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from sfumato.core.imprint import Imprint

Cuts = Mapping[str, Cut]
Truth = NDArray[np.bool_]


class Promise(Protocol):
    """What every promise says of itself.

    `monotone`: if two classes keep it, so does their union; a search may then drop a specialization that
    breaks it for good. `hereditary`: if a class breaks it, so does every part of that class; the number of
    rows to suppress then only grows under specialization, and a lattice may be pruned by it.
    `sensitive` names the columns whose histograms it reads.

    Two more may be there: `reads`, every column that it speaks of (else those in `sensitive`), and `files`,
    the name and digest of every file that it was made from (else none); see `reads_of` and `files_of`.
    """

    name: ClassVar[str]
    monotone: ClassVar[bool]
    hereditary: ClassVar[bool]

    @property
    def evidence(self) -> Evidence: ...

    @property
    def sensitive(self) -> tuple[str, ...]: ...

    def __str__(self) -> str: ...


def reads_of(promise: Promise) -> tuple[str, ...]:
    """The columns that a promise speaks of."""
    reads: tuple[str, ...] = getattr(promise, "reads", promise.sensitive)
    return reads


def files_of(promise: Promise) -> tuple[tuple[str, str], ...]:
    """The files that a promise was made from, each with its digest."""
    files: tuple[tuple[str, str], ...] = getattr(promise, "files", ())
    return files


@runtime_checkable
class ClassPromise(Promise, Protocol):
    """A property of every class."""

    def holds_on(self, classes: Classes) -> Truth:
        """One truth per class, exact at the border."""
        ...

    def verdict(self, classes: Classes) -> Verdict:
        """The worst class and its margin."""
        ...


class Answer(Enum):
    """What a table promise says to a proposed recoding."""

    YES = "keeps the promise"
    LATER = "breaks it now; may be proposed again after another step"
    NEVER = "breaks it now and after any further specialization"


class Watch(Protocol):
    """A table promise at work on one table; may remember the recoding it last accepted."""

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        """Judge a recoding, and say why. `step` is (column, node) if the recoding is the last accepted one
        with that node specialized, so that an incremental check need not start over."""
        ...

    def accept(self, cuts: Cuts) -> None:
        """The search moved here."""
        ...


@runtime_checkable
class Deliberate(Protocol):
    """A watch that answers by a bound while a search runs, because the truth takes longer to find."""

    def settle(self, cuts: Cuts) -> bool:
        """Whether the promise is kept for certain under these cuts."""
        ...

    def deliberate(self, most: int | None = None) -> None:
        """Answer exactly from now on; after `most` such answers, LATER where a bound does not say NEVER."""
        ...


@runtime_checkable
class TablePromise(Promise, Protocol):
    """A property of the recoded table as a whole."""

    def watch(self, table: Microdata) -> Watch: ...

    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict: ...


@runtime_checkable
class LabelPromise(Protocol):
    """A property of the table as a whole that its published texts decide."""

    def verdict_on_labels(
        self, labels: Mapping[str, Sequence[Label]], codes: Mapping[str, Codes], counts: Counts
    ) -> Verdict:
        """Column -> its texts, and for every distinct row which of them it shows, and how often it occurs.

        Raises `BadData` where a text has no place in its taxonomy."""
        ...


@runtime_checkable
class BesideEarlier(Protocol):
    """A promise that is judged beside earlier releases."""

    def given(self, earlier: Sequence[Imprint], promises: Promises) -> object:
        """The promise with this evidence."""
        ...


@dataclass(frozen=True)
class Promises:
    """Several promises, kept together: each on every class, each on the table."""

    members: tuple[ClassPromise | TablePromise, ...]

    def __iter__(self) -> Iterator[ClassPromise | TablePromise]:
        return iter(self.members)

    def __and__(self, other: Promises | ClassPromise | TablePromise) -> Promises:
        more = other.members if isinstance(other, Promises) else (other,)
        return Promises(self.members + more)

    @cached_property
    def of_class(self) -> tuple[ClassPromise, ...]:
        return tuple(p for p in self.members if isinstance(p, ClassPromise))

    @cached_property
    def of_table(self) -> tuple[TablePromise, ...]:
        return tuple(p for p in self.members if isinstance(p, TablePromise))

    def given(self, earlier: Sequence[Imprint]) -> Promises:
        """The promises beside the imprints of earlier releases, oldest first.

        A promise that is judged on them offers `given(earlier, promises)`; the others stay as they are.
        """
        bound = (
            cast(TablePromise, p.given(earlier, self)) if isinstance(p, BesideEarlier) else p
            for p in self.members
        )
        return Promises(tuple(bound))

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

    def holds_on(self, classes: Classes) -> Truth:
        """A class keeps the promises when it keeps each of them."""
        truth = np.ones(len(classes), dtype=bool)
        for promise in self.of_class:
            truth &= promise.holds_on(classes)
        return truth

    def verdicts(self, classes: Classes) -> tuple[Verdict, ...]:
        return tuple(p.verdict(classes) for p in self.of_class)


class Composable:
    """Gives a promise its `&`."""

    def __and__(self, other: Promises | ClassPromise | TablePromise) -> Promises:
        return Promises((self,)) & other  # type: ignore[arg-type]  # a mixin: self is the promise it is mixed into
