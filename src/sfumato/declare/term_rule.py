"""How terms are to be removed from rows where a quasi-sensitive promise asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.declare.exact import written
from sfumato.declare.problems import Problem, short
from sfumato.terms.microdata import Role
from sfumato.terms.term_sets import SetForm

if TYPE_CHECKING:
    from sfumato.declare.policy import Policy

METHODS = {
    "exact": "the cheapest removal, with proof, as far as time allows",
    "adaptive": "depth-first over removed cells, most promising first",
    "plain": "depth-first over removed cells",
    "keep": "no term is removed: generalization alone keeps the promise",
}
COSTS = {
    "inverse": "a removal from a row that still holds w terms costs 1/w",
    "count": "every removal costs the same",
}


@dataclass(frozen=True)
class TermRule:
    """The method, the seconds all classes share, the cost, and a share of terms to remove beyond need."""

    method: str = "exact"
    seconds: int = 60
    cost: str = "inverse"
    margin: Fraction = Fraction(0)

    @property
    def words(self) -> dict[str, object]:
        """The rule as a policy file holds it; what stands at its default is left out."""
        plain = TermRule()
        found: dict[str, object] = {}
        for key in ("method", "seconds", "cost"):
            if getattr(self, key) != getattr(plain, key):
                found[key] = getattr(self, key)
        return {**found, "margin": written(self.margin)} if self.margin else found


def schema() -> dict[str, Any]:
    """The rule as a fragment of JSON Schema."""
    return {
        "type": "object",
        "description": "How terms are removed where a quasi-sensitive promise asks for it.",
        "properties": {
            "method": {"enum": list(METHODS)},
            "seconds": {"type": "integer", "minimum": 1, "maximum": 86_400},
            "cost": {"enum": list(COSTS)},
            "margin": {
                "$ref": "#/$defs/fraction",
                "description": "A share of the remaining terms to remove at random, beyond need.",
            },
        },
        "additionalProperties": False,
    }


def forms_of(policy: Policy) -> dict[str, SetForm]:
    """The set-valued columns, by the name that promises use: a column, or a set of 0/1 columns."""
    found: dict[str, SetForm] = {}
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        if rule.set is None:
            found[name] = SetForm(rule.separator or ";")
        else:
            before = found[rule.set].parts if rule.set in found else ()
            found[rule.set] = SetForm(parts=(*before, name))
    return found


def set_objections(policy: Policy) -> Iterator[Problem]:
    """What is wrong about set-valued columns."""
    spoken = {name for promise in policy.promises for name in promise.sensitive}
    for name, rule in policy.columns.items():
        for key, value in (("separator", rule.separator), ("set", rule.set)):
            if value is not None and rule.role is not Role.QUASI_SENSITIVE:
                yield Problem(("columns", name, key), f"only a quasi-sensitive column has a {key}")
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        if rule.separator is not None and rule.set is not None:
            yield Problem(("columns", name, "separator"), "a 0/1 column of a set has no separator")
        if rule.set is not None and rule.set in policy.columns:
            yield Problem(("columns", name, "set"), f"{short(rule.set)} is the name of a column")
        if rule.taxonomy is not None:
            yield Problem(
                ("columns", name, "taxonomy"), "term sets are shortened, not generalized along a tree"
            )
        if (rule.set or name) not in spoken:
            yield Problem(
                ("columns", name, "role"),
                f"no promise speaks of {short(rule.set or name)}; its terms would be published as they are.",
                "Add a quasi-sensitive promise, or make the column insensitive.",
            )
    asked = [p for p in policy.promises if p.name == "quasi-sensitive"]
    if len(asked) > 1 and policy.protect.terms.method != "keep":
        yield Problem(
            ("promises",),
            "terms are removed for one quasi-sensitive promise at a time, and there are several.",
            "Keep one of them, or set protect.terms.method to keep.",
        )
    if not 0 <= policy.protect.terms.margin < 1:
        yield Problem(("protect", "terms", "margin"), "must be a share from 0 to below 1")
