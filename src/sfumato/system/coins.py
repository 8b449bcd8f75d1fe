"""Secret coins: random numbers that follow from a key, the same wherever the same key is used."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 32


@dataclass(frozen=True)
class Coins:
    """What a key and a purpose draw. Different purposes are independent; whoever lacks the key can tell
    nothing.

    >>> coins = Coins(b"a key of tests")
    >>> coins.order("rows", 5).tolist() == coins.order("rows", 5).tolist()
    True
    """

    key: bytes = field(repr=False)
    purpose: str = ""

    @classmethod
    def fresh(cls) -> Coins:
        """Returns coins of a new key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    def of(self, purpose: str) -> Coins:
        """Returns coins for a part of the work, independent of those for any other."""
        return Coins(self.key, f"{self.purpose}/{purpose}")

    def draw(self, purpose: str, count: int) -> NDArray[np.uint64]:
        """Returns so many numbers of 64 bits."""
        name = f"{self.purpose}/{purpose}".encode()
        stream = shake_256(len(self.key).to_bytes(4, "big") + self.key + name).digest(8 * count)
        return np.frombuffer(stream, "<u8").astype(np.uint64)

    def order(self, purpose: str, count: int) -> NDArray[np.intp]:
        """Returns the numbers 0 to `count` - 1 in an order that is drawn."""
        return np.argsort(self.draw(purpose, count), kind="stable")
