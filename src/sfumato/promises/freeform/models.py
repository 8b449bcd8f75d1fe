"""Models of sensitivity and observability that a policy gives: as numbers of nodes, or by importable name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.core.errors import BadPolicy
from sfumato.core.exact_numbers import fraction, written
from sfumato.core.freeform.observability import Observability, unless_sensitive
from sfumato.core.freeform.sensitivity import Leaves, Sensitivity, aggregate
from sfumato.core.taxonomy import Label, Taxonomy

Model = Sensitivity | Observability


@dataclass(frozen=True)
class NodeNumbers:
    """Numbers for nodes that the policy names; every other node has that of the usual model.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> import numpy as np
    >>> [str(s) for s in NodeNumbers({"Viral": Fraction(1, 3)})(tree, np.array([False, True, True]))]
    ['2/3', '1/3', '0', '1', '1']
    """

    values: Mapping[Label, Fraction] = field(hash=False)
    otherwise: Model = aggregate

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
        numbers = [Fraction(value) for value in self.otherwise(taxonomy, sensitive)]
        for label, value in self.values.items():
            try:
                numbers[taxonomy.node(label)] = value
            except KeyError:
                raise BadPolicy(
                    "a number is given for what is no value of the column's taxonomy",
                    where="observable" if self.otherwise is unless_sensitive else "aggregate",
                    remedy="Name a node of the taxonomy; write it down there if the data may lack it.",
                ) from None
        return numbers

    @property
    def words(self) -> dict[str, object]:
        """The numbers as a policy writes them."""
        return {"values": {str(label): written(value) for label, value in self.values.items()}}


@dataclass(frozen=True)
class ImportedModel:
    """A model by its importable name, `package.module:function`; loaded when the policy is read."""

    name: str
    model: Model = field(compare=False, repr=False)

    @classmethod
    def load(cls, name: str, *, where: str) -> ImportedModel:
        """Imports a model; raises `BadPolicy` where there is none of this name."""
        module, _, path = name.partition(":")
        if not module or not path:
            raise BadPolicy("a model is named as package.module:function", where=where)
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)  # a name that the policy gives
        except (ImportError, AttributeError):
            raise BadPolicy(
                "the model that is named cannot be imported",
                where=where,
                remedy="Install its package where policies are read, or give its numbers as `values`.",
            ) from None
        if not callable(found):
            raise BadPolicy("what is named is no function", where=where)
        return cls(name, found)

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> Sequence[Fraction]:
        return self.model(taxonomy, sensitive)


def read_model(word: object, otherwise: Model, *, where: str) -> Model | None:
    """Returns the model that a word of a policy means, `None` if it means none of these."""
    if isinstance(word, str):
        return ImportedModel.load(word, where=where)
    if isinstance(word, Mapping) and "values" in word:
        values = {_label(name): fraction(value, key="values") for name, value in word["values"].items()}
        if not all(0 <= value <= 1 for value in values.values()):
            raise BadPolicy("every number must be from 0 to 1", where=where)
        return NodeNumbers(values, otherwise)
    if isinstance(word, Mapping) and "file" in word:
        raise BadPolicy(
            "a file of numbers is read with the policy that names it", where=where, remedy="Give `values`."
        )
    return None


def written_model(model: Model) -> object:
    """Returns a model as a policy writes it; one that was given in Python by its importable name."""
    if isinstance(model, NodeNumbers):
        return model.words
    if isinstance(model, ImportedModel):
        return model.name
    # `getattr`: a model of the caller may be any callable
    return f"{getattr(model, '__module__', '')}:{getattr(model, '__qualname__', type(model).__qualname__)}"


def _label(word: object) -> Label:
    return None if word is None else str(word)
