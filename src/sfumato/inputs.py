"""The table that a caller hands in: opened once, at the door of a verb."""

# ruff: noqa: PLC0415  # ledgers, drafts, plans and spreadsheets are loaded by the calls that need them

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sfumato.models.contract import joint_columns_of
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.dates import DATE_FORMS
from sfumato.policy.taxonomies.files import HierarchyFile
from sfumato.system.disk import read_document
from sfumato.system.errors import BadData, BadPolicy, SfumatoError, SfumatoWarning, UsageError, refuse
from sfumato.system.json_object import JsonMapping, read_json
from sfumato.system.memory import Memory
from sfumato.system.progress import Progress, silent
from sfumato.table.data_file import NO_FORM, DataFile, SourceForm, written_formats
from sfumato.table.form_of_source import RowSource, source_form
from sfumato.table.microdata import BARE, ROW_NUMBER, Microdata, Role
from sfumato.table.observers import survey_first_texts
from sfumato.table.reading.csv import CsvReader
from sfumato.table.release_summary import Imprint
from sfumato.table.source import AnyTable, Source, open_source, with_digits

if TYPE_CHECKING:
    from sfumato.draft.doctor import Diagnosis
    from sfumato.draft.evidence import TableEvidence
    from sfumato.policy.content import PolicyContent
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.search.plan import Plan
    from sfumato.search.reuse_plan import Transformation
    from sfumato.table.survey import Survey
    from sfumato.table.taxonomy import Label


AnyMemory = Memory | str | int | None
"""How much memory may be used: "4GB", a number of bytes, `Memory.of("4GB", spill=...)`, or no limit."""


def open_table(data: AnyTable, memory: AnyMemory = None, policy: PolicyContent | None = None) -> Source:
    """Returns the table as a source, held to a limit of memory if one is given.

    What the policy says under `source` holds for what the caller does not say.
    """
    expected = NO_FORM if policy is None else policy.form_of_data
    return open_source(data, memory=None if memory is None else Memory.of(memory), expected=expected)


def open_original(data: AnyTable, memory: AnyMemory = None, policy: PolicyContent | None = None) -> Source:
    """Returns the table that a policy is applied to, its numbers with the digits that are published.

    A published table is opened with `open_table`: whoever judges it has to see what stands in it.
    """
    return with_digits(open_table(data, memory, policy), {} if policy is None else policy.digits)


def file_of(data: AnyTable) -> Path | None:
    """Returns the file that a caller named as the table; nothing where they handed in something else."""
    return Path(data) if isinstance(data, str | PathLike) else None


def declared_form(data: AnyTable, source: Source) -> SourceForm:
    """Returns what a policy remembers of how a table was read: what the caller said, and what was found."""
    form = data.form if isinstance(data, DataFile) else NO_FORM
    if form.date_format is not None and form.date_format not in DATE_FORMS:
        raise UsageError("there is no such form of dates", remedy=f"Say one of {', '.join(DATE_FORMS)}.")
    return source_form(source.reader).over(form) if isinstance(source, RowSource) else form


# The policy and the earlier releases that a caller hands in: loaded once, at the door of a verb.

AnyPolicy = Policy | str | Path | Mapping[str, object]
"""A policy, the path of its file, or what the file would say."""


AnyImprint = Imprint | str | Path
"""The imprint of a release, or the path of its JSON file."""


def load_policy(policy: AnyPolicy) -> Policy:
    """Returns the policy; raises `BadPolicy` with every problem of a file that cannot be used."""
    if isinstance(policy, Policy):
        return policy
    return Policy.load(policy) if isinstance(policy, str | Path) else Policy.from_dict(policy)


def load_imprints(imprints: Sequence[AnyImprint]) -> tuple[Imprint, ...]:
    """Returns the imprints, in the order given.

    What a file says was proved of candidates is not taken over but proved again: nobody signed the file, and
    no digest covers that.
    """
    return tuple(i if isinstance(i, Imprint) else _read_imprint(Path(i)) for i in imprints)


def _read_imprint(file: Path) -> Imprint:
    return replace(Imprint.from_json(read_document(file)), candidates=None)


def bind_earlier(policy: Policy, earlier: Sequence[Imprint]) -> Policy:
    """Returns the policy with promises that know the earlier releases; raises if none asks for them."""
    if earlier and not policy.promises.looks_back:
        raise UsageError(
            "no promise of the policy is about earlier releases",
            remedy="Add the promise continuous, or leave the earlier releases out.",
        )
    return replace(policy, promises=policy.promises.given(earlier))


def check_some_declared(names: Sequence[str], policy: Policy) -> None:
    """Raises `BadPolicy` if the policy declares no column of a table.

    The names may then be the cells of a first row, so the message shows none of them.
    """
    if names and not set(names) & set(policy.columns):
        raise BadPolicy(
            f"none of the {len(names)} columns of the data is declared",
            where="columns",
            remedy="Has the file a line of column names? Is it the right policy?",
        )


# An earlier plan that a caller hands in, so that another delivery is transformed in the same way.

AnyTransformation: TypeAlias = "Plan | Transformation | str | Path"
"""A plan, the JSON that `protect --json` printed of it, or the certificate in the folder of a release."""

PUBLISHED = tuple(f"data.{kind}" for kind in written_formats())
"""The published table, beside its certificate."""


def load_transformation(transformation: AnyTransformation | None, policy: Policy) -> Transformation | None:
    """Returns what an earlier plan made of each key column, if there is one.

    Of a certificate, the table beside it is read: its texts are the nodes that values became. Raises
    `BadData` where the file is neither, or where local recoding made the earlier table.
    """
    if transformation is None:
        return None
    from sfumato.search.plan import Plan
    from sfumato.search.reuse_plan import Transformation

    if isinstance(transformation, Plan):
        return transformation.transformation
    if isinstance(transformation, Transformation):
        return transformation
    path = Path(transformation)
    try:
        document = read_json(read_document(path))
    except OSError as wrong:
        reason = (wrong.strerror or "unknown reason").lower()
        raise BadData(f"the earlier plan cannot be read: {reason}", where=path.name) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise BadData(
            "this is no plan and no certificate",
            where=path.name,
            remedy="Name what `sfumato protect --json` printed, or the certificate.json of a release.",
        )
    if "entry" in document and "signature" in document:
        return _of_release(path, policy)
    return Transformation.of_document(_plan_in(document), where=path.name)


def _plan_in(document: JsonMapping) -> JsonMapping:
    """Returns the plan of a document, which may be that of a release."""
    plan = document.get("plan")
    return plan if isinstance(plan, dict) else document


def _of_release(certificate: Path, policy: Policy) -> Transformation:
    """Returns the texts that the table beside a certificate shows, column by column."""
    from sfumato.search.reuse_plan import Transformation

    there = [file for name in PUBLISHED if (file := certificate.parent / name).exists()]
    if not there:
        raise BadData(
            "the table that this certificate is about is not beside it",
            where=certificate.name,
            remedy=f"Name the certificate in the folder of the release, with {' or '.join(PUBLISHED)}.",
        )
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    source = open_source(there[0], expected=policy.form_of_data)
    published = source.survey([name for name in keys if name in source.columns])
    return Transformation(
        {name: column.values for name, column in published.columns.items() if column.complete},
        where=certificate.name,
    )


# The table of a policy: the columns that it looks at, coded and counted in one pass.


def count_table(
    source: Source,
    policy: Policy,
    *,
    one_by_one: bool = False,
    by_person: bool = True,
    progress: Progress = silent,
) -> Microdata:
    """Returns the counts of a table that has rows; raises `BadPolicy` unless every column is declared.

    With `one_by_one`, rows that are alike stay apart, each a person, where nothing tells people apart.
    Without `by_person` each row stands for a person, whatever the policy says.
    """
    check_some_declared(source.columns, policy)
    policy.check_columns(source.columns)
    named = policy.person if by_person else None
    person = ROW_NUMBER if one_by_one and named is None else named
    table = source.count(policy.codings, missing=policy.missing, person=person, progress=progress)
    if not table.rows + table.dropped:
        raise BadData("the table has no rows", remedy="There is nothing to protect in it.")
    if joints := joint_columns_of(policy.promises):
        table = replace(table, joints=joints)
    return table


# The first line of a file that a caller hands in: asked about where it may be somebody's row.

FIRST_ROWS = 1000
"""So many rows are compared with the first line."""


def check_header(source: Source, *, header: bool) -> None:
    """Raises `BadData` where the first line of a CSV file may be a row, unless the caller says it is none.

    Its cells would be shown as names of columns. Raises it, too, where one column seems to hold several:
    below a title, or divided by blanks.
    """
    if header or not isinstance(source, RowSource):
        return
    reader = source.reader
    if not isinstance(reader, CsvReader):
        from sfumato.table.reading.spreadsheet import SpreadsheetReader

        if not isinstance(reader, SpreadsheetReader):
            return
    from sfumato.draft.roles_from_content import marks_in_one_column, may_be_a_row

    rows = reader.first_rows(FIRST_ROWS)
    if may_be_a_row(source.columns, rows):
        raise BadData(
            "the first line may be a row, and no line of column names; its cells are not shown",
            where=reader.path.name,
            remedy="Write a line of names into the file; if it has one, say so with --header (header=True).",
        )
    is_divided = isinstance(reader, CsvReader) and reader.options.delimiter is not None
    if not is_divided and (marks := marks_in_one_column(source.columns, rows)):
        raise BadData(
            f"the file was read as one column, and {marks} divide its cells",
            where=reader.path.name,
            remedy="Delete titles above the line of names, or name what divides columns with --delimiter;"
            " if it is one column, say so with --header (header=True).",
        )


# The files that a call reads, or that its owner needs later: no output may replace one of them.


PATHS = (str, PathLike)


def needed_files(
    policy_given: object, policy: Policy, ledger: Ledger | str | None, others: Sequence[object]
) -> dict[Path, str]:
    """Returns the files of a policy, of a ledger, and those among `others` that are paths; each with a name.

    `given` is the policy as the caller named it.
    """
    needed = {
        Path(made_from): "a file that it is made from" for made_from in others if isinstance(made_from, PATHS)
    }
    forms = [made_from.form for made_from in others if isinstance(made_from, DataFile)]
    for form in (policy.form_of_data, *forms):
        needed |= files_of_form(form)
    for name, rule in policy.columns.items():
        if isinstance(rule.taxonomy, HierarchyFile):
            needed[_beside(policy, rule.taxonomy.name)] = f"the hierarchy of column {name}"
    for promise in policy.promises:
        needed |= {
            _beside(policy, file): f"a file of the promise {promise.name}" for file, _ in promise.files
        }
    if isinstance(policy_given, PATHS):
        needed[Path(policy_given)] = "the policy"
    return needed | _of_ledger(ledger)


def files_of_form(form: SourceForm) -> dict[Path, str]:
    """Returns the files beside the data that say how these are read; each with a name."""
    return {} if form.catalog is None else {Path(form.catalog): "the catalogue of labels"}


def _beside(policy: Policy, name: str) -> Path:
    """Returns the path of a file that a policy names, relative to its folder."""
    return Path(name) if policy.folder is None else policy.folder / name


def _of_ledger(ledger: Ledger | str | None) -> dict[Path, str]:
    if ledger is None:
        return {}
    from sfumato.releases.ledger.database import LedgerDatabase

    path = (LedgerDatabase(ledger) if isinstance(ledger, str) else ledger.database).path
    return {} if path is None else {path: "the ledger"}


# A check of what is to be published: columns that hold names of people or hash values are refused.


def with_name_check(source: Source, policy: Policy) -> Source:
    """Returns the source to read from now on; its first pass raises `BadPolicy` where names or hash values
    are published.

    Its first rows are looked at, and only columns of text that the policy publishes.
    """
    from sfumato.draft.roles_from_content import refuse_published_hashes, refuse_published_names

    def check(survey: TableEvidence) -> None:
        refuse_published_names(policy, survey)
        refuse_published_hashes(policy, survey)

    return survey_first_texts(source, policy.published, check)


# Warnings of a policy that is put to use: what is allowed and probably not meant.


Warn = Callable[["Diagnosis"], None]
"""Receives the warnings, one by one."""


def unheard(diagnosis: Diagnosis) -> None:
    """Receives the warnings of a verb that another verb calls, which has warned already."""


def warn_in_python(diagnosis: Diagnosis) -> None:
    """Passes a warning to Python's `warnings`, at the line that called Sfumato."""
    frame, level = sys._getframe(1), 2  # there is no other way to the caller's line
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("sfumato."):
        frame, level = frame.f_back, level + 1
    warnings.warn(str(diagnosis).removeprefix("warning: "), SfumatoWarning, stacklevel=level)


class NotedWarnings:
    """Passes every warning on once, and remembers those about identifiers that repeat."""

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self._told: set[str] = set()
        self._repeated: list[Diagnosis] = []

    @classmethod
    def of(cls, warn: Warn | None) -> NotedWarnings | None:
        """Returns what passes warnings to a caller, by `warnings` where they name nobody to receive them.

        Returns `None` where nobody hears them: then nothing is looked for.
        """
        return None if warn is unheard else cls(warn or warn_in_python)

    def __call__(self, diagnosis: Diagnosis) -> None:
        from sfumato.draft.doctor import SEVERAL_ROWS

        if diagnosis.name == SEVERAL_ROWS:
            self._repeated.append(diagnosis)
        if str(diagnosis) not in self._told:
            self._told.add(str(diagnosis))
            self._warn(diagnosis)

    @property
    def rows_only(self) -> bool:
        """Whether an identifier repeats and nothing says whose rows are whose: rows are counted."""
        return bool(self._repeated)

    def ask_whose_rows(self) -> None:
        """Raises where a number repeats that may be that of a person, and the policy does not say whose rows
        they are.
        """
        from sfumato.draft.doctor import NO_NUMBER

        for diagnosis in self._repeated:
            if diagnosis.remedy != NO_NUMBER:
                raise BadPolicy(
                    f"nothing says whose rows these are: {diagnosis.what}",
                    where=f"policy, person, and {diagnosis.where}",
                    remedy=diagnosis.remedy,
                )


def warn_of_policy(policy: Policy, warn: Warn | None) -> None:
    """Report what the policy and its files alone give reason to warn of."""
    if warn is not None:
        for diagnosis in _warnings(policy):
            warn(diagnosis)


def with_warnings(
    source: Source, policy: Policy, warn: Warn | None, *, progress: Progress = silent
) -> Source:
    """Report what a policy and its table give reason to warn of; returns the source to read from now on.

    What the policy alone tells is reported at once, what the columns hold (identifiers only where the policy
    does not say what tells people apart; columns that tell a key) in the first pass over the returned source:
    the pass that counts is also the one that surveys. A source that cannot do both (one in Spark, or one held
    to a limit of memory) is surveyed here. Where a survey fails, nothing is reported: what is wrong with the
    table is for the verb to say.
    """
    if warn is None:
        return source
    from sfumato.draft.doctor import examine_rows
    from sfumato.draft.functional_dependencies import ColumnsBesideKeys
    from sfumato.policy.columns import forms_of
    from sfumato.table.observers import show_first_texts, survey_on_first_pass, survey_with_sets

    warn_of_policy(policy, warn)
    looked_at = policy.columns if policy.person is None else policy.published
    names = [name for name in looked_at if name in source.columns]
    here = set(source.columns)
    forms = {name: form for name, form in forms_of(policy).items() if set(form.parts or (name,)) <= here}

    def report(columns: Survey, sets: Survey) -> None:
        with suppress(SfumatoError, OSError):
            for diagnosis in _warnings_of_table(policy, columns, sets):
                warn(diagnosis)

    unchanged = ColumnsBesideKeys.of(policy.columns, source.columns)

    def look(rows: Mapping[str, Sequence[Label]]) -> None:
        for diagnosis in examine_rows(unchanged, rows):
            warn(diagnosis)

    source = show_first_texts(source, unchanged.names, look)
    surveying = survey_on_first_pass(source, names, forms, report)
    if surveying is not None:
        return surveying
    with suppress(SfumatoError, OSError):
        report(*survey_with_sets(source, names, forms, progress=progress))
    return source


def _warnings(policy: Policy) -> Sequence[Diagnosis]:
    """The warnings that need no table; what waits for confirmation may be planned, so it is one of them."""
    from sfumato.draft.doctor import UNCONFIRMED, Severity, examine

    diagnoses = [
        replace(each, gravity=Severity.WARNING) if each.name == UNCONFIRMED else each
        for each in examine(policy)
    ]
    return [each for each in diagnoses if each.gravity is Severity.WARNING]


def _warnings_of_table(policy: Policy, columns: Survey, sets: Survey) -> Sequence[Diagnosis]:
    """The warnings that a table gives reason for, beside those of its policy alone."""
    from sfumato.draft.doctor import HeldTermSets, Severity, examine_held, examine_table

    term_sets = {name: HeldTermSets(c.values, c.counts) for name, c in sets.columns.items()}
    diagnoses = [*examine_table(policy, columns, warnings=True), *examine_held(policy, term_sets)]
    return [each for each in diagnoses if each.gravity is Severity.WARNING]


# A check of the data where a policy bears the name of a preset with rules for columns.


def with_preset_check(source: Source, policy: Policy, progress: Progress) -> Source:
    """Returns the source; raises `BadPolicy` with every rule of its preset that published cells break.

    The table is read for that, where the policy bears the name of a preset.
    """
    if policy.preset is None:
        return source
    from sfumato.discovery.identifiers import findings
    from sfumato.draft.safe_harbor_cells import cell_problems

    names = [name for name in policy.published if name in source.columns]
    survey = source.survey(names, progress=progress)
    refuse(list(cell_problems(policy, survey, findings(survey))), policy.origin)
    return source


def view_policy(policy: Policy, *, marked: bool = False) -> Policy:
    """Returns the policy that a file is judged and described by: every row that is not bare is a person."""
    columns = {**policy.columns, **({BARE: ColumnRule(Role.INSENSITIVE)} if marked else {})}
    return replace(policy, columns=columns, person=None, chain=None, recipients=None)


def without_bare_rows(source: Source, policy: Policy) -> tuple[Source, Policy]:
    """Returns what is judged of a published file: every row is a person, without bare rows.

    Rows that name their person are not published ones: people are counted in them.
    """
    if policy.chain is None and (policy.person is None or policy.person in source.columns):
        return source, policy
    if policy.people.rows != 1:  # rows that look alike may be of the same person: the file does not decide
        view = replace(view_policy(policy, marked=BARE in source.columns), person=policy.person)
    else:
        view = view_policy(policy, marked=BARE in source.columns)
    if BARE not in source.columns:
        return source, view
    from sfumato.table.known_rows import chosen_rows, rows_where

    if not isinstance(source, RowSource):
        raise UsageError(
            f"bare rows of a {source.kind} table are not told apart", remedy="Write it to Parquet first."
        )
    bare = rows_where(source.reader, BARE, "yes")
    return chosen_rows(source, ~bare), view
