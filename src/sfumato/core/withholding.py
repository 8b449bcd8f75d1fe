"""People who are withheld from a release so that everybody else is safe beside earlier ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cut import Cut


class Withholding(ABC):
    """Finds people to withhold from a release of one table: a proposal, which is judged like any table."""

    @abstractmethod
    def rows(self, cuts: Mapping[str, Cut], most: int) -> NDArray[np.bool_] | None:
        """Returns the distinct rows without which a promise holds under these cuts, at most so many people.

        `None` where none were found, which does not prove that there are none.
        """
