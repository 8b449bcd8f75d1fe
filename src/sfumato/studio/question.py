"""What long work is about: a table, a policy and a ledger, each in one state."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sfumato.inputs import needed_files
from sfumato.policy.policy import Policy, policy_of_text
from sfumato.studio.security import Studio
from sfumato.studio.state import PolicyFile, version_of
from sfumato.system.errors import LedgerConflict, SfumatoError, UsageError, short

# Policies as the studio reads them: with all their files in the opened folder.


def policy_within(text: str, path: Path) -> Policy:
    """Returns the policy that a text holds, which lies or will lie at `path`.

    Raises `BadPolicy` where it is none, and `UsageError` where it names a file outside of its folder.
    """
    policy = policy_of_text(text, name=path.name, folder=path.parent)
    home = path.parent.resolve()
    for file, what in needed_files(None, policy, None, ()).items():
        if not file.resolve().is_relative_to(home):
            raise UsageError(
                f"{what} lies outside of the folder that the studio was opened on",
                where=short(file.name),
                remedy="Copy the file into the folder, and name it without a path.",
            )
    return policy


LEDGER = "ledger.db"


@dataclass(frozen=True)
class Question:
    """A table and a policy that something is asked about; `stamp` and `version` are the states of both.

    `ledger` is the address of the folder's ledger, `begun` says whether it is there. Work is handed this
    instead of what it names, and looks whether all of it is as it was.
    """

    data: Path
    name: str
    stamp: str
    policy_path: Path
    version: str
    ledger: str
    begun: bool
    history: str = ""
    """The state of the ledger, where the policy looks back at earlier releases."""

    @property
    def key(self) -> str:
        """A text that differs where an answer might."""
        return f"{self.stamp}:{self.version}:{self.history}"

    @property
    def against(self) -> str | None:
        """The ledger, where it is there."""
        return self.ledger if self.begun else None

    def policy(self) -> Policy:
        """Returns the policy; raises `LedgerConflict` where it is no longer the one that was asked about."""
        text = PolicyFile(self.policy_path).text
        if text is None or version_of(text) != self.version:
            raise LedgerConflict("the policy was changed meanwhile", remedy="Start again with the new one.")
        return policy_within(text, self.policy_path)


def question_of(studio: Studio) -> Question | None:
    """Returns what the studio is looking at; `None` while it lacks a table or a policy."""
    data = studio.data
    if data is None or not studio.policy.path.exists():
        return None
    ledger, version = ledger_path(studio), studio.policy.version
    begun = ledger.exists()
    return Question(
        data.path,
        data.name,
        data.stamp,
        studio.policy.path,
        version,
        f"sqlite:///{ledger}",
        begun,
        _state_of(ledger) if begun and _looks_back(studio.policy.path, version) else "",
    )


def needed_question(studio: Studio) -> Question:
    """Returns what the studio is looking at; raises `UsageError` while it lacks a table or a policy."""
    question = question_of(studio)
    if question is None:
        raise UsageError(
            "a table and a policy are needed", remedy="Discover a table, then declare what its columns are."
        )
    return question


def _state_of(ledger: Path) -> str:
    state = ledger.stat()
    return f"{state.st_size}:{state.st_mtime_ns}"


@lru_cache(maxsize=8)
def _looks_back(path: Path, version: str) -> bool:
    """Whether the policy of a version is judged beside earlier releases; not, while it is unusable."""
    del version
    with suppress(SfumatoError):
        policy = PolicyFile(path).load()
        return policy is not None and policy.promises.looks_back
    return False


def ledger_path(studio: Studio) -> Path:
    """Returns where the ledger of the folder is, or will be."""
    return studio.folder.file(LEDGER)
