"""The scan of a source: its survey, its codes, and the searches that a discovery is made of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.discovery.discovery import Discovery
from sfumato.discovery.identifiers.detection import identifiers
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading
from sfumato.discovery.quasi_identifiers.limits import OutOfTime
from sfumato.discovery.quasi_identifiers.measures import k_test
from sfumato.discovery.quasi_identifiers.methods import SearchMethod, search_by
from sfumato.discovery.record_risk import record_risk
from sfumato.engine.source import CanSample, Source, SurveysFirstRows
from sfumato.engine.survey import Survey
from sfumato.engine.surveying_reader import survey_on_first_pass


def scan(
    source: Source,
    reading: Reading,
    *,
    method: SearchMethod | None = None,
    risk_size: int | None = None,
    without: Sequence[str] = (),
    progress: Progress = silent,
) -> Discovery:
    """The discovery of a table: surveyed, coded, searched. Columns in `without` are surveyed only.

    The seconds of a deadline begin before the table is read, and memory is what the source allows.
    """
    if not source.columns:
        raise BadData("the table has no columns")
    unknown = [name for name in without if name not in source.columns]
    if unknown:
        raise WrongCall(f"no such column: {', '.join(unknown)}", remedy="Check the spelling.")
    chosen = method or SearchMethod()
    limits = chosen.limits(source.memory)
    names = [name for name in source.columns if name not in set(without)]
    survey, table = _survey_and_code(source, names, progress)
    long = [name for name, column in survey.columns.items() if not column.complete and column.kind != "list"]
    sizes = dict(zip(table.names, table.sizes, strict=True))
    exact = {name: size - (survey.columns[name].missing > 0) for name, size in sizes.items()}
    first_rows = source.survey_first(long) if long and isinstance(source, SurveysFirstRows) else None
    progress("grouping", 0)
    answer = search_by(chosen, table, reading, progress=progress, limits=limits)
    risk = None
    with suppress(OutOfTime):
        if risk_size is not None:
            risk = record_risk(
                table, max_size=risk_size, memory=source.memory, progress=progress, limits=limits
            )
    return Discovery(
        k_test(table, k=reading.k),
        answer.found,
        answer.smallest,
        identifiers(survey, distinct=exact, first_rows=first_rows),
        risk,
        table=table,
        limits=limits,
        risk_in_time=risk_size is None or risk is not None,
        survey=survey,
        method=chosen.name,
        assurance=answer.assurance,
        sample_of=source.sample_of if isinstance(source, CanSample) else None,
    )


def _survey_and_code(source: Source, names: Sequence[str], progress: Progress) -> tuple[Survey, Coded]:
    """A survey of all columns, and these columns coded: in one pass, if there is room for both at a time."""
    surveys: list[Survey] = []
    surveying = survey_on_first_pass(source, source.columns, {}, lambda columns, _: surveys.append(columns))
    if surveying is None:
        survey = source.survey(progress=progress)
        return survey, Coded.from_source(source, names, progress=progress)
    table = Coded.from_source(surveying, names, progress=progress)
    return surveys[0] if surveys else source.survey(progress=progress), table
