"""Policies as the studio reads them: with all their files in the opened folder."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.core.problem import short
from sfumato.journey.needed_files import needed_files
from sfumato.policy.edited_text import policy_of_text
from sfumato.policy.policy import Policy


def policy_within(text: str, path: Path) -> Policy:
    """Returns the policy that a text holds, which lies or will lie at `path`.

    Raises `BadPolicy` where it is none, and `WrongCall` where it names a file outside of its folder.
    """
    policy = policy_of_text(text, name=path.name, folder=path.parent)
    home = path.parent.resolve()
    for file, what in needed_files(None, policy, None, ()).items():
        if not file.resolve().is_relative_to(home):
            raise WrongCall(
                f"{what} lies outside of the folder that the studio was opened on",
                where=short(file.name),
                remedy="Copy the file into the folder, and name it without a path.",
            )
    return policy
