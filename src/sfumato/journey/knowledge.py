"""Knowledge tables from frames and files: which terms belong to which label."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.core.knowledge import Knowledge
from sfumato.core.microdata import Coding, Role
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.term_sets import SetForm, terms_of
from sfumato.engine import AnyTable
from sfumato.journey.table_argument import open_table
from sfumato.promises.quasi_sensitive.knowledge_proposal import propose

SET_OF_COLUMNS = "terms"
"""What several 0/1 columns are called as one column of term sets."""


def knowledge(
    data: AnyTable,
    *,
    label: str,
    terms: str | Sequence[str],
    separator: str = ";",
    support: int = 1,
    share: Fraction = Fraction(0),
) -> Knowledge:
    """A knowledge table from a frame or a file: a column of labels beside one of terms.

    `terms` names a column of delimited text, of lists, or of one term per row; or several 0/1 columns. With
    `support` the rows are taken for records about people, and a term belongs to a label if it occurs in that
    many of its records (and in that `share` of them); with 1, all rows of a label are kept as they are.
    """
    if isinstance(terms, str):
        column, form = terms, SetForm(separator)
    else:
        column, form = SET_OF_COLUMNS, SetForm(parts=tuple(terms))
    codings = [Coding(label, Role.SENSITIVE, _flat), Coding(column, Role.QUASI_SENSITIVE, _flat, form)]
    table = open_table(data).count(codings)
    labels, sets = (table.column(c.name).taxonomy.leaf_labels for c in codings)
    coded = zip(table.codes(label).tolist(), table.codes(column).tolist(), table.counts.tolist(), strict=True)
    records = [(str(labels[a]), terms_of(sets[b]), n) for a, b, n in coded if labels[a] is not None]
    if support > 1 or share > 0:
        return propose(records, support=support, share=share)
    single = all(len(held) <= 1 for _, held, _ in records)
    return propose(records, support=1) if single else Knowledge.of((a, held) for a, held, _ in records)


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))
