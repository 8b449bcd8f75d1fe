"""The content of a policy: what each column is, what is promised, and how to get there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from sfumato.models.contract import ColumnOptions, Promise, Promises
from sfumato.policy.chain import KEY as CHAIN_KEY
from sfumato.policy.chain import ChainRule
from sfumato.policy.columns import ColumnControls, TermRule, forms_of
from sfumato.policy.person import KEY as PERSON_KEY
from sfumato.policy.person import PersonRule
from sfumato.policy.recipients import By, RecipientRule
from sfumato.policy.searches import ability_of
from sfumato.policy.taxonomies.intervals import check_range_ceiling, check_range_ends
from sfumato.policy.taxonomies.texts import Flat, in_one_spelling
from sfumato.policy.yaml import compose
from sfumato.system.errors import (
    BadPolicy,
    BadTaxonomy,
    Origin,
    Place,
    Problem,
    UsageError,
    did_you_mean,
    short,
)
from sfumato.system.json_object import JsonObject
from sfumato.table import published_texts as rounded_number
from sfumato.table.arrays import written
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.microdata import Coding, Missing, Role, SetForm
from sfumato.table.spelling import Spelling
from sfumato.table.taxonomy import ANY, Label, Taxonomy, TaxonomyRule, never_above

FLAT = Flat()
ONE_SPELLING = "spellings of one value are written as one"
"""What is said of a key column whose values are published in one spelling."""

NO_PRICE = "none"
"""The word for suppressed rows that have no price."""

NO_PROMISE = ("confirm", "source")
"""Keys of a policy that its digest passes over."""


@dataclass(frozen=True)
class ColumnRule:
    """What one column is. `reason` says why, where the role was guessed; it becomes a comment.

    `options` is what else is said of a column whose role belongs to one promise, in that promise's terms.
    `start` is the finest level of its taxonomy that a quasi-identifier may have: rows are counted at that
    level, so that fewer of them differ, and losses are measured from there. `spelling` says whether spellings
    of a sensitive value count as one value, `one_spelling` that those of a quasi-identifier are published as
    one. `digits` is how many digits behind the point a number keeps that is published as it is; `None`: all.
    `controls` are what an expert asks of the search.
    """

    role: Role
    taxonomy: TaxonomyRule | None = None
    reason: str = field(default="", compare=False)
    options: ColumnOptions | None = None
    start: int = 0
    spelling: Spelling = Spelling.FOLDED
    one_spelling: bool = False
    digits: int | None = None
    controls: ColumnControls = field(default_factory=ColumnControls)

    @property
    def finest(self) -> int:
        """The finest level that may be published: the fixed one, or where the column starts."""
        return self.start if self.controls.fixed is None else self.controls.fixed

    @property
    def rewritten(self) -> str:
        """What is done to cells as they are read, in words for whoever gets them; empty where nothing is."""
        if self.one_spelling:
            return ONE_SPELLING
        return "" if self.digits is None else rounded_number.in_words(self.digits)

    def tree_of(self, values: Sequence[Label], otherwise: TaxonomyRule = FLAT) -> Taxonomy:
        """Returns the tree of these values, in one spelling each where the policy says so.

        `otherwise` is the taxonomy of a column that has none.
        """
        taxonomy = self.taxonomy or otherwise
        return in_one_spelling(taxonomy, values) if self.one_spelling else taxonomy.build(values)


@dataclass(frozen=True)
class ProtectRule:
    """How a recoding is searched for.

    `suppress` is the largest share of the rows that may stay unpublished. `price` says as how many fully
    generalized rows a suppressed one counts; without a price it counts as one, and only top-down and lattice
    suppress, as far as they may. `together` lists groups of key columns that have the same level.
    `grouping` is one of `GROUPINGS`.
    """

    search: str = "best"
    suppress: Fraction = Fraction(1, 20)
    loss: str = "loss"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    relaxed: bool = False
    terms: TermRule = field(default_factory=TermRule)
    price: Fraction | None = Fraction(3)
    together: tuple[tuple[str, ...], ...] = ()
    grouping: str = "default"


GROUPINGS: Mapping[str, str] = {
    "default": "informed; in a chain blind, where that loses at most a quarter more than k-anonymity alone",
    "blind": "who shares a class does not depend on sensitive values: who knows the search learns nothing",
    "informed": "the search looks at sensitive values: less is lost where many different ones are asked for",
}
"""How people are put into classes where promises are about sensitive values."""


class Formulas(StrEnum):
    """What becomes of cells of a CSV file that a spreadsheet would run when it opens the file."""

    REFUSE = "refuse"
    """A file with such a cell is not published."""
    KEEP = "keep"
    """They are published as they are: no spreadsheet will open the file."""


@dataclass(frozen=True)
class PolicyContent:
    """The parts of a policy, and what follows from them; nothing here was checked (see `Policy`)."""

    columns: Mapping[str, ColumnRule]
    promises: Promises
    protect: ProtectRule = ProtectRule()
    missing: Missing = Missing.OWN_VALUE
    person: str | None = None
    recipients: RecipientRule | None = None
    folder: Path | None = field(default=None, compare=False)
    origin: Origin = field(default=Origin(), compare=False, repr=False)
    note: str = field(default="", compare=False, repr=False)
    """What a policy that was proposed says of itself, first in its file."""
    people: PersonRule = field(default_factory=PersonRule)
    """How many rows of a person show values, and which."""
    confirm: Mapping[str, str] = field(default_factory=dict)
    """Columns that a draft would publish unchanged and nobody has confirmed yet, and why. No promise, so it
    is no part of the digest."""
    confirmed: tuple[str, ...] = ()
    """Columns that somebody has confirmed by name, although no promise protects them. No promise either."""
    source: SourceForm = NO_FORM
    """How the data are read. No promise either: the same rows in another form have the same digest."""
    formulas: Formulas = Formulas.REFUSE
    preset: str | None = None
    """The preset whose rules for columns are kept, where the policy bears its name."""
    chain: ChainRule | None = None
    """How later releases go on from this one, where they are releases of groups."""
    follows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Quasi-identifiers whose values follow from those of others, as a town does from a postal code."""

    @property
    def form_of_data(self) -> SourceForm:
        """How the data are read, with paths that hold here: a policy names files relative to its folder."""
        return self.source.beside(self.folder)

    @property
    def by_patterns(self) -> bool:
        """Whether there are versions for recipients that differ by the levels of columns."""
        return self.recipients is not None and self.recipients.by is By.PATTERNS

    @property
    def weights(self) -> dict[str, Fraction]:
        """The weight of every key column that has one."""
        own = {name: rule.controls.weight for name, rule in self.columns.items()}
        return {**self.protect.weights, **{name: w for name, w in own.items() if w is not None}}

    @property
    def codings(self) -> tuple[Coding, ...]:
        """The codings of the columns that promises read, in the order of the policy."""
        read = {name for promise in self.promises for name in (*promise.sensitive, *promise.reads)}
        if self.by_patterns:  # colluders match rows by all that is published unchanged
            read.update(name for name, rule in self.columns.items() if rule.role is Role.INSENSITIVE)
        plain = tuple(
            Coding(name, rule.role, self._build(name, rule))
            for name, rule in self.columns.items()
            if rule.role is not Role.QUASI_SENSITIVE
            and (rule.role.is_key or rule.role is Role.SENSITIVE or name in read)
        )
        sets = tuple(
            Coding(name, Role.QUASI_SENSITIVE, Flat().build, form) for name, form in forms_of(self).items()
        )
        return plain + sets

    def rule_of(self, name: str) -> ColumnRule | None:
        """Returns the rule of a column, or of a set of 0/1 columns."""
        parts = (self.columns[p] for p in forms_of(self).get(name, SetForm()).parts)
        return self.columns.get(name) or next(parts, None)

    @property
    def not_protected(self) -> dict[str, tuple[str, ...]]:
        """The sensitive columns of which promises protect no value, or some alone: these values."""
        about = {
            name: [p for p in self.promises if name in p.sensitive and p.protects] for name in self.columns
        }
        partly = {
            name: tuple(value for p in promises for value in getattr(p, "values", None) or ())
            for name, promises in about.items()
            if all(getattr(promise, "values", None) for promise in promises)
        }
        return {n: values for n, values in partly.items() if self.columns[n].role is Role.SENSITIVE}

    @property
    def protected_counts(self) -> dict[str, int]:
        """How many values promises protect of each column that is not, or not wholly, protected."""
        return {name: len(values) for name, values in self.not_protected.items()}

    @property
    def waiting(self) -> dict[str, str]:
        """The columns that wait for a person's word, and why: those under `confirm`, and every sensitive one
        that no promise protects, unless it was confirmed by name."""
        open_ones = [n for n, values in self.not_protected.items() if not values and n not in self.confirmed]
        return {**dict.fromkeys(open_ones, UNPROTECTED), **self.confirm}

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that are published, in the order of the policy."""
        return tuple(name for name, rule in self.columns.items() if rule.role is not Role.IDENTIFIER)

    @property
    def digits(self) -> dict[str, int]:
        """How many digits behind the point are published of a column of numbers, where the policy says so."""
        return {name: rule.digits for name, rule in self.columns.items() if rule.digits is not None}

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that are not."""
        return tuple(name for name, rule in self.columns.items() if rule.role is Role.IDENTIFIER)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raises `BadPolicy` unless the data has exactly the declared columns."""
        extra = [name for name in names if name not in self.columns]
        there = set(names)
        absent = [name for name in self.columns if name not in there]
        if extra:
            hint = did_you_mean(
                extra[0], absent, otherwise="Declare every column; insensitive if it is harmless."
            )
            raise BadPolicy(f"not declared: {_listed(extra)}.", where="columns", remedy=hint)
        if absent:
            hint = "Drop it from the policy, or look whether the data lost it."
            raise BadPolicy(
                f"declared, but not in the data: {_listed(absent)}.", where="columns", remedy=hint
            )

    def to_dict(self) -> dict[str, object]:
        """Returns the policy in the shape of its file, plain data only."""
        where_said: dict[str, object] = {
            PERSON_KEY: self.people.words(self.person),
            "confirm": {**self.confirm, **dict.fromkeys(self.confirmed, True)} or None,
            "source": self.source.words if self.source else None,
            "formulas": None if self.formulas is Formulas.REFUSE else self.formulas.value,
            "preset": self.preset,
            CHAIN_KEY: None if self.chain is None else self.chain.words,
            "recipients": None if self.recipients is None else self.recipients.words,
            "follows": {
                name: others[0] if len(others) == 1 else list(others) for name, others in self.follows.items()
            }
            or None,
        }
        return {
            "columns": {name: _column(rule) for name, rule in self.columns.items()},
            "promises": [{p.name: p.parameters()} for p in self.promises.stated],
            "protect": _protect(self.protect),
            "missing": self.missing.value,
            **{key: word for key, word in where_said.items() if word is not None},
        }

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the policy and of every file it refers to; comments do not count."""
        files = {n: r.taxonomy.digest for n, r in self.columns.items() if r.taxonomy and r.taxonomy.digest}
        whole = {
            "policy": {key: word for key, word in self.to_dict().items() if key not in NO_PROMISE},
            "order": list(self.columns),
            "files": files,
            "promises": [[list(pair) for pair in p.files] for p in self.promises.stated],
        }
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def spelled(self, name: str, taxonomy: Taxonomy) -> Taxonomy:
        """Returns a tree of this column's values that tells them apart as the policy says."""
        rule = self.columns.get(name)
        if rule is None or rule.role is not Role.SENSITIVE:
            return taxonomy
        return taxonomy.spelled(rule.spelling)

    @property
    def publishes_ranges(self) -> bool:
        """Whether the search publishes ranges of ordered columns, and nothing finer than these may be."""
        ability = ability_of(self.protect.search)
        return ability is not None and ability.ranges

    def _build(self, name: str, rule: ColumnRule) -> Callable[[Sequence[Label]], Taxonomy]:
        ordered = any(name in p.ordered_columns for p in self.promises)
        flat = Flat(ordered=ordered)

        def build(values: Sequence[Label]) -> Taxonomy:
            try:
                if rule.role.is_key and self.publishes_ranges:
                    check_range_ends(rule.taxonomy, values, search=self.protect.search)
                tree = never_above(rule.tree_of(values, flat), rule.controls.ceiling).from_level(rule.finest)
                if rule.role.is_key and self.publishes_ranges:
                    check_range_ceiling(tree, search=self.protect.search)
                if not rule.role.is_key:
                    return self.spelled(name, tree)
                return _unambiguous(tree, values)
            except BadTaxonomy as wrong:
                where = f"column {short(name)}"
                spot = f"{where}, {wrong.where}" if wrong.where else where
                raise BadTaxonomy(
                    wrong.message, remedy=wrong.remedy, where=spot, values=wrong.values
                ) from None

        return build


def _unambiguous(tree: Taxonomy, values: Sequence[Label]) -> Taxonomy:
    """Returns the tree; raises where a cell of the data looks like what a generalized one is published as."""
    groups = {tree.labels[v] for v in np.flatnonzero(tree.leaf_count > 1).tolist()}
    alike = [value for value in values if value is not None and ANY in value and value in groups]
    if alike:
        raise BadTaxonomy(
            f"{len(alike)} of the values that occur look like a generalized one: they are, or end in, {ANY}",
            remedy=f"If {ANY} means that nothing is known, read a CSV file with --empty '{ANY}'; else "
            "replace it beforehand.",
            values=alike,
        )
    return tree


def _column(rule: ColumnRule) -> dict[str, object]:
    spec: dict[str, object] = {} if rule.taxonomy is None else {"taxonomy": dict(rule.taxonomy.spec)}
    if rule.start:
        spec["start"] = rule.start
    if rule.spelling is not Spelling.FOLDED:
        spec["spelling"] = rule.spelling.value
    if rule.one_spelling:
        spec["spelling"] = Spelling.FOLDED.value
    if rule.digits is not None:
        spec["digits"] = rule.digits
    options = {} if rule.options is None else rule.options.words()
    return {"role": rule.role.value, **spec, **rule.controls.words, **options}


def _protect(rule: ProtectRule) -> dict[str, object]:
    words: dict[str, object] = {"search": rule.search, "suppress": written(rule.suppress), "loss": rule.loss}
    words["price"] = NO_PRICE if rule.price is None else written(rule.price)
    if rule.weights:
        words["weights"] = {name: written(weight) for name, weight in rule.weights.items()}
    if rule.together:
        words["together"] = [list(group) for group in rule.together]
    if terms := rule.terms.words:
        words["terms"] = terms
    if rule.grouping != ProtectRule().grouping:
        words["grouping"] = rule.grouping
    return {**words, "relaxed": True} if rule.relaxed else words


def _listed(names: Sequence[str]) -> str:
    first_names = ", ".join(short(name) for name in names[:8])
    return first_names if len(names) <= 8 else f"{first_names} and {len(names) - 8} more"


# The places of promises in a policy, for messages.


def with_places(policy: PolicyContent) -> Iterator[tuple[Place, Promise]]:
    """Yields every promise with its place."""
    for i, promise in enumerate(policy.promises):
        yield ("promises", i, promise.name), promise


# Confirmation: columns that a draft would publish unchanged, until a person says that this is right.


CONFIRM_KEY = "confirm"
MOST_WAITING_NAMED = 8
UNPROTECTED = "it is sensitive, and no promise protects any of its values"
"""Why a column waits that no draft has put under `confirm`."""


def confirm_entries(words: object) -> dict[str, str]:
    """Returns the columns that wait, and why; a list names columns without a reason."""
    if isinstance(words, Mapping):
        waiting = {name: reason for name, reason in words.items() if reason is not True}
        return {str(name): " ".join(str(reason or "").split()) for name, reason in waiting.items()}
    return {str(name): "" for name in words} if isinstance(words, list | tuple) else {}


def confirmed_entries(words: object) -> tuple[str, ...]:
    """Returns the columns that somebody has confirmed by name: `dx: true`."""
    entries = words.items() if isinstance(words, Mapping) else ()
    return tuple(str(name) for name, word in entries if word is True)


def confirm_schema() -> JsonObject:
    """Returns the schema of the key."""
    return {
        "oneOf": [
            {"type": "object", "additionalProperties": {"type": ["string", "null", "boolean"]}},
            {"type": "array", "items": {"type": "string"}},
        ],
        "description": (
            "Columns that would be published unchanged on a guess, with the reason; nothing is published"
            " before a person has confirmed them. With true: a sensitive column that no promise protects, and"
            " that somebody has confirmed by name."
        ),
    }


def unknown_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields a problem for every column that waits and is not declared."""
    for name in (*policy.confirm, *policy.confirmed):
        if name not in policy.columns:
            near = did_you_mean(name, list(policy.columns), otherwise="Take it out.")
            yield Problem((CONFIRM_KEY, name), f"there is no column {short(name)}.", near)


def check_confirmed(policy: PolicyContent) -> None:
    """Raises `BadPolicy` while a column waits for a person's word: nothing may be published before that."""
    waiting = list(policy.waiting)
    if not waiting:
        return
    sensitive = [name for name in waiting if policy.columns[name].role is Role.SENSITIVE]
    of_these = (
        f" Sensitive, and not or not wholly protected: {', '.join(map(short, sensitive))}."
        if sensitive
        else ""
    )
    named = ", ".join(short(name) for name in waiting[:MOST_WAITING_NAMED])
    more = f" and {len(waiting) - MOST_WAITING_NAMED} more" if len(waiting) > MOST_WAITING_NAMED else ""
    single = len(waiting) == 1
    raise BadPolicy(
        f"{'a column waits' if single else f'{len(waiting)} columns wait'} for somebody to confirm that"
        f" {'it' if single else 'they'} may be published unchanged: {named}{more}.{of_these}",
        where=f"{policy.origin.name}, {CONFIRM_KEY}",
        remedy="Read the reasons (`sfumato policy check POLICY`); change a role that is wrong, promise"
        " something of a sensitive column, and say `sfumato policy confirm POLICY COLUMN…` of those that are"
        " right; in Python, confirm=[…]. Planning (--dry-run) works before that.",
    )


def with_word_for(policy: PolicyContent, columns: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns what stays under `confirm`, and which columns are confirmed, when a person confirms some.

    Raises `UsageError` where one of them does not wait.
    """
    waiting, unprotected = policy.waiting, policy.not_protected
    for name in columns:
        if name not in waiting and name not in policy.confirmed:
            declared = name in policy.columns
            what = (
                f"{short(name)} does not wait for confirmation"
                if declared
                else f"there is no column {short(name)}"
            )
            hint = did_you_mean(name, list(waiting))
            named = ", ".join(map(short, waiting)) or "none"
            raise UsageError(f"{what}.", remedy=hint or f"Columns that wait: {named}.")
    by_name = [name for name in columns if unprotected.get(name) == ()]
    remaining = {name: why for name, why in policy.confirm.items() if name not in set(columns)}
    return remaining, tuple(dict.fromkeys([*policy.confirmed, *by_name]))


def with_entries(text: str, remaining: Collection[str], confirmed: Sequence[str]) -> str:
    """Returns the text of a policy file with these entries of `confirm`, of which the last are confirmed;
    nothing else in it changes."""
    start, end, entries = _section(text)
    kept = [(name, entry) for name, entry in entries if name in remaining]
    if confirmed:  # which only a mapping can say
        kept = [
            (name, f"{json.dumps(name)}: ''" if entry.startswith("- ") else entry) for name, entry in kept
        ]
    lines = [entry for _, entry in kept] + [f"{json.dumps(name)}: true" for name in confirmed]
    if start == end:
        text += "" if text.endswith("\n") or not lines else "\n"
        start = end = len(text)
    section = "".join(f"  {line}\n" for line in lines)
    return f"{text[:start]}{CONFIRM_KEY}:\n{section}{text[end:]}" if lines else text[:start] + text[end:]


def _section(text: str) -> tuple[int, int, list[tuple[str, str]]]:
    """Returns where the key starts and ends in the text, and its entries, each as it is written."""
    root = compose(text)
    pairs = [] if root is None else root.value
    for key, value in pairs:
        if key.value != CONFIRM_KEY:
            continue
        start = key.start_mark.index
        if type(value).__name__ == "MappingNode":
            spans = [(k.value, k.start_mark.index, v.end_mark.index) for k, v in value.value]
        else:
            spans = [(item.value, item.start_mark.index, item.end_mark.index) for item in value.value]
        listed = type(value).__name__ != "MappingNode"
        dash = "- " if listed else ""
        entries = [(name, dash + " ".join(text[a:b].split())) for name, a, b in spans]
        last = max([value.end_mark.index if value.flow_style else 0, *(b for _, _, b in spans), start])
        line_end = text.find("\n", last)
        return start, len(text) if line_end < 0 else line_end + 1, entries
    return 0, 0, []
