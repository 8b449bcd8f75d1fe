"""What a promise says of earlier releases: whether it looks at them, and how it tells people apart."""

from __future__ import annotations

from sfumato.core.adversary import Adversary
from sfumato.core.companion_choice import CompanionChoice
from sfumato.core.imprint import Imprint
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.microdata import Microdata
from sfumato.core.proved_candidates import ProvedCandidates
from sfumato.core.recoding import Recoding
from sfumato.core.verdict import Verdict


class LooksBack:
    """The part of a promise that is about earlier releases; by default it looks at none."""

    @property
    def looks_back(self) -> bool:
        """Whether it is judged beside earlier releases."""
        return False

    @property
    def earlier(self) -> tuple[Imprint, ...]:
        """The earlier releases that it was given, oldest first."""
        return ()

    @property
    def batch_column(self) -> str | None:
        """The column that tells the rows of earlier releases from new ones; it is not published."""
        return None

    @property
    def tells_people(self) -> bool:
        """Whether that column says who a row is about, not which batch it came with."""
        return False

    @property
    def departure_column(self) -> str | None:
        """The column that says when somebody left; a row where it is filled is not published any more."""
        return None

    @property
    def lets_people_leave(self) -> bool:
        """Whether people who were published may be gone from a later release."""
        return False

    def assumption(self, releases: int) -> str:
        """Returns what it promises of people who left so many releases, and against whom; of others nothing.

        A certificate carries it.
        """
        del releases
        return ""

    def departures(self, recoding: Recoding) -> KnownDepartures | None:
        """Returns what later releases have to know of departures up to this one; `None`: nobody may leave."""
        del recoding
        return None

    def candidates(self, table: Microdata, verdict: Verdict) -> ProvedCandidates | None:
        """Returns what its verdict proves of everybody's candidates, for later releases; `None`: nothing."""
        del table, verdict
        return None

    @property
    def companions(self) -> int:
        """How many people may be withheld from a release so that others are safe beside earlier ones."""
        return 0

    def set_apart(self, table: Microdata) -> Microdata:
        """Returns the table with everybody withheld who was withheld from an earlier release and stays so."""
        return table

    def companion_choice(self, table: Microdata) -> CompanionChoice | None:
        """Returns who says which people of a table to withhold; `None` where nobody can be."""
        del table
        return None

    @property
    def adversary(self) -> Adversary | None:
        """Whom it is kept against beside earlier releases; `None` where it does not look back."""
        return None

    @property
    def asks_others(self) -> bool:
        """Whether it asks the policy's class promises beside earlier releases, too."""
        return False
