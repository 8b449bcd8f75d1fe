"""The answers that were given as flags of `sfumato init`, and which are still missing."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.policy.intent import Intent


@dataclass
class GivenAnswers:
    """The answers that were given as flags; `None` is a question that is still open."""

    row: str | None
    person: str | None
    since: str | None
    audience: str | None
    again: bool | None
    recipients: int | None
    rule: str | None
    exact: tuple[str, ...] | None

    def open_flags(self) -> list[str]:
        """Returns the flags of all questions that are still open."""
        questions = [
            ("--row person|event", self.row is None),
            ("--person COLUMN", self.row == "event" and self.person is None),
            ("--audience public|partners|inside", self.audience is None),
            ("--once or --again", self.again is None),
            ("--since COLUMN or --person COLUMN", bool(self.again) and not (self.since or self.person)),
            ("--recipients NUMBER", self.recipients is None and self.audience != "public"),
            ("--rule NAME", self.rule is None),
            ("--exact COLUMN or --nothing-exact", self.exact is None),
        ]
        return [flag for flag, is_open in questions if is_open]

    def intent(self) -> Intent:
        """Returns the answers, checked against each other."""
        from sfumato.policy.intent import Audience, Frequency, Intent, RowMeaning

        return Intent(
            RowMeaning(str(self.row)),
            Audience(str(self.audience)),
            Frequency.AGAIN if self.again else Frequency.ONCE,
            self.recipients or 1,
            self.rule or "none",
            self.exact or (),
            self.person,
            self.since,
        )
