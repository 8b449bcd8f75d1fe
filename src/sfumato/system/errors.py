"""Every way Sfumato says no.

    SfumatoError
    ├── WrongCall          the call itself is off                            exit 2
    ├── BadInput           the data, a taxonomy or the policy is unusable    exit 3
    │   ├── BadData
    │   ├── BadTaxonomy
    │   │   └── NotACut
    │   ├── BadPolicy
    │   ├── BadLedger      the ledger is damaged, rolled back, or of another version
    │   ├── NotEnoughMemory the table does not fit in the memory that is allowed
    │   └── OutOfReach     an object store cannot be reached, or does not let us
    ├── BrokenPromise      a promise does not hold                           exit 1
    │   └── Infeasible     ... and no allowed recoding can make it hold
    ├── LedgerConflict     someone else published first; try again           exit 4
    │   └── Unfinished     ... or the last step has to be taken again by `sfumato ledger recover`
    ├── RefusedByHistory   unsafe next to earlier releases                   exit 5
    │   ├── HeldBack       ... for now: too few people are new, they wait
    │   └── InfeasibleBesideHistory   ... and infeasible: no recoding is safe beside them
    └── Interrupted        stopped from outside; nothing was published       exit 130

A message says what is wrong and where; `remedy` says what to do next. Neither ever holds a cell
value: columns, line numbers and counts only. Values a person may need to see travel in `values`,
which nothing prints unless the caller asks (`--show-values`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

LONGEST_MESSAGE, LONGEST_PLACE = 4000, 400
"""So many characters of a message and its remedy, or of a place, are kept: input may be quoted in them."""


def bounded(text: str, most: int) -> str:
    """The text, or its beginning and its end where it is longer than `most`.

    >>> bounded("abcdefghij", 9), bounded("abcdefghij", 10)
    ('abcd…ghij', 'abcdefghij')
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


class SfumatoError(Exception):
    """Base of every error that Sfumato raises on purpose."""

    exit_code: ClassVar[int] = 70

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        where: str = "",
        values: Sequence[str] = (),
    ) -> None:
        self.message = bounded(message, LONGEST_MESSAGE)
        self.remedy = bounded(remedy, LONGEST_MESSAGE)
        self.where = bounded(where, LONGEST_PLACE)
        self.values = tuple(values)
        super().__init__(self.message)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        stop = "" if not self.remedy or self.message.endswith((".", "!", "?", ":")) else "."
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{place}{self.message}{stop}{remedy}"


class WrongCall(SfumatoError):
    """The call is off: an unknown option, a missing argument, a combination that makes no sense."""

    exit_code = 2


class BadInput(SfumatoError):
    """What was handed in cannot be used."""

    exit_code = 3


class BadData(BadInput):
    """The table cannot be read loss-free, or does not match the policy."""


class BadTaxonomy(BadInput):
    """A taxonomy is no tree, or misses values that the data holds."""


class NotACut(BadTaxonomy):
    """A set of nodes that does not cover every leaf exactly once."""


class BadPolicy(BadInput):
    """The policy file is wrong; `where` names the key and the line.

    `problems` lists everything that is wrong with it, each as `line`, `key`, `message` and `remedy`.
    """

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        where: str = "",
        values: Sequence[str] = (),
        problems: Sequence[Mapping[str, str | int | None]] = (),
    ) -> None:
        super().__init__(message, remedy=remedy, where=where, values=values)
        self.problems = tuple(problems)


class BadLedger(BadInput):
    """The ledger cannot be trusted: damaged, edited, rolled back, without its key, or of another version."""


class NotEnoughMemory(BadInput):
    """What was asked for takes more memory than the call allows; nothing was published."""


class OutOfReach(BadInput):
    """An object store cannot be reached, does not let us do what is needed, or lacks what it takes."""


class BrokenPromise(SfumatoError):
    """A promise does not hold on what would be published."""

    exit_code = 1


class Infeasible(BrokenPromise):
    """No allowed recoding keeps the promises; the message names the nearest feasible change."""


class LedgerConflict(SfumatoError):
    """The ledger moved while this release was prepared."""

    exit_code = 4


class Unfinished(LedgerConflict):
    """Whether the release counts is settled in the ledger, but its folder is not in place yet: recover."""


class RefusedByHistory(SfumatoError):
    """Safe alone, unsafe next to what was published before."""

    exit_code = 5


class HeldBack(RefusedByHistory):
    """Nothing was published: too few people are new, and the policy lets them wait for more."""


class InfeasibleBesideHistory(RefusedByHistory, Infeasible):
    """No recoding of the table is safe beside earlier releases."""


class Interrupted(SfumatoError):
    """Stopped from outside; nothing was published."""

    exit_code = 130
