"""Derivation: what a promise says of promises that follow from it and others."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.joint_columns import JointColumn


class DerivesPromises:
    """What a promise says of promises that follow from it and others; by default, there are none."""

    @property
    def derived(self) -> bool:
        """Whether it was made from other promises, and so stands in no policy."""
        return False

    def derived_with(self, others: Sequence[DerivesPromises]) -> tuple[DerivesPromises, ...]:
        """Returns what has to be kept besides, because these are promised; itself is among them."""
        del others
        return ()

    @property
    def joint_columns(self) -> tuple[JointColumn, ...]:
        """The columns that it looks at together, each such group under one name in `sensitive`."""
        return ()
