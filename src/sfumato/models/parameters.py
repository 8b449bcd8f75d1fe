"""What a promise is told in the policy: each parameter reads, checks and writes itself."""

from __future__ import annotations

import csv
import hashlib
import json
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import ClassPromise, Promise, Truth
from sfumato.system.disk import LARGEST_LIST, read_document
from sfumato.system.errors import BadPolicy, UsageError
from sfumato.system.verdict import Measure, Order, PromiseStrength, Verdict, fingerprint
from sfumato.table.arrays import fraction, written
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import Counts
from sfumato.table.taxonomy import Label, Taxonomy

LARGEST = 2**31 - 1

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")

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
class IntegerParam(Parameter):
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
class FractionParam(Parameter):
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
class ColumnParam(Parameter):
    """The name of a column, whose histogram the promise reads unless its `sensitive` says otherwise."""

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
class FlagParam(Parameter):
    """Yes or no; no unless said."""

    required: ClassVar[bool] = False

    def read(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise BadPolicy(f"{self.name} must be true or false", where=self.name)
        return value

    @property
    def schema(self) -> Schema:
        return {"type": "boolean"}


class OptionalParam(Parameter):
    """A parameter that may be left out."""

    required: ClassVar[bool] = False

    def __init__(self, parameter: Parameter) -> None:
        super().__init__(parameter.name, meaning=parameter.meaning)
        object.__setattr__(self, "parameter", parameter)

    parameter: Parameter

    def read(self, value: object) -> object:
        return self.parameter.read(value)

    def write(self, value: Any) -> object:
        return self.parameter.write(value)

    def plain(self, value: Any) -> object:
        return self.parameter.plain(value)

    def identify(self, value: Any) -> str:
        return self.parameter.identify(value)

    @property
    def schema(self) -> Schema:
        return self.parameter.schema


@dataclass(frozen=True)
class ChoiceParam(Parameter):
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
class ValuesParam(Parameter):
    """Values of the column: a promise that names some protects these, and no others.

    >>> ValuesParam("values").read(["yes", 1, True])
    ('yes', '1', 'true')
    """

    required: ClassVar[bool] = False

    def read(self, value: object) -> tuple[str, ...]:
        listed = value if isinstance(value, list | tuple) else ()
        texts = tuple(dict.fromkeys(_text_of_value(part) for part in listed))
        if not texts or not all(texts):
            raise BadPolicy(
                f"{self.name} must be a list of values of the column, none of them empty",
                where=self.name,
                remedy="Write [yes], or leave it out to protect every value.",
            )
        return texts

    def write(self, value: tuple[str, ...]) -> object:
        return list(value)

    def identify(self, value: tuple[str, ...]) -> str:
        return fingerprint(sorted(value))

    @property
    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 1}


def _text_of_value(value: object) -> str:
    """Returns a value as a table writes it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal) and value % 1 == 0:
        return str(int(value))
    return str(value) if isinstance(value, str | int | float | Decimal) else ""


@dataclass(frozen=True)
class ParametrizedPromise(Promise):
    """A promise made of declared parameters: a frozen dataclass with one field per key, valid from birth.

    A definition derives from it and from `ClassPromise` or `TablePromise`, in this order. Where none of these
    has a `name`, it is that of the class: `DeltaDisclosure` is `delta-disclosure`.
    """

    keys: ClassVar[tuple[Parameter, ...]]
    orders: ClassVar[Mapping[str, Order]] = {}
    """Parameters that may change in one direction without asking less; every other one has to stay."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name"):
            cls.name = _WORD_START.sub("-", cls.__name__).lower()

    def __post_init__(self) -> None:
        defaults = self._defaults()
        for key in self.keys:
            value = getattr(self, key.name)
            if value is not None or defaults[key.name] is not None:
                object.__setattr__(self, key.name, key.read(value))

    @classmethod
    def from_parameters(cls, given: Mapping[str, object], folder: Path | None = None) -> Self:
        """Read the keys as a policy holds them; files are looked for in `folder`."""
        full_name = f"{cls.kind} {cls.name}" if cls.kind else cls.name
        named = {key.name: key for key in cls.keys}
        refuse_unknown(full_name, given, [*named, *(["kind"] if cls.kind else [])])
        stated = {name: value for name, value in given.items() if name in named and value is not None}
        for key in cls.keys:
            if key.required and key.name not in stated:
                raise BadPolicy(
                    f"{full_name} needs {key.name}", where=key.name, remedy=f"It takes {', '.join(named)}."
                )
        return cls(**{name: _opened(named[name], value, folder) for name, value in stated.items()})

    def parameters(self) -> dict[str, object]:
        """The keys as a policy holds them; what stands at its default is left out."""
        defaults = self._defaults()
        values = {key: getattr(self, key.name) for key in self.keys}
        changed = {k.name: k.write(value) for k, value in values.items() if value != defaults[k.name]}
        return {**changed, **({"kind": self.kind} if self.kind else {})}

    @property
    def sensitive(self) -> tuple[str, ...]:
        return tuple(getattr(self, key.name) for key in self.keys if isinstance(key, ColumnParam))

    def judge_data(self) -> dict[str, object]:
        plain = {key.name: key.plain(getattr(self, key.name)) for key in self.keys}
        return {**super().judge_data(), "parameters": plain}

    def implied(self) -> tuple[Promise, ...]:
        """Returns weaker promises that follow from this one, on every table."""
        return ()

    def strengths(self) -> tuple[PromiseStrength, ...]:
        """What it asks, by the order of each parameter, then what follows from that."""
        return (
            self._strength(),
            *(strength for promise in self.implied() for strength in promise.strengths()),
        )

    def _strength(self) -> PromiseStrength:
        fixed: dict[str, str] = {}
        numbers: dict[Order, dict[str, Fraction]] = {Order.LARGER: {}, Order.SMALLER: {}}
        defaults = self._defaults()
        for key in self.keys:
            value, order = getattr(self, key.name), self.orders.get(key.name)
            if order in numbers and value is not None:
                numbers[order][key.name] = Fraction(value)
            elif order is not Order.FREE and value != defaults[key.name]:
                fixed[key.name] = key.identify(value)
        larger, smaller = numbers.values()
        return PromiseStrength(self.name, self.kind, fixed, larger, smaller, str(self))

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


def refuse_unknown(name: str, parameters: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Raise for a key that the promise does not have, and name the nearest that it has."""
    for key in parameters:
        if key not in allowed:
            near = get_close_matches(str(key), allowed, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(allowed)}."
            raise BadPolicy(f"{name} has no parameter {key}", where=str(key), remedy=hint)


def histogram_of(classes: Classes, column: str) -> Histogram:
    """The histogram of a sensitive column, or a sentence about what is missing."""
    histogram = classes.histograms.get(column)
    if histogram is None:
        raise UsageError(
            f"the classes have no histogram of {column}", remedy="Count them with this column as sensitive."
        )
    return histogram


def values_of(classes: Classes, column: str) -> Histogram:
    """The histogram of the known values of a sensitive column: spellings together, missing cells left out."""
    return histogram_of(classes, column).by_meaning(missing=False)


def _opened(key: Parameter, value: object, folder: Path | None) -> Any:
    return key.open(value, folder) if key.names_file and folder and isinstance(value, str) else value


# Promises about some values of a column: those that harm whoever is known to have them.


class ValuePromise(ParametrizedPromise):
    """A promise that protects every value of its column, or those alone that its parameter `values` names."""

    plain_of_values: ClassVar[str]
    """What holds of everybody where it protects some values, in place of `plain`."""
    bounds_every_value: ClassVar[bool] = False
    """Whether without `values` it bounds every value in the same way, and so asks no less."""

    of: str
    values: tuple[str, ...] | None

    def in_words(self) -> str:
        if self.values is None:
            return super().in_words()
        count = len(self.values)
        which = "the protected value" if count == 1 else f"any of the {count} protected values"
        sentence = self.plain_of_values.format_map({**self.parameters(), "values": which})
        return f"{sentence} Its other values are not protected."

    def _strength(self) -> PromiseStrength:
        strength = super()._strength()
        if self.values is None:
            return strength
        same = {name: word for name, word in strength.same.items() if name != VALUES_KEY.name}
        if not self.bounds_every_value:
            same[VALUES_KEY.name] = "each"
        return replace(strength, same=same, values=tuple(sorted(map(fingerprint, self.values))))

    @property
    def of_what(self) -> str:
        """The column and how many of its values are meant, for the promise's own words."""
        count = len(self.values or ())
        which = f", {count} of its values" if count > 1 else ", one of its values"
        return f"{self.of}{which if count else ''}"


VALUES_KEY = ValuesParam(
    "values",
    meaning="The values that harm whoever is known to have them, as the column spells them: these alone are"
    " protected, each by itself. Without it, every value is.",
)


@dataclass(frozen=True, eq=False)
class ValueShares:
    """Of the people of each class who have a value, how many have each of some protected ones.

    The entries of `having` tell class, value and people; somebody with several values is counted with each.
    `known` is how many people of each class have any value; it errs as little as `Guesses` does.
    """

    having: Histogram
    known: Counts

    @classmethod
    def of(cls, classes: Classes, column: str, values: tuple[str, ...]) -> Self:
        """Returns the counts of these classes."""
        whole = histogram_of(classes, column)
        unknown = whole.taxonomy.meanings[whole.values] < 0
        missing, most = np.zeros(len(classes), np.int64), np.ones(len(classes), np.int64)
        np.add.at(missing, whole.owner[unknown], whole.counts[unknown])
        every = whole.by_meaning(missing=False)
        np.maximum.at(most, every.owner, every.counts)
        return cls(whole.of_values(values), np.maximum(classes.people - missing, most))

    def within(self, limit: Callable[[int], Fraction]) -> Truth:
        """Whether in a class no share of a value, by its leaf, exceeds its limit, exactly."""
        truth = np.ones(len(self.known), dtype=bool)
        for leaf, owner, having, known in self._by_value():
            most = limit(leaf)
            truth[owner[product_less(known, most.numerator, having, most.denominator)]] = False
        return truth

    def worst(self, expected: Callable[[int], Fraction]) -> tuple[int | None, Fraction | None]:
        """The class where a share exceeds what is expected of its value by most, and by how much (or 0)."""
        worst, measured = (0, Fraction(0)) if len(self.known) else (None, None)
        for leaf, owner, having, known in self._by_value():
            place, share = largest_ratio(having, known)
            if measured is not None and share - expected(leaf) > measured:
                worst, measured = int(owner[place]), share - expected(leaf)
        return worst, measured

    def _by_value(self) -> Iterator[tuple[int, NDArray[np.int64], Counts, Counts]]:
        owner, values = self.having.owner, self.having.values
        for leaf in np.unique(values).tolist():
            here = np.flatnonzero(values == leaf)
            yield leaf, owner[here], self.having.counts[here], self.known[owner[here]]


# What verdicts have in common: who is in violation, and which class is worst.

NOTHING = "nothing is published"

NEAR = 1e-12
"""Far more than a product or a quotient of two whole numbers loses in floating point."""

OVERFLOW = 2**63
"""What 64-bit counts must stay below."""


def verdict(
    promise: ClassPromise,
    classes: Classes,
    truth: Truth,
    *,
    limit: Measure,
    worst: int | None,
    measured: Measure | None,
    reason: str = "",
) -> Verdict:
    """Put together what a promise found; a table without classes keeps every promise."""
    broken = ~truth
    return Verdict(
        promise=str(promise),
        holds=bool(truth.all()),
        measured=measured,
        limit=limit,
        worst=worst,
        people=exact_sum(classes.people[broken]),
        classes=int(broken.sum()),
        evidence=promise.evidence,
        reason=reason if len(classes) else NOTHING,
    )


def exact_sum(counts: Counts) -> int:
    """The sum of non-negative counts, also where it exceeds 64 bits.

    >>> exact_sum(np.array([2**62, 2**62, 2**62])) == 3 * 2**62
    True
    """
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def product_less(a: Counts, x: int, b: Counts, y: int) -> Truth:
    """Whether a * x < b * y, element by element, for non-negative whole numbers of any size.

    >>> product_less(np.array([2**62, 5]), 3, np.array([2**62 + 1, 5]), 3).tolist()
    [True, False]
    """
    if max(int(a.max(initial=1)) * x, int(b.max(initial=1)) * y) < OVERFLOW:
        return a * x < b * y
    left, right = a.astype(np.float64) * float(x), b.astype(np.float64) * float(y)
    truth: Truth = left < right
    for i in np.flatnonzero(abs(left - right) <= NEAR * left).tolist():
        truth[i] = int(a[i]) * x < int(b[i]) * y
    return truth


def segment_sums(numbers: NDArray[Any], start: NDArray[np.int64]) -> NDArray[Any]:
    """The sum of each run start[i] .. start[i+1]-1; no run is empty."""
    return np.add.reduceat(numbers, start[:-1])


def largest_ratio(above: NDArray[Any], below: NDArray[Any]) -> tuple[int, Fraction]:
    """The largest of some ratios of whole numbers, exactly, and where it stands first."""
    close = above.astype(np.float64) / below.astype(np.float64)
    places: dict[tuple[int, int], int] = {}
    for i in np.flatnonzero(close >= close.max() * (1 - NEAR)).tolist():
        places.setdefault((int(above[i]), int(below[i])), i)
    exact = {pair: Fraction(*pair) for pair in places}
    largest = max(exact.values())
    return min(i for pair, i in places.items() if exact[pair] == largest), largest


# A reference: the distribution of a sensitive column that everybody is assumed to know.

HEADER = ["value", "count"]
MOST = 2**63


@dataclass(frozen=True)
class ReferenceDistribution:
    """How often each value occurs in a population, with a digest of where that was read.

    >>> ReferenceDistribution.of({"flu": 3, "TB": 1}).total
    4
    """

    counts: tuple[tuple[Label, int], ...]
    digest: str
    file: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        numbers = [n for _, n in self.counts]
        if not all(type(n) is int and n >= 0 for n in numbers) or not 0 < sum(numbers) < MOST:
            raise BadPolicy(
                "reference must give every value a whole number from 0 on, not all 0, below 2**63 in all",
                where="reference",
            )

    @classmethod
    def of(cls, counts: Mapping[Label, int]) -> ReferenceDistribution:
        """A reference given in place."""
        pairs = sorted(counts.items(), key=lambda pair: (pair[0] is not None, pair[0] or ""))
        text = json.dumps(pairs, ensure_ascii=False, separators=(",", ":"), default=str)
        return cls(tuple(pairs), hashlib.sha256(text.encode()).hexdigest())

    @classmethod
    def load(cls, path: Path) -> ReferenceDistribution:
        """Read a CSV file with the header `value,count`; an empty value is a missing cell."""
        try:
            data = read_document(path, most=LARGEST_LIST)
            lines = list(csv.reader(data.decode("utf-8-sig").splitlines()))
        except FileNotFoundError:
            raise BadPolicy("the reference file is not there", where=str(path)) from None
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise BadPolicy(
                f"the reference cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
            ) from None
        if not lines or lines[0] != HEADER:
            raise BadPolicy("a reference file starts with the line value,count", where=f"{path}, line 1")
        counts: dict[Label, int] = {}
        for number, line in enumerate(lines[1:], start=2):
            if len(line) != 2 or not line[1].strip().isdecimal() or len(line[1]) > 20:
                raise BadPolicy("a value and a whole number are expected", where=f"{path}, line {number}")
            if (line[0] or None) in counts:
                raise BadPolicy("the value stands in an earlier line too", where=f"{path}, line {number}")
            counts[line[0] or None] = int(line[1])
        return cls(tuple(cls.of(counts).counts), hashlib.sha256(data).hexdigest(), str(path))

    @property
    def total(self) -> int:
        return sum(n for _, n in self.counts)

    def on(self, taxonomy: Taxonomy) -> tuple[Counts, tuple[Label, ...]]:
        """Counts by leaf rank, and the values that the taxonomy lacks."""
        return _counts_on(taxonomy, self.counts)


@lru_cache(maxsize=8)
def _counts_on(taxonomy: Taxonomy, counts: tuple[tuple[Label, int], ...]) -> tuple[Counts, tuple[Label, ...]]:
    overall = np.zeros(len(taxonomy.leaves), dtype=np.int64)
    lacking = []
    for label, count in counts:
        rank = taxonomy.rank(label)
        if rank is not None:
            overall[rank] += count
        elif count:
            lacking.append(label)
    return overall, tuple(lacking)


BESIDE = ", against a reference"
"""What the sentence of a promise with a reference ends with."""


@dataclass(frozen=True)
class ReferenceFile(Parameter):
    """The name of a reference file, or the counts themselves."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> ReferenceDistribution:
        if isinstance(value, ReferenceDistribution):
            return value
        if isinstance(value, Mapping):
            return ReferenceDistribution.of(value)
        if isinstance(value, str | Path):
            return ReferenceDistribution.load(Path(value))
        raise BadPolicy(f"{self.name} must be the name of a CSV file with value,count", where=self.name)

    def open(self, name: str, folder: Path) -> ReferenceDistribution:
        return replace(ReferenceDistribution.load(folder / name), file=name)

    def write(self, value: ReferenceDistribution) -> object:
        return dict(value.counts) if value.file is None else value.file

    def plain(self, value: ReferenceDistribution | None) -> object:
        return None if value is None else value.counts

    @property
    def schema(self) -> Schema:
        counts = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
        return {"oneOf": [{"type": "string", "minLength": 1}, counts]}
