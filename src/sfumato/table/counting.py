"""The count of a table: its rows as microdata, distinct rows of leaf ranks with counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.errors import BadData, BadTaxonomy, SfumatoError
from sfumato.core.microdata import Coding, Column, Microdata, Missing
from sfumato.core.packing import sort_and_count
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.engine.arrow_arrays import to_numpy
from sfumato.engine.column_names import safe_name
from sfumato.engine.dictionary import Dictionary
from sfumato.engine.row_pass import GatheredRows
from sfumato.engine.spill.row_buffer import Equivalence, NumberTable, first_of_each
from sfumato.engine.text import canonical

UNKNOWN = -1
"""In a table of ranks: a value that the taxonomy lacks."""


def microdata(
    gathered: GatheredRows, codings: Sequence[Coding], *, missing: Missing, person: str | None = None
) -> Microdata:
    """The rows counted as leaf ranks, of taxonomies that are built from the values that occur."""
    columns: list[Column] = []
    tables: list[NDArray[np.int64]] = []
    for coding, dictionary in zip(codings, gathered.dictionaries, strict=False):
        if missing is Missing.REFUSE and coding.role.is_key:
            refuse_missing(coding.name, dictionary.missing)
        taxonomy, table = rank_table(coding, dictionary)
        columns.append(Column(coding.name, coding.role, taxonomy, coding.form))
        tables.append(table)
    sizes = [max(1, len(c.taxonomy.leaves)) for c in columns]
    if person is not None:
        table, people = person_ranks(gathered.dictionaries[-1])
        tables.append(table)
        sizes.append(max(1, people))
    packing, packed, times = gathered.repack(tables, sizes)
    words, counts = sort_and_count(packed, times)
    return Microdata(tuple(columns), packing, words, counts, person is not None, gathered.dropped, person)


def equal_by_leaf(codings: Sequence[Coding]) -> Equivalence:
    """The equivalence of values that are coded as one leaf, as far as the values so far show."""

    def equivalence(column: int, dictionary: Dictionary) -> NumberTable | None:
        values, index = dictionary.distinct_values()
        if column >= len(codings):
            return first_of_each(index)
        texts = dictionary.texts(values)
        try:
            taxonomy = codings[column].build([*sorted(texts), *([None] if dictionary.missing else [])])
        except SfumatoError:  # raised again when all values are known
            return first_of_each(index)
        groups = leaf_ranks(taxonomy, texts)[index]
        return first_of_each(index if (groups[1:] == UNKNOWN).any() else groups)

    return equivalence


def rank_table(coding: Coding, dictionary: Dictionary) -> tuple[Taxonomy, NDArray[np.int64]]:
    """The taxonomy of a column, and the leaf rank of every number that its dictionary gave."""
    values, index = dictionary.distinct_values()
    refuse_infinite(values, coding.name)
    texts = dictionary.texts(values)
    occurring: list[Label] = [*sorted(texts), *([None] if dictionary.missing else [])]
    taxonomy = coding.build(occurring)
    ranks = leaf_ranks(taxonomy, texts)
    table = ranks[index]
    if (ranks[: len(texts) + bool(dictionary.missing)] == UNKNOWN).any():
        lacking = [label for label in occurring if taxonomy.rank(label) is None]
        raise BadTaxonomy(
            f"the taxonomy of column {safe_name(coding.name)} "
            f"lacks {len(lacking)} of {len(occurring)} values that occur",
            remedy="Add them to the taxonomy, or clean the column.",
            values=["" if label is None else label for label in lacking],
        )
    return taxonomy, np.maximum(table, 0)


def refuse_missing(name: str, cells: int) -> None:
    """Refuse a key column with missing cells."""
    if cells:
        raise BadData(
            f"column {safe_name(name)} has {cells} missing cells, and the policy refuses them",
            remedy="Fill them, or set missing to own-value or suppress.",
        )


def leaf_ranks(taxonomy: Taxonomy, texts: Sequence[str]) -> NDArray[np.int64]:
    """The rank of each text, and of a missing cell at the end; UNKNOWN where the taxonomy lacks it."""
    known = taxonomy.ranks
    return np.fromiter(map(known.get, (*texts, None), repeat(UNKNOWN)), np.int64, len(texts) + 1)


def person_ranks(dictionary: Dictionary) -> tuple[NDArray[np.int64], int]:
    """Number people by the order of their texts, so that numbers do not depend on the order of rows."""
    if dictionary.missing:
        raise BadData(
            f"column {safe_name(dictionary.name)} names the person, "
            f"and {dictionary.missing} of its cells are missing",
            remedy="Give every row a person, or leave such rows out.",
        )
    values, index = dictionary.distinct_values()
    keys = canonical(values, dictionary.name)
    refuse_keys_written_twice(keys, dictionary.name)
    order = to_numpy(pc.sort_indices(keys))
    ranks = np.zeros(len(values) + 1, np.int64)
    ranks[order] = np.arange(len(values))
    return ranks[index], len(values)


def refuse_keys_written_twice(keys: pa.Array, name: str) -> None:
    """Refuse people whose keys differ in nothing but blanks around them or composed letters.

    The rule is that of `core.person_keys`, for a whole array.
    """
    plain = pc.utf8_trim_whitespace(pc.utf8_normalize(keys, form="NFC"))
    if not plain.equals(keys):
        refuse_further_keys(len(keys) - len(plain.unique()), name)


def refuse_further_keys(again: int, name: str) -> None:
    """Refuse so many further writings of keys in the person column."""
    if again:
        raise BadData(
            f"column {safe_name(name)} names the person, and {again} of its keys differ from others"
            " in nothing but blanks around them or composed letters",
            remedy="Write each key in one way: the same person would count as several.",
        )


def refuse_infinite(values: pa.Array, column: str) -> None:
    """Refuse infinite numbers in a column that is coded."""
    if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values), min_count=0).as_py():
        raise BadData(
            f"column {safe_name(column)} holds infinite numbers", remedy="Replace them by missing cells."
        )
