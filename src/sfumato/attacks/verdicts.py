"""What the published table proves about each promise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import ceil

from sfumato.attacks.published_table import PublishedTable, flat
from sfumato.core.errors import BadData, BadTaxonomy
from sfumato.core.promise import ClassPromise, Promise, TablePromise
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.verdict import Evidence, Verdict
from sfumato.policy.policy import Policy
from sfumato.promises import DistinctLDiversity, EntropyLDiversity, KAnonymity, RecursiveLDiversity
from sfumato.show.card import several

UNKNOWN_PRIOR = "it compares with the original table: give its reference"


class Placing:
    """How sensitive columns are coded: by the policy's taxonomies, and where values lack a place, flat.

    `unplaced` counts those values per column, once the table has been read.
    """

    def __init__(self, policy: Policy) -> None:
        self.unplaced: dict[str, int] = {}
        self._spoken: dict[str, list[Label]] = {}
        for promise in policy.promises:
            reference = getattr(promise, "reference", None)
            if reference is not None:
                self._spoken.setdefault(promise.sensitive[0], []).extend(v for v, _ in reference.counts)
        self.builds = {c.name: self._placing(c.name, c.build) for c in policy.codings if not c.role.is_key}

    def _placing(
        self, name: str, build: Callable[[Sequence[Label]], Taxonomy]
    ) -> Callable[[Sequence[Label]], Taxonomy]:
        def place(values: Sequence[Label]) -> Taxonomy:
            for wanted in ([*dict.fromkeys([*values, *self._spoken.get(name, [])])], values):
                try:
                    tree = build(wanted)
                except BadTaxonomy:
                    continue
                lacking = sum(tree.rank(value) is None for value in values)
                if not lacking:
                    return tree
            self.unplaced[name] = _lacking(build, values)
            return flat(values)

        return place


def judge(published: PublishedTable, policy: Policy, unplaced: Collection[str]) -> tuple[Verdict, ...]:
    """A verdict per promise; `holds` is `None` where this file cannot decide it."""
    by_rows = policy.person is not None and not published.table.has_person
    return tuple(_judge(p, published, unplaced, by_rows=by_rows) for p in policy.promises)


def _judge(
    promise: Promise,
    published: PublishedTable,
    unplaced: Collection[str],
    *,
    by_rows: bool,
) -> Verdict:
    coded = {column.name for column in published.table.columns}
    absent = [column for column in promise.sensitive if column not in coded]
    if absent:
        return _open(promise, f"column {', '.join(absent)} is not in this file")
    if isinstance(promise, TablePromise) and promise.judged_on_labels:
        try:
            return promise.verdict_on_labels(*published.texts)
        except BadData as homeless:
            return _open(promise, homeless.message)
    if not isinstance(promise, ClassPromise) or promise.evidence is Evidence.EARLIER:
        return _open(promise, "not decidable from this file")
    placeless = [column for column in promise.sensitive if column in unplaced]
    if placeless or promise.needs_original:
        lost = f"values of {', '.join(placeless)} are not in its taxonomy"
        return _open(promise, lost if placeless else UNKNOWN_PRIOR)
    found = _on_people(promise, published, promise.verdict(published.classes))
    return _on_rows(promise, published, found) if by_rows else found


def _on_people(promise: ClassPromise, published: PublishedTable, found: Verdict) -> Verdict:
    """Nobody is protected by a promise about a column in which they have several values."""
    several_values = {
        column: n for column in promise.sensitive if (n := published.table.people_with_several_values(column))
    }
    if not several_values:
        return found
    who = ", ".join(
        f"{several(n, 'person has', 'people have')} several values of {c}" for c, n in several_values.items()
    )
    reason = f"{who}, and it protects only who has one"
    return replace(found, holds=False, people=max(several_values.values()), classes=0, reason=reason)


def _on_rows(promise: ClassPromise, published: PublishedTable, found: Verdict) -> Verdict:
    """What rows prove where the promise counts people and the file does not say who is who.

    A class has at least as many rows as people, so too few rows are too few people. Which values occur in a
    class does not depend on who holds them, so with fewer than l values every kind of l-diversity is broken.
    Nothing else follows: somebody may hold several of the values.
    """
    broken = found.holds is False and isinstance(promise, KAnonymity | DistinctLDiversity)
    if isinstance(promise, EntropyLDiversity | RecursiveLDiversity):
        broken = not DistinctLDiversity(promise.of, ceil(promise.l)).holds_on(published.classes).all()
    if broken:
        return replace(found, holds=False, reason="judged on rows: there are at most as many people")
    reason = "counts people, and the person column is not in this file"
    return replace(found, holds=None, measured=None, worst=None, people=0, classes=0, reason=reason)


def _open(promise: Promise, reason: str) -> Verdict:
    return Verdict(str(promise), None, None, 0, evidence=promise.evidence, reason=reason)


def _lacking(build: Callable[[Sequence[Label]], Taxonomy], values: Sequence[Label]) -> int:
    try:
        tree = build(values)
    except BadTaxonomy as problem:
        return max(1, len(problem.values))
    return sum(tree.rank(value) is None for value in values)
