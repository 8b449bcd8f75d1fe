"""The places of promises in a policy, for messages."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.problem import Place
from sfumato.core.promise import Promise
from sfumato.policy.content import PolicyContent


def with_places(policy: PolicyContent) -> Iterator[tuple[Place, Promise]]:
    """Yields every promise with its place."""
    for i, promise in enumerate(policy.promises):
        yield ("promises", i, promise.name), promise
