"""The stable names for packages of others: everything that a promise, a judge, an attack, a search or an
engine of another package needs.

    from sfumato.extend import ClassPromise, Declared, Whole, check_promise

Names here stay where modules move; each is loaded when it is first used. `docs/architecture.md` shows the
minimal shape of every part, and runs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.attacks.attack import Attack
    from sfumato.attacks.published_table import PublishedTable
    from sfumato.core.classes import Classes, Histogram
    from sfumato.core.conflicts import Conflicts
    from sfumato.core.errors import BadData, BadPolicy, Infeasible, SfumatoError, WrongCall
    from sfumato.core.limits import (
        CANDIDATES,
        CERTAINTY,
        RECOGNITION,
        SHIFT,
        VALUES,
        AttackLimit,
        AttackLimits,
        AttackMeasure,
        Bound,
    )
    from sfumato.core.microdata import Column, Microdata, Role
    from sfumato.core.policy_view import ColumnOptions, ColumnView, PolicyView
    from sfumato.core.promise import ClassPromise, Cuts, Promise, Promises, TablePromise, Truth
    from sfumato.core.recoding import Recoding
    from sfumato.core.taxonomy import Label, Taxonomy
    from sfumato.core.verdict import Evidence, Finding, Verdict
    from sfumato.core.watch import Answer, Watch
    from sfumato.core.weights import WeightedClass, WeightedHistogram
    from sfumato.engine.reader import Reader
    from sfumato.engine.rows import RowSource
    from sfumato.engine.source import Source
    from sfumato.judge.policy_data import PromiseData
    from sfumato.judge.registry import second_judge
    from sfumato.judge.registry import verdict as second_verdict
    from sfumato.judge.tables.tally import Tally, ValueCounts
    from sfumato.policy.searches import Ability
    from sfumato.promises.parameters import (
        Choice,
        Declared,
        Exact,
        Flag,
        Name,
        Optional,
        Parameter,
        Whole,
        histogram_of,
    )
    from sfumato.promises.verdicts import verdict as class_verdict
    from sfumato.protection.loss import MeasuredRecoding
    from sfumato.protection.searches.registry import find as find_search
    from sfumato.protection.searches.search import Aim, Outcome, Search
    from sfumato.testing.attacks import check_attack
    from sfumato.testing.engines import check_engine
    from sfumato.testing.losses import check_loss
    from sfumato.testing.promises import check_promise
    from sfumato.testing.searches import check_search
    from sfumato.testing.table_promises import check_table_promise

__all__ = [
    "CANDIDATES",
    "CERTAINTY",
    "RECOGNITION",
    "SHIFT",
    "VALUES",
    "Ability",
    "Aim",
    "Answer",
    "Attack",
    "AttackLimit",
    "AttackLimits",
    "AttackMeasure",
    "BadData",
    "BadPolicy",
    "Bound",
    "Choice",
    "ClassPromise",
    "Classes",
    "Column",
    "ColumnOptions",
    "ColumnView",
    "Conflicts",
    "Cuts",
    "Declared",
    "Evidence",
    "Exact",
    "Finding",
    "Flag",
    "Histogram",
    "Infeasible",
    "Label",
    "MeasuredRecoding",
    "Microdata",
    "Name",
    "Optional",
    "Outcome",
    "Parameter",
    "PolicyView",
    "Promise",
    "PromiseData",
    "Promises",
    "PublishedTable",
    "Reader",
    "Recoding",
    "Role",
    "RowSource",
    "Search",
    "SfumatoError",
    "Source",
    "TablePromise",
    "Tally",
    "Taxonomy",
    "Truth",
    "ValueCounts",
    "Verdict",
    "Watch",
    "WeightedClass",
    "WeightedHistogram",
    "Whole",
    "WrongCall",
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
    "sfumato.attacks.attack": ("Attack",),
    "sfumato.attacks.published_table": ("PublishedTable",),
    "sfumato.core.classes": ("Classes", "Histogram"),
    "sfumato.core.conflicts": ("Conflicts",),
    "sfumato.core.errors": ("BadData", "BadPolicy", "Infeasible", "SfumatoError", "WrongCall"),
    "sfumato.core.limits": (
        *("CANDIDATES", "CERTAINTY", "RECOGNITION", "SHIFT", "VALUES"),
        *("AttackLimit", "AttackLimits", "AttackMeasure", "Bound"),
    ),
    "sfumato.core.microdata": ("Column", "Microdata", "Role"),
    "sfumato.core.policy_view": ("ColumnOptions", "ColumnView", "PolicyView"),
    "sfumato.core.promise": (*("ClassPromise", "Cuts", "Promise", "Promises", "TablePromise", "Truth"),),
    "sfumato.core.recoding": ("Recoding",),
    "sfumato.core.taxonomy": ("Label", "Taxonomy"),
    "sfumato.core.verdict": ("Evidence", "Finding", "Verdict"),
    "sfumato.core.watch": ("Answer", "Watch"),
    "sfumato.core.weights": ("WeightedClass", "WeightedHistogram"),
    "sfumato.engine.reader": ("Reader",),
    "sfumato.engine.rows": ("RowSource",),
    "sfumato.engine.source": ("Source",),
    "sfumato.judge.policy_data": ("PromiseData",),
    "sfumato.judge.registry": ("second_judge",),
    "sfumato.judge.tables.tally": ("Tally", "ValueCounts"),
    "sfumato.policy.searches": ("Ability",),
    "sfumato.promises.parameters": (
        *("Choice", "Declared", "Exact", "Flag", "Name", "Optional", "Parameter", "Whole", "histogram_of"),
    ),
    "sfumato.protection.loss": ("MeasuredRecoding",),
    "sfumato.protection.searches.search": ("Aim", "Outcome", "Search"),
    "sfumato.testing": (
        *("check_attack", "check_engine", "check_loss", "check_promise", "check_search"),
        "check_table_promise",
    ),
}
_HOMES = {name: (module, name) for module, names in _MODULES.items() for name in names}
_HOMES["find_search"] = ("sfumato.protection.searches.registry", "find")
_HOMES["second_verdict"] = ("sfumato.judge.registry", "verdict")
_HOMES["class_verdict"] = ("sfumato.promises.verdicts", "verdict")


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    loaded: object = getattr(import_module(module), attribute)  # a name of the table above
    globals()[name] = loaded
    return loaded


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
