"""What was proved of the candidates that everybody keeps beside a chain of releases."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.json_object import JsonMapping, JsonObject


@dataclass(frozen=True)
class ProvedCandidates:
    """Everybody keeps at least `proved` candidates, and somebody at most `fewest`; `None`: nobody is in."""

    proved: int
    fewest: int | None

    def as_dict(self) -> JsonObject:
        """JSON-ready."""
        return {"proved": self.proved, "fewest": self.fewest}

    @classmethod
    def from_dict(cls, words: JsonMapping) -> ProvedCandidates:
        """Reads its JSON form; raises `ValueError` where that is not whole."""
        proved, fewest = words["proved"], words["fewest"]
        if type(proved) is not int or proved < 0 or not (fewest is None or type(fewest) is int):
            raise ValueError
        if fewest is not None and fewest < proved:
            raise ValueError
        return cls(proved, fewest)
