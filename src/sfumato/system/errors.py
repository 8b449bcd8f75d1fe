"""Every way Sfumato says no.

    SfumatoError
    ├── UsageError         the call itself is off                            exit 2
    ├── BadInput           the data, a taxonomy or the policy is unusable    exit 3
    │   ├── BadData
    │   ├── BadTaxonomy
    │   │   └── NotACut
    │   ├── BadPolicy
    │   ├── BadLedger      the ledger is damaged, rolled back, or of another version
    │   ├── NotEnoughMemory the table does not fit in the memory that is allowed
    │   └── StoreUnavailable   an object store cannot be reached, or does not let us
    ├── BrokenPromise      a promise does not hold                           exit 1
    │   └── Infeasible     ... and no allowed recoding can make it hold
    ├── LedgerConflict     someone else published first; try again           exit 4
    │   └── Unfinished     ... or the last step has to be taken again by `sfumato ledger recover`
    ├── RefusedByHistory   unsafe next to earlier releases                   exit 5
    │   ├── DeferredRelease    ... for now: too few people are new, they wait
    │   └── InfeasibleBesideHistory   ... and infeasible: no recoding is safe beside them
    └── Interrupted        stopped from outside; nothing was published       exit 130

A message says what is wrong and where; `remedy` says what to do next. Neither ever holds a cell
value: columns, line numbers and counts only. Values a person may need to see travel in `values`,
which nothing prints unless the caller asks (`--show-values`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

LONGEST_MESSAGE, LONGEST_PLACE = 4000, 400
"""So many characters of a message and its remedy, or of a place, are kept: input may be quoted in them."""


def bounded(text: str, most: int) -> str:
    """The text, or its beginning and its end where it is longer than `most`.

    >>> bounded("abcdefghij", 9), bounded("abcdefghij", 10)
    ('abcd…ghij', 'abcdefghij')
    """
    side = (most - 1) // 2
    return text if len(text) <= most else f"{text[:side]}…{text[-side:]}"


class SfumatoWarning(UserWarning):
    """What is allowed and probably not meant: verbs pass it to `warn`, or else to Python's `warnings`.

    >>> import warnings
    >>> warnings.simplefilter("error", SfumatoWarning)  # in a pipeline: stop, instead of going on
    """


class SfumatoError(Exception):
    """Base of every error that Sfumato raises on purpose."""

    exit_code: ClassVar[int] = 70

    def __init__(
        self, message: str, *, remedy: str = "", where: str = "", values: Sequence[str] = ()
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


class UsageError(SfumatoError):
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


class StoreUnavailable(BadInput):
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


class DeferredRelease(RefusedByHistory):
    """Nothing was published: too few people are new, and the policy lets them wait for more."""


class InfeasibleBesideHistory(RefusedByHistory, Infeasible):
    """No recoding of the table is safe beside earlier releases."""


class Interrupted(SfumatoError):
    """Stopped from outside; nothing was published."""

    exit_code = 130


# Problems of a policy: what is wrong, where, and what to do; and one error that lists all of them.

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the policy."""

Lines = Mapping[Place, int]
_LONGEST_NAME = 60
MOST_LISTED, MOST_TOLD = 20, 1000
"""So many problems are listed in a message, and told to programs: the first ones of the file."""
LONGEST_LIST = 1500
"""So many characters of them a message has room for."""


@dataclass(frozen=True)
class Origin:
    """Where a policy was written: the name of the file, and the line of every place in it."""

    name: str = "policy"
    lines: Lines = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where, what, and what to do about it."""

    place: Place
    message: str
    remedy: str = ""
    values: tuple[str, ...] = ()

    def under(self, *above: str | int) -> Problem:
        """The same problem, its place prefixed by the keys above."""
        return replace(self, place=(*above, *self.place))

    def document(self, lines: Lines) -> dict[str, str | int | None]:
        """The problem as an entry of a JSON list; the line is `None` where no file was read."""
        line = _line(self.place, lines) or None
        return {"line": line, "key": path_of(self.place), "message": self.message, "remedy": self.remedy}

    def located(self, lines: Lines) -> str:
        """The problem as a sentence that begins with its line and key path."""
        where = ", ".join(part for part in (line_of(self.place, lines), path_of(self.place)) if part)
        return str(BadPolicy(self.message, remedy=self.remedy, where=where))


def refuse(problems: Sequence[Problem], origin: Origin) -> None:
    """Raise one `BadPolicy` that lists every problem, in the order of the file."""
    if not problems:
        return
    name, lines = origin.name, origin.lines
    ordered = sorted(dict.fromkeys(problems), key=lambda p: _line(p.place, lines))
    documents = [problem.document(lines) for problem in ordered[:MOST_TOLD]]
    if len(ordered) == 1:
        (only,) = ordered
        spots = (name, line_of(only.place, lines), path_of(only.place))
        where = ", ".join(s for s in spots if s)
        raise BadPolicy(only.message, remedy=only.remedy, where=where, problems=documents, values=only.values)
    listed = _first_sentences(ordered, lines)
    if len(ordered) > len(listed):
        listed.append(f"and {len(ordered) - len(listed)} more")
    lines_below = "".join(f"\n  {sentence}" for sentence in listed)
    values = [value for problem in ordered for value in problem.values]
    raise BadPolicy(f"{len(ordered)} problems{lines_below}", where=name, problems=documents, values=values)


def _first_sentences(problems: Sequence[Problem], lines: Lines) -> list[str]:
    """The first problems as sentences: at least one, and as many as a message has room for."""
    sentences = [problem.located(lines) for problem in problems[:MOST_LISTED]]
    ends = accumulate(map(len, sentences))
    return [sentence for sentence, end in zip(sentences, ends, strict=True) if end <= LONGEST_LIST] or [
        sentences[0]
    ]


def did_you_mean(word: object, choices: Sequence[str], *, otherwise: str = "") -> str:
    """The nearest choice, as a question."""
    near = get_close_matches(str(word)[:_LONGEST_NAME], list(choices), n=1)
    return f"Did you mean {near[0]}?" if near else otherwise


def path_of(place: Place) -> str:
    """`columns.age.taxonomy`, `promises[1].l-diversity.l`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{short(step)}" if text else short(step)
    return text


def short(name: str) -> str:
    """A name fit for a message: printable and not endless."""
    clean = "".join(c if c.isprintable() else "?" for c in name[:_LONGEST_NAME])
    return clean + ("…" if len(name) > _LONGEST_NAME else "")


def line_of(place: Place, lines: Lines) -> str:
    """`line 7`, or nothing where no file was read."""
    line = _line(place, lines)
    return f"line {line}" if line else ""


def _line(place: Place, lines: Lines) -> int:
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 0)


if not TYPE_CHECKING:  # a type checker would take it that every name is there

    def __getattr__(name: str) -> object:
        """Names the new word to whoever asks for an error by its old name."""
        if name.startswith("__"):  # the import system asks for `__path__` whenever it takes names from here
            raise AttributeError(name)
        from sfumato.system.renamed import missing_name  # noqa: PLC0415  # asked for only where something is off

        raise AttributeError(missing_name(__name__, name))
