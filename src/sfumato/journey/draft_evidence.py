"""The evidence that drafts are made from: a table, opened and surveyed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

from sfumato.core.data_file import DataFile, SourceForm
from sfumato.core.progress import Progress, silent
from sfumato.discovery.identifiers.detection import findings
from sfumato.engine import AnyTable
from sfumato.engine.csv.reader import CsvReader
from sfumato.engine.form_of_source import first_reader
from sfumato.engine.rows import RowSource
from sfumato.engine.source import ShowsFirstRows, Source, SurveysFirstRows
from sfumato.engine.survey import Survey
from sfumato.journey.declared_form import declared_form
from sfumato.journey.header_row import check_header
from sfumato.journey.table_argument import open_table
from sfumato.policy.column_evidence import ColumnFinding
from sfumato.policy.draft import draft
from sfumato.policy.empty_texts import empty_texts
from sfumato.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class DraftEvidence:
    """A table with what its columns hold, what was recognized in them, and how it is read."""

    source: Source
    survey: Survey
    findings: Mapping[str, ColumnFinding]
    form: SourceForm

    @classmethod
    def of(cls, data: AnyTable, *, header: bool = False, progress: Progress = silent) -> DraftEvidence:
        """Returns the evidence of a table, which is read once.

        A CSV file in which `NA`, or the like, stands among numbers or dates is read again with empty cells
        there, unless somebody said which texts stand for one.
        Raises `BadData` where the first line of a CSV file may be a row, unless `header` says it is none.
        """
        source = open_table(data)
        check_header(source, header=header)
        survey = source.survey(progress=progress)
        if isinstance(data, str | PathLike) and _may_say_empty(source) and (told := empty_texts(survey)):
            return cls.of(DataFile.reading_as_empty(data, told), header=header, progress=progress)
        long = [name for name, found in survey.columns.items() if not found.complete and found.kind != "list"]
        first_rows = source.survey_first(long) if long and isinstance(source, SurveysFirstRows) else None
        return cls(source, survey, findings(survey, first_rows=first_rows), declared_form(data, source))

    def draft(self, preset: str | None = None) -> Policy:
        """Returns a policy from this evidence, not tried yet."""
        look = self.source.first_texts if isinstance(self.source, ShowsFirstRows) else None
        return draft(self.survey, preset=preset, findings=self.findings, source=self.form, first_texts=look)


def _may_say_empty(source: Source) -> bool:
    """Whether the table is a CSV file of which nobody said what stands for an empty cell."""
    reader = first_reader(source.reader) if isinstance(source, RowSource) else None
    return isinstance(reader, CsvReader) and not reader.empty
