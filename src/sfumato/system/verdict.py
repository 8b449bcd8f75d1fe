"""Verdicts and findings: evidence, not booleans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

Measure = int | Fraction | float
"""Exact where the definition is rational; a float (rounded against the publisher) where it is not."""


class Evidence(StrEnum):
    """What a promise can be judged on."""

    PUBLISHED = "published"
    EARLIER = "published + earlier releases"
    REFERENCE = "published + reference"


@dataclass(frozen=True)
class Verdict:
    """Whether a promise holds on what is published, and by how much.

    `holds` is `None` where the evidence at hand cannot decide it: never to be read as "holds".
    `measured` is the worst class's value, `limit` what the promise asks; `people` and `classes` count
    those in violation. `sealed`: it holds by a certificate whose signature was checked, not by what was
    judged now.
    """

    promise: str
    holds: bool | None
    measured: Measure | None
    limit: Measure
    worst: int | None = None
    people: int = 0
    classes: int = 0
    evidence: Evidence = Evidence.PUBLISHED
    reason: str = ""
    sealed: bool = False

    @property
    def margin(self) -> Measure | None:
        """Distance between what was measured and the limit."""
        if self.measured is None:
            return None
        if isinstance(self.measured, float) or isinstance(self.limit, float):
            return abs(float(self.measured) - float(self.limit))
        return abs(Fraction(self.measured) - Fraction(self.limit))

    @property
    def word(self) -> str:
        if self.sealed and self.holds:
            return "sealed"
        return {True: "holds", False: "BROKEN", None: "not decidable"}[self.holds]


WITHSTOOD = "withstood"
WITHSTOOD_IN_PART = "withstood as far as tried"


@dataclass(frozen=True)
class Finding:
    """What an attack achieved, on how many people, and how, in a sentence without cell values.

    `confidence` is the adversary's best chance; `breach` says that it is more than the policy allows.
    `details` holds counts and column names for reports; `values` what only `--show-values` prints.
    `not_tried` says which part of what such an adversary may know or do was left out, and how to try it.
    """

    attack: str
    adversary: str
    sentence: str
    confidence: Fraction
    people: int
    breach: bool
    columns: tuple[str, ...] = ()
    details: Mapping[str, int | Fraction | str] = field(default_factory=dict)
    values: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    not_tried: str = ""

    @property
    def word(self) -> str:
        """What the attack came to; it was withstood without more words only if all of it was tried."""
        if self.breach:
            return "BREACH"
        return WITHSTOOD_IN_PART if self.not_tried else WITHSTOOD

    @property
    def told(self) -> str:
        """The sentence, and what was not tried."""
        return f"{self.sentence}; not tried: {self.not_tried}" if self.not_tried else self.sentence
