"""Handing out: a release to nobody in particular, to one, or in a version of its own to each of several."""
# ruff: noqa: PLC0415  # databases wait until something is released

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.progress import Progress
from sfumato.core.reading_tree import reading_trees
from sfumato.engine import open_source
from sfumato.journey.arguments import limit_of
from sfumato.journey.chain import beside_history, beside_own, imprints, looks_back, memory_of
from sfumato.journey.judgement import judged
from sfumato.journey.protect import counted, protect
from sfumato.journey.recipient_versions import Assigned, Handout, with_recipients
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import GLOBAL_SEARCHES, RecipientRule
from sfumato.protection.memory_need import check_need
from sfumato.protection.plan import Plan
from sfumato.releases.private_file import StageText, discard

if TYPE_CHECKING:
    from sfumato.releases.issue import PreparedRelease
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.record import HistoryComparison, Record
    from sfumato.releases.override import Override


class Handing:
    """What is released to whom: planned when the history is known, checked when it is written.

    One release, as the search finds it, unless there are several recipients, a rule for them, or others who
    hold versions already: then everybody named gets a version that was chosen for them. `keep` receives what
    the owner has to keep of the original table; all versions are made from the same one.
    """

    def __init__(
        self,
        data: Any,
        policy: Policy,
        places: Mapping[str, str],
        overrides: Mapping[str, Override],
        *,
        chain: str,
        progress: Progress,
    ) -> None:
        self.data, self.policy, self.overrides = data, policy, overrides
        self.names, self._places = tuple(places), places
        self.chain, self._progress = chain, progress
        self.keep: StageText = discard
        self.handout: Handout | None = None
        self._assigned: dict[str, Assigned] = {}

    def prepare(self, history: Sequence[Record]) -> list[PreparedRelease]:
        """Plan everything; the ledger is told numbers of nodes, digests and counts, never a value."""
        if not self._in_versions(history):
            return [self._alone(history)]
        meant = with_recipients(self.policy)
        table = counted(self.data, meant, progress=self._progress)
        check_need(table, meant, limit_of(self.data))
        self.handout = Handout(table, meant, history, chain=self.chain, progress=self._progress)
        known = set(_known_trees(record.trees for record in history))
        made = []
        for assigned in self.handout.assign(self.names, self.overrides):
            self._assigned[assigned.recipient] = assigned
            one = self._prepared(assigned.plan, assigned.policy, assigned.recipient, known)
            told = None if assigned.override is None else assigned.override.as_dict()
            made.append(replace(one, place=self._places[assigned.recipient], override=told))
            known |= set(_known_trees([one.trees]))
        return made

    def check(
        self, history: Sequence[Record], record: Record
    ) -> Mapping[str, Any] | HistoryComparison | None:
        """Hold what was written against the earlier releases that it has to be held against."""
        if record.recipient in self._assigned:
            return beside_own(self._assigned[record.recipient].policy)(history, record)
        return beside_history(self.policy)(history, record)

    def _in_versions(self, history: Sequence[Record]) -> bool:
        """Whether versions are chosen for recipients, or a search does as the policy says."""
        if not self.names:
            return False
        handed = any(record.place for record in history)
        held = any(record.recipient is not None for record in history) and not looks_back(self.policy)
        asked = len(self.names) > 1 or self.policy.recipients is not None or bool(self.overrides)
        wanted = asked or handed or held
        if wanted and self.policy.protect.search not in GLOBAL_SEARCHES:
            raise BadPolicy(
                f"{self.policy.protect.search} recodes every class by itself: versions have no pattern to be"
                " told apart by",
                where="protect.search",
                remedy=f"Use search: {' or '.join(GLOBAL_SEARCHES)}.",
            )
        return wanted

    def _alone(self, history: Sequence[Record]) -> PreparedRelease:
        """One release, planned by the policy's search."""
        recipient = self.names[0] if self.names else None
        meant = self.policy
        if recipient is not None and meant.protect.search in GLOBAL_SEARCHES:
            meant = replace(meant, recipients=RecipientRule())
        earlier = imprints(history) if looks_back(meant) else ()
        plan = protect(self.data, meant, earlier=earlier, progress=self._progress)
        return self._prepared(plan, self.policy, recipient, _known_trees(r.trees for r in history))

    def _prepared(
        self, plan: Plan, policy: Policy, recipient: str | None, known: Iterable[str]
    ) -> PreparedRelease:
        from sfumato.releases.issue import PreparedRelease
        from sfumato.releases.ledger.record import memory_bytes

        data, told, recoding = self.data, self._progress, plan.recoding
        if plan.reference is not None:
            self.keep(plan.reference.to_json())
        cuts = recoding.cuts
        return PreparedRelease(
            policy=self.policy.digest,
            write=lambda path: open_source(data).write(recoding, path, drop=policy.dropped, progress=told),
            judge=lambda path, private: judged(path, data, plan, policy, private=private, progress=told),
            verdicts=plan.verdicts,
            taxonomies={column.name: column.taxonomy.digest for column in recoding.table.keys},
            cuts=None if cuts is None else {name: cut.nodes.tolist() for name, cut in cuts.items()},
            trees={} if cuts is None or recipient is None else reading_trees(recoding, known=known),
            recipient=recipient,
            figures={
                "rows": plan.rows - plan.suppressed,
                "suppressed": plan.suppressed,
                "classes": plan.classes,
                "k": plan.smallest,
                "loss": plan.loss,
            },
            memory=memory_bytes(memory_of(plan)),
            versions={"sfumato": version("sfumato")},
        )


def checked_overrides(
    given: Sequence[Override | str | Path],
    policy: Policy,
    names: Sequence[str],
    ledger: Ledger | str,
    *,
    chain: str,
) -> dict[str, Override]:
    """The overrides by recipient, each genuine and by somebody who may; see `Override.check`."""
    if not given:
        return {}
    from sfumato.releases.override import Override

    rule = policy.recipients or RecipientRule()
    found: dict[str, Override] = {}
    for one in given:
        override = one if isinstance(one, Override) else Override.read(one)
        override.check(
            policy=policy.digest,
            chain=chain,
            names=names,
            overriders=rule.overriders,
            ledger_keys=() if isinstance(ledger, str) else ledger.public_keys,
            now=datetime.now(UTC) if isinstance(ledger, str) else ledger.clock(),
        )
        if override.recipient in found:
            raise WrongCall("a recipient has two overrides", remedy="Give the one that holds.")
        found[override.recipient] = override
    return found


def _known_trees(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The digests of trees that such documents hold."""
    return [
        str(words["taxonomy"])
        for document in documents
        for words in document.get("columns", ())
        if "marks" in words
    ]
