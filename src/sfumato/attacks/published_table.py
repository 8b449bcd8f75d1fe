"""What an adversary sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.microdata import Codes, Coding, Counts, Microdata, Missing, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import classes_under
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule
from sfumato.core.term_sets import SetForm
from sfumato.engine.number_forms import NUMBER_FORMS, with_number_forms
from sfumato.show.card import several

if TYPE_CHECKING:
    from sfumato.engine.source import Source

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
            Coding(name, roles[name], builds.get(name, flat))
            for name in source.columns
            if roles.get(name) in JUDGED or (name in builds and name in roles)
        ]
        for name, form in (forms or {}).items():
            if set(form.parts or (name,)) <= set(source.columns):
                codings.append(Coding(name, Role.QUASI_SENSITIVE, flat, form))
        known = person if person in source.columns else None
        apart = with_number_forms(source, [coding.name for coding in codings if coding.role.is_key])
        if apart is not None:
            codings.append(Coding(NUMBER_FORMS, Role.INSENSITIVE, flat))
        counted = (apart or source).count(codings, missing=Missing.OWN_VALUE, person=known, progress=progress)
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
        shown = {
            name: tuple(trees[name].labels[v] for v in some.tolist()) for name, (some, _) in used.items()
        }
        return (
            shown,
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


def crowd(people: int) -> str:
    """So many people, in words.

    >>> crowd(0), crowd(1), crowd(2500)
    ('nobody', '1 person', '2,500 people')
    """
    return several(people, "person", "people") if people else "nobody"


def flat(values: Sequence[Label]) -> Taxonomy:
    """The values that occur, in the order of their text, below one root; an empty cell comes last.

    >>> flat(["b", None, "a"]).leaf_labels
    ('a', 'b', None)
    """
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))
