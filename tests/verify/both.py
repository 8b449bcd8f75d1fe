"""Both implementations on the same table: the promises' own verdicts, and those of the second judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import sfumato.verify.file
from sfumato.models.attack_contract import PublishedTable
from sfumato.models.contract import ClassPromise, TermPromise
from sfumato.policy.columns import forms_of
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadData, BadTaxonomy
from sfumato.system.verdict import Evidence, Verdict
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.policy_data import PromiseData


def recheck(path, policy, **more):
    """The second judge on the bytes of a file; it is told the policy as plain data."""
    return sfumato.verify.file.recheck(path, judge_data(policy), **more)


def told(promise):
    """A promise as its judge knows it."""
    return PromiseData(promise.judge_data())


def first_verdicts(data, policy):
    """What the promises themselves say of a published table, with the engine and the search's trees."""
    unplaced = set()
    spoken = {}
    for promise in policy.promises:
        if (reference := getattr(promise, "reference", None)) is not None:
            spoken.setdefault(promise.sensitive[0], []).extend(value for value, _ in reference.counts)

    def placed(name, build):
        def place(values):
            for wanted in ([*dict.fromkeys([*values, *spoken.get(name, [])])], values):
                try:
                    tree = build(wanted)
                except BadTaxonomy:
                    continue
                if all(tree.rank(value) is not None for value in values):
                    return tree
            unplaced.add(name)
            return Taxonomy.flat_in_order(values)

        return place

    published = PublishedTable.read(
        open_source(data),
        {name: rule.role for name, rule in policy.columns.items()},
        person=policy.person,
        builds={c.name: placed(c.name, c.build) for c in policy.codings if not c.role.is_key},
        forms=forms_of(policy),
    )
    by_rows = policy.person is not None and not published.table.has_person
    classes = published.classes
    return tuple(_one(promise, published, classes, unplaced, by_rows) for promise in policy.promises)


def _one(promise, published, classes, unplaced, by_rows):
    coded = {column.name for column in published.table.columns}
    if absent := [column for column in promise.sensitive if column not in coded]:
        return _open(promise, f"column {', '.join(absent)} is not in this file")
    if getattr(promise, "judged_on_labels", False):
        try:
            return promise.verdict_on_labels(*published.texts)
        except BadData as homeless:
            return _open(promise, homeless.message)
    if not isinstance(promise, ClassPromise) or promise.evidence is Evidence.EARLIER:
        return _open(promise, "not decidable from this file")
    lost = [column for column in promise.sensitive if column in unplaced]
    if lost or (isinstance(promise, TermPromise) and promise.needs_original):
        unknown = "it compares with the original table: give its reference"
        return _open(promise, f"values of {', '.join(lost)} are not in its taxonomy" if lost else unknown)
    found = promise.verdict(classes)
    if torn := {
        column: n
        for column in promise.sensitive
        if (n := _people_with_several_values(published.table, column))
    }:
        [(column, n)] = torn.items()
        who = f"{n} {'person has' if n == 1 else 'people have'} several values of {column}"
        reason = f"{who}, and it protects only who has one"
        found = replace(found, holds=False, people=n, classes=0, reason=reason)
    return _on_rows(promise, published, found) if by_rows else found


def _people_with_several_values(table, name):
    if table.person is None:
        return 0
    pairs = set(zip(table.person.tolist(), table.codes(name).tolist(), strict=True))
    return sum(n > 1 for n in Counter(who for who, _ in pairs).values())


def _on_rows(promise, published, found):
    classes = published.classes
    few = any(classes.rows < promise.least_people)
    for column in promise.sensitive:
        held = classes.histograms[column].by_meaning(missing=False)
        few |= any(held.start[1:] - held.start[:-1] < promise.least_values)
    if few:
        return replace(found, holds=False)
    reason = "counts people, and the person column is not in this file"
    return replace(found, holds=None, measured=None, worst=None, people=0, classes=0, reason=reason)


def _open(promise, reason):
    return Verdict(str(promise), None, None, 0, evidence=promise.evidence, reason=reason)
