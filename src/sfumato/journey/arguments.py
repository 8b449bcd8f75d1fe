"""What a caller means: a policy or a history may be given as itself or as its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.imprint import Imprint
from sfumato.engine import open_source
from sfumato.policy.policy import Policy
from sfumato.system.memory import Memory

AnyPolicy = Policy | str | Path | Mapping[str, Any]
"""A policy, the path of its file, or what the file would say."""


AnyImprint = Imprint | str | Path
"""The imprint of a release, or the path of its JSON file."""


AnyMemory = Memory | str | int | None
"""How much memory may be used: "4GB", a number of bytes, `Memory.of("4GB", spill=...)`, or no limit."""


def within(data: Any, memory: AnyMemory) -> Any:
    """The same data, held to a limit; a source that has one already keeps it."""
    return data if memory is None else open_source(data, memory=Memory.of(memory))


def limit_of(data: Any) -> Memory:
    """The limit that some data is held to; none, unless it is a source that has one."""
    found = getattr(data, "memory", None)
    return found if isinstance(found, Memory) else Memory()


def policy_of(given: AnyPolicy) -> Policy:
    """The policy that was meant."""
    if isinstance(given, Policy):
        return given
    return Policy.load(given) if isinstance(given, str | Path) else Policy.from_dict(given)


def imprints_of(given: Sequence[AnyImprint]) -> tuple[Imprint, ...]:
    """The imprints that were meant."""
    return tuple(i if isinstance(i, Imprint) else Imprint.from_json(Path(i).read_bytes()) for i in given)


def beside(policy: Policy, earlier: Sequence[AnyImprint]) -> Policy:
    """The policy with the evidence of earlier releases."""
    known = imprints_of(earlier)
    if known and not policy.promises.looks_back:
        raise WrongCall(
            "no promise of the policy is about earlier releases",
            remedy="Add the promise continuous, or leave the earlier releases out.",
        )
    return replace(policy, promises=policy.promises.given(known))


def check_header(names: Sequence[str], policy: Policy) -> None:
    """Some column is declared. Where none is, the names may be the cells of a first row: not to be shown."""
    if names and not set(names) & set(policy.columns):
        raise BadPolicy(
            f"none of the {len(names)} columns of the data is declared",
            where="columns",
            remedy="Has the file a line of column names? Is it the right policy?",
        )
