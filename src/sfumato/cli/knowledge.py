"""`sfumato knowledge`: a knowledge table from records, a term-document table or labelled text."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.engine_option import table_read_by
from sfumato.cli.options import AsJson, Data, Overwrite, reads_data, valued
from sfumato.cli.terminal import talk, tell
from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import BadData

OutFile = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The knowledge file (CSV) to write.")
]
LabelColumn = Annotated[str, valued("--label", "COLUMN", "The column of labels.")]
TermColumns = Annotated[
    list[str] | None,
    valued("--terms", "COLUMN", "A column of terms, or several columns of 0 and 1; repeatable."),
]
TextColumn = Annotated[str | None, valued("--text", "COLUMN", "A column of running text instead.")]
Vocabulary = Annotated[
    Path | None, valued("--vocabulary", "FILE", "Terms to look for in text, one per line.")
]
DocumentColumn = Annotated[str | None, valued("--document", "COLUMN", "Rows of one document are one record.")]
CountColumn = Annotated[str | None, valued("--count", "COLUMN", "For how many records a row stands.")]
Separator = Annotated[str, valued("--separator", "MARK", "What stands between terms in a cell.")]
Support = Annotated[
    int, typer.Option("--support", min=1, help="In how many records of a label a term must occur.")
]
Share = Annotated[str, valued("--share", "SHARE", "In what share of them, such as 5%.")]
PrevalenceOut = Annotated[Path | None, valued("--prevalence", "FILE", "Also write how common labels are.")]


@reads_data
def knowledge(  # noqa: PLR0917  # one parameter per option
    data: Data,
    out: OutFile,
    label: LabelColumn,
    terms: TermColumns = None,
    text: TextColumn = None,
    vocabulary: Vocabulary = None,
    document_column: DocumentColumn = None,
    count: CountColumn = None,
    separator: Separator = ";",
    support: Support = 2,
    share: Share = "0",
    prevalence: PrevalenceOut = None,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Build the knowledge table that quasi-sensitive promises read: which terms go with which label.

    From records (a label and its terms per row), a term-document table, or labelled text. With a support
    of 1 a single record may show in the file.

    Example:  sfumato knowledge visits.csv --label diagnosis --terms symptoms --support 5 -o knowledge.csv
    """
    from sfumato.core.exact_numbers import fraction
    from sfumato.journey.knowledge import TermPlace, proposed_knowledge
    from sfumato.promises.quasi_sensitive.knowledge_file import save, save_prevalence
    from sfumato.releases.output_file import check_target

    for path in (out, prevalence):
        if path is not None:
            check_target(path, source=Path(data), overwrite=overwrite)
    columns = terms[0] if terms and len(terms) == 1 else terms
    words = () if vocabulary is None else read_vocabulary(vocabulary)
    place = TermPlace(label, columns, text, document_column, count, words, separator)
    table, least = table_read_by(None, data, form), fraction(share, key="--share")
    found = proposed_knowledge(table, place, support=support, share=least)
    save(found.knowledge, out)
    if prevalence is not None:
        save_prevalence(found.prevalence, prevalence)
    tell(found, as_json=as_json)
    talk(f"wrote {out}; read it, then name it in the policy: knowledge: {out.name}")


def read_vocabulary(file: Path) -> tuple[str, ...]:
    """Returns the terms in a file, one in a line; empty lines are left out."""
    from sfumato.system.disk import LARGEST_LIST, read_document

    try:
        lines = read_document(file, most=LARGEST_LIST).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise BadData("the vocabulary is not written in UTF-8", where=file.name) from None
    return tuple(line.strip() for line in lines if line.strip())
