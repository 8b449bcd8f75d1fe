"""A policy that was drafted from the data: written, with what comes next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy


def draft_for(policy: Policy, file: Path) -> Policy:
    """Returns a draft with paths as its file says them: relative to the folder that this will be in."""
    return replace(policy, source=policy.source.seen_from(file.parent))


def write_draft(policy: Policy, file: Path, data: str) -> str:
    """Writes a draft; returns what to do with it. A column that waits would be refused otherwise."""
    file.write_text(policy.to_yaml(), encoding="utf-8")
    waits = f"confirm what waits (sfumato policy confirm {file} COLUMN…), " if policy.confirm else ""
    then = f"sfumato protect {data} -p {file} -o safe.csv"
    return f"wrote {file}; read the reasons, correct the roles, {waits}then: {then}"
