"""The policy as the judge is handed it: plain data, given names here.

`policy.judge_data` outside this room makes the data: texts, numbers, truths, fractions, and lists, tuples and
mappings of them. No object whose methods are the policy's comes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import Evidence
from sfumato.verify.cells import UNKNOWN, one_value_each
from sfumato.verify.published_labels import label_reader
from sfumato.verify.trees import Text, ValueTree, value_tree

KEY_ROLES = ("quasi", "free")
"""The roles of columns by whose texts rows are alike."""
SET_ROLE = "quasi-sensitive"
HIDDEN_ROLE = "identifier"

IN_ORDER: Mapping[str, object] = {"flat": True, "ordered": True}
"""The taxonomy of a column that the policy gives none: the values that occur, in their order."""


UNSAID: Mapping[str, object] = {"flat": True}
"""The labels of such a column: a value, or nothing."""


class PromiseData:
    """One promise: its key, kind and sentence, and every parameter as an attribute.

    >>> promise = PromiseData({"promise": "k-anonymity", "sentence": "k = 5", "parameters": {"k": 5}})
    >>> promise.name, promise.kind, promise.k, str(promise)
    ('k-anonymity', None, 5, 'k = 5')
    """

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data
        parameters = data.get("parameters")
        self._parameters: Mapping[str, object] = parameters if isinstance(parameters, Mapping) else {}
        self.name = str(data["promise"])
        kind = data.get("kind")
        self.kind = None if kind is None else str(kind)
        self.evidence = Evidence(str(data.get("evidence", Evidence.PUBLISHED)))
        self.columns: tuple[str, ...] = tuple(_listed(data.get("columns")))

    # What a promise is told differs from promise to promise, so the types of its parameters are its judge's.
    def __getattr__(self, name: str) -> Any:
        for place in (self._parameters, self._data):
            if name in place:
                return place[name]
        raise AttributeError(f"the data of {self.name} do not say {name}")

    def get(self, name: str, otherwise: object = None) -> Any:  # the promise's own, as above
        """Returns what the promise says under this name, or something else where it says nothing."""
        return getattr(self, name, otherwise)

    def __str__(self) -> str:
        return str(self._data["sentence"])


@dataclass(frozen=True)
class JudgedColumn:
    """What the policy says of a column: its role, its taxonomy in words, and how it holds sets of terms.

    `content` is what a hierarchy file holds that the taxonomy names. `start` is the finest level that may be
    published, `at_most` the coarsest, if one is named. With `ranges`, an ordered column shows nothing finer
    than the level that ranges run between. `spelling` is `folded` where spellings of one value count as one.
    `digits` is how many a number has behind the point at most, where the policy says so.
    """

    role: str
    taxonomy: Mapping[str, object] | None = None
    content: bytes | None = field(default=None, repr=False)
    separator: str = ";"
    part_of: str | None = None
    marks: tuple[str, ...] | None = None
    by_value: bool = False
    spelling: str = "exact"
    start: int = 0
    ranges: bool = False
    at_most: int | None = None
    digits: int | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> JudgedColumn:
        content = data.get("content")
        if content is not None and sha256(content).hexdigest() != data.get("digest"):
            raise BadPolicy("a hierarchy file is not the one that the policy was read with")
        options = data.get("options") or {}
        return cls(
            str(data["role"]),
            data.get("taxonomy"),
            content,
            str(options.get("separator") or ";"),
            options.get("set"),
            _two_marks(options.get("marks")),
            options.get("values") is True,
            start=int(data.get("start", 0)),
            ranges=data.get("ranges") is True,
            at_most=None if data.get("at_most") is None else int(data["at_most"]),
            spelling=str(data.get("spelling") or "folded"),
            digits=None if data.get("digits") is None else int(data["digits"]),
        )

    @property
    def is_key(self) -> bool:
        return self.role in KEY_ROLES

    def too_fine(self, texts: Sequence[Text]) -> int:
        """Returns how many of the texts that a key column shows are finer than the policy's levels."""
        if self.taxonomy is None:
            return 0
        reader = label_reader(self.taxonomy, self.content)
        return sum(text is not None and reader.is_finer(text, self.start, self.ranges) for text in texts)

    def too_coarse(self, texts: Sequence[Text]) -> int:
        """Returns how many of the texts that a key column shows are coarser than the policy lets it be."""
        if self.at_most is None:
            return 0
        present = [text for text in texts if text is not None]
        reader = label_reader(self.taxonomy or UNSAID, self.content)
        if self.at_most >= reader.height(present):
            return 0
        return sum(reader.is_coarser(text, self.at_most) for text in present)

    def spelled_again(self, texts: Sequence[Text]) -> int:
        """Returns how many texts of a key column are further spellings of a value that it shows already."""
        if self.spelling == "exact":
            return 0
        numbers = [number for number in one_value_each(texts, self.spelling).tolist() if number != UNKNOWN]
        return len(numbers) - len(set(numbers))

    def levels(self, texts: Sequence[Text]) -> tuple[frozenset[int], int]:
        """Returns the levels that a key column may be at where it shows these texts, and the last level."""
        present = [text for text in texts if text is not None]
        reader = label_reader(self.taxonomy or UNSAID, self.content)
        last = reader.height(present)
        return frozenset(
            level
            for level in range(last + 1)
            if not any(reader.is_finer(text, level, False) for text in present)
            and not (level < last and any(reader.is_coarser(text, level) for text in present))
        ), last

    def tree(self, texts: Sequence[Text]) -> ValueTree:
        """Returns the tree of these texts; raises `BadTaxonomy` where one has no place."""
        return value_tree(self.taxonomy or IN_ORDER, texts, content=self.content)


@dataclass(frozen=True)
class JudgedPolicy:
    """What the judge knows of a policy."""

    columns: Mapping[str, JudgedColumn]
    promises: tuple[PromiseData, ...]
    person: str | None = None
    by_profile: bool = False
    together: tuple[tuple[str, ...], ...] = ()
    refuses_formulas: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> JudgedPolicy:
        """Returns the policy of plain data, as `policy.judge_data` writes them."""
        columns = {str(name): JudgedColumn.of(words) for name, words in data["columns"].items()}
        return cls(
            columns,
            tuple(map(PromiseData, data["promises"])),
            data.get("person"),
            bool(data.get("by_profile")),
            tuple(tuple(map(str, group)) for group in data.get("together") or ()),
            data.get("formulas") == "refuse",
        )

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that are published, in the order of the policy."""
        return tuple(name for name, column in self.columns.items() if column.role != HIDDEN_ROLE)

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns that promises are about, each once."""
        return tuple(dict.fromkeys(name for promise in self.promises for name in promise.columns))

    @property
    def judged_jointly(self) -> tuple[tuple[str, ...], ...]:
        """The columns that some promise looks at together, each group once."""
        groups = [tuple(column for column, _ in p.get("jointly") or ()) for p in self.promises]
        return tuple(dict.fromkeys(group for group in groups if group))

    @property
    def digits(self) -> dict[str, int]:
        """The columns of numbers that are rounded, and to how many digits behind the point."""
        return {name: column.digits for name, column in self.columns.items() if column.digits is not None}

    def spelling_of(self, column: str) -> str:
        """Returns how the values of a column are told apart when they are counted."""
        rule = self.columns.get(column)
        return rule.spelling if rule is not None and rule.role == "sensitive" else "exact"

    def about(self, column: str) -> Iterator[PromiseData]:
        """Yields the promises about a column."""
        return (promise for promise in self.promises if column in promise.columns)

    def spoken_of(self, column: str) -> Iterator[Text]:
        """Yields the values that references name: they need a place in the column's tree, if it has one."""
        for promise in self.promises:
            if column in promise.columns:
                yield from (label for label, _ in promise.get("reference") or ())

    @property
    def sets(self) -> dict[str, SetColumn]:
        """The columns of term sets, by the name that promises use."""
        sets: dict[str, SetColumn] = {}
        for name, column in self.columns.items():
            if column.role != SET_ROLE:
                continue
            if column.part_of is None:
                sets[name] = SetColumn(column.separator)
            else:
                before = sets.get(column.part_of, SetColumn())
                sets[column.part_of] = SetColumn(
                    parts=(*before.parts, name),
                    marks={**before.marks, name: column.marks or ONE},
                    by_value=before.by_value | ({name} if column.by_value else frozenset()),
                )
        return sets


@dataclass(frozen=True)
class SetColumn:
    """How term sets are written: text with a separator, lists, or several columns (`parts`).

    A part is a column of 0 and 1 that stands for one term, or has other texts for presence (`marks`); of the
    parts `by_value` every text is a term.
    """

    separator: str = ";"
    parts: tuple[str, ...] = ()
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_value: frozenset[str] = frozenset()


ONE = ("1", "true", "1.0")
"""What a column of 0 and 1 may hold for 1."""


def _two_marks(marks: object) -> tuple[str, ...] | None:
    """Returns what stands for presence: the second of two marks."""
    return (str(marks[1]),) if isinstance(marks, list | tuple) and len(marks) == 2 else None


def _listed(names: object) -> Sequence[str]:
    return [str(name) for name in names] if isinstance(names, Sequence) and not isinstance(names, str) else []
