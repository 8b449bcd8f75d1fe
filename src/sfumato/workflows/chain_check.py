"""The check of a release beside the earlier ones of its chain, from what is remembered of each."""

# ruff: noqa: PLC0415  # what compares releases is loaded where there is something to compare

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.models.contract import Promise
from sfumato.policy.policy import Policy
from sfumato.releases.ledger.ledger import Ledger, now
from sfumato.releases.ledger.record import HistoryCheck, HistoryComparison, ReleaseRecord
from sfumato.releases.overrides import (
    WeakerOverride,
    WeakerRelease,
    baseline_policy_of,
    judged_releases,
    weaker_releases,
)
from sfumato.search.plan import Plan
from sfumato.system.errors import RefusedByHistory, SfumatoError, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, Printable, pluralize
from sfumato.system.verdict import Finding, PromiseStrength
from sfumato.table.release_summary import Imprint
from sfumato.workflows.baseline_policy import BaselineCheck
from sfumato.workflows.history import RememberedReleases, imprint_document
from sfumato.workflows.judgement import PLAIN, WrittenForm, check_counts, judged_in_chain

if TYPE_CHECKING:
    from sfumato.attacks.correspondence import Correspondence


# The floors of a ledger: what each chain promised first, and which releases fell below.


@dataclass(frozen=True)
class LedgerBaselines(Printable):
    """What the chains of a ledger promised first, which releases promise less, and what attacks make of it.

    `floors` maps chains to the sentences of what their first release promised.
    """

    floors: dict[str, tuple[str, ...]]
    weaker: tuple[WeakerRelease, ...]
    findings: tuple[tuple[str, Finding], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every release keeps the floor of its chain, or somebody who may allowed less."""
        breach = any(finding.breach for _, finding in self.findings)
        return not breach and all(release.allowed_by for release in self.weaker)

    def as_dict(self) -> JsonObject:
        """Returns the result as JSON."""
        return {
            "holds": self.holds,
            "floors": {chain: list(promises) for chain, promises in self.floors.items()},
            "weaker": [release.as_dict() for release in self.weaker],
            "findings": [
                {"chain": chain, "sentence": finding.sentence, "breach": finding.breach}
                for chain, finding in self.findings
            ],
        }

    def card(self) -> Card:
        """Returns the result in a few lines."""
        chains = pluralize(len(self.floors), "chain")
        title = f"{chains}: every release keeps what the first one promised"
        if not self.holds:
            title = f"{chains}: a release promises LESS than the first one of its chain"
        lines = [(chain, "; ".join(promises) or "not known") for chain, promises in self.floors.items()]
        word = {True: "BREACH", False: "found"}
        notes = [
            f"{word[finding.breach]}: chain {chain}, {finding.sentence}" for chain, finding in self.findings
        ]
        return Card(title, lines, [*map(str, self.weaker), *notes])


def ledger_baselines(ledger: Ledger, chain: str | None = None, *, attack: bool = True) -> LedgerBaselines:
    """Returns what every chain, or one, promised first, and which releases promise less.

    Without `attack` what is remembered of releases is not read.
    """
    records = ledger.history(chain, memory=attack)
    chains: dict[str, list[ReleaseRecord]] = {}
    for record in judged_releases(records):
        chains.setdefault(record.chain, []).append(record)
    weaker = weaker_releases(records)
    allowed = {release.number for release in weaker if release.allowed_by}
    findings = [
        (name, finding)
        for name, releases in chains.items()
        if attack
        for finding in _attacked(releases, allowed)
    ]
    floors = {name: tuple(_sentences(releases)) for name, releases in chains.items()}
    return LedgerBaselines(floors, tuple(weaker), tuple(findings))


def _attacked(records: Sequence[ReleaseRecord], allowed: set[int]) -> list[Finding]:
    """What somebody learns who holds the releases of a chain."""
    baseline = baseline_policy_of(records)
    if baseline is None:
        return []
    from sfumato.attacks.chain import ChainRelease, Weakening

    releases = [
        ChainRelease(r.sequence, r.recipient, _strengths(r), _imprint(r), r.number in allowed)
        for r in records
    ]
    return Weakening(releases).findings() if releases else []


def _strengths(record: ReleaseRecord) -> list[list[PromiseStrength]]:
    return [
        [PromiseStrength.from_dict(words) for words in promise] for promise in record.statement["promises"]
    ]


def _imprint(record: ReleaseRecord) -> Imprint | None:
    try:
        return Imprint.from_json(record.memory) if record.memory else None
    except SfumatoError:
        return None


def _sentences(records: Sequence[ReleaseRecord]) -> Iterator[str]:
    baseline = baseline_policy_of(records)
    for promise in () if baseline is None else baseline.statement["promises"]:
        yield str(promise[0]["sentence"])


# What the ledger tells of earlier releases of a chain that were settled when they were made.
#
# People who are in a release are shown nothing new by later ones that show no more than it does. What was
# found
# of them then, by the second judge and by the attack, still stands, and is not found again.


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


def _fewer(left: int | None, right: int | None) -> int | None:
    """Returns the smaller of two numbers, of which either may be missing."""
    return min((number for number in (left, right) if number is not None), default=None)


@dataclass(frozen=True)
class ProvedReleases:
    """What was found beside a release and all before it.

    `fewest` are the fewest candidates of anybody, as the second judge ruled; `figures` are the attack's.
    """

    fewest: int
    figures: AttackFigures


def proved_releases(
    history: Sequence[ReleaseRecord], imprints: Sequence[Imprint], policy: Policy
) -> tuple[ProvedReleases | None, ...]:
    """Returns what was settled beside each earlier release, as it must be to be taken over; else `None`.

    Each has to have been judged beside exactly the releases before it, by the promise that is asked now, with
    nothing left open, of columns that stay. The first has nothing beside it.
    """
    promises = policy.promises.cross_release
    if len(promises) != 1:
        return (None,) * len(history)
    columns = {(tuple(sorted(i.names)), i.unchanged, i.since) for i in imprints}
    if len(columns) > 1:
        return (None,) * len(history)
    digests = tuple(imprint.digest for imprint in imprints)
    return tuple(
        _settled(record, promises[0]) if i and imprint.after == digests[:i] else None
        for i, (record, imprint) in enumerate(zip(history, imprints, strict=False))
    )


def _settled(record: ReleaseRecord, promise: Promise) -> ProvedReleases | None:
    """Returns what a record tells, if its promise was judged as it is now and nothing stayed open."""
    if record.imported or "open" in record.figures:
        return None
    verdicts = [verdict for verdict in record.verdicts if verdict.get("promise") == str(promise)]
    if len(verdicts) != 1 or verdicts[0].get("holds") is not True:
        return None
    fewest, numbers = verdicts[0].get("measured"), [record.figures.get(name) for name in ("FA", "BA")]
    if type(fewest) is not int or not all(n is None or type(n) is int for n in numbers):
        return None
    figures = AttackFigures(*numbers)
    return None if figures.of_anybody is None else ProvedReleases(fewest, figures)


def closing_release(imprints: Sequence[Imprint], settled: Sequence[ProvedReleases | None]) -> int | None:
    """Returns the last settled release after which none shows more; `None`: there is none."""
    from sfumato.models.continuous.chain import Chain, closing_releases

    if not any(settled):
        return None
    closing = [i for i in closing_releases(Chain.of(imprints)) if i < len(settled) and settled[i] is not None]
    return closing[-1] if closing else None


def imprint_to_keep(plan: Plan) -> Mapping[str, object] | None:
    """Returns what later releases and other recipients' versions are held against, if they are."""
    is_global = plan.recoding.cuts is not None and not plan.recoding.rewritten
    if plan.policy.promises.looks_back or (is_global and plan.policy.recipients is not None):
        return plan.imprint.as_dict()
    return None


def check_alone(history: Sequence[ReleaseRecord]) -> None:
    """Raises where a chain of groups would go on by cuts."""
    if history and history[-1].is_of_groups:
        raise RefusedByHistory(
            f"chain {history[-1].chain} is one of groups, and goes on as one alone",
            where="policy",
            remedy="Promise what holds class by class, for everybody: see `What goes with what` in the guide."
            " Or start a new chain, with people who were never published.",
        )


def chain_check(policy: Policy, remembered: RememberedReleases, form: WrittenForm = PLAIN) -> HistoryCheck:
    """Returns the check of a release beside all earlier ones of its chain."""

    def check(
        history: Sequence[ReleaseRecord], record: ReleaseRecord
    ) -> Mapping[str, object] | HistoryComparison | None:
        if not policy.promises.looks_back:
            if history:
                raise RefusedByHistory(
                    f"chain {record.chain} has {pluralize(len(history), 'earlier release')}, and no"
                    " promise of"
                    f" the policy is about {'it' if len(history) == 1 else 'them'}",
                    remedy="Add the promise continuous, or, for other people, start a new chain.",
                )
            return None
        documents = [*remembered.documents(history), imprint_document(record)]
        imprints = (*remembered.imprints(history), Imprint.from_dict(documents[-1])) if history else ()
        settled = proved_releases(history, imprints, policy)
        return judge_beside_earlier(record.files, documents, policy, form, imprints=imprints, settled=settled)

    return check


def judge_beside_earlier(
    files: Sequence[Path],
    documents: Sequence[Mapping[str, object]],
    policy: Policy,
    form: WrittenForm = PLAIN,
    *,
    imprints: Sequence[Imprint] = (),
    settled: Sequence[ProvedReleases | None] = (),
) -> HistoryComparison | None:
    """Returns the fewest candidates of anybody beside the earlier releases; raises where these are too few.

    `documents` are the imprints of all releases, oldest first; the last is that of `files`, which are read
    again here: they must leave it. `imprints` are the same as the documents, where the caller has read them;
    the second judge reads documents by itself. It decides, and `correspondence` attacks; either may refuse.
    Of what the published tables leave open, k candidates were proved on the data, by who knows a world.
    `settled` is what both found beside earlier releases: people whom nothing new is shown of since then are
    not looked at again.
    """
    for file in files:
        check_counts(file, documents[-1], form)
    if len(documents) < 2:
        return None

    fewest = [None if proved is None else proved.fewest for proved in settled]
    verdicts, left_open = judged_in_chain(documents, policy, fewest)
    imprints = imprints or [Imprint.from_dict(document) for document in documents]
    attacked, fewest_of = _chain_check_attacked(imprints, policy, settled)
    if attacked.holds is False or any(verdict.holds is False for verdict in verdicts):
        raise RefusedByHistory(
            f"next to the earlier releases fewer than {attacked.k} people are possible for somebody",
            remedy="Publish less detail, or wait until more people have arrived.",
        )
    figures = {
        "FA": fewest_of.forward,
        "BA": fewest_of.backward,
        **({"open": left_open} if left_open else {}),
    }
    return HistoryComparison(figures, tuple(replace(verdict, holds=True) for verdict in verdicts))


def _chain_check_attacked(
    imprints: Sequence[Imprint], policy: Policy, settled: Sequence[ProvedReleases | None]
) -> tuple[Correspondence, AttackFigures]:
    """Returns the attack, from the last release on that settles who came until then, and its figures of all.

    People who came until then are in the figures, and the attack does not look at them.
    """
    from sfumato.attacks.correspondence import correspondence

    start = closing_release(imprints, settled)
    proved = None if start is None else settled[start]
    candidates = correspondence(imprints[start or 0 :], policy, only_fewest=True)
    figures = AttackFigures(candidates.FA, candidates.BA)
    return candidates, figures if proved is None else proved.figures.followed_by(figures)


def baseline_check(
    overrides: Sequence[WeakerOverride | str | Path], policy: Policy, ledger: Ledger | None, chain: str
) -> BaselineCheck:
    """Returns what holds the policy to the baseline of the chain, unless an override lets it fall."""
    if len(overrides) > 1:
        raise UsageError("the policy has two overrides", remedy="Give the one that holds.")
    weaker = [
        WeakerOverride.read(override) if isinstance(override, str | Path) else override
        for override in overrides
    ]
    keys, moment = ((), now()) if ledger is None else (ledger.public_keys, ledger.moment())
    return BaselineCheck(policy, chain, weaker, keys, moment)
