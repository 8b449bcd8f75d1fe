"""Set-valued columns in a policy: which there are, and how terms are to be removed from their rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.exact_numbers import written
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Role
from sfumato.core.policy_view import PolicyView
from sfumato.core.term_sets import SetForm
from sfumato.policy.schema_text import each_told
from sfumato.promises.quasi_sensitive.set_options import options_of

METHODS = {
    "exact": "the cheapest removal, with proof, as far as time allows",
    "adaptive": "depth-first over removed cells, most promising first",
    "plain": "depth-first over removed cells",
    "keep": "no term is removed: generalization alone keeps the promise",
}
COSTS = {
    "inverse": "a removal from a row that still holds w terms costs 1/w",
    "count": "every removal costs the same",
    "pairs": "a removal costs the terms and pairs of terms that its row no longer shows",
    "rarity": "a removal costs one over the number of rows with this term: rare terms are dear",
}


SCOPES = {
    "row": "a term is removed from single rows: cheaper",
    "class": "a term that goes from one row goes from all rows of its class: the method tells less",
}


@dataclass(frozen=True)
class TermRule:
    """The method, the seconds all classes share, the cost, a share of terms to remove beyond need, and from
    which rows a term goes."""

    method: str = "exact"
    seconds: int = 60
    cost: str = "inverse"
    margin: Fraction = Fraction(0)
    scope: str = "row"

    @property
    def words(self) -> dict[str, object]:
        """The rule as a policy file holds it; what stands at its default is left out."""
        plain = TermRule()
        words: dict[str, object] = {}
        if self.method != plain.method:
            words["method"] = self.method
        if self.seconds != plain.seconds:
            words["seconds"] = self.seconds
        if self.cost != plain.cost:
            words["cost"] = self.cost
        if self.scope != plain.scope:
            words["scope"] = self.scope
        return {**words, "margin": written(self.margin)} if self.margin else words


def schema() -> JsonObject:
    """Returns the rule as a fragment of JSON Schema."""
    plain = TermRule()
    return {
        "type": "object",
        "description": "How terms are removed where a quasi-sensitive promise asks for it.",
        "properties": {
            "method": {
                "enum": list(METHODS),
                "default": plain.method,
                "description": each_told(METHODS),
            },
            "seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": 86_400,
                "default": plain.seconds,
                "description": "How long all classes together may take.",
            },
            "cost": {"enum": list(COSTS), "default": plain.cost, "description": each_told(COSTS)},
            "margin": {
                "$ref": "#/$defs/fraction",
                "default": written(plain.margin),
                "description": "A share of the remaining terms to remove at random, beyond need.",
            },
            "scope": {"enum": list(SCOPES), "default": plain.scope, "description": each_told(SCOPES)},
        },
        "additionalProperties": False,
    }


def forms_of(policy: PolicyView) -> dict[str, SetForm]:
    """Returns the set-valued columns, by the name that promises use: a column, or a set of columns."""
    forms: dict[str, SetForm] = {}
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        options = options_of(rule)
        if options.set is None:
            forms[name] = SetForm(options.separator or ";")
        else:
            before = forms.get(options.set, SetForm())
            forms[options.set] = SetForm(
                parts=(*before.parts, name), part_forms=(*before.part_forms, options.part_form)
            )
    return forms
