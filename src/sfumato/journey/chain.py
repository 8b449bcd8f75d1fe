"""A release in its chain: what is remembered of the earlier ones, and what they say beside the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.correspondence import correspondence
from sfumato.declare.policy import Policy
from sfumato.engine import open_source
from sfumato.protect.plan import Plan
from sfumato.terms.classes import Classes
from sfumato.terms.cut import Cut
from sfumato.terms.errors import BadData, RefusedByHistory
from sfumato.terms.imprint import Imprint
from sfumato.terms.microdata import Coding, Missing, Role
from sfumato.terms.promise import BesideEarlier
from sfumato.terms.recoding import classes_under
from sfumato.terms.taxonomy import Taxonomy

if TYPE_CHECKING:
    from sfumato.release.ledger.record import Check, Record


def looks_back(policy: Policy) -> bool:
    """Whether a promise of the policy is about earlier releases."""
    return any(isinstance(promise, BesideEarlier) for promise in policy.promises)


def imprints(history: Sequence[Record]) -> tuple[Imprint, ...]:
    """What the ledger remembers of the earlier releases, oldest first."""
    for record in history:
        if not record.memory:
            raise RefusedByHistory(
                f"release {record.sequence} of chain {record.chain} left no imprint, so nothing can be"
                " published beside it",
                remedy="It was made without the promise continuous: start a new chain, about other people.",
            )
    return tuple(Imprint.from_json(record.memory) for record in history)


def memory_of(plan: Plan) -> Mapping[str, Any] | None:
    """What later releases of the chain have to know of this one."""
    return plan.imprint.as_dict() if looks_back(plan.policy) else None


def beside_history(policy: Policy) -> Check:
    """The check of a release against all earlier ones of its chain, from what is remembered of each."""

    def check(history: Sequence[Record], record: Record) -> Mapping[str, Any] | None:
        if not looks_back(policy):
            if history:
                raise RefusedByHistory(
                    f"chain {record.chain} has {len(history)} earlier releases, and no promise of the policy"
                    " is about them",
                    remedy="Add the promise continuous, or, for other people, start a new chain.",
                )
            return None
        imprint = Imprint.from_json(record.memory)
        for file in record.files:
            _compare(file, imprint)
        if not history:
            return None
        found = correspondence([*imprints(history), imprint], policy)
        # Large chains the attack can only bound from above; that k is reached was proved on the data then.
        if found.holds is False:
            raise RefusedByHistory(
                f"next to the earlier releases fewer than {found.k} people are possible for somebody",
                remedy="Publish less detail, or wait until more people have arrived.",
            )
        return {"FA": found.FA, "BA": found.BA}

    return check


def _compare(file: Path, imprint: Imprint) -> None:
    """Raise unless the rows of the written file are counted as the imprint says, class by class."""
    source = open_source(file)
    roles = {name: Role.QUASI if name in imprint.names else Role.SENSITIVE for name in source.columns}
    codings = [Coding(name, role, Taxonomy.flat) for name, role in roles.items()]
    table = source.count(codings, missing=Missing.OWN_VALUE)
    class_of, _ = classes_under(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
    sizes = Classes.of(table, class_of, sensitive=()).rows
    for written, remembered in ((sizes, imprint.sizes), (table.counts, imprint.counts)):
        if not np.array_equal(np.sort(written), np.sort(remembered)):
            raise BadData(
                "the written file does not hold the counts that later releases would be checked against",
                where=file.name,
                remedy="Columns that are published unchanged need a taxonomy that tells every value apart.",
            )
