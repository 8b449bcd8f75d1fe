"""The verb `patterns`: how many equally good versions of a table there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from sfumato.inputs import (
    AnyImprint,
    AnyPolicy,
    bind_earlier,
    count_table,
    load_imprints,
    load_policy,
    open_original,
)
from sfumato.recipients.capacity import Capacity
from sfumato.recipients.patterns import Patterns, patterns_of
from sfumato.system.presentation.charts import Figure, save
from sfumato.system.progress import Progress, silent
from sfumato.table.arrays import fraction
from sfumato.table.source import AnyTable
from sfumato.workflows.recipient_versions import RecipientVersions, with_recipients


def patterns(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    quality: str | None = None,
    tolerance: Fraction | float | str | None = None,
    compare: Sequence[str] = (),
    earlier: Sequence[AnyImprint] = (),
    progress: Progress | None = None,
) -> Patterns:
    """Every combination of levels of the key columns: its anonymity, its quality, and whether it is allowed.

    Args:
        data: the original table, as for `protect`.
        policy: the policy, as for `protect`.
        quality: what makes two versions equally good: `height`, `precision`, `sweeney`, `discernibility`,
            `discernibility-star`, `loss`, `geometric`, `entropy` or `class-size`. By default the policy's
            (`recipients`).
        tolerance: the share by which one version may be worse than another ("5%"). By default the policy's.
        compare: metrics that `quality` is compared with, as `agreements` does.
        earlier: imprints of earlier releases, as for `protect`.
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> int(sf.patterns(people, policy).allowed.sum())
    5
    """
    show, rules = progress or silent, bind_earlier(load_policy(policy), load_imprints(earlier))
    share = None if tolerance is None else fraction(tolerance, key="the tolerance")
    table = count_table(open_original(data, policy=rules), rules, progress=show)
    return patterns_of(table, rules, quality=quality, tolerance=share, compared=compare, progress=show)


# The verb `capacity`: how many recipients a policy serves with a version each.


def capacity(data: AnyTable, policy: AnyPolicy, *, progress: Progress | None = None) -> Capacity:
    """How many recipients a policy serves with a version each, at its quality and at a little less.

    Args:
        data: the original table, as for `protect`.
        policy: the policy, as for `protect`.
        progress: receives the phase, how much is done, and out of how much.

    >>> import sfumato as sf
    >>> people, policy = sf.demo.hospital(300), sf.demo.policy()
    >>> print(sf.capacity(people, policy.with_(k=2)))
    this policy serves 1 recipient at this quality, 3 at 5 % more loss, 14 at 50 % more loss
    """
    show, rules = progress or silent, with_recipients(load_policy(policy))
    table = count_table(open_original(data, policy=rules), rules, progress=show)
    return RecipientVersions(table, rules, (), chain="", progress=show).capacity()


# The verb `draw`: a result's charts, as files.


class Drawable(Protocol):
    """A result that has charts."""

    def charts(self) -> Sequence[Figure]: ...


def draw(result: Drawable, folder: str | Path) -> tuple[Path, ...]:
    """Draw a result's charts into a folder: SVG files, and one page with all of them; nothing is fetched.

    Args:
        result: what `discover`, `trace` or `compare` returned.
        folder: the folder; it is made where it is not there.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"zip": ["1", "1", "2", "2"], "sex": ["f", "m", "f", "m"]})
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in sf.draw(sf.discover(people, k=2, mode="any"), folder)]
    ['exposed-by-size.svg', 'contribution-by-column.svg', 'charts.html']
    """
    return save(result.charts(), folder)
