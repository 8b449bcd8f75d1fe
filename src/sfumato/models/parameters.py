"""What a promise is told in the policy: each parameter reads, checks and writes itself."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self, SupportsIndex

from sfumato.core.classes import Classes, Histogram
from sfumato.core.demand import Demand, Order, fingerprint
from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.exact_numbers import fraction, written
from sfumato.core.promise import Promise

LARGEST = 2**31 - 1

Schema = dict[str, Any]
"""A fragment of JSON Schema."""


@dataclass(frozen=True)
class Parameter(ABC):
    """One key of a promise. `names_file` says that its text is a path, relative to the policy.

    `meaning` says in one sentence what the key is for: in the JSON Schema, and on the page of all keys.
    """

    name: str
    meaning: str = field(default="", kw_only=True)
    required: ClassVar[bool] = True
    names_file: ClassVar[bool] = False

    @abstractmethod
    def read(self, value: object) -> object:
        """The value a promise keeps; raises `BadPolicy` that names the key. Reads its own results too."""

    def open(self, name: str, folder: Path) -> object:
        """The value that the file of this name holds."""
        raise NotImplementedError

    def write(self, value: Any) -> object:
        """The value as a policy file holds it."""
        return value

    def plain(self, value: Any) -> object:
        """The value for the second judge: plain and exact, with the content of any file."""
        return value

    def identify(self, value: Any) -> str:
        """A text that is the same for the same value and shows none that a table may hold."""
        return str(value) if isinstance(value, bool | int | Fraction) else fingerprint(self.plain(value))

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The key as a fragment of JSON Schema."""


@dataclass(frozen=True)
class Whole(Parameter):
    """A whole number within bounds."""

    low: int = 1
    high: int = LARGEST

    def read(self, value: object) -> int:
        number = None
        if isinstance(value, SupportsIndex) and not isinstance(value, bool):
            number = operator.index(value)
        if number is None or not self.low <= number <= self.high:
            raise BadPolicy(
                f"{self.name} must be a whole number from {self.low} to {self.high}", where=self.name
            )
        return number

    @property
    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Exact(Parameter):
    """A fraction within bounds: `1/5`, `20%` and `0.2` mean the same."""

    low: Fraction = Fraction(0)
    high: Fraction | None = None
    strict: bool = False

    def read(self, value: object) -> Fraction:
        number = fraction(value, key=self.name)
        low_enough = self.high is None or number <= self.high
        high_enough = number > self.low if self.strict else number >= self.low
        if not (low_enough and high_enough):
            raise BadPolicy(f"{self.name} must be {self._range}", where=self.name)
        return number

    @property
    def _range(self) -> str:
        low = f"greater than {self.low}" if self.strict else f"at least {self.low}"
        return low if self.high is None else f"{low} and at most {self.high}"

    def write(self, value: Fraction) -> int | str:
        return written(value)

    @property
    def schema(self) -> Schema:
        bounds: Schema = {"exclusiveMinimum" if self.strict else "minimum": int(self.low)}
        if self.high is not None:
            bounds["maximum"] = int(self.high)
        text = {"type": "string", "pattern": r"^[+]?[0-9.]+([eE][+-]?[0-9]+)?(\s*/\s*[0-9]+|\s*%)?$"}
        return {"oneOf": [{"type": "number", **bounds}, text]}


@dataclass(frozen=True)
class Name(Parameter):
    """The name of a column."""

    def read(self, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise BadPolicy(f"{self.name} must be the name of a column", where=self.name)
        return value

    def identify(self, value: str) -> str:
        return value

    @property
    def schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Flag(Parameter):
    """Yes or no; no unless said."""

    required: ClassVar[bool] = False

    def read(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise BadPolicy(f"{self.name} must be true or false", where=self.name)
        return value

    @property
    def schema(self) -> Schema:
        return {"type": "boolean"}


class Optional(Parameter):
    """A parameter that may be left out."""

    required: ClassVar[bool] = False

    def __init__(self, asked: Parameter) -> None:
        super().__init__(asked.name, meaning=asked.meaning)
        object.__setattr__(self, "asked", asked)

    asked: Parameter

    def read(self, value: object) -> object:
        return self.asked.read(value)

    def write(self, value: Any) -> object:
        return self.asked.write(value)

    def plain(self, value: Any) -> object:
        return self.asked.plain(value)

    def identify(self, value: Any) -> str:
        return self.asked.identify(value)

    @property
    def schema(self) -> Schema:
        return self.asked.schema


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few words."""

    words: tuple[str, ...]
    required: ClassVar[bool] = False

    def read(self, value: object) -> str:
        if value not in self.words:
            raise BadPolicy(f"{self.name} must be one of {', '.join(self.words)}", where=self.name)
        return str(value)

    def identify(self, value: str) -> str:
        return value

    @property
    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class Declared(Promise):
    """A promise made of declared parameters: a frozen dataclass with one field per key, valid from birth.

    A definition derives from it and from `ClassPromise` or `TablePromise`, in this order.
    """

    keys: ClassVar[tuple[Parameter, ...]]
    orders: ClassVar[Mapping[str, Order]] = {}
    """Parameters that may change in one direction without asking less; every other one has to stay."""

    def __post_init__(self) -> None:
        defaults = self._defaults()
        for key in self.keys:
            given = getattr(self, key.name)
            if given is not None or defaults[key.name] is not None:
                object.__setattr__(self, key.name, key.read(given))

    @classmethod
    def from_parameters(cls, given: Mapping[str, object], folder: Path | None = None) -> Self:
        """Read the keys as a policy holds them; files are looked for in `folder`."""
        full_name = f"{cls.kind} {cls.name}" if cls.kind else cls.name
        named = {key.name: key for key in cls.keys}
        refuse_unknown(full_name, given, [*named, *(["kind"] if cls.kind else [])])
        said = {name: value for name, value in given.items() if name in named and value is not None}
        for key in cls.keys:
            if key.required and key.name not in said:
                raise BadPolicy(
                    f"{full_name} needs {key.name}", where=key.name, remedy=f"It takes {', '.join(named)}."
                )
        return cls(**{name: _opened(named[name], value, folder) for name, value in said.items()})

    def parameters(self) -> dict[str, object]:
        """The keys as a policy holds them; what stands at its default is left out."""
        defaults = self._defaults()
        found = {key: getattr(self, key.name) for key in self.keys}
        kept = {k.name: k.write(value) for k, value in found.items() if value != defaults[k.name]}
        return {**kept, **({"kind": self.kind} if self.kind else {})}

    def judge_data(self) -> dict[str, object]:
        plain = {key.name: key.plain(getattr(self, key.name)) for key in self.keys}
        return {**super().judge_data(), "parameters": plain}

    def implied(self) -> tuple[Promise, ...]:
        """Returns weaker promises that follow from this one, on every table."""
        return ()

    def demands(self) -> tuple[Demand, ...]:
        """What it asks, by the order of each parameter, then what follows from that."""
        return (self._demand(), *(demand for promise in self.implied() for demand in promise.demands()))

    def _demand(self) -> Demand:
        same: dict[str, str] = {}
        numbers: dict[Order, dict[str, Fraction]] = {Order.LARGER: {}, Order.SMALLER: {}}
        defaults = self._defaults()
        for key in self.keys:
            value, order = getattr(self, key.name), self.orders.get(key.name)
            if order in numbers and value is not None:
                numbers[order][key.name] = Fraction(value)
            elif order is not Order.FREE and value != defaults[key.name]:
                same[key.name] = key.identify(value)
        larger, smaller = numbers.values()
        return Demand(self.name, self.kind, same, larger, smaller, str(self))

    @classmethod
    def _defaults(cls) -> dict[str, object]:
        return {field.name: field.default for field in fields(cls)}

    @classmethod
    def schema(cls) -> Schema:
        """The keys as a fragment of JSON Schema, with what each means and what it is unless said."""
        defaults = cls._defaults()
        return {
            "type": "object",
            "description": (cls.__doc__ or "").strip().partition("\n")[0],
            "properties": {
                key.name: {
                    **key.schema,
                    **({"description": key.meaning} if key.meaning else {}),
                    **({} if key.required else _default(key, defaults[key.name])),
                }
                for key in cls.keys
            },
            "required": [key.name for key in cls.keys if key.required],
            "additionalProperties": False,
        }


def _default(key: Parameter, value: object) -> Schema:
    """What a key is unless said, for the schema; nothing where that is to leave it out."""
    written_out = None if value is None else key.write(value)
    return {} if written_out is None else {"default": written_out}


def refuse_unknown(name: str, given: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Raise for a key that the promise does not have, and name the nearest that it has."""
    for key in given:
        if key not in allowed:
            near = get_close_matches(str(key), allowed, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(allowed)}."
            raise BadPolicy(f"{name} has no parameter {key}", where=str(key), remedy=hint)


def histogram_of(classes: Classes, column: str) -> Histogram:
    """The histogram of a sensitive column, or a sentence about what is missing."""
    found = classes.histograms.get(column)
    if found is None:
        raise WrongCall(
            f"the classes have no histogram of {column}", remedy="Count them with this column as sensitive."
        )
    return found


def values_of(classes: Classes, column: str) -> Histogram:
    """The histogram of the known values of a sensitive column: spellings together, missing cells left out."""
    return histogram_of(classes, column).by_meaning(missing=False)


def _opened(key: Parameter, value: object, folder: Path | None) -> Any:
    return key.open(value, folder) if key.names_file and folder and isinstance(value, str) else value
