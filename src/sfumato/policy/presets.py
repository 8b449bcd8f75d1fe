"""Presets: thresholds that others have published, with their source and date.

A preset is a starting point with a source, not a statement that a release is lawful or compliant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sfumato.core.errors import WrongCall
from sfumato.core.problem import did_you_mean


class Grade(StrEnum):
    """How the number of a preset is known."""

    PUBLISHER = "the publisher's own text"
    SECONDARY = "others who report it; the passage itself was not read"
    OURS = "ours; the source names no number"


@dataclass(frozen=True)
class Preset:
    """A named threshold. `dated` is the date of the source, `meaning` what it says in plain words.

    `grade` says how the number is known.
    """

    name: str
    k: int
    meaning: str
    source: str
    dated: str
    grade: Grade
    checks_columns: bool = False

    @property
    def promises(self) -> list[dict[str, dict[str, object]]]:
        """The promises, as a policy writes them."""
        return [{"k-anonymity": {"k": self.k}}]


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "small-cells-5",
            5,
            "Nobody stands in a group of fewer than 5 people who look alike: at best a guess of 1 in 5.",
            "At least 5 unweighted respondents, an example in slides of Statistics Canada's Research Data"
            " Centres",
            "2012",
            Grade.SECONDARY,
        ),
        Preset(
            "ema",
            12,
            "The risk of being found is at most 0.09 for everybody. Taken to the letter that is groups of at"
            " least 12 people: 1 in 11 is 0.0909, which is above it. Some read it as 11, after rounding.",
            "European Medicines Agency, external guidance on Policy 0070 (publication of clinical data); "
            "Health Canada, Public Release of Clinical Information, is said to use the same threshold",
            "2017-09-20",
            Grade.SECONDARY,
        ),
        Preset(
            "uk-tre-10",
            10,
            "Every published count is about at least 10 people.",
            "Statistical disclosure control guide of the UK Longitudinal Linkage Collaboration: nothing under"
            " 10 leaves; 10 is also the threshold that the output checker ACRO starts with",
            "2026-01-30",
            Grade.PUBLISHER,
        ),
        Preset(
            "cms-11",
            11,
            "Every published count is about at least 11 people: 1 to 10 are neither shown nor derivable.",
            "US Centers for Medicare and Medicaid Services, cell suppression policy",
            "2024-01-26",
            Grade.PUBLISHER,
        ),
        Preset(
            "hipaa-safe-harbor",
            5,
            "What Safe Harbor lists is left out or made coarser: names, contacts and numbers of people, "
            "places below a state, dates below the year, ages above 89; so are words of which no header says "
            "what they are. A policy with `preset: hipaa-safe-harbor` is refused where a column "
            "breaks that, as far as headers and cells tell; whether that is enough is for a person to say. "
            "The groups of 5 are ours, Safe Harbor does not ask for them.",
            "US Code of Federal Regulations, 45 CFR 164.514(b)(2); guidance of the Department of Health and "
            "Human Services",
            "2012-11-26",
            Grade.OURS,
            checks_columns=True,
        ),
    )
}


def preset(name: str) -> Preset:
    """Returns the preset with this name; raises where there is none.

    >>> preset("ema").k
    12
    """
    if name not in PRESETS:
        hint = did_you_mean(name, list(PRESETS), otherwise=f"There is {', '.join(PRESETS)}.")
        raise WrongCall("there is no preset of this name.", remedy=hint)
    return PRESETS[name]
