"""The verb `patterns`: how many equally good versions of a table there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.core.exact_numbers import fraction
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.counted_table import count_table
from sfumato.journey.policy_argument import AnyImprint, AnyPolicy, bind_earlier, load_imprints, load_policy
from sfumato.journey.table_argument import open_original
from sfumato.protection.patterns.patterns import Patterns
from sfumato.protection.patterns.policy_patterns import patterns_of


def patterns(
    data: AnyTable,
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
    show, rules = progress or silent, bind_earlier(load_policy(policy), load_imprints(earlier))
    share = None if tolerance is None else fraction(tolerance, key="the tolerance")
    table = count_table(open_original(data, policy=rules), rules, progress=show)
    return patterns_of(table, rules, quality=quality, tolerance=share, progress=show)
