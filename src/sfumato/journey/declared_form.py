"""The form of the data that a drafted policy remembers."""

from __future__ import annotations

from sfumato.core.data_file import NO_FORM, DataFile, SourceForm
from sfumato.core.errors import WrongCall
from sfumato.engine import AnyTable
from sfumato.engine.form_of_source import source_form
from sfumato.engine.rows import RowSource
from sfumato.engine.source import Source
from sfumato.policy.taxonomies.date_form import DATE_FORMS


def declared_form(data: AnyTable, source: Source) -> SourceForm:
    """Returns what a policy remembers of how a table was read: what the caller said, and what was found."""
    said = data.form if isinstance(data, DataFile) else NO_FORM
    if said.date_format is not None and said.date_format not in DATE_FORMS:
        raise WrongCall("there is no such form of dates", remedy=f"Say one of {', '.join(DATE_FORMS)}.")
    return source_form(source.reader).over(said) if isinstance(source, RowSource) else said
