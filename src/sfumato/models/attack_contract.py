"""What an attack is: the seam between adversaries and the audit."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.system import plugins
from sfumato.system.errors import SfumatoError, UsageError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import AttackLimits, Finding
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Coding, Counts, Microdata, Missing, Role, SetForm
from sfumato.table.number_forms import NUMBER_FORMS, with_number_forms
from sfumato.table.recoding import classes_under
from sfumato.table.release_summary import Imprint
from sfumato.table.spelling import Spelling
from sfumato.table.taxonomy import Label, Taxonomy, TaxonomyRule

if TYPE_CHECKING:
    from sfumato.table.source import Source


# What an adversary sees.

JUDGED = (Role.QUASI, Role.FREE, Role.SENSITIVE)
"""The roles an attack looks at: what is known of a person, and what is sought."""


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table as it stands: every published text is a value, an empty cell is one too.

    `table` holds the key columns (what an outsider may know of a person) and the sensitive ones (what is
    sought), coded with flat taxonomies over the labels that occur; `columns` names everything in the file.
    `rules` are the taxonomies that the policy gives key columns: everybody may know them.
    A raw table can be looked at in the same way: then this is what would leak if it were published.
    """

    table: Microdata
    columns: tuple[str, ...]
    rules: Mapping[str, TaxonomyRule] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        source: Source,
        roles: Mapping[str, Role],
        *,
        person: str | None = None,
        builds: Mapping[str, Callable[[Sequence[Label]], Taxonomy]] | None = None,
        forms: Mapping[str, SetForm] | None = None,
        rules: Mapping[str, TaxonomyRule] | None = None,
        progress: Progress = silent,
    ) -> PublishedTable:
        """Code what a source holds; columns without a role, or absent from the source, are left out.

        `builds` gives the taxonomy of a column whose values promises compare; such a column is always read.
        `forms` says which columns hold term sets.
        """
        builds = builds or {}
        codings = [
            Coding(name, roles[name], builds.get(name, Taxonomy.flat_in_order))
            for name in source.columns
            if roles.get(name) in JUDGED or (name in builds and name in roles)
        ]
        for name, form in (forms or {}).items():
            if set(form.parts or (name,)) <= set(source.columns):
                codings.append(Coding(name, Role.QUASI_SENSITIVE, Taxonomy.flat_in_order, form))
        person_column = person if person in source.columns else None
        apart = with_number_forms(source, [coding.name for coding in codings if coding.role.is_key])
        if apart is not None:
            codings.append(Coding(NUMBER_FORMS, Role.INSENSITIVE, Taxonomy.flat_in_order))
        counted = (apart or source).count(
            codings, missing=Missing.OWN_VALUE, person=person_column, progress=progress
        )
        return cls(counted, tuple(source.columns), rules or {})

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns by which a person may be recognized."""
        return tuple(c.name for c in self.table.keys)

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns that promises are about: sensitive ones, and sets of terms."""
        secret = (Role.SENSITIVE, Role.QUASI_SENSITIVE)
        return tuple(c.name for c in self.table.columns if c.role in secret)

    @property
    def sensitive(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.table.sensitive)

    @cached_property
    def classes(self) -> Classes:
        """Rows that publish the same text in every key column, with their values in the other columns."""
        values = [c.name for c in self.table.columns if not c.role.is_key and c.name != NUMBER_FORMS]
        return Classes.of(self.table, self.class_of, sensitive=values)

    @property
    def class_of(self) -> Codes:
        """The class of every distinct row."""
        return self._grouped[0]

    def people_in(self, chosen: NDArray[np.bool_], *, among: NDArray[np.bool_] | None = None) -> int:
        """How many people the chosen classes hold, `among` these distinct rows; someone in several of them
        counts once."""
        rows = chosen[self.class_of] & (True if among is None else among)
        person = self.table.person
        return int(self.table.counts[rows].sum()) if person is None else len(np.unique(person[rows]))

    def labels_of(self, index: int) -> dict[str, Label]:
        """What a class publishes in the key columns: cell values, for `Finding.values` alone."""
        nodes = self._grouped[1][index].tolist()
        return {c.name: c.taxonomy.labels[v] for c, v in zip(self.table.keys, nodes, strict=True)}

    @property
    def texts(self) -> tuple[dict[str, tuple[Label, ...]], dict[str, Codes], Counts]:
        """Key column -> its texts and the text of every class, by number; and the rows of every class."""
        nodes, keys = self._grouped[1], self.table.keys
        trees = {c.name: c.taxonomy for c in keys}
        codes = {c.name: nodes[:, j] for j, c in enumerate(keys)}
        used = {name: np.unique(column, return_inverse=True) for name, column in codes.items()}
        labels = {
            name: tuple(trees[name].labels[v] for v in distinct.tolist())
            for name, (distinct, _) in used.items()
        }
        return (
            labels,
            {n: np.asarray(code, dtype=np.int32).ravel() for n, (_, code) in used.items()},
            self.classes.rows,
        )

    @cached_property
    def _grouped(self) -> tuple[Codes, Codes]:
        """The class of every distinct row, and the nodes of every class; rows that show the same and are told
        apart by how their numbers are written are in different ones."""
        cuts = {c.name: Cut.leaves(c.taxonomy) for c in self.table.keys}
        class_of, nodes = classes_under(self.table, cuts)
        if NUMBER_FORMS not in {column.name for column in self.table.columns}:
            return class_of, nodes
        pairs = np.stack([class_of, self.table.codes(NUMBER_FORMS)], axis=1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        return which.ravel().astype(np.int32), nodes[distinct[:, 0]]


def format_people(people: int) -> str:
    """So many people, in words.

    >>> format_people(0), format_people(1), format_people(2500)
    ('nobody', '1 person', '2,500 people')
    """
    return pluralize(people, "person", "people") if people else "nobody"


SEVERAL_RELEASES = (
    "two or more releases of the same people: a ledger to hold the table against, or the releases themselves,"
    " oldest first"
)
"""What adversaries need who hold several releases."""
NOTHING_FOR_IT = "something that it can strike, which this table and this policy do not have"
"""What an attack needs that does not say so itself."""


@runtime_checkable
class Attack(Protocol):
    """An adversary with a method.

    `knows` says what is known beforehand, `seeks` what is sought, `succeeds` what counts as success, each in
    a plain sentence part. `threatens` names the promises that this attack breaks, or shows to be too weak.
    Knowledge beyond the published table (a population, a register) is a field of the attack. One that may
    have nothing to strike also says what it `needs`.
    """

    name: ClassVar[str]
    knows: ClassVar[str]
    seeks: ClassVar[str]
    succeeds: ClassVar[str]
    threatens: ClassVar[tuple[str, ...]]

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        """What the adversary achieves, from the published table alone; `breach` where it is not tolerated."""
        ...


@runtime_checkable
class NeedsMore(Protocol):
    """An attack that has nothing to strike at times, and says what it `needs` then, in a sentence part."""

    needs: ClassVar[str]


class Criterion(StrEnum):
    """What must not be possible with anonymous data (Article 29 Working Party, Opinion 05/2014, WP216)."""

    SINGLING_OUT = "singling out"
    LINKABILITY = "linkability"
    INFERENCE = "inference"


@runtime_checkable
class TestsCriterion(Protocol):
    """An attack that picks out a record, or puts several together; every other one concludes something."""

    criterion: ClassVar[Criterion]


@dataclass(frozen=True)
class HeldReleases:
    """Releases of the same people, oldest first, and what attacks on all of them go by.

    `table` is the newest one as it was counted, `sought` its sensitive columns and how their values are told
    apart. `k` is the class size that is promised, `by_size` says that nothing but class sizes is.
    """

    releases: tuple[Imprint, ...]
    k: int | None = None
    by_size: bool = True
    table: Microdata | None = None
    sought: Mapping[str, Spelling] = field(default_factory=dict)


@runtime_checkable
class HoldsReleases(Protocol):
    """An attack of somebody who holds several releases: how it is made from them."""

    @classmethod
    def holding(cls, held: HeldReleases) -> Attack:
        """The attack of somebody who holds these releases."""
        ...


def strike_all(
    published: PublishedTable,
    attacks: Sequence[Attack],
    limits: AttackLimits,
    *,
    progress: Progress = silent,
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The findings of several attacks, the most harmful first; and what failed.

    An attack that fails keeps no other from being tried. What it says may quote cells, so only the kind of
    its error and the place in its code are told.
    """
    findings: list[Finding] = []
    failed = []
    for number, attack in enumerate(attacks):
        progress("attacks", number, len(attacks))
        try:
            struck = attack.strike(published, limits)
            if not all(isinstance(finding, Finding) for finding in struck):
                raise TypeError
            findings += struck
        except MemoryError:
            raise
        except Exception as wrong:  # whatever the code of another package raises
            failed.append(f"{attack.name}: {_told(wrong)}")
    progress("attacks", len(attacks), len(attacks))
    return worst_first(findings), tuple(failed)


def attacks_without_target(
    attacks: Iterable[Attack], findings: Collection[Finding], failed: Collection[str]
) -> dict[str, str]:
    """Maps the attacks that found nothing at all, and did not fail, to the reason: what each needs.

    An attack that was withstood has a finding that says so.
    """
    struck = {finding.attack for finding in findings} | {why.partition(":")[0] for why in failed}
    return {
        attack.name: f"it needs {attack.needs if isinstance(attack, NeedsMore) else NOTHING_FOR_IT}"
        for attack in attacks
        if attack.name not in struck
    }


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most harmful first, see `Finding.harm`."""
    named = sorted(findings, key=lambda finding: (finding.attack, finding.columns))
    return tuple(sorted(named, key=lambda finding: finding.harm, reverse=True))


def _told(wrong: Exception) -> str:
    if isinstance(wrong, SfumatoError):
        return wrong.message
    frame = traceback.extract_tb(wrong.__traceback__)[-1]
    return f"{type(wrong).__name__} at {Path(frame.filename).name}:{frame.lineno}"


# Which attacks there are: built-in ones, found by being in their folders, and those of other packages.

GROUP = "sfumato.attacks"
"""The entry-point group through which other packages add attacks: name = "module:Class"."""

MODELS = "sfumato.models"
ADVERSARIES = "sfumato.attacks.adversaries"
"""Where the built-in attacks are: the module `attack` of every model, and those that belong to none."""

A = TypeVar("A", bound="type[Attack]")

_built_in: dict[str, type[Attack]] = {}
_on_request: dict[str, type[Attack]] = {}
_loaded: set[str] = set()


def register(attack: A) -> A:
    """Offer a built-in attack under its `name`: a class that can be made without arguments."""
    _built_in[attack.name] = attack
    return attack


def register_on_request(attack: A) -> A:
    """Offer a built-in attack that takes more than a published table: `sfumato attack` plays it, no audit."""
    _on_request[attack.name] = attack
    return attack


def known() -> tuple[str, ...]:
    """The names of all attacks, in order.

    >>> {"linkage", "correspondence"} <= set(known())
    True
    """
    names = built_in()
    return tuple(sorted((*names, *plugins.names(GROUP, taken=names))))


def built_in() -> tuple[str, ...]:
    """The names of the built-in attacks, all loaded."""
    if MODELS not in _loaded:
        for folder in iter_modules(import_module(MODELS).__path__):
            if folder.ispkg and find_spec(f"{MODELS}.{folder.name}.attack"):
                import_module(f"{MODELS}.{folder.name}.attack")
        for module in iter_modules(import_module(ADVERSARIES).__path__):
            import_module(f"{ADVERSARIES}.{module.name}")
        _loaded.add(MODELS)
    return tuple(sorted(_built_in))


def on_request() -> tuple[str, ...]:
    """The names of the built-in attacks that no audit plays, because they are told more than it knows."""
    built_in()
    return tuple(sorted(_on_request))


def holders_of_releases() -> dict[str, HoldsReleases]:
    """The built-in attacks of somebody who holds several releases of the same people, by name."""
    attacks: dict[str, object] = {name: _built_in[name] for name in built_in()}
    return {name: attack for name, attack in attacks.items() if isinstance(attack, HoldsReleases)}


def criterion_of(name: str) -> Criterion:
    """What an attack of this name tests; one of another package is taken to infer something."""
    attack = _find(name)
    return attack.criterion if isinstance(attack, TestsCriterion) else Criterion.INFERENCE


def make(name: str) -> Attack:
    """The attack of this name, with no knowledge beyond the published table.

    Raises `UsageError` where there is none, or where the package that offers it cannot be used.

    >>> make("linkage").seeks
    'which record is theirs'
    """
    ours = _find(name)
    offered = plugins.find(GROUP, name, taken=() if ours is None else (name,))
    if ours is None and offered is None:
        raise UsageError(
            f"there is no attack {name!r}",
            remedy=f"Known attacks: {', '.join(known())}; and, on the command line,"
            f" {', '.join(on_request())}. The attack is named first, then the file.",
        )
    return offered() if ours is None else ours()


def make_all() -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Every attack that can be made, and the names of those of other packages that cannot.

    What bears the name of a built-in attack does not keep that one from being made.
    """
    names = built_in()
    attacks = [_built_in[name]() for name in names]
    failed = [offer.name for offer in plugins.offers(GROUP) if offer.name in names]
    for name in plugins.names(GROUP, taken=names):
        try:
            attacks.append(make(name))
        except Exception:  # whatever the code of another package raises
            failed.append(name)
    return tuple(sorted(attacks, key=lambda attack: attack.name)), tuple(failed)


def _find(name: str) -> type[Attack] | None:
    """The built-in attack of this name, if there is one."""
    if name not in _built_in:
        built_in()
    return _built_in.get(name)


# Ratios of integer arrays, compared exactly.

Integers = NDArray[np.int64]

CLOSE = 1e-9
"""Ratios that differ by less, relatively, are told apart by their integers."""
_ROOM = 2**63


def exceeding(above: Integers, below: Integers, limit: Fraction) -> NDArray[np.bool_]:
    """Where above / below is more than the limit.

    >>> exceeding(np.array([1, 2]), np.array([3, 3]), Fraction(1, 3)).tolist()
    [False, True]
    """
    left, right = _crosswise(above, below, limit)
    return np.asarray(left > right, dtype=bool)


def equal_to(above: Integers, below: Integers, value: Fraction) -> NDArray[np.bool_]:
    """Where above / below is exactly this value."""
    left, right = _crosswise(above, below, value)
    return np.asarray(left == right, dtype=bool)


def largest(above: Integers, below: Integers) -> tuple[int, Fraction]:
    """The first place with the largest ratio, and that ratio; (-1, 0) where there is none.

    >>> largest(np.array([1, 2, 4]), np.array([3, 3, 6]))
    (1, Fraction(2, 3))
    """
    if not len(above):
        return -1, Fraction(0)
    ratio = above / below
    near = np.flatnonzero(ratio >= ratio.max() * (1 - CLOSE))
    pairs = np.unique(np.stack((above[near], below[near])), axis=1)
    best = max(Fraction(int(a), int(b)) for a, b in pairs.T.tolist())
    return int(near[equal_to(above[near], below[near], best).argmax()]), best


def _crosswise(above: Integers, below: Integers, value: Fraction) -> tuple[Integers, Integers]:
    """The two products whose order is that of the ratio and the value; wider than 64 bits where needed."""
    up, down = value.numerator, value.denominator
    wide = max(int(above.max(initial=0)) * down, int(below.max(initial=0)) * up) >= _ROOM
    if wide:
        return above.astype(object) * down, below.astype(object) * up
    return above * down, below * up


# Adversaries who seek labels that stand nowhere in a table: what they have in common.


class SeeksLabels:
    """An attack on what terms give away together: when it succeeds, and which promises it breaks."""

    succeeds: ClassVar[str] = "the belief in a label is more than the promise allows"
    threatens: ClassVar[tuple[str, ...]] = ("quasi-sensitive",)
