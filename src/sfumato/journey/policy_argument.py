"""The policy and the earlier releases that a caller hands in: loaded once, at the door of a verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.imprint import Imprint
from sfumato.policy.policy import Policy
from sfumato.system.disk import read_document

AnyPolicy = Policy | str | Path | Mapping[str, object]
"""A policy, the path of its file, or what the file would say."""


AnyImprint = Imprint | str | Path
"""The imprint of a release, or the path of its JSON file."""


def load_policy(given: AnyPolicy) -> Policy:
    """Returns the policy; raises `BadPolicy` with every problem of a file that cannot be used."""
    if isinstance(given, Policy):
        return given
    return Policy.load(given) if isinstance(given, str | Path) else Policy.from_dict(given)


def load_imprints(given: Sequence[AnyImprint]) -> tuple[Imprint, ...]:
    """Returns the imprints, in the order given.

    What a file says was proved of candidates is not taken over but proved again: nobody signed the file, and
    no digest covers that.
    """
    return tuple(i if isinstance(i, Imprint) else _read_imprint(Path(i)) for i in given)


def _read_imprint(file: Path) -> Imprint:
    return replace(Imprint.from_json(read_document(file)), candidates=None)


def bind_earlier(policy: Policy, earlier: Sequence[Imprint]) -> Policy:
    """Returns the policy with promises that know the earlier releases; raises if none asks for them."""
    if earlier and not policy.promises.looks_back:
        raise WrongCall(
            "no promise of the policy is about earlier releases",
            remedy="Add the promise continuous, or leave the earlier releases out.",
        )
    return replace(policy, promises=policy.promises.given(earlier))


def check_some_declared(names: Sequence[str], policy: Policy) -> None:
    """Raises `BadPolicy` if the policy declares no column of a table.

    The names may then be the cells of a first row, so the message shows none of them.
    """
    if names and not set(names) & set(policy.columns):
        raise BadPolicy(
            f"none of the {len(names)} columns of the data is declared",
            where="columns",
            remedy="Has the file a line of column names? Is it the right policy?",
        )
