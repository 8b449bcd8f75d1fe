"""Indirect labels: what terms say together about something that is not in the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.limits import Tolerance
from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.core.classes import Classes, Histogram
from sfumato.core.knowledge import Links
from sfumato.core.verdict import Finding
from sfumato.policy.policy import Policy
from sfumato.policy.reference import referred
from sfumato.promises.quasi_sensitive.beliefs import links_of, posterior
from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.promises.quasi_sensitive.prior import Prior, prior_of

AT_ONCE = 1 << 22
MOST = 10
"""Labels that are told one by one; the rest is in the summary."""

QuasiSensitive = QuasiSensitiveDiversity | QuasiSensitiveCloseness


@dataclass(frozen=True)
class IndirectLabel:
    """Whoever finds the class of a person believes in a label as its rows link to it.

    A row's terms link to every label that has all of them; the belief is the mean, over the rows of a class,
    of one over the number of labels that a row links to. Before, the belief was that of the prior: the one
    that the promise holds, else the mean over the table at hand. A class that breaks the promise is a breach.

    Source: Shi, Xiong, Fung, Anonymizing data with quasi-sensitive attribute values, 2010.
    Silent on: better knowledge than the policy's, and labels that are likelier than others to begin with.
    """

    promises: tuple[QuasiSensitive, ...] = ()
    most: int | None = MOST

    name: ClassVar[str] = "quasi-sensitive"
    knows: ClassVar[str] = (
        "that a person is in the table, their key columns, and which terms go with which label"
    )
    seeks: ClassVar[str] = "a label that the person's terms give away together"
    succeeds: ClassVar[str] = "the belief in a label is more than the promise allows"
    threatens: ClassVar[tuple[str, ...]] = ("quasi-sensitive",)

    def informed(self, policy: Policy) -> IndirectLabel:
        """The same adversary with the knowledge that the policy names."""
        kinds = (QuasiSensitiveDiversity, QuasiSensitiveCloseness)
        return replace(self, promises=tuple(p for p in policy.promises if isinstance(p, kinds)))

    def strike(self, published: PublishedTable, tolerance: Tolerance) -> list[Finding]:
        del tolerance
        found: list[Finding] = []
        for promise in self.promises:
            held = published.classes.histograms.get(promise.of)
            if held is not None:
                found += self._seek(published, promise, held)
        return found

    def _seek(self, published: PublishedTable, promise: QuasiSensitive, held: Histogram) -> list[Finding]:
        links = links_of(promise.knowledge, held.taxonomy)
        classes = Classes(published.classes.people, published.classes.rows, {promise.of: held})
        broken = ~promise.holds_on(classes)
        best = Beliefs.of(links, held, broken)
        prior = _prior(promise, links, held)
        order = np.lexsort((np.arange(len(best.most)), -best.most, ~best.breach))
        worst = [int(j) for j in order[: self.most].tolist() if best.most[j] > 0]
        told = [self._label(published, promise, held, links, prior, best, j) for j in worst]
        told.sort(key=lambda f: (not f.breach, -f.confidence))
        return [
            self._summary(published, promise, broken, told),
            *told,
            *self._unlinked(published, promise, links, held),
        ]

    def _finding(self, sentence: str, **told: Any) -> Finding:
        return Finding(
            attack=self.name, adversary=f"someone who knows {self.knows}", sentence=sentence, **told
        )

    def _summary(
        self,
        published: PublishedTable,
        promise: QuasiSensitive,
        broken: NDArray[np.bool_],
        told: list[Finding],
    ) -> Finding:
        people = published.people_in(broken)
        sure = max((f.confidence for f in told), default=Fraction(0))
        return self._finding(
            f"terms of {promise.of} lead to a label with a belief of up to {float(sure):.3g}; "
            f"{crowd(people)} in {int(broken.sum())} of {len(broken)} classes beyond what is promised",
            confidence=sure,
            people=people,
            breach=bool(broken.any()),
            columns=published.keys,
            details={"classes": len(broken), "classes beyond the promise": int(broken.sum())},
        )

    def _label(
        self,
        published: PublishedTable,
        promise: QuasiSensitive,
        held: Histogram,
        links: Links,
        prior: Prior,
        best: Beliefs,
        label: int,
    ) -> Finding:
        worst, name = int(best.where[label]), promise.knowledge.labels[label]
        shares, kind, whole = posterior(links, held, worst)
        after = Fraction(shares[int(kind[label])], whole)
        before = dict(prior.shares).get(name, Fraction(0))
        people = int(best.people[label])
        return self._finding(
            f"{crowd(people)} can be linked to {name} with a belief of {float(after):.3g}, "
            f"before: {float(before):.3g}",
            confidence=after,
            people=people,
            breach=bool(best.breach[label]),
            columns=published.keys,
            details={"label": name, "belief before": before, "belief after": after, "change": after - before},
            values=published.labels_of(worst),
        )

    def _unlinked(
        self, published: PublishedTable, promise: QuasiSensitive, links: Links, held: Histogram
    ) -> Iterator[Finding]:
        count = int(held.counts[links.number[held.values] == 0].sum())
        if count:
            yield self._finding(
                f"{crowd(count)} with terms of {promise.of} that no label has together: they link to nothing",
                confidence=Fraction(0),
                people=count,
                breach=False,
                columns=published.keys,
                details={"rows without a link": count},
            )


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Per label: the largest belief that any class gives, to how many people, in which class first, and
    whether it is the most believed one of a class that breaks the promise."""

    most: NDArray[np.float64]
    people: NDArray[np.int64]
    where: NDArray[np.int64]
    breach: NDArray[np.bool_]

    @classmethod
    def of(cls, links: Links, held: Histogram, broken: NDArray[np.bool_]) -> Beliefs:
        most, where = np.zeros(links.labels), np.zeros(links.labels, np.int64)
        people = np.zeros(links.labels, np.int64)
        breach = np.zeros(links.labels, bool)
        sizes, classes = held.totals, len(held.start) - 1
        step = max(1, AT_ONCE // max(1, links.labels))
        low = 0
        while low < classes:
            high = low + 1
            while high < classes and held.start[high + 1] - held.start[low] <= step:
                high += 1
            span = slice(int(held.start[low]), int(held.start[high]))
            number = links.number[held.values[span]]
            weight = np.divide(held.counts[span], number, out=np.zeros(len(number)), where=number > 0)
            shares = links.matrix(held.values[span]) * weight[:, None]
            belief = np.add.reduceat(shares, held.start[low:high] - held.start[low], axis=0)
            belief /= sizes[low:high, None]
            top = belief.argmax(axis=0)
            value = belief[top, np.arange(links.labels)]
            better = value > most * (1 + 1e-12)
            most[better], where[better] = value[better], top[better] + low
            people[better] = 0
            alike = (belief >= most * (1 - 1e-12)) & (belief > 0)
            people += (alike * sizes[low:high, None]).sum(axis=0)
            leads = belief >= belief.max(axis=1)[:, None] * (1 - 1e-12)
            breach |= (leads & broken[low:high, None] & (belief > 0)).any(axis=0)
            low = high
        return cls(most, people, where, breach)


def _prior(promise: QuasiSensitive, links: Links, held: Histogram) -> Prior:
    given = getattr(promise, "prior", "mean")
    if isinstance(given, Prior):
        return given
    return prior_of(given, promise.knowledge.labels, links, held)


def quasi_sensitive(frame: Any, policy: Policy) -> list[Finding]:
    """What terms give away together, worst first, in a raw or a published table.

    One summary per promise, then every label that somebody can be linked to: with which belief at most, how
    many people, the belief before and the change; rows that link to nothing come last.
    """
    from sfumato.attacks.audit import audit  # noqa: PLC0415  # it knows all attacks

    meant = referred(policy, frame)
    return list(audit(frame, meant, attacks=(IndirectLabel(most=None),)).findings)
