"""How terms are to be removed from rows where a quasi-sensitive promise asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.exact_numbers import written
from sfumato.core.microdata import Role
from sfumato.core.problem import Problem, short
from sfumato.core.term_sets import SetForm
from sfumato.promises.quasi_sensitive.set_options import options_of

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy

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
        said = options_of(rule)
        if said.set is None:
            found[name] = SetForm(said.separator or ";")
        else:
            before = found[said.set].parts if said.set in found else ()
            found[said.set] = SetForm(parts=(*before, name))
    return found


def set_objections(policy: Policy) -> Iterator[Problem]:
    """What is wrong about set-valued columns."""
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        said = options_of(rule)
        if said.separator is not None and said.set is not None:
            yield Problem(("columns", name, "separator"), "a 0/1 column of a set has no separator")
        if said.set is not None and said.set in policy.columns:
            yield Problem(("columns", name, "set"), f"{short(said.set)} is the name of a column")
        if rule.taxonomy is not None:
            yield Problem(
                ("columns", name, "taxonomy"), "term sets are shortened, not generalized along a tree"
            )
    known: dict[str, str] = {}
    for i, promise in enumerate(policy.promises):
        knowledge = getattr(promise, "knowledge", None)
        column = getattr(promise, "of", "")
        if knowledge is None or policy.protect.terms.method == "keep":
            continue
        if known.setdefault(column, knowledge.digest) != knowledge.digest:
            yield Problem(
                ("promises", str(i)),
                f"terms of {short(column)} are removed for one knowledge, and the promises name several.",
                "Join them into one knowledge table, or set protect.terms.method to keep.",
            )
    if not 0 <= policy.protect.terms.margin < 1:
        yield Problem(("protect", "terms", "margin"), "must be a share from 0 to below 1")
