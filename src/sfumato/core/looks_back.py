"""What a promise says of earlier releases: whether it looks at them, and how it tells people apart."""

from __future__ import annotations

from sfumato.core.adversary import Adversary
from sfumato.core.imprint import Imprint
from sfumato.core.proved_candidates import ProvedCandidates
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

    def candidates(self, verdict: Verdict) -> ProvedCandidates | None:
        """Returns what its verdict proves of everybody's candidates, for later releases; `None`: nothing."""
        del verdict
        return None

    @property
    def adversary(self) -> Adversary | None:
        """Whom it is kept against beside earlier releases; `None` where it does not look back."""
        return None

    @property
    def asks_others(self) -> bool:
        """Whether it asks the policy's class promises beside earlier releases, too."""
        return False
