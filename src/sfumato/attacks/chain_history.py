"""Audits beside other releases, of a chain or handed in: what a table gives away together with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attacks.adversaries.chain import CorrespondenceAttack
from sfumato.attacks.adversaries.posterior_belief import sought_columns
from sfumato.attacks.audit import Audit, HistoryPlace, compared_when_read
from sfumato.attacks.chain import (
    GivenRelease,
    count_published,
    imprint_of,
    imprints_of,
    is_imprint,
    is_release,
)
from sfumato.attacks.correspondence import Correspondence, correspondence
from sfumato.attacks.published_labels import Objection, published_labels_of
from sfumato.models.attack_contract import (
    Attack,
    HeldReleases,
    PublishedTable,
    attacks_without_target,
    holders_of_releases,
    strike_all,
    worst_first,
)
from sfumato.models.continuous.evidence import evidence_of
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, SfumatoError
from sfumato.system.progress import Progress, one_step, silent
from sfumato.system.verdict import UNASKED, Finding, Verdict
from sfumato.table.keyed_hashes import matching, nodes_named, numbered_together
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import Imprint, in_order_of_newest
from sfumato.table.source import Source, open_source
from sfumato.table.taxonomy import ANY
from sfumato.verify.chain.ruling import ChainCase

if TYPE_CHECKING:
    from sfumato.models.contract import CrossReleasePromise

NO_JUDGE = "no second judge beside earlier releases"
NOT_COMPARED = "the table cannot be held against the earlier releases"


def audit_beside(
    audit: Audit,
    source: Source,
    policy: Policy,
    releases: Sequence[Imprint],
    *,
    chain: str,
    only: str | None = None,
    progress: Progress = silent,
) -> Audit:
    """Returns the audit of a table, continued beside the releases of a chain, oldest first.

    A table that is one of the releases is judged at its place; any other as the release that would come next.
    Promises about earlier releases are decided, and everybody strikes who holds all of them, or the one that
    `only` names.
    """
    beside = HistoryPlace(chain, len(releases))
    try:
        like = releases[-1]
        with compared_when_read(source, like, progress=progress) as (readable, shows):
            table = count_published(readable, like, progress=progress)
            place = next((i for i, release in enumerate(releases) if is_release(table, release)), None)
            if place is None:
                releases = (*releases, imprint_of(table, like, policy=policy))
            else:
                beside = replace(beside, place=place + 1)
            if policy.promises.looks_back and not shows(releases[-1 if place is None else place]):
                raise BadData("the second judge finds other counts in the table than the first reader")
        with one_step(progress, "beside earlier releases"):
            joint = correspondence(releases, policy)
            verdicts = _decided(audit.verdicts, releases, policy)
    except SfumatoError as refused:
        return without_comparison(replace(audit, beside=beside), refused)
    beside = replace(beside, joint=joint, table=None if only is None else table)
    return _struck(replace(audit, verdicts=verdicts, beside=beside), joint, releases, policy, only, table)


def audit_together(audit: Audit, tables: Sequence[GivenRelease], policy: Policy, *, only: str) -> Audit:
    """Returns the audit of the last table, continued by the adversary `only`, who holds all of them.

    The tables are releases of the same people, oldest first, or their imprints. Their columns are matched by
    the names that the policy gives them.
    """
    releases = imprints_of(tables, policy)
    joint = correspondence(releases, policy)
    newest = tables[-1]
    table = (
        None
        if isinstance(newest, Imprint) or is_imprint(newest)
        else count_published(open_source(newest, expected=policy.form_of_data), releases[-1])
    )
    beside = HistoryPlace(None, len(releases), len(releases), joint, table)
    return _struck(replace(audit, beside=beside), joint, releases, policy, only, table)


def labelled_cracks(joint: Correspondence, table: Microdata, policy: Policy, most: int) -> Iterator[str]:
    """Yields the classes in which rows are ruled out and their groups, by what they show in the tables.

    Texts are those of the newest table, `table`, and of the trees of the policy: `?` where neither has one.
    """
    chain, texts = joint.chain, []
    for name, tree in zip(chain.names, chain.trees, strict=True):
        written = published_labels_of(policy, name) if name in policy.columns else None
        known = [*table.column(name).taxonomy.leaf_labels, *(written.labels if written else ()), ANY]
        labels = list(dict.fromkeys(known))
        marks = np.array([int(str(label), 16) for label in tree.labels], np.uint64)
        named = zip(*nodes_named(labels, marks, tree.parent), strict=True)
        texts.append({int(node): labels[label] for label, node in named})
    unchanged = sorted(c.name for c in table.columns if not c.role.is_key)
    value = matching(table, unchanged)
    first = np.unique(value.ids, return_index=True)[1]
    shown = [(n, table.column(n).taxonomy.leaf_labels, table.codes(n)[first]) for n in unchanged]
    value_texts = {
        number: ", ".join(f"{name} = {labels[codes[i]]}" for name, labels, codes in shown) or "nothing else"
        for i, number in enumerate(numbered_together([value.marks])[0][0].tolist())
    }

    def place(release: int, number: int) -> str:
        nodes = chain.releases[release - 1].nodes[number - 1].tolist()
        cells = zip(chain.names, texts, nodes, strict=True)
        shows = ", ".join(f"{name} = {known.get(node, '?')}" for name, known, node in cells)
        return f"release {release}, class {number} ({shows})"

    shown_classes = joint.cracked.classes[:most]
    for cracked in shown_classes:
        groups = [f"{group} with {value_texts.get(group.value, '?')}" for group in joint.groups(cracked)]
        yield f"{place(cracked.release, cracked.number)}: {', '.join(groups)}"
    if len(chain) == 2 and shown_classes and joint.groups(shown_classes[0]):
        yield "one generator, in which the rows left in the first of these are all that person's:"
        for one, other, number, rows in joint.generator(shown_classes[0])[:most]:
            yield f"  {rows} with {value_texts.get(number, '?')}: {place(1, one)} is {place(2, other)}"


def adversaries(
    releases: Sequence[Imprint], policy: Policy, table: Microdata | None = None
) -> tuple[Attack, ...]:
    """Returns everybody who holds these releases, oldest first; the newest is the one audited.

    `table` is the audited table as it was counted: it tells which values the releases hold.
    """
    evidence = HeldReleases(
        tuple(in_order_of_newest(releases)),
        k=policy.promises.limits.asked_k,
        by_size=all(promise.by_size for promise in policy.promises),
        table=table,
        sought=sought_columns(policy),
    )
    return tuple(kind.holding(evidence) for kind in holders_of_releases().values())


def holds_several(name: str) -> bool:
    """Whether an attack of this name is that of somebody who holds several releases."""
    return name in holders_of_releases()


def without_comparison(audit: Audit, refusal: SfumatoError) -> Audit:
    """Returns the audit with an objection: the comparison could not be made."""
    objection = Objection(f"{NOT_COMPARED}: {refusal.message}", (), None)
    not_compared = dict.fromkeys(audit.not_tried.keys() & holders_of_releases().keys(), objection.sentence)
    idle = {name: not_compared.get(name, why) for name, why in audit.not_tried.items()}
    return replace(audit, objections=(*audit.objections, objection), not_tried=idle)


def _struck(
    audit: Audit,
    joint: Correspondence,
    releases: Sequence[Imprint],
    policy: Policy,
    only: str | None,
    table: Microdata | None,
) -> Audit:
    """Returns the audit with what everybody finds who holds the releases, or the one that `only` names."""
    chosen = [a for a in adversaries(releases, policy, table) if only in (None, a.name)]
    findings, failed = _strike(joint, releases, policy, chosen)
    idle = attacks_without_target(chosen, findings, failed)
    tried = {a.name for a in chosen} - set(idle)
    return replace(
        audit,
        findings=worst_first([*audit.findings, *findings]),
        failed=(*audit.failed, *failed),
        not_tried={name: why for name, why in audit.not_tried.items() if name not in tried},
    )


def _strike(
    joint: Correspondence, releases: Sequence[Imprint], policy: Policy, chosen: Sequence[Attack]
) -> tuple[list[Finding], tuple[str, ...]]:
    limits = policy.promises.limits
    matched = [a for a in chosen if isinstance(a, CorrespondenceAttack) and len(releases) > 1]
    others: list[Attack] = [a for a in chosen if not isinstance(a, CorrespondenceAttack)]
    k = limits.asked_k or UNASKED
    joint_findings = [finding for a in matched for finding in a.findings(joint, k)]
    nothing: PublishedTable = None  # type: ignore[assignment]  # these adversaries look at imprints alone
    findings, failed = strike_all(nothing, others, limits)
    return [*joint_findings, *findings], failed


def judged_beside(
    documents: Sequence[Mapping[str, Any]], promise: CrossReleasePromise, settled: Sequence[int | None] = ()
) -> tuple[Verdict, int]:
    """Returns the second judge's verdict on a promise beside earlier releases, and how many targets are open.

    `documents` are what is remembered of all releases, oldest first, `settled` the judge's earlier rulings.
    """
    data = promise.judge_data()
    k = dict(data["parameters"]).get("k")  # type: ignore[call-overload]  # plain data
    if not isinstance(k, int):
        return Verdict(str(promise), None, None, 0, evidence=promise.evidence, reason=NO_JUDGE), 1
    case = ChainCase(documents, k, settled)
    asked = case.question
    if asked is None:
        return case.verdict(data)
    found = evidence_of(asked.start, asked.sums, asked.total, asked.component, asked.kind, asked.target, k)
    return case.verdict(data, found)


def _decided(verdicts: Sequence[Verdict], releases: Sequence[Imprint], policy: Policy) -> tuple[Verdict, ...]:
    """Returns the verdicts, those on promises about several tables decided by the second judge."""
    about_earlier = {str(p): p for p in policy.promises.cross_release}
    documents = [release.as_dict() for release in releases] if about_earlier else []
    return tuple(
        judged_beside(documents, about_earlier[v.promise])[0] if v.promise in about_earlier else v
        for v in verdicts
    )
