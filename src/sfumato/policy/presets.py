"""Presets: thresholds that others have published, with their source and date.

A preset is a starting point with a source, not a statement that a release is lawful or compliant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.core.errors import WrongCall
from sfumato.core.problem import did_you_mean


@dataclass(frozen=True)
class Preset:
    """A named threshold. `dated` is the date of the source, `meaning` what it says in plain words."""

    name: str
    k: int
    meaning: str
    source: str
    dated: str
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
            "Minimum cell size of 5, a common rule of health data custodians; see Subcommittee on Disclosure "
            "Limitation Methodology, Statistical Policy Working Paper 22, second version",
            "2005-12",
        ),
        Preset(
            "ema",
            11,
            "The risk of being found is at most 0.09 for everybody, read as groups of at least 11 people: "
            "1 in 11 is 0.0909, which the guidance rounds to 0.09. Taken to the letter it would be 12.",
            "European Medicines Agency, external guidance on Policy 0070 (publication of clinical data); "
            "Health Canada, Public Release of Clinical Information, uses the same threshold",
            "2018-10",
        ),
        Preset(
            "uk-tre-10",
            10,
            "Every published count is about at least 10 people.",
            "Threshold of 10 used by output checkers of UK trusted research environments; "
            "Handbook on Statistical Disclosure Control for Outputs",
            "2019-07",
        ),
        Preset(
            "hipaa-safe-harbor",
            5,
            "A checklist of columns: which ones Safe Harbor would have removed or coarsened. It covers what "
            "can be seen from names, roles and taxonomies; whether that is enough is for a person to say. "
            "The groups of 5 are ours, Safe Harbor does not ask for them.",
            "US Code of Federal Regulations, 45 CFR 164.514(b)(2); guidance of the Department of Health and "
            "Human Services",
            "2012-11-26",
            checks_columns=True,
        ),
    )
}


def preset(name: str) -> Preset:
    """Returns the preset with this name; raises where there is none.

    >>> preset("ema").k
    11
    """
    if name not in PRESETS:
        hint = did_you_mean(name, list(PRESETS), otherwise=f"There is {', '.join(PRESETS)}.")
        raise WrongCall("there is no preset of this name.", remedy=hint)
    return PRESETS[name]
