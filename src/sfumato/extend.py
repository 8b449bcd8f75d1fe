"""The stable names for packages of others: everything that a promise, a judge, an attack, a search or an
engine of another package needs.

    from sfumato.extend import ClassPromise, IntegerParam, ParametrizedPromise, check_promise

Names here stay where modules move; each is loaded when it is first used. `docs/architecture.md` shows the
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
    from sfumato.table.classes import Classes, Histogram, WeightedClass, WeightedHistogram
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
    "WeightedClass",
    "WeightedHistogram",
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

_MODULES = {
    "Ability": "sfumato.policy.searches",
    "AdjustablePromise": "sfumato.models.contract",
    "Aim": "sfumato.search.contract",
    "Answer": "sfumato.models.contract",
    "Attack": "sfumato.models.attack_contract",
    "AttackLimit": "sfumato.system.verdict",
    "AttackLimits": "sfumato.system.verdict",
    "AttackMeasure": "sfumato.system.verdict",
    "BadData": "sfumato.system.errors",
    "BadPolicy": "sfumato.system.errors",
    "Bound": "sfumato.system.verdict",
    "CANDIDATES": "sfumato.system.verdict",
    "CERTAINTY": "sfumato.system.verdict",
    "ChoiceParam": "sfumato.models.parameters",
    "ClassPromise": "sfumato.models.contract",
    "Classes": "sfumato.table.classes",
    "Column": "sfumato.table.microdata",
    "ColumnOptions": "sfumato.models.contract",
    "ColumnParam": "sfumato.models.parameters",
    "ColumnRolePromise": "sfumato.models.contract",
    "ColumnView": "sfumato.models.contract",
    "Conflicts": "sfumato.models.contract",
    "CrossReleasePromise": "sfumato.models.contract",
    "Cuts": "sfumato.models.contract",
    "Evidence": "sfumato.system.verdict",
    "Finding": "sfumato.system.verdict",
    "FlagParam": "sfumato.models.parameters",
    "FractionParam": "sfumato.models.parameters",
    "Histogram": "sfumato.table.classes",
    "IncrementalChecker": "sfumato.models.contract",
    "Infeasible": "sfumato.system.errors",
    "IntegerParam": "sfumato.models.parameters",
    "Label": "sfumato.table.taxonomy",
    "MeasuredRecoding": "sfumato.search.loss",
    "Microdata": "sfumato.table.microdata",
    "OptionalParam": "sfumato.models.parameters",
    "Outcome": "sfumato.search.contract",
    "Parameter": "sfumato.models.parameters",
    "ParametrizedPromise": "sfumato.models.parameters",
    "PolicyView": "sfumato.models.contract",
    "Promise": "sfumato.models.contract",
    "PromiseData": "sfumato.verify.policy_data",
    "Promises": "sfumato.models.contract",
    "PublishedTable": "sfumato.models.attack_contract",
    "RECOGNITION": "sfumato.system.verdict",
    "Reader": "sfumato.table.reader",
    "Recoding": "sfumato.table.recoding",
    "RelativePromise": "sfumato.models.contract",
    "Role": "sfumato.table.microdata",
    "RowSource": "sfumato.table.form_of_source",
    "SHIFT": "sfumato.system.verdict",
    "Search": "sfumato.search.contract",
    "SfumatoError": "sfumato.system.errors",
    "Source": "sfumato.table.source",
    "TablePromise": "sfumato.models.contract",
    "Tally": "sfumato.verify.tally",
    "Taxonomy": "sfumato.table.taxonomy",
    "TermPromise": "sfumato.models.contract",
    "Truth": "sfumato.models.contract",
    "VALUES": "sfumato.system.verdict",
    "ValueCounts": "sfumato.verify.tally",
    "Verdict": "sfumato.system.verdict",
    "WeightedClass": "sfumato.table.classes",
    "WeightedHistogram": "sfumato.table.classes",
    "UsageError": "sfumato.system.errors",
    "check_attack": "sfumato.testing",
    "check_engine": "sfumato.testing",
    "check_loss": "sfumato.testing",
    "check_promise": "sfumato.testing",
    "check_search": "sfumato.testing",
    "check_table_promise": "sfumato.testing",
    "histogram_of": "sfumato.models.parameters",
    "second_judge": "sfumato.verify.registry",
}
"""Where each name is defined."""
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
