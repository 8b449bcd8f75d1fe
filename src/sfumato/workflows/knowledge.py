"""Knowledge tables from frames and files: which terms belong to which label, and how common labels are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.inputs import open_table
from sfumato.models.quasi_sensitive.knowledge import Knowledge, Prevalence, Record, by_document, propose
from sfumato.models.quasi_sensitive.promise import TermFinder
from sfumato.system.errors import BadData, UsageError
from sfumato.system.presentation.cards import Card, Printable, pluralize
from sfumato.table.microdata import Coding, Role, SetForm, terms_of
from sfumato.table.source import AnyTable
from sfumato.table.taxonomy import Label, Taxonomy

SET_OF_COLUMNS = "terms"
"""What several 0/1 columns are called as one column of term sets."""


@dataclass(frozen=True)
class ProposedKnowledge(Printable):
    """A knowledge table, what it was made from, and how common its labels are there.

    `records` were read; `labels_left_out` have no term with enough support.
    """

    knowledge: Knowledge
    prevalence: Prevalence
    records: int
    labels_left_out: int

    def card(self) -> Card:
        """Returns what is printed: numbers, and no label or term."""
        knowledge = self.knowledge
        lines = [
            ("labels", f"{len(knowledge.labels)}"),
            ("terms", f"{len(knowledge.terms)}"),
            ("records", f"{self.records}"),
        ]
        left = pluralize(self.labels_left_out, "label has", "labels have")
        notes = (f"{left} no term with enough support, and no row.",) if self.labels_left_out else ()
        return Card("knowledge", lines, notes=notes)

    def as_dict(self) -> dict[str, object]:
        """Returns numbers for a JSON document."""
        knowledge = self.knowledge
        return {
            "labels": len(knowledge.labels),
            "terms": len(knowledge.terms),
            "rows": len(knowledge.rows),
            "records": self.records,
            "labels_left_out": self.labels_left_out,
        }


def knowledge(
    data: AnyTable,
    *,
    label: str,
    terms: str | Sequence[str] | None = None,
    text: str | None = None,
    document: str | None = None,
    count: str | None = None,
    vocabulary: Sequence[str] = (),
    separator: str = ";",
    support: int = 1,
    share: Fraction = Fraction(0),
) -> Knowledge:
    """Make a knowledge table from a frame or a file: a column of labels beside terms, or beside text.

    A term belongs to a label if it occurs in `support` of its records and in that `share` of them. Without
    either, and without text or documents, all rows of a label are kept as they are.

    Args:
        data: the table, as for `protect`.
        label: the column of labels.
        terms: a column of delimited text, of lists, or of one term per row; or several 0/1 columns.
        text: a column of running text, in place of `terms`. Its terms are those of the vocabulary that it
            mentions, else all its words of three letters or more.
        document: a column of documents. The rows of one document are one record, as in a term-document table.
        count: a column that says for how many records a row stands.
        vocabulary: the terms to look for in running text.
        separator: what stands between terms in delimited text.
        support: the fewest records of a label in which a term occurs.
        share: the least share of the records of a label in which a term occurs.

    >>> import polars as pl, sfumato as sf
    >>> cases = pl.DataFrame({"disease": ["flu", "cold"], "symptoms": ["fever;cough", "cough;sneeze"]})
    >>> sf.knowledge(cases, label="disease", terms="symptoms").linked(["cough", "fever"])
    ('flu',)
    """
    place = TermPlace(label, terms, text, document, count, tuple(vocabulary), separator)
    return proposed_knowledge(data, place, support=support, share=share).knowledge


@dataclass(frozen=True)
class TermPlace:
    """Where a table has labels and their terms, as `knowledge` names it."""

    label: str
    terms: str | Sequence[str] | None = None
    text: str | None = None
    document: str | None = None
    count: str | None = None
    vocabulary: tuple[str, ...] = ()
    separator: str = ";"

    def __post_init__(self) -> None:
        if (self.terms is None) == (self.text is None):
            raise UsageError(
                "name either terms or text", remedy="terms: columns of terms; text: running text."
            )

    @property
    def column(self) -> tuple[str, SetForm | None]:
        """The column of terms, and how it writes a set; no form where it is running text."""
        if self.text is not None:
            return self.text, None
        if isinstance(self.terms, str):
            return self.terms, SetForm(self.separator)
        return SET_OF_COLUMNS, SetForm(parts=tuple(self.terms or ()))


def proposed_knowledge(
    data: AnyTable, place: TermPlace, *, support: int, share: Fraction
) -> ProposedKnowledge:
    """The same, with what it was made from."""
    if support < 1 or not 0 <= share <= 1:
        raise UsageError("support is at least 1, and share is from 0 to 1")
    records = _records(data, place)
    plain = place.text is None and place.document is None and support == 1 and not share
    single = all(len(terms) <= 1 for _, terms, _ in records)
    if plain and not single:
        knowledge = Knowledge.of((name, terms) for name, terms, _ in records)
    else:
        knowledge = propose(records, support=support, share=share)
    common: Counter[str] = Counter()
    for name, _, number in records:
        common[name] += number
    prevalences = {name: common[name] for name in knowledge.labels}
    return ProposedKnowledge(
        knowledge, Prevalence.of(prevalences), common.total(), len(common) - len(prevalences)
    )


def _records(data: AnyTable, place: TermPlace) -> list[Record]:
    """Reads a label, its terms and how often they occur, row by row or document by document."""
    column, form = place.column
    document, count = place.document, place.count
    role = Role.SENSITIVE if form is None else Role.QUASI_SENSITIVE
    further = [name for name in (document, count) if name is not None]
    codings = [
        Coding(place.label, Role.SENSITIVE, Taxonomy.flat_in_order),
        Coding(column, role, Taxonomy.flat_in_order, form),
        *(Coding(name, Role.SENSITIVE, Taxonomy.flat_in_order) for name in further),
    ]
    table = open_table(data).count(codings)
    texts = {c.name: table.column(c.name).taxonomy.leaf_labels for c in codings}
    cells = {name: [texts[name][code] for code in table.codes(name).tolist()] for name in texts}
    finder = TermFinder.of(place.vocabulary)
    term_sets = [finder.terms(cell or "") if form is None else terms_of(cell) for cell in cells[column]]
    times = _times(cells[count], count) if count else [1] * len(term_sets)
    whose = cells[document] if document else [None] * len(term_sets)
    rows = zip(cells[place.label], term_sets, times, table.counts.tolist(), whose, strict=True)
    labelled = [(str(name), terms_here, t * n, of) for name, terms_here, t, n, of in rows if name is not None]
    if document is not None:
        return by_document(labelled)
    return [(name, terms_here, number) for name, terms_here, number, _ in labelled]


def _times(cells: Sequence[Label], column: str) -> list[int]:
    """Reads for how many records every row stands."""
    counts = []
    for cell in cells:
        try:
            number = Fraction(cell or "")
        except (ValueError, ZeroDivisionError):
            number = Fraction(-1)
        if number < 0 or number.denominator != 1:
            raise BadData("a whole number from 0 on is expected in every cell", where=f"column {column}")
        counts.append(int(number))
    return counts
