"""Codes that say less the fewer leading characters are kept."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from operator import eq
from pathlib import Path
from typing import ClassVar, Self

from sfumato.policy.taxonomies.files import HierarchyFile, NestedTree, WrittenRows
from sfumato.policy.taxonomies.levels import (
    ORDERED,
    Level,
    builder_schema,
    label,
    list_schema,
    number,
    require_known,
    sequence,
    tree_of_levels,
    whole,
)
from sfumato.system.errors import BadPolicy, BadTaxonomy
from sfumato.table.spelling import meaning
from sfumato.table.taxonomy import ANY, Label, Spec, Taxonomy, TaxonomyRule


@dataclass(frozen=True)
class Prefix:
    """So many leading characters stay, the rest is masked: `{prefix: [4, 3, 1]}`.

    >>> t = Prefix((3, 1)).build(["02138", "02139"])
    >>> [t.labels[v] for v in t.levels[:, 0]]
    ['02138', '021**', '0****', '*']
    """

    key: ClassVar[str] = "prefix"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "How many leading characters stay at each level, from many to few.",
        {
            "prefix": list_schema(
                {"type": "integer", "minimum": 1},
                "So many characters stay at level 1, so many at level 2, and so on.",
            )
        },
    )

    keep: tuple[int, ...]
    ordered: ClassVar[bool] = False
    digest: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not self.keep or any(finer <= coarser for finer, coarser in pairwise(self.keep)):
            raise BadPolicy("each level must keep fewer characters than the one before", where="prefix")

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        return cls(tuple(whole(n, key="prefix") for n in sequence(spec["prefix"])))

    @property
    def spec(self) -> Spec:
        return {"prefix": list(self.keep)}

    def build(self, values: Sequence[Label]) -> Taxonomy:
        leaves = sorted({v for v in values if v is not None})
        levels = [Level.of([text[:n] + "*" * (len(text) - n) for text in leaves]) for n in self.keep]
        top = Level.all_alike(ANY, len(leaves))
        return tree_of_levels([Level.of(leaves), *levels, top], missing=None in values)


# Codes whose characters are masked from one end.

LONGEST_WITHOUT_STEPS = 32
"""Values longer than this need `steps`: a level per character would be too many."""


@dataclass(frozen=True)
class Mask:
    """More and more characters become `*`, from one end: `{mask: right}`, `{mask: left, steps: [1, 3]}`.

    `steps` says how many characters are masked at each level; without it, one more each time.

    >>> t = Mask("left").build(["K12", "L12"])
    >>> [t.labels[v] for v in t.levels[:, 0]]
    ['K12', '*12', '**2', '*']
    """

    key: ClassVar[str] = "mask"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "Mask characters from one end; `steps` says how many at each level.",
        {
            "mask": {"enum": ["right", "left"], "description": "The end from which characters become `*`."},
            "steps": list_schema(
                {"type": "integer", "minimum": 1},
                "So many characters are masked at each level; else one more each time.",
            ),
        },
    )

    end: str
    steps: tuple[int, ...] = ()
    ordered: ClassVar[bool] = False
    digest: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.end not in ("right", "left"):
            raise BadPolicy("must be right or left", where="mask")
        if any(finer >= coarser for finer, coarser in pairwise(self.steps)):
            raise BadPolicy("each level must mask more characters than the one before", where="steps")

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        steps = tuple(whole(n, key="steps") for n in sequence(spec.get("steps", ())))
        return cls(str(spec["mask"]), steps)

    @property
    def spec(self) -> Spec:
        return {"mask": self.end, **({"steps": list(self.steps)} if self.steps else {})}

    def build(self, values: Sequence[Label]) -> Taxonomy:
        texts = {v for v in values if v is not None}
        longest = max((len(text) for text in texts), default=0)
        if not self.steps and longest > LONGEST_WITHOUT_STEPS:
            raise BadTaxonomy(
                f"a value is longer than {LONGEST_WITHOUT_STEPS} characters",
                remedy="Say how many characters to mask at each level: `steps: [2, 4, 8]`.",
            )
        leaves = sorted(texts)
        levels = [
            Level.of([_masked(text, step, self.end) for text in leaves])
            for step in self.steps or range(1, longest)
        ]
        top = Level.all_alike(ANY, len(leaves))
        return tree_of_levels([Level.of(leaves), *levels, top], missing=None in values)


def _masked(text: str, step: int, end: str) -> str:
    count = min(step, len(text))
    return text[: len(text) - count] + "*" * count if end == "right" else "*" * count + text[count:]


# Taxonomies without a hierarchy: the value, or `*`.


@dataclass(frozen=True)
class Flat:
    """The value itself or `*`: `{flat: true}`, or with the domain `{flat: [low, mid, high], ordered: true}`.

    Without a list the values that occur are the leaves, numbers by size, everything else by its text.

    >>> Flat().build(["10", "9", None]).leaf_labels
    ('9', '10', None)
    """

    key: ClassVar[str] = "flat"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "The value or `*`; `true` takes the values that occur, a list names the domain.",
        {
            "flat": {
                "anyOf": [{"const": True}, {"$ref": "#/$defs/labels"}],
                "description": "`true`: the values that occur; a list: all values that there are.",
            },
            "ordered": ORDERED,
        },
    )

    domain: tuple[str, ...] | None = None
    ordered: bool = False
    digest: ClassVar[str] = ""

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        words = spec["flat"]
        domain = None if words is True else tuple(dict.fromkeys(label(x) for x in sequence(words)))
        return cls(domain, bool(spec.get("ordered", False)))

    @property
    def spec(self) -> Spec:
        ordered = {"ordered": True} if self.ordered else {}
        return {"flat": True if self.domain is None else list(self.domain), **ordered}

    def build(self, values: Sequence[Label]) -> Taxonomy:
        if self.domain:
            tree = tree_of_levels([Level.of(self.domain)], ordered=self.ordered, missing=None in values)
            return require_known(tree, values)
        leaves = in_natural_order([v for v in values if v is not None])
        if not leaves or ANY in leaves or any(map(eq, leaves, islice(leaves, 1, None))):
            return tree_of_levels([Level.of(leaves)], ordered=self.ordered, missing=None in values)
        missing = [None] if len(leaves) < len(values) else []
        return Taxonomy.flat([*leaves, *missing], ordered=self.ordered)


def in_natural_order(values: Sequence[str]) -> list[str]:
    """Sorts values by size if all are numbers, else by text."""
    numbers = []
    for value in values:
        if (size := number(value)) is None:
            return sorted(values)
        numbers.append(size)
    return [text for _, text in sorted(zip(numbers, values, strict=True))]


# Keys in one spelling: texts that mean the same value are coded as one leaf, and published alike.
#
# What means the same is said by `table/spelling.py`. A taxonomy that lists its values publishes them as it
# writes them. Of one that takes the values that occur, the published spelling is one of these: composed and
# without blanks around it where there is such a one, and of several the first by code points. How often a
# spelling occurs, and in which row, changes nothing. Texts that say that nothing is known stay as they are.

LISTING = (Flat, NestedTree, WrittenRows, HierarchyFile)
"""The taxonomies whose values are texts that stand for themselves."""


def lists_values(rule: TaxonomyRule | None) -> bool:
    """Whether a taxonomy names all its values; one that takes those that occur does not."""
    return rule is not None and not (isinstance(rule, Flat) and not rule.domain)


def in_one_spelling(rule: TaxonomyRule, values: Sequence[Label]) -> Taxonomy:
    """Returns the tree of these values, each in one spelling; the others are coded as the same leaf.

    Raises `BadTaxonomy` where the taxonomy itself writes a value in several ways.

    >>> tree = in_one_spelling(Flat(("Köln", "Bonn")), ["KOLN ", "Bonn", None])
    >>> tree.leaf_labels, tree.rank("KOLN ") == tree.rank("Köln")
    (('Köln', 'Bonn', None), True)
    >>> in_one_spelling(Flat(), ["bonn", "Bonn ", "Bonn", "n/a"]).leaf_labels
    ('Bonn', 'n/a')
    """
    texts = [value for value in values if value is not None]
    if lists_values(rule):
        labels = [label for label in rule.build([]).labels if label is not None]
        chosen = _one_each(labels)
    else:
        chosen = _best_each(texts)
    spelled = {text: _spelled(text, chosen) for text in texts}
    missing: list[Label] = [None] if None in values else []
    tree = rule.build([*dict.fromkeys(spelled.values()), *missing])
    aliases: dict[Label, int] = {
        text: rank
        for text, spelling in spelled.items()
        if text != spelling and (rank := tree.rank(spelling)) is not None
    }
    return replace(tree, aliases={**tree.aliases, **aliases}) if aliases else tree


def _spelled(text: str, chosen: Mapping[str, str]) -> str:
    sense = meaning(text)
    return text if sense is None else chosen.get(sense, text)


def _one_each(labels: Iterable[str]) -> dict[str, str]:
    """Returns what each label means, and the label; raises where several mean the same."""
    chosen: dict[str, str] = {}
    twins = set()
    for text in labels:
        sense = meaning(text)
        if sense is not None and chosen.setdefault(sense, text) != text:
            twins.add(sense)
    if twins:
        raise BadTaxonomy(
            f"{len(twins)} of its labels are written in several ways, and the policy takes spellings for one",
            remedy="Write each in one way, or say spelling: exact if they differ.",
            values=[chosen[sense] for sense in sorted(twins)],
        )
    return chosen


def _best_each(texts: Iterable[str]) -> dict[str, str]:
    """Returns the spelling that is published of every value that occurs."""
    best: dict[str, str] = {}
    for text in texts:
        sense = meaning(text)
        if sense is not None:
            best[sense] = min(best.get(sense, text), text, key=_untidiness)
    return best


def _untidiness(text: str) -> tuple[bool, str]:
    return unicodedata.normalize("NFC", text).strip() != text, text
