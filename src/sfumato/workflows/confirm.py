"""The verb `policy confirm`: somebody says that columns may be published unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.policy.confirmation import without_entries
from sfumato.policy.policy import Policy
from sfumato.system.disk import read_document


def confirm_file(path: str | Path, columns: Sequence[str] = (), *, every: bool = False) -> tuple[str, ...]:
    """Takes columns out of `confirm` in a policy file; returns those that still wait.

    Nothing else in the file changes, not even its comments. Raises `WrongCall` where a column does not wait.
    """
    if every == bool(columns):
        raise (
            WrongCall("no column named", remedy="Name columns, or say --all.")
            if not columns
            else WrongCall("columns and all at a time", remedy="Name columns, or say --all.")
        )
    file = Path(path)
    policy = Policy.load(file)
    confirmed = policy.confirm_all() if every else policy.confirm_columns(*columns)
    names = set(policy.confirm) - set(confirmed.confirm)
    if not names:
        return tuple(confirmed.confirm)
    text = without_entries(read_document(file).decode("utf-8-sig"), names)
    aside = file.with_name(f".{file.name}.confirmed")
    aside.write_text(text, encoding="utf-8", newline="")
    try:
        changed = Policy.load(aside)
        if changed.digest != policy.digest or dict(changed.confirm) != dict(confirmed.confirm):
            raise BadPolicy(
                "the entries of confirm cannot be taken out of this file",
                where=file.name,
                remedy="Take them out in an editor.",
            )
        aside.chmod(file.stat().st_mode)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    return tuple(confirmed.confirm)
