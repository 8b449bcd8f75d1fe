"""Problems of a policy: what is wrong, where, and what to do; and one error that lists all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import accumulate

from sfumato.core.errors import BadPolicy

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
    said = "".join(f"\n  {sentence}" for sentence in listed)
    values = [value for problem in ordered for value in problem.values]
    raise BadPolicy(f"{len(ordered)} problems{said}", where=name, problems=documents, values=values)


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
