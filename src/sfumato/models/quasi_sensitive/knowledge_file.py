"""Knowledge tables in files: long, delimited or wide, told apart by the header."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.core.errors import BadPolicy
from sfumato.core.knowledge import Knowledge
from sfumato.core.prior import share_text
from sfumato.promises.quasi_sensitive.prevalence import HEADER as PREVALENCE_HEADER
from sfumato.promises.quasi_sensitive.prevalence import Prevalence
from sfumato.system.disk import LARGEST_LIST, read_document

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
        held: dict[tuple[str, ...], set[str]] = {}
        for *key, term in body:
            held.setdefault(tuple(key), set()).update({term} - {""})
        return [(key[0], terms) for key, terms in held.items()]
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
