"""The policy that a discovery suggests: its evidence per column, handed to the draft."""

from __future__ import annotations

from sfumato.discovery.evidence import DiscoveryEvidence
from sfumato.policy.column_evidence import ColumnFinding
from sfumato.policy.draft import draft
from sfumato.policy.policy import Policy
from sfumato.show.card import several


def suggest(scan: DiscoveryEvidence, *, preset: str | None = None) -> Policy:
    """A policy for the surveyed table. Promises ask for at least the k that was searched with.

    Without a preset the policy can always be kept, if the table is about two people or more; a preset is
    never lowered, so a small table may be too small for it.
    """
    return draft(
        scan.survey,
        preset=preset,
        findings={name: finding_of(scan, name) for name in scan.survey.columns},
        least=scan.k,
        note=_note(scan),
        source=scan.source,
    )


def finding_of(scan: DiscoveryEvidence, name: str) -> ColumnFinding:
    """What the search says about one column."""
    evidence = [found for found in scan.identifiers if found.column == name]
    direct = [found for found in evidence if found.direct and found.convincing]
    if direct:
        reason = "; ".join(f"{found.kind}: {found.reason}" for found in direct)
        return ColumnFinding(identifies=reason, person=any(found.person for found in direct))
    remarks = [
        f"{found.kind} ({found.confidence}): {found.reason}" for found in evidence if found.kind != "unique"
    ]
    return ColumnFinding(remark="; ".join([*remarks, *_strength(scan, name)]))


def _strength(scan: DiscoveryEvidence, name: str) -> list[str]:
    """How a column singles people out: alone, and together with others."""
    if name not in scan.columns:
        return ["left out of the search"]
    said = []
    if alone := scan.alone[name]:
        said.append(f"alone it exposes {alone:,} of {several(scan.rows, 'row')}")
    if within := scan.within[name]:
        said.append(f"in {within:,} of {several(len(scan.found.sets), 'minimal set')}")
    elif scan.complete and scan.max_size is None:
        said.append("in no minimal set")
    return said


def _note(scan: DiscoveryEvidence) -> str:
    bound = "" if scan.max_size is None else f", sets of at most {several(scan.max_size, 'column')}"
    state = "complete" if scan.complete else "stopped early"
    return (
        f"Proposed from the data: quasi-identifiers at k = {scan.k}, reading {scan.reading}{bound}, {state}. "
        "Roles are guesses; read the reasons, correct what is wrong, and only then publish."
    )
