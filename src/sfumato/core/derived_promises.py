"""Derived promises: what has to be kept because several promises are made, and no policy writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.core.joint_columns import JointColumn

if TYPE_CHECKING:
    from sfumato.core.promise import Promise, Promises


class DerivesPromises:
    """What a promise says of promises that follow from it and others; by default, there are none."""

    @property
    def derived(self) -> bool:
        """Whether it was made from other promises, and so stands in no policy."""
        return False

    def derived_with(self, others: Sequence[Promise]) -> tuple[Promise, ...]:
        """Returns what has to be kept besides, because these are promised; itself is among them."""
        del others
        return ()

    @property
    def joint_columns(self) -> tuple[JointColumn, ...]:
        """The columns that it looks at together, each such group under one name in `sensitive`."""
        return ()


def with_derived(promises: Promises) -> Promises:
    """Returns the promises with what follows from several of them; as they are, where that is there."""
    if any(p.derived for p in promises):
        return promises
    more = dict.fromkeys(new for p in promises for new in p.derived_with(promises.members))
    return replace(promises, members=(*promises.members, *more)) if more else promises


def joint_columns_of(promises: Promises) -> tuple[JointColumn, ...]:
    """Returns the columns that any promise looks at together, each group once."""
    return tuple(dict.fromkeys(joint for p in promises for joint in p.joint_columns))
