"""Derived promises: what has to be kept because several promises are made, and no policy writes."""

from __future__ import annotations

from sfumato.core.joint_columns import JointColumn
from sfumato.core.promise import Promise, Promises


def with_derived(promises: Promises) -> Promises:
    """Returns the promises with what follows from several of them; as they are, where that is there."""
    if any(p.derived for p in promises):
        return promises
    derived = (new for p in promises for new in p.derived_with(promises.members))
    more = dict.fromkeys(new for new in derived if isinstance(new, Promise))
    return Promises((*promises.members, *more)) if more else promises


def joint_columns_of(promises: Promises) -> tuple[JointColumn, ...]:
    """Returns the columns that any promise looks at together, each group once."""
    return tuple(dict.fromkeys(joint for p in promises for joint in p.joint_columns))
