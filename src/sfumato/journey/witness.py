"""The witness of a published file: its rows with a number for each person, for the second judge alone."""

from __future__ import annotations

from pathlib import Path

from sfumato.policy.policy import Policy

AS_PUBLISHED = (".csv", ".tsv", ".parquet", ".pq")
TELLS_ALL = ".jsonl"
"""The witness of any other file: no name of a column, no text and no number is too odd for it."""


def needs_witness(policy: Policy) -> bool:
    """Returns whether promises count people whom the published file does not tell apart."""
    return policy.person is not None and policy.person not in policy.published


def numbered_columns(policy: Policy) -> tuple[str, ...]:
    """Returns the columns of which a witness holds numbers."""
    return (policy.person,) if policy.person is not None and needs_witness(policy) else ()


def witness_path(policy: Policy, staged: Path, private: Path) -> Path | None:
    """Returns where, in a private folder, the witness of a staged file is; nothing if it needs none."""
    suffix = staged.suffix if staged.suffix in AS_PUBLISHED else TELLS_ALL
    return private / f"witness{suffix}" if needs_witness(policy) else None
