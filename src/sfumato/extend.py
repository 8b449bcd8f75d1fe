"""The stable names for packages of others: everything that a promise, a judge, an attack, a search or an
engine of another package needs.

    from sfumato.extend import ClassPromise, IntegerParam, ParametrizedPromise, check_promise

Names here stay where modules move; each is loaded when it is first used. `docs/reference/seams.md` shows the
minimal shape of every part, and runs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.models.attack_contract import Attack, PublishedTable
    from sfumato.models.contract import (
        AdjustablePromise,
        Answer,
        ClassPromise,
        ColumnOptions,
        ColumnRolePromise,
        ColumnView,
        Conflicts,
        CrossReleasePromise,
        Cuts,
        IncrementalChecker,
        PolicyView,
        Promise,
        Promises,
        RelativePromise,
        TablePromise,
        TermPromise,
        Truth,
    )
    from sfumato.models.parameters import (
        ChoiceParam,
        ColumnParam,
        FlagParam,
        FractionParam,
        IntegerParam,
        OptionalParam,
        Parameter,
        ParametrizedPromise,
        histogram_of,
    )
    from sfumato.models.parameters import verdict as class_verdict
    from sfumato.policy.searches import Ability
    from sfumato.search.contract import Aim, Outcome, Search
    from sfumato.search.contract import find as find_search
    from sfumato.search.loss import MeasuredRecoding
    from sfumato.system.errors import BadData, BadPolicy, Infeasible, SfumatoError, UsageError
    from sfumato.system.verdict import (
        CANDIDATES,
        CERTAINTY,
        RECOGNITION,
        SHIFT,
        VALUES,
        AttackLimit,
        AttackLimits,
        AttackMeasure,
        Bound,
        Evidence,
        Finding,
        Verdict,
    )
    from sfumato.table.classes import Classes, Histogram
    from sfumato.table.form_of_source import RowSource
    from sfumato.table.microdata import Column, Microdata, Role
    from sfumato.table.reader import Reader
    from sfumato.table.recoding import Recoding
    from sfumato.table.source import Source
    from sfumato.table.taxonomy import Label, Taxonomy
    from sfumato.testing.attacks import check_attack
    from sfumato.testing.engines import check_engine
    from sfumato.testing.promises import check_promise, check_table_promise
    from sfumato.testing.searches import check_loss, check_search
    from sfumato.verify.policy_data import PromiseData
    from sfumato.verify.registry import second_judge
    from sfumato.verify.registry import verdict as second_verdict
    from sfumato.verify.tally import Tally, ValueCounts

__all__ = [
    "CANDIDATES",
    "CERTAINTY",
    "RECOGNITION",
    "SHIFT",
    "VALUES",
    "Ability",
    "AdjustablePromise",
    "Aim",
    "Answer",
    "Attack",
    "AttackLimit",
    "AttackLimits",
    "AttackMeasure",
    "BadData",
    "BadPolicy",
    "Bound",
    "ChoiceParam",
    "ClassPromise",
    "Classes",
    "Column",
    "ColumnOptions",
    "ColumnParam",
    "ColumnRolePromise",
    "ColumnView",
    "Conflicts",
    "CrossReleasePromise",
    "Cuts",
    "Evidence",
    "Finding",
    "FlagParam",
    "FractionParam",
    "Histogram",
    "IncrementalChecker",
    "Infeasible",
    "IntegerParam",
    "Label",
    "MeasuredRecoding",
    "Microdata",
    "OptionalParam",
    "Outcome",
    "Parameter",
    "ParametrizedPromise",
    "PolicyView",
    "Promise",
    "PromiseData",
    "Promises",
    "PublishedTable",
    "Reader",
    "Recoding",
    "RelativePromise",
    "Role",
    "RowSource",
    "Search",
    "SfumatoError",
    "Source",
    "TablePromise",
    "Tally",
    "Taxonomy",
    "TermPromise",
    "Truth",
    "UsageError",
    "ValueCounts",
    "Verdict",
    "check_attack",
    "check_engine",
    "check_loss",
    "check_promise",
    "check_search",
    "check_table_promise",
    "class_verdict",
    "find_search",
    "histogram_of",
    "second_judge",
    "second_verdict",
]

_NAMES = {
    "sfumato.models.attack_contract": "Attack PublishedTable",
    "sfumato.models.contract": (
        "AdjustablePromise Answer ClassPromise ColumnOptions ColumnRolePromise ColumnView Conflicts "
        "CrossReleasePromise Cuts IncrementalChecker PolicyView Promise Promises RelativePromise "
        "TablePromise TermPromise Truth"
    ),
    "sfumato.models.parameters": (
        "ChoiceParam ColumnParam FlagParam FractionParam histogram_of IntegerParam OptionalParam "
        "Parameter ParametrizedPromise"
    ),
    "sfumato.policy.searches": "Ability",
    "sfumato.search.contract": "Aim Outcome Search",
    "sfumato.search.loss": "MeasuredRecoding",
    "sfumato.system.errors": "BadData BadPolicy Infeasible SfumatoError UsageError",
    "sfumato.system.verdict": (
        "AttackLimit AttackLimits AttackMeasure Bound CANDIDATES CERTAINTY Evidence Finding RECOGNITION "
        "SHIFT VALUES Verdict"
    ),
    "sfumato.table.classes": "Classes Histogram",
    "sfumato.table.form_of_source": "RowSource",
    "sfumato.table.microdata": "Column Microdata Role",
    "sfumato.table.reader": "Reader",
    "sfumato.table.recoding": "Recoding",
    "sfumato.table.source": "Source",
    "sfumato.table.taxonomy": "Label Taxonomy",
    "sfumato.testing": "check_attack check_engine check_loss check_promise check_search check_table_promise",
    "sfumato.verify.policy_data": "PromiseData",
    "sfumato.verify.registry": "second_judge",
    "sfumato.verify.tally": "Tally ValueCounts",
}
"""The names that are defined in each module."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_HOMES = {name: (module, name) for name, module in _MODULES.items()}
_HOMES["find_search"] = ("sfumato.search.contract", "find")
_HOMES["second_verdict"] = ("sfumato.verify.registry", "verdict")
_HOMES["class_verdict"] = ("sfumato.models.parameters", "verdict")


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        from sfumato.system.renamed import missing_name, was_renamed  # noqa: PLC0415  # rarely needed

        message = missing_name(__name__, name)
        # `from ... import` replaces the message of an AttributeError by its own: the new name would be lost
        raise ImportError(message) if was_renamed(name) else AttributeError(message)
    module, attribute = _HOMES[name]
    loaded: object = getattr(import_module(module), attribute)  # a name of the table above
    globals()[name] = loaded
    return loaded


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
