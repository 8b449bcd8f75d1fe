"""What the ledger tells of earlier releases of a chain that were settled when they were made.

People who are in a release are shown nothing new by later ones that show no more than it does. What was found
of them then, by the second judge and by the attack, still stands, and is not found again.
"""
# ruff: noqa: PLC0415  # what compares releases is loaded where there is something to compare

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.imprint import Imprint
from sfumato.core.promise import Promise
from sfumato.policy.policy import Policy
from sfumato.releases.ledger.record import Record


@dataclass(frozen=True)
class AttackFigures:
    """The fewest candidates that the attack leaves to people who came before a release, and to newcomers.

    `forward` (FA) is of those who came before it, `backward` (BA) of those who are not in the first release;
    `None` where there are none.
    """

    forward: int | None
    backward: int | None

    @property
    def of_anybody(self) -> int | None:
        """The fewest of either."""
        return _fewer(self.forward, self.backward)

    def followed_by(self, later: AttackFigures) -> AttackFigures:
        """Returns the figures of a whole chain: these are those up to a release, `later` those from it on."""
        return AttackFigures(_fewer(self.of_anybody, later.forward), _fewer(self.backward, later.backward))


def _fewer(one: int | None, other: int | None) -> int | None:
    """Returns the smaller of two numbers, of which either may be missing."""
    return min((number for number in (one, other) if number is not None), default=None)


@dataclass(frozen=True)
class Settled:
    """What was found beside a release and all before it.

    `fewest` are the fewest candidates of anybody, as the second judge ruled; `figures` are the attack's.
    """

    fewest: int
    figures: AttackFigures


def settled_releases(
    history: Sequence[Record], imprints: Sequence[Imprint], policy: Policy
) -> tuple[Settled | None, ...]:
    """Returns what was settled beside each earlier release, as it must be to be taken over; else `None`.

    Each has to have been judged beside exactly the releases before it, by the promise that is asked now, with
    nothing left open, of columns that stay. The first has nothing beside it.
    """
    asked = [promise for promise in policy.promises if promise.looks_back]
    if len(asked) != 1:
        return (None,) * len(history)
    columns = {(tuple(sorted(i.names)), i.unchanged, i.since) for i in imprints}
    if len(columns) > 1:
        return (None,) * len(history)
    digests = tuple(imprint.digest for imprint in imprints)
    return tuple(
        _settled(record, asked[0]) if i and imprint.after == digests[:i] else None
        for i, (record, imprint) in enumerate(zip(history, imprints, strict=False))
    )


def _settled(record: Record, promise: Promise) -> Settled | None:
    """Returns what a record tells, if its promise was judged as it is now and nothing stayed open."""
    if record.imported or record.override is not None or "open" in record.figures:
        return None
    said = [verdict for verdict in record.verdicts if verdict.get("promise") == str(promise)]
    if len(said) != 1 or said[0].get("holds") is not True:
        return None
    fewest, numbers = said[0].get("measured"), [record.figures.get(name) for name in ("FA", "BA")]
    if type(fewest) is not int or not all(n is None or type(n) is int for n in numbers):
        return None
    figures = AttackFigures(*numbers)
    return None if figures.of_anybody is None else Settled(fewest, figures)


def closing_release(imprints: Sequence[Imprint], settled: Sequence[Settled | None]) -> int | None:
    """Returns the last settled release after which none shows more; `None`: there is none."""
    from sfumato.chains.detail import closing_releases
    from sfumato.core.chain import Chain

    if not any(settled):
        return None
    closing = [i for i in closing_releases(Chain.of(imprints)) if i < len(settled) and settled[i] is not None]
    return closing[-1] if closing else None
