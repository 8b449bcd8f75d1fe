"""The result of a trace: explanations, suspects, and the chance that a charge is false."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.tracing.coalition import Coalitions, Explanations, SmallestCoalition
from sfumato.tracing.evidence import LeakEvidence
from sfumato.tracing.false_charge import FalseCharge, false_charge_of
from sfumato.tracing.guesses import GuessChance, guess_chance
from sfumato.tracing.leak import Leak
from sfumato.tracing.readings import OtherReading, described
from sfumato.tracing.suspects import Suspect, suspects


@dataclass(frozen=True, eq=False)
class TraceResult:
    """Who could have made a leak: names of recipients and columns, levels and counts; no cell value.

    `explanations` are all minimal coalitions of at most `c_max` recipients; `certain` are those in every one
    of them. `matches` counts the rows that exist in the original, if that was given. `cleared` are those who
    would be certain if every column were what it is called, and are not: the leak can be read otherwise.
    """

    explanations: Explanations
    c_max: int
    evidence: LeakEvidence = field(repr=False)
    coalitions: Coalitions = field(repr=False)
    imprints: Mapping[int, Imprint | None] = field(repr=False)
    original: Microdata | None = field(repr=False, default=None)
    cleared: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether a row of the leak is about a record that was issued, in detail that somebody received."""
        return bool(self.evidence.ours.any())

    @cached_property
    def _unless_guessed(self) -> Mapping[str, SmallestCoalition]:
        """Who is in every explanation, each with the smallest coalition that explains it without them."""
        return self.coalitions.certain(self.explanations, self.c_max)

    @cached_property
    def _guesses(self) -> Mapping[str, GuessChance]:
        """Per person in every explanation: the chance that others guessed."""
        versions = self.evidence.knowledge.issued.versions
        held = self.evidence.held
        known = [(versions[v], i) for v, i in self.imprints.items() if i is not None and v in held]
        whole = {version.event for version, _ in known if version.whole}
        known = [pair for pair in known if pair[0].whole or pair[0].event not in whole]
        found = {
            name: guess_chance(self.evidence, name, self.c_max, known, self.original)
            for name in self._unless_guessed
        }
        return {name: chance for name, chance in found.items() if chance is not None}

    @property
    def perhaps_guessed(self) -> tuple[str, ...]:
        """Those in every explanation who are not charged: the leak looks as if others had guessed it.

        So do values of a column published unchanged that stand under the name of a key column.
        """
        unplaced = self.evidence.unplaced
        doubted = {
            name: chance.likely or (unplaced and chance.possible) for name, chance in self._guesses.items()
        }
        return tuple(name for name, doubt in doubted.items() if doubt)

    @cached_property
    def _certain(self) -> Mapping[str, SmallestCoalition]:
        doubted = self.perhaps_guessed
        return {name: small for name, small in self._unless_guessed.items() if name not in doubted}

    @property
    def certain(self) -> tuple[str, ...]:
        return tuple(self._certain)

    @property
    def unless_guessed(self) -> tuple[str, ...]:
        """Those among the certain whom others could have got charged by guessing, with a chance above 5 %."""
        return tuple(name for name in self.certain if name in self._guesses and self._guesses[name].possible)

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """Everybody in an explanation, the most suspicious first, with what incriminates them."""
        if not len(self.explanations):
            return ()
        return suspects(self.evidence, self.explanations, self._certain, imprints=self.imprints)

    @cached_property
    def needed(self) -> SmallestCoalition | None:
        """How many recipients had to work together, where no explanation was found.

        These are more than `c_max` where every coalition of so many was tried.
        """
        if not self.ours or self.explanations.sets:
            return None
        return self.coalitions.smallest(least=self.c_max + 1 if self.explanations.complete else 1)

    @cached_property
    def false_charge(self) -> FalseCharge | None:
        """The chance that those who are certain have nothing to do with it; `None` if nobody is certain.

        Its `probability` is about leaks that recipients made, its `outside` about tables of somebody else.
        """
        if not self.certain:
            return None
        guesses = [chance for name, chance in self._guesses.items() if name in self.certain]
        return false_charge_of(
            self.evidence,
            self.explanations,
            charged=self.certain,
            guessed=max(guesses, key=lambda chance: chance.probability, default=None),
            imprints=self.imprints,
            original=self.original,
        )

    @property
    def matches(self) -> int | None:
        real = self.evidence.real
        return None if real is None else self.evidence.rows(real)

    @property
    def leak(self) -> Leak:
        return self.evidence.leak

    @property
    def rows(self) -> dict[str, int]:
        """The rows of the leak, those of them that are ours, and those left aside for three reasons."""
        e = self.evidence
        return {
            "all": e.leak.rows,
            "ours": e.rows(e.ours),
            "unreadable": e.rows(~e.leak.legible | e.never_shown),
            "foreign": e.rows(e.foreign),
            "finer": e.rows(e.finer),
        }

    @property
    def alone(self) -> tuple[str, ...]:
        """The recipients who could have made it by themselves."""
        return tuple(s.recipient for s in self.suspects if s.smallest == 1)

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who was considered."""
        return self.evidence.recipients

    @cached_property
    def readings(self) -> tuple[OtherReading, ...]:
        """The other ways to read the columns of the leak that were taken into account."""
        return described(self.evidence)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns, published unchanged, that were compared jointly."""
        return tuple(name for name in self.leak.unchanged if name in self.evidence.unchanged.names)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Columns that may be others, in more ways than can be looked at: they count against nobody."""
        return tuple(self.leak.names[j] for j in sorted(self.evidence.uncounted))

    @property
    def unread(self) -> tuple[str, ...]:
        """The recipients who cannot be ruled out, since the pattern of what they received is not known."""
        return self.evidence.knowledge.issued.unread

    def values(self) -> list[str]:
        """Returns the texts that could not be read, for whoever asked to see them; no card shows them."""
        return [
            f"{name}: {', '.join(map(repr, texts))}" for name, texts in self.leak.unreadable_texts().items()
        ]
