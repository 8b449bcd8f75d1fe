"""What a policy says of people who leave a chain of releases, and what it cannot go with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.core.adversary import Adversary
from sfumato.core.aligned_imprints import SAME_COLUMNS
from sfumato.core.classes import Classes
from sfumato.core.companion_choice import CompanionChoice
from sfumato.core.demand import Demand
from sfumato.core.errors import BadPolicy, RefusedByHistory
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.leavers import Leavers
from sfumato.core.marks import are_known, leaf_marks
from sfumato.core.microdata import Microdata
from sfumato.core.policy_view import PolicyView
from sfumato.core.recoding import Recoding
from sfumato.core.watch import Watch
from sfumato.promises.parameters import Choice, Declared, Parameter, Schema

if TYPE_CHECKING:
    from sfumato.chains.presence import LivingHistory, LivingTerms
    from sfumato.promises.continuous.leavers_watch import LeaversRule


KEPT_HISTORY = "_history_of_table"
"""Where a promise keeps the history of the table that it was last asked about: no field of it."""


class LeaversChoice(Choice):
    """What is known of departures."""

    def read(self, value: object) -> Leavers:
        return Leavers(super().read(value))

    def write(self, value: Leavers) -> str:
        return value.value

    def plain(self, value: Leavers | None) -> str | None:
        return None if value is None else value.value


@dataclass(frozen=True)
class ColumnNames(Parameter):
    """The names of some columns, or of none."""

    required: ClassVar[bool] = False

    def read(self, value: object) -> tuple[str, ...]:
        names = list(value) if isinstance(value, list | tuple) else None
        if (
            names is None
            or any(not isinstance(n, str) or not n for n in names)
            or len(set(names)) < len(names)
        ):
            raise BadPolicy(f"{self.name} must be a list of different columns", where=self.name)
        return tuple(sorted(names))

    def write(self, value: tuple[str, ...]) -> list[str]:
        return list(value)

    def identify(self, value: tuple[str, ...]) -> str:
        return ",".join(value)

    @property
    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True}


class LeavingPeople(Declared, ABC):
    """The part of the promise `continuous` that is about people who leave."""

    k: int
    since: str | None
    until: str | None
    person: str | None
    leavers: Leavers | None
    returns: bool
    moves: tuple[str, ...]
    corrected: bool
    companions: int
    hold: bool
    survivors: bool

    @property
    def terms(self) -> LivingTerms | None:
        """What it says of people who leave; `None` where nobody may."""
        if self.until is None and self.leavers is None:
            return None
        from sfumato.chains.presence import LivingTerms  # noqa: PLC0415  # compiled kernels

        return LivingTerms(
            self.leavers or Leavers.COUNTED,
            self.since,
            self.until,
            self.person,
            self.returns,
            self.moves,
            self.corrected,
        )

    @property
    def _living_terms(self) -> LivingTerms:
        """The same; where nobody may leave, departures are counted, and are none."""
        from sfumato.chains.presence import LivingTerms  # noqa: PLC0415  # compiled kernels

        return self.terms or LivingTerms(Leavers.COUNTED, self.since, None, self.person)

    def _is_judged_by_presence(self, table: Microdata) -> bool:
        """Whether it is judged by who is in which release: people leave, or releases show other columns.

        Raises where others are asked of those who remain and releases show other columns.
        """
        from sfumato.chains.other_columns import has_other_columns  # noqa: PLC0415  # compiled kernels

        other = has_other_columns(table, self.earlier)
        if other and self.survivors:
            raise RefusedByHistory(
                "what survives is not judged beside releases that show other columns",
                remedy=f"Leave survivors out. {SAME_COLUMNS}",
            )
        return self.terms is not None or (other and self.adversary is Adversary.TARGET)

    @property
    def departure_column(self) -> str | None:
        return self.until

    @property
    def lets_people_leave(self) -> bool:
        return self.until is not None or self.leavers is not None

    def departures(self, recoding: Recoding) -> KnownDepartures | None:
        """What later releases have to know: how many people this one shares with each earlier one."""
        if self.terms is None or recoding.cuts is None:
            return None
        history = self._living_history(recoding.table)
        shared = history.shared_with(*history.released(recoding.cuts))
        batches = history.batches(self.earlier)
        said = self.terms
        return KnownDepartures(said.leavers, shared, said.returns, said.moves, said.corrected, batches)

    def _demand(self) -> Demand:
        """What it asks. A chain that nobody may leave is one whose departures are counted, and are none."""
        asked = super()._demand()
        same = {name: word for name, word in asked.same.items() if word != Leavers.COUNTED}
        return replace(asked, same=same)

    def judge_data(self) -> dict[str, object]:
        told = super().judge_data()
        said = None if self.terms is None else self.terms.leavers.value
        return {**told, "departures": said}

    def in_words(self) -> str:
        if self.terms is None:
            return super().in_words()
        return (
            f"Everybody who is or was in a release keeps at least {self.k} possible records, also before"
            " somebody who holds every release, knows this person's key values and the releases they are in,"
            f" and {self.terms.leavers.knows}."
            f" {'Some may have come back.' if self.returns else 'Nobody has come back.'}"
            f" {self._what_changes}"
        )

    def assumption(self, releases: int) -> str:
        if self.terms is None:
            return ""
        which = "release 1" if releases == 1 else f"releases 1 to {releases}"
        back = " Whoever was erased from what is kept has not come back either: that is the owner's word."
        return f"Of {which}: {self.in_words()}{'' if self.returns else back}"

    @property
    def _what_changes(self) -> str:
        changing = [*self.moves, *(["values that are published unchanged"] if self.corrected else [])]
        return f"What may have changed: {', '.join(changing)}." if changing else "Nothing else has changed."

    def objections_to_leaving(self, policy: PolicyView) -> list[str]:
        """Returns what in the keys does not fit together, or not with the columns of the policy."""
        if self.until is None and self.leavers is None:
            later = {"returns": self.returns, "moves": self.moves, "corrected": self.corrected}
            return [
                f"{key} is about people who come and go: say with until or leavers that they may leave"
                for key, said in later.items()
                if said
            ]
        said = []
        if self.until is not None and self.since is None:
            said.append("until needs since: what batch somebody left with means nothing without it")
        if self.until is None and self.since is not None:
            said.append("leavers with since needs until, the column that says who has left")
        if self.until is None and self.person is None:
            said.append("leavers needs until or person: whoever left is declared, never guessed")
        if self.returns and self.leavers is not Leavers.UNKNOWN:
            said.append("returns can be judged where departures are unknown alone: say leavers: unknown")
        if self.moves and self.person is None:
            said.append("moves needs person: who has moved is declared, never guessed")
        if self.corrected and (self.person is None or self.until is None):
            said.append(
                "corrected needs person, since and until: the old row stays, and leaves when the new comes"
            )
        if self.corrected and self.leavers is not Leavers.UNKNOWN:
            said.append(
                "corrected can be judged where departures are unknown alone: say leavers: unknown. Whoever"
                " knows how many people releases share knows of few that one of them was corrected"
            )
        if self.returns and self.corrected:
            said.append("returns and corrected are not judged together")
        for name in self.moves:
            rule = policy.columns.get(name)
            if rule is None or not rule.role.is_key:
                said.append("moves names a column that is no key: values of others are corrected")
        if self.adversary is Adversary.REGISTER:
            said.append("against a register nobody may leave: say adversary: target, or leave until out")
        return said

    def objections_to_companions(self) -> list[str]:
        """Returns why nobody can be withheld; nothing where nobody is to be."""
        if not self.companions:
            return []
        said = []
        if self.since is None and self.person is None:
            said.append("companions needs since or person: without either everybody was published")
        if self.moves or self.corrected:
            said.append("companions are not chosen where people move or values are corrected")
        if self.adversary is Adversary.REGISTER:
            said.append("companions hide nobody from a register: it knows who was published and is withheld")
        return said

    @property
    def _withholds_published(self) -> bool:
        """Whether people of earlier releases may be withheld: a key has to tell them later."""
        return self.terms is not None and self.since is None and self.person is not None

    def set_apart(self, table: Microdata) -> Microdata:
        """The table without people who were published once and not with the last release: they stay out."""
        person = self.person if self.companions and self._withholds_published else None
        if person is None or not self.earlier or self.returns:
            return table
        marks = leaf_marks(table.column(person).taxonomy)
        once = np.any([are_known(marks, imprint.batches) for imprint in self.earlier], axis=0)
        out = once & ~are_known(marks, self.earlier[-1].batches)
        return table.withholding(out[table.codes(person)])

    def companion_choice(self, table: Microdata) -> CompanionChoice | None:
        from sfumato.promises.continuous.companions import Companions  # noqa: PLC0415  # compiled kernels

        unfit = self.moves or self.corrected or self.adversary is Adversary.REGISTER
        if unfit or (self.since is None and self.person is None):
            return None
        history = self._living_history(table)
        return Companions(history, self.k, published=self._withholds_published)

    def _living_history(self, table: Microdata) -> LivingHistory:
        """The history of a table beside the earlier releases; that of the last table is kept."""
        from sfumato.chains.presence import LivingHistory  # noqa: PLC0415  # compiled kernels

        known: LivingHistory | None = self.__dict__.get(KEPT_HISTORY)
        if known is None or known.table is not table:
            known = LivingHistory.of(table, self.earlier, self._living_terms)
            self.__dict__[KEPT_HISTORY] = known
        return known

    def _leavers_rule(self, table: Microdata) -> LeaversRule:
        from sfumato.chains.history import came_with  # noqa: PLC0415  # compiled kernels
        from sfumato.promises.continuous.leavers_watch import LeaversRule  # noqa: PLC0415  # compiled kernels

        self._refuse_beliefs()
        history = self._living_history(table)
        if self.terms is None and self.person is not None:
            came_with(table, self.earlier, self.person, person=True)
        return LeaversRule(history.merged, self.k, self._survive if self.survivors else None, hold=self.hold)

    def _leavers_watch(self, table: Microdata) -> Watch:
        from sfumato.promises.continuous.leavers_watch import leavers_watch  # noqa: PLC0415  # compiled kernels

        return leavers_watch(self._leavers_rule(table))

    @abstractmethod
    def _refuse_beliefs(self) -> None:
        """Raises where promises about beliefs are asked of those who remain."""

    @abstractmethod
    def _survive(self, classes: Classes) -> bool:
        """Whether what survives of every class keeps the other promises."""
