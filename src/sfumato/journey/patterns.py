"""Looking at all patterns: how many equally good versions of a table there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.core.exact_numbers import fraction
from sfumato.core.progress import Progress, silent
from sfumato.journey.arguments import AnyImprint, AnyPolicy, beside, policy_of
from sfumato.journey.protect import counted
from sfumato.protection.patterns.patterns import Patterns
from sfumato.protection.patterns.policy_patterns import patterns_of


def patterns(
    data: Any,
    policy: AnyPolicy,
    *,
    quality: str | None = None,
    tolerance: Fraction | float | str | None = None,
    earlier: Sequence[AnyImprint] = (),
    progress: Progress | None = None,
) -> Patterns:
    """Every combination of levels of the key columns: its anonymity, its quality, and whether it is allowed.

    Versions are equally good by `quality`: `height`, `precision`, `sweeney`, `discernibility`,
    `discernibility-star`, `loss`, `geometric`, `entropy` or `class-size`. `tolerance` is the share by which
    one may be worse than another ("5%"). Both are as the policy says (`recipients`) where they are not given.
    `earlier` are the imprints of earlier releases, as for `protect`.
    """
    meant, told = beside(policy_of(policy), earlier), progress or silent
    share = None if tolerance is None else fraction(tolerance, key="the tolerance")
    return patterns_of(
        counted(data, meant, progress=told), meant, quality=quality, tolerance=share, progress=told
    )
