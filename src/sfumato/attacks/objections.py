"""Objections: where a published table is not what its policy describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.attacks.published_labels import KnownLabels
from sfumato.attacks.published_table import PublishedTable
from sfumato.core.errors import BadTaxonomy
from sfumato.core.microdata import Missing, Role
from sfumato.core.spelling import Folding, Spelling
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.judge.file_bytes.parquet_surplus import Surplus
from sfumato.policy.column_evidence import TableEvidence, nearly_unique
from sfumato.policy.policy import Policy

DOUBT, BYTES = "doubt", "bytes"
FEW = 5
"""From so many cells on, a column without a repeated value is named."""


@dataclass(frozen=True)
class Objection:
    """Something the policy does not allow, in a sentence without cell values.

    `holds` is what it does to the audit: `False` breaks it, `None` leaves it open, `True` is a remark.
    `concerns` is `DOUBT` where it leaves no promise about classes standing: what is counted may be something
    else than what is published. It is `BYTES` where it is about the file and not about its rows.
    """

    sentence: str
    columns: tuple[str, ...]
    holds: bool | None
    concerns: str = ""

    def __str__(self) -> str:
        return f"{self.sentence}: {', '.join(self.columns)}" if self.columns else self.sentence


def column_objections(names: Sequence[str], policy: Policy) -> Iterator[Objection]:
    """Columns that should not be there, and columns that should."""
    there, hidden = set(names), set(policy.dropped)
    secret = tuple(n for n in names if n in hidden)
    unknown = tuple(n for n in names if n not in policy.columns)
    absent = tuple(n for n in policy.published if n not in there)
    if secret:
        yield Objection("an identifier is published", secret, False)
    if unknown:
        yield Objection("the policy does not declare a column", unknown, False)
    if absent:
        yield Objection("the policy publishes a column that is not there", absent, None)


def label_objections(published: PublishedTable, policy: Policy) -> Iterator[Objection]:
    """Texts in key columns that no recoding under this policy could have published.

    Which people such a text covers nobody knows, so that no promise about classes is decided. A text that
    lists raw values is finer than the policy allows.
    """
    for column in published.table.keys:
        labels = column.taxonomy.leaf_labels if published.rows else ()
        if None in labels and policy.missing is not Missing.OWN_VALUE:
            sentence = f"empty cells are published, and the policy says missing: {policy.missing}"
            yield Objection(sentence, (column.name,), None)
        rule = policy.columns[column.name]
        known = KnownLabels(rule.taxonomy, labels, start=rule.finest)
        if listing := set(known.lists):
            sentence = f"{len(listing)} of {len(labels)} texts list raw values"
            yield Objection(sentence, (column.name,), False if listing & set(known.unknown) else None, DOUBT)
        if foreign := set(known.unknown) - listing:
            sentence = f"{len(foreign)} of {len(labels)} texts are no value of the policy's taxonomy"
            yield Objection(sentence, (column.name,), None, DOUBT)


def surplus_objections(surplus: Sequence[Surplus]) -> Iterator[Objection]:
    """What the bytes of a file tell beyond its rows."""
    for some in surplus:
        yield Objection(some.sentence, some.columns, False if some.certain else None, BYTES)


def unique_columns(survey: TableEvidence, policy: Policy) -> Iterator[Objection]:
    """Columns that are published as harmless, and tell nearly everybody apart."""
    for name, column in survey.columns.items():
        present = survey.rows - column.missing
        unique = nearly_unique(column, survey.rows) or (present >= FEW and column.distinct == present)
        if policy.columns[name].role is Role.INSENSITIVE and unique:
            sentence = (
                "a column that is published as insensitive tells nearly everybody apart"
                f" ({column.distinct:,} values in {present:,} cells)"
            )
            yield Objection(sentence, (name,), True)


def foldings(published: PublishedTable, policy: Policy) -> Iterator[Objection]:
    """What was counted as one value, or as none, though it stands in the table as different texts."""
    for column in published.table.sensitive:
        folded = policy.columns[column.name].spelling is Spelling.FOLDED
        folding = Folding.of(column.taxonomy.leaf_labels if published.rows else ())
        if folded and folding:
            yield Objection(f"{folding}; promises count them so", (column.name,), True)


def written_down(policy: Policy, name: str, values: Sequence[Label] = ()) -> Taxonomy | None:
    """The taxonomy of a column if the policy names its values, whatever the data."""
    rule = policy.columns[name].taxonomy
    if rule is None:
        return None
    try:
        tree = rule.build(values)
    except BadTaxonomy:
        return None
    return tree if len(tree.labels) > 1 and not tree.aliases else None
