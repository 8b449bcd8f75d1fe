"""Names that changed, and the error that names the new word to whoever still uses the old one."""

from __future__ import annotations

import re

RENAMED = {
    "`--c-max`, `c_max`": "gone: a charge holds for any number of leakers",
    "`Choice`": "`ChoiceParam`",
    "`Declared`": "`ParametrizedPromise`",
    "`Demand`, `Promise.demands`": "`PromiseStrength`, `Promise.strengths`",
    "`--despite`, `despite`": "`--ignore-chain`, `ignore_chains`; in a certificate and with `--json` it is still `despite`",
    "`Exact`": "`FractionParam`",
    "`Flag`": "`FlagParam`",
    "`Grade` of presets": "the text `Preset.provenance`",
    "`HeldBack`": "`DeferredRelease`",
    "`issue_all`": "`begin`, `judge_folders` and `issue`",
    "`--like`, `like` of `protect` and `release`": "`--reuse-plan`, `reuse_plan`",
    "`Name`": "`ColumnParam`",
    "`Optional`": "`OptionalParam`",
    "`OutOfReach`": "`StoreUnavailable`",
    "`PreparedRelease`": "`PlannedRelease`, which holds a `ReleaseRecord`",
    "`Promise.asks_others`, `batch_column`, `candidates`, `earlier`, `given`, `tells_people`": "the same of `CrossReleasePromise`",
    "`Promise.column_options`, `column_role`": "the same of `ColumnRolePromise`",
    "`Promise.cone`, `most_kept`": "the same of `ClassPromise`",
    "`Promise.derived`, `derived_with`, `given_kept`, `given_original`, `joint_columns`, `kept_of_original`, `needs_original`": "the same of `TermPromise`",
    "`Promise.looks_back`": "`isinstance(promise, CrossReleasePromise)`, `Promises.cross_release`",
    "`Promise.relative`, `ClassPromise.margins`": "the same of `RelativePromise`",
    "`Promise.stricter`, `with_least_people`, `with_least_values`": "the same of `AdjustablePromise`",
    "`Record` of `releases.ledger`": "`ReleaseRecord`",
    '`register("name", kind="kind")` of `models.registry`': "`register`, without arguments: the class has `name` and `kind`",
    "`Watch`": "`IncrementalChecker`",
    "`Whole`": "`IntegerParam`",
    "`WrongCall`": "`UsageError`",
}
"""What changed and what it became, in the order and the words of `docs/reference/renamed.md`."""


def _names(cell: str) -> set[str]:
    """The names in backticks: of `Promise.demands` the last part, of an option the name of its parameter."""
    return {
        quoted.partition("(")[0].rpartition(".")[2].removeprefix("--").replace("-", "_")
        for quoted in re.findall(r"`([^`]+)`", cell.partition(" of ")[0])
    }


def missing_name(module: str, name: str) -> str:
    """The message of an error: a module has no such name, and what the name became if it was renamed.

    >>> missing_name("sfumato.extend", "Whole")
    "module 'sfumato.extend' has no attribute 'Whole': it was renamed, `Whole` is now `IntegerParam`"
    >>> missing_name("sfumato", "nothing")
    "module 'sfumato' has no attribute 'nothing'"
    """
    message = f"module {module!r} has no attribute {name!r}"
    renamed = [f"{old} is now {new}" for old, new in RENAMED.items() if name in _names(old)]
    if not renamed:
        return message
    return f"{message}: it was renamed, {'; '.join(renamed)}"


def was_renamed(name: str) -> bool:
    """Whether the table of renamed names has this one.

    >>> was_renamed("WrongCall"), was_renamed("UsageError")
    (True, False)
    """
    return any(name in _names(old) for old in RENAMED)
