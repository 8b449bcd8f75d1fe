"""Indirect labels: what terms say together about something that is not in the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.audit import audit
from sfumato.attacks.label_seeker import SeeksLabels
from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.registry import register
from sfumato.core.beliefs import BeliefLimit, LabelCloseness, posterior
from sfumato.core.classes import Classes, Histogram
from sfumato.core.joint_columns import JointColumn
from sfumato.core.knowledge import Links
from sfumato.core.limits import AttackLimits
from sfumato.core.prior import Prior
from sfumato.core.verdict import Finding
from sfumato.kernels.term_sets.knowledge import links_of, prior_of
from sfumato.policy.policy import Policy
from sfumato.policy.reference import with_reference

AT_ONCE = 1 << 22
MOST = 10
"""Labels that are told one by one; the rest is in the summary."""


@register("quasi-sensitive")
@dataclass(frozen=True)
class IndirectLabel(SeeksLabels):
    """Whoever finds the class of a person believes in a label as its rows link to it.

    A row's terms link to every label that has all of them; the belief is the mean, over the rows of a class,
    of one over the number of labels that a row links to; with a prevalence, of a label's part in theirs.
    Before, the belief was that of the prior: the one that the promise holds, else the mean over the table at
    hand. A class that breaks the promise is a breach.

    Source: Shi, Xiong, Fung, Anonymizing data with quasi-sensitive attribute values, 2010.
    Silent on: better knowledge of terms and of labels than the policy's.
    """

    most: int | None = MOST

    name: ClassVar[str] = "quasi-sensitive"
    knows: ClassVar[str] = (
        "that a person is in the table, their key columns, and which terms go with which label"
    )
    seeks: ClassVar[str] = "a label that the person's terms give away together"
    needs: ClassVar[str] = "the promise quasi-sensitive, and its column in the table"

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        """What is found under every knowledge that a promise names."""
        found: list[Finding] = []
        for limit in limits.of_kind(BeliefLimit):
            held = _held(published, limit)
            if held is not None:
                found += self._seek(published, limit, held)
        return found

    def _seek(self, published: PublishedTable, limit: BeliefLimit, held: Histogram) -> list[Finding]:
        links = links_of(limit.knowledge, held.taxonomy)
        prior = _prior(limit, links, held)
        best = Beliefs.of(limit, links, held, prior)
        broken = best.broken
        order = np.lexsort((np.arange(len(best.most)), -best.most, ~best.breach))
        worst = [int(j) for j in order[: self.most].tolist() if best.most[j] > 0]
        told = [self._label(published, limit, held, links, prior, best, j) for j in worst]
        told.sort(key=lambda f: (not f.breach, -f.confidence))
        return [
            self._summary(published, limit, broken, told),
            *told,
            *self._unlinked(published, limit, links, held),
        ]

    def _finding(self, sentence: str, **told: Any) -> Finding:
        return Finding(
            attack=self.name, adversary=f"someone who knows {self.knows}", sentence=sentence, **told
        )

    def _summary(
        self,
        published: PublishedTable,
        limit: BeliefLimit,
        broken: NDArray[np.bool_],
        told: list[Finding],
    ) -> Finding:
        people = published.people_in(broken)
        sure = max((f.confidence for f in told), default=Fraction(0))
        return self._finding(
            f"terms of {limit.column} lead to a label with a belief of up to {float(sure):.3g}; "
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
        limit: BeliefLimit,
        held: Histogram,
        links: Links,
        prior: Prior,
        best: Beliefs,
        label: int,
    ) -> Finding:
        worst, name = int(best.where[label]), limit.knowledge.labels[label]
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
        self, published: PublishedTable, limit: BeliefLimit, links: Links, held: Histogram
    ) -> Iterator[Finding]:
        count = int(held.counts[links.number[held.values] == 0].sum())
        if count:
            yield self._finding(
                f"{crowd(count)} with terms of {limit.column} that no label has together:"
                " they link to nothing",
                confidence=Fraction(0),
                people=count,
                breach=False,
                columns=published.keys,
                details={"rows without a link": count},
            )


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Per label: the largest belief that any class gives, to how many people, in which class first, and
    whether it is the most believed one of a class that breaks the limit. Per class: whether it does."""

    most: NDArray[np.float64]
    people: NDArray[np.int64]
    where: NDArray[np.int64]
    breach: NDArray[np.bool_]
    broken: NDArray[np.bool_]

    @classmethod
    def of(cls, limit: BeliefLimit, links: Links, held: Histogram, prior: Prior) -> Beliefs:
        before = prior.on(limit.knowledge.labels)
        most, where = np.zeros(links.labels), np.zeros(links.labels, np.int64)
        people = np.zeros(links.labels, np.int64)
        breach = np.zeros(links.labels, bool)
        sizes, classes = held.totals, len(held.start) - 1
        broken = np.zeros(classes, bool)
        for low, high in _blocks(held, max(1, AT_ONCE // max(1, links.labels))):
            belief = _beliefs(links, held, low, high)
            broken[low:high] = limit.broken(belief, before, links, held, low)
            top = belief.argmax(axis=0)
            value = belief[top, np.arange(links.labels)]
            better = value > most * (1 + 1e-12)
            most[better], where[better] = value[better], top[better] + low
            people[better] = 0
            alike = (belief >= most * (1 - 1e-12)) & (belief > 0)
            people += (alike * sizes[low:high, None]).sum(axis=0)
            leads = belief >= belief.max(axis=1)[:, None] * (1 - 1e-12)
            breach |= (leads & broken[low:high, None] & (belief > 0)).any(axis=0)
        return cls(most, people, where, breach, broken)


def _held(published: PublishedTable, limit: BeliefLimit) -> Histogram | None:
    """The term sets of every class, in one column or in several together; `None` where a column is absent."""
    if not limit.parts:
        return published.classes.histograms.get(limit.column)
    if not set(limit.parts) <= set(published.judged):
        return None
    table = replace(published.table, joints=(JointColumn(limit.parts),))
    return Classes.of(table, published.class_of, sensitive=(limit.column,)).histograms[limit.column]


def _blocks(held: Histogram, step: int) -> Iterator[tuple[int, int]]:
    """Some classes at a time, with at most `step` entries together, or one class."""
    low, classes = 0, len(held.start) - 1
    while low < classes:
        high = low + 1
        while high < classes and held.start[high + 1] - held.start[low] <= step:
            high += 1
        yield low, high
        low = high


def _beliefs(links: Links, held: Histogram, low: int, high: int) -> NDArray[np.float64]:
    """The beliefs in all labels of the classes from `low` to below `high`, rounded."""
    span = slice(int(held.start[low]), int(held.start[high]))
    number = links.number[held.values[span]]
    weight = np.divide(held.counts[span], number, out=np.zeros(len(number)), where=number > 0)
    shares = links.matrix(held.values[span]) * weight[:, None] * links.weights
    belief: NDArray[np.float64] = np.add.reduceat(shares, held.start[low:high] - held.start[low], axis=0)
    return belief / held.totals[low:high, None]


def _prior(limit: BeliefLimit, links: Links, held: Histogram) -> Prior:
    given = limit.prior if isinstance(limit, LabelCloseness) else "mean"
    return given if isinstance(given, Prior) else prior_of(given, limit.knowledge.labels, links, held)


def quasi_sensitive(frame: Any, policy: Policy) -> list[Finding]:
    """What terms give away together, worst first, in a raw or a published table.

    One summary per promise, then every label that somebody can be linked to: with which belief at most, how
    many people, the belief before and the change; rows that link to nothing come last.
    """
    meant = with_reference(policy, frame)
    return list(audit(frame, meant, attacks=(IndirectLabel(most=None),)).findings)
