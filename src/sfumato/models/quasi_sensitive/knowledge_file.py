"""Knowledge tables in files: long, delimited or wide, told apart by the header."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from sfumato.models.contract import HEADER, Prior, share_of, share_text
from sfumato.models.parameters import Parameter, Schema
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.system.disk import LARGEST_LIST, read_document
from sfumato.system.errors import BadData, BadPolicy

# A knowledge table proposed from reference records.

Record = tuple[str, Sequence[str], int]
"""A label, its terms, and how often they occur together."""


def by_document(rows: Iterable[tuple[str, Sequence[str], int, str | None]]) -> list[Record]:
    """One record per label and document: all terms that the document's rows have for the label.

    A row without a document is a record of its own; one that stands for no occurrence tells nothing.

    >>> by_document([("Flu", ["fever"], 2, "a"), ("Flu", ["cough"], 1, "a"), ("Flu", ["fever"], 1, "b")])
    [('Flu', ('cough', 'fever'), 1), ('Flu', ('fever',), 1)]
    """
    documents: dict[tuple[str, str], set[str]] = {}
    alone: list[Record] = []
    for label, terms, count, document in rows:
        if document is None:
            alone.append((label, terms, count))
        elif count:
            documents.setdefault((label, document), set()).update(terms)
    return [(label, tuple(sorted(terms)), 1) for (label, _), terms in documents.items()] + alone


def propose(records: Iterable[Record], *, support: int = 2, share: Fraction = Fraction(0)) -> Knowledge:
    """One row per label: the terms that occur in `support` of its records or more, and in this share of them.

    A record is a label, its terms, and how often it occurs. Labels without such a term are left out.

    >>> proposed = propose([("Flu", ["fever", "cough"], 3), ("Flu", ["rash"], 1), ("Cold", ["cough"], 2)])
    >>> [(label, sorted(terms)) for label, terms in proposed.rows]
    [('Cold', ['cough']), ('Flu', ['cough', 'fever'])]
    """
    counts_of_label: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    for label, terms, count in records:
        total[label] += count
        counts = counts_of_label.setdefault(label, Counter())
        for term in set(terms):
            counts[term] += count
    rows = []
    for label, counts in counts_of_label.items():
        frequent = [t for t, n in counts.items() if n >= support and n >= share * total[label]]
        if frequent:
            rows.append((label, frequent))
    if not rows:
        raise BadData(
            f"no term of any label occurs in {support} of its records",
            remedy="Ask for less support, or bring more records.",
        )
    return Knowledge.of(rows)


# Files of one number per label: priors, and how common labels are.


def load_shares(path: Path, header: Sequence[str], *, remedy: str = "") -> dict[str, Fraction]:
    """Reads a UTF-8 CSV file of a label and an exact number per line, such as 5/8."""
    what = header[1] if header[1] != "share" else "prior"
    try:
        lines = list(csv.reader(read_document(path, most=LARGEST_LIST).decode("utf-8").splitlines()))
    except FileNotFoundError:
        raise BadPolicy(f"there is no {what} file of this name", where=str(path), remedy=remedy) from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise BadPolicy(
            f"the {what} cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
        ) from None
    if not lines or lines[0] != list(header):
        raise BadPolicy(f"a {what} file starts with the line {','.join(header)}", where=f"{path}, line 1")
    shares: dict[str, Fraction] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            label, share = line
            shares[label] = share_of(share)
        except (ValueError, ZeroDivisionError):
            raise BadPolicy("a label and a fraction are expected", where=f"{path}, line {number}") from None
    return shares


# The prior of a promise, as a policy names it.

MADE = ("mean", "count")
"""Rules that make a prior from the original table."""
RULES = (*MADE, "uniform", "prevalence")


def load_prior(path: Path) -> Prior:
    """Read a CSV file with the header `label,share`; shares are exact, such as 5/8."""
    remedy = f"Write {', '.join(RULES)}, or the name of a file that holds the prior."
    return Prior.of(load_shares(path, HEADER, remedy=remedy), file=str(path))


@dataclass(frozen=True)
class PriorRule(Parameter):
    """How a prior is made from the original table, or the prior itself."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> str | Prior:
        if isinstance(value, Prior):
            return value
        if isinstance(value, Mapping):
            try:
                return Prior.of({str(k): share_of(str(v)) for k, v in value.items()})
            except (ValueError, ZeroDivisionError):
                raise BadPolicy("each label takes a fraction such as 5/8", where=self.name) from None
        if value in RULES:
            return str(value)
        if isinstance(value, str | Path):
            return load_prior(Path(value))
        raise BadPolicy(f"{self.name} must be {', '.join(RULES)} or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> str | Prior:
        return name if name in RULES else replace(load_prior(folder / name), file=name)

    def write(self, value: str | Prior) -> object:
        if isinstance(value, str):
            return value
        return {k: share_text(v) for k, v in value.shares} if value.file is None else value.file

    def plain(self, value: str | Prior) -> object:
        return value if isinstance(value, str) else value.shares

    def identify(self, value: str | Prior) -> str:
        return value if isinstance(value, str) else super().identify(value)

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}


# How common labels are, as a policy says it: in a file, or in place.

PREVALENCE_HEADER = ["label", "prevalence"]


@dataclass(frozen=True)
class Prevalence:
    """How common each label is among the people of the table, in any unit: shares, or cases per year.

    >>> Prevalence.of({"Flu": 30, "Plague": 1})
    Prevalence(2 labels)
    """

    shares: tuple[tuple[str, Fraction], ...]
    file: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, shares: Mapping[str, Fraction | int], *, file: str | None = None) -> Prevalence:
        return cls(tuple(sorted((label, Fraction(share)) for label, share in shares.items())), file)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the shares."""
        text = "\n".join(f"{label}\t{share_text(share)}" for label, share in self.shares)
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Prevalence({len(self.shares)} labels)"


@dataclass(frozen=True)
class PrevalenceFile(Parameter):
    """The name of a file with the header `label,prevalence`, or a number for every label."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> Prevalence | None:
        if value is None or isinstance(value, Prevalence):
            return value
        if isinstance(value, Mapping):
            try:
                return Prevalence.of({str(label): share_of(str(share)) for label, share in value.items()})
            except (ValueError, ZeroDivisionError):
                raise BadPolicy("each label takes a number such as 3/100", where=self.name) from None
        if isinstance(value, str | Path):
            return Prevalence.of(load_shares(Path(value), PREVALENCE_HEADER), file=str(value))
        raise BadPolicy(f"{self.name} must be a number per label, or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> Prevalence:
        return replace(Prevalence.of(load_shares(folder / name, PREVALENCE_HEADER)), file=name)

    def write(self, value: Prevalence) -> object:
        if value.file is not None:
            return value.file
        return {label: share_text(share) for label, share in value.shares}

    def plain(self, value: Prevalence | None) -> object:
        return () if value is None else value.shares

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}


SEPARATOR = ";"
FORMS = (
    "The header says which: label,term (one term per line; label,row,term where a label has several rows), "
    "label,terms (terms joined by ;), or label and one column of 0 and 1 per term."
)


def load(path: Path, *, separator: str = SEPARATOR) -> Knowledge:
    """Read a UTF-8 CSV file."""
    try:
        lines = list(csv.reader(read_document(path, most=LARGEST_LIST).decode("utf-8-sig").splitlines()))
    except FileNotFoundError:
        raise BadPolicy("the knowledge file is not there", where=str(path)) from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise BadPolicy(
            f"the knowledge cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
        ) from None
    if not lines:
        return Knowledge.of((), file=str(path))
    header, body = lines[0], lines[1:]
    for number, line in enumerate(body, start=2):
        if len(line) != len(header) or not line[0]:
            raise BadPolicy(
                "a label and as many cells as the header are expected", where=f"{path}, line {number}"
            )
    try:
        return Knowledge.of(_rows(header, body, separator, path), file=str(path))
    except BadPolicy as wrong:
        raise BadPolicy(wrong.message, remedy=wrong.remedy, where=wrong.where or str(path)) from None


def _rows(
    header: Sequence[str], body: Sequence[Sequence[str]], separator: str, path: Path
) -> Iterable[tuple[str, Iterable[str]]]:
    if header in (["label", "term"], ["label", "row", "term"]):
        terms_of_row: dict[tuple[str, ...], set[str]] = {}
        for *key, term in body:
            terms_of_row.setdefault(tuple(key), set()).update({term} - {""})
        return [(key[0], terms) for key, terms in terms_of_row.items()]
    if header == ["label", "terms"]:
        return [(label, {t for t in terms.split(separator) if t}) for label, terms in body]
    if len(header) > 1 and header[0] == "label":
        for number, line in enumerate(body, start=2):
            if not set(line[1:]) <= {"0", "1"}:
                raise BadPolicy("cells must be 0 or 1", where=f"{path}, line {number}", remedy=FORMS)
        names = header[1:]
        return [
            (line[0], {n for n, cell in zip(names, line[1:], strict=True) if cell == "1"}) for line in body
        ]
    raise BadPolicy("a knowledge file starts with a header", where=f"{path}, line 1", remedy=FORMS)


def save_prevalence(prevalence: Prevalence, path: Path) -> None:
    """Write how common labels are."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(PREVALENCE_HEADER)
        lines.writerows((label, share_text(share)) for label, share in prevalence.shares)


def save(knowledge: Knowledge, path: Path) -> None:
    """Write the long form, with numbered rows where a label has several."""
    several = len(knowledge.rows) > len(knowledge.labels)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["label", "row", "term"] if several else ["label", "term"])
        for number, (label, terms) in enumerate(knowledge.rows):
            key = (label, number) if several else (label,)
            lines.writerows((*key, term) for term in sorted(terms) or [""])


# The knowledge of a promise, as a policy names it.


@dataclass(frozen=True)
class KnowledgeFile(Parameter):
    """The name of a knowledge file, or the knowledge itself: label -> its terms, or a list of such lists."""

    names_file: ClassVar[bool] = True

    def read(self, value: object) -> Knowledge:
        if isinstance(value, Knowledge):
            return value
        if isinstance(value, Mapping):
            return Knowledge.of(_in_place(value))
        if isinstance(value, str | Path):
            return load(Path(value))
        raise BadPolicy(f"{self.name} must be the name of a CSV file", where=self.name, remedy=FORMS)

    def open(self, name: str, folder: Path) -> Knowledge:
        return replace(load(folder / name), file=name)

    def write(self, value: Knowledge) -> object:
        if value.file is not None:
            return value.file
        rows_of_label: dict[str, list[list[str]]] = {}
        for label, terms in value.rows:
            rows_of_label.setdefault(label, []).append(sorted(terms))
        return {label: rows[0] if len(rows) == 1 else rows for label, rows in rows_of_label.items()}

    def plain(self, value: Knowledge) -> object:
        return tuple((label, tuple(sorted(terms))) for label, terms in value.rows)

    @property
    def schema(self) -> Schema:
        texts = {"type": "array", "items": {"type": ["string", "array"]}}
        return {
            "oneOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "additionalProperties": texts},
            ]
        }


def _in_place(words: Mapping[str, object]) -> Iterable[tuple[str, Iterable[str]]]:
    for label, rows in words.items():
        several = rows if isinstance(rows, Sequence) and not isinstance(rows, str) else None
        if several is None:
            raise BadPolicy("each label takes a list of terms", where="knowledge", remedy=FORMS)
        nested = bool(several) and all(isinstance(row, list | tuple) for row in several)
        for row in several if nested else [several]:
            if not all(isinstance(term, str) and term for term in row):
                raise BadPolicy("terms are texts", where="knowledge")
            yield str(label), row
