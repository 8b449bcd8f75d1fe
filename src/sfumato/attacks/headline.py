"""The headline of an audit: what was promised, what was attacked beyond it, and what fails the call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.verdict import Finding, Verdict
from sfumato.show.card import several


@dataclass(frozen=True)
class Headline:
    """Counts of verdicts and of attacks.

    `holds` is the audit's own answer: a broken promise fails it, and what is not decided fails it where a
    caller is strict. An attack that succeeds although every promise holds goes beyond what was promised: it
    fails who asks for that attack, not who asks whether the promises are kept.
    """

    holds: bool | None
    hold: int
    broken: int
    undecided: int
    attacks: int
    succeeded: int
    partly_tried: int = 0
    """Attacks that were withstood as far as they were tried, and were not tried in full."""

    @classmethod
    def of(cls, holds: bool | None, verdicts: Sequence[Verdict], findings: Sequence[Finding]) -> Headline:
        said = [verdict.holds for verdict in verdicts]
        won = sum(finding.breach for finding in findings)
        partly = sum(bool(finding.not_tried) and not finding.breach for finding in findings)
        return cls(holds, said.count(True), said.count(False), said.count(None), len(findings), won, partly)

    @property
    def title(self) -> str:
        """The answer in one line; it never says that all is well above an attack that succeeded."""
        promised = {
            True: "what is promised holds",
            False: "what is promised is BROKEN",
            None: "what is promised is not decided",
        }[self.holds]
        if not self.succeeded:
            tried = ", as far as attacks were tried" if self.partly_tried else ""
            return promised + (f"; no attack beyond it succeeds{tried}" if self.holds else "")
        joint = "; beyond it, " if self.holds else "; "
        return f"{promised}{joint}{several(self.succeeded, 'attack succeeds', 'attacks succeed')}"

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """What was promised, what was attacked, and what fails the call."""
        holding = "holds" if self.hold == 1 else "hold"
        parts = ((self.hold, holding), (self.undecided, "not decidable"), (self.broken, "BROKEN"))
        promised = ", ".join(f"{count} {words}" for count, words in parts if count)
        asked = self.hold + self.undecided + self.broken
        won = f"{self.succeeded} {'succeeds' if self.succeeded == 1 else 'succeed'}"
        if not self.succeeded:
            won = "none succeeds" if self.attacks else "none was tried"
        if self.partly_tried:
            won += f"; {self.partly_tried} not tried in full"
        return [
            ("promised", f"{several(asked, 'promise')}: {promised or 'none'}"),
            ("attacked", f"{several(self.attacks, 'attack')}: {won}"),
            ("fails this audit", self._failing),
        ]

    @property
    def fails(self) -> str | None:
        """What fails the audit: `promises`, `undecided` (where the caller is strict), or nothing."""
        return {True: None, False: "promises", None: "undecided"}[self.holds]

    @property
    def _failing(self) -> str:
        if self.holds is False:
            return "a broken promise"
        spared = "; attacks beyond what is promised do not" if self.succeeded else ""
        return ("nothing" if self.holds else "only with --strict: not all is decided") + spared

    def as_dict(self) -> dict[str, object]:
        """The same as JSON."""
        return {
            "promised": {"hold": self.hold, "broken": self.broken, "undecided": self.undecided},
            "attacked": {
                "attacks": self.attacks,
                "succeeded": self.succeeded,
                "partly_tried": self.partly_tried,
            },
            "fails": self.fails,
        }
