"""The verb `protect` with a file at its end: planned, written aside, judged from its bytes, then named."""

# ruff: noqa: PLC0415  # what compares releases, and what writes dictionaries, is loaded where it is needed

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.inputs import (
    AnyImprint,
    AnyMemory,
    AnyPolicy,
    AnyTransformation,
    NotedWarnings,
    Warn,
    file_of,
    load_policy,
    load_transformation,
    needed_files,
    open_original,
    view_policy,
    with_name_check,
    with_preset_check,
    with_warnings,
)
from sfumato.policy.content import check_confirmed
from sfumato.policy.policy import Names, Policy, with_confirmed
from sfumato.policy.reference import reference_path
from sfumato.releases.dictionary import beside
from sfumato.releases.files import check_not_needed, check_target, kept_on_success, publish
from sfumato.search.bare_rows import PublishedPeople
from sfumato.search.best import Foretell
from sfumato.search.plan import Plan
from sfumato.system.address import Address, is_address
from sfumato.system.disk import private_folder
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Verdict
from sfumato.table.arrow_rows import form_of, version_writer
from sfumato.table.form_of_source import RowSource
from sfumato.table.release_summary import Imprint
from sfumato.table.source import SPARK, AnyTable, Source
from sfumato.table.writing import check_ending
from sfumato.workflows.history import EarlierReleases
from sfumato.workflows.judgement import (
    WrittenForm,
    judged,
    judged_view,
    numbered_columns,
    view_rules,
    witness_path,
)
from sfumato.workflows.protect import plan_table

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


def protect_file(
    data: AnyTable,
    policy: AnyPolicy,
    out: str | Path,
    *,
    confirm: Names = (),
    earlier: Sequence[AnyImprint] = (),
    against: Ledger | str | None = None,
    chain: str = "main",
    reuse_plan: AnyTransformation | None = None,
    dictionary: bool = False,
    overwrite: bool = False,
    memory: AnyMemory = None,
    warn: Warn | None = None,
    foretell: Foretell | None = None,
    progress: Progress | None = None,
) -> tuple[Plan, tuple[Verdict, ...]]:
    """Protect, and publish to a CSV or Parquet file; the plan, and the verdicts on the bytes of the file.

    The file appears under its name only after a second implementation has read it and agreed. Where the
    policy counts people and does not publish who they are, that judge also reads a witness: the same rows
    with a number for each person, in a private folder that is gone afterwards. `confirm`, `earlier`, or
    `against` and `chain`, `reuse_plan`, `warn` and `foretell` as for `protect`; a ledger learns nothing of
    the file, only `release` enters it. `memory` is how much may be used, such as "4GB"; what has no room
    waits on disk meanwhile. What later judges need of the original table (`plan.reference`) is kept beside
    the file, for its owner. With `dictionary`, or where there is one, what columns and values mean is
    written beside it.
    """
    target, show = _file_named(out), progress or silent
    rules = with_confirmed(load_policy(policy), confirm)
    check_confirmed(rules)
    needed = needed_files(policy, rules, against, [data, reuse_plan, *earlier])
    _check_output(target, file_of(data), needed, overwrite=overwrite)
    describe = _describer(rules, target, needed, dictionary=dictionary, overwrite=overwrite)
    before = EarlierReleases.of(earlier, against, chain)
    imprints, noted = before.imprints, NotedWarnings.of(warn)
    before.warn_of_baseline(rules, noted)
    original = open_original(data, memory, rules)
    if original.kind != SPARK:  # which writes folders
        check_ending(target)
    checked = with_name_check(with_preset_check(original, rules, show), rules)
    source = with_warnings(checked, rules, noted, progress=show)
    taken = load_transformation(reuse_plan, rules)
    plan = plan_table(
        source, rules, earlier=imprints, noted=noted, reuse_plan=taken, foretell=foretell, progress=show
    )
    shared, form = target.parent if source.kind == SPARK else None, form_of(source, target)
    private_files = private_folder(shared or source.memory.spill, hidden=shared is not None)
    with kept_on_success(reference_path(target)) as keep, private_files as private, ExitStack() as rows:
        if plan.reference is not None:
            keep(plan.reference.to_json())
        write, judge = _rows_of_plan(plan, rules, source, form, private, rows, show)

        def judge_all(staged: Path) -> tuple[Verdict, ...]:
            verdicts = judge(staged)
            return _beside_earlier(verdicts, staged, plan, imprints, rules, form) if imprints else verdicts

        described = None if describe is None else partial(describe, form=form, people=plan.people)
        return plan, publish(target, write, judge_all, describe=described, overwrite=overwrite)


def _rows_of_plan(
    plan: Plan,
    rules: Policy,
    source: Source,
    form: WrittenForm,
    private: Path,
    rows: ExitStack,
    progress: Progress,
) -> tuple[Callable[[Path], None], Callable[[Path], tuple[Verdict, ...]]]:
    """Returns what writes the rows of a plan, read until `rows` is closed, and what judges their bytes."""
    if plan.people is not None and isinstance(source, RowSource):
        return _rows_of_people(plan.people, rules, source, form, private, progress)
    table, numbered = plan.recoding.table, numbered_columns(rules)
    write_version = rows.enter_context(
        version_writer(source, table, count=1, drop=rules.dropped, numbered=numbered, progress=progress)
    )

    def write(staged: Path) -> None:
        write_version(plan.recoding, staged, witness_path(rules, staged, private))

    def judge(staged: Path) -> tuple[Verdict, ...]:
        witness = witness_path(rules, staged, private)
        memory = source.memory
        return judged(staged, plan, rules, witness=witness, form=form, memory=memory, progress=progress)

    return write, judge


def _rows_of_people(
    people: PublishedPeople,
    rules: Policy,
    source: RowSource,
    form: WrittenForm,
    private: Path,
    progress: Progress,
) -> tuple[Callable[[Path], None], Callable[[Path], tuple[Verdict, ...]]]:
    """The same, where people have several rows: what is published is a view of a base."""
    from sfumato.table.base import write_rows

    base, shown, marked = people.base, people.base.shown(), people.bare > 0

    def write(staged: Path) -> None:
        write_rows(base.view(shown), staged, source.reader, source.memory, progress)

    def judge(staged: Path) -> tuple[Verdict, ...]:
        numbered = private / f"numbered{staged.suffix}"
        rows = base.view(shown, marked=marked, numbered=True)
        write_rows(rows, numbered, source.reader, source.memory, progress, private=True)
        told = view_rules(rules, marked=marked)
        return judged_view(staged, told, numbered, form=form, memory=source.memory, progress=progress)

    return write, judge


def _describer(
    rules: Policy, target: Path, needed: Mapping[Path, str], *, dictionary: bool, overwrite: bool
) -> Callable[..., Mapping[Path, bytes]] | None:
    """What writes the dictionary, where it is asked for, or where an older one would be left beside it."""
    places = beside(target)
    if not dictionary and not any(file.exists() for file in places.values()):
        return None
    for file in places.values():
        check_target(file, needed=needed, overwrite=overwrite)

    def describe(
        staged: Path, form: Mapping[str, str], people: PublishedPeople | None
    ) -> Mapping[Path, bytes]:
        from sfumato.releases.dictionary import dictionary_files

        shown = rules if people is None else view_policy(rules, marked=people.bare > 0)
        contents = dictionary_files(staged, shown, form)
        return {places[name]: content for name, content in contents.items()}

    return describe


def _file_named(out: str | Path) -> Path:
    """Return the path of the output; raise for an address in a store."""
    if is_address(out):
        Address.of(str(out))
        raise UsageError("a file is not written to a store", remedy="`release` publishes there.")
    return Path(out)


def _check_output(target: Path, source: Path | None, needed: Mapping[Path, str], *, overwrite: bool) -> None:
    """Raise for a path that could not be written to, or where something is that is needed."""
    check_target(target, source=source, needed=needed, overwrite=overwrite)
    check_not_needed(reference_path(target), needed)


def _beside_earlier(
    verdicts: tuple[Verdict, ...],
    staged: Path,
    plan: Plan,
    earlier: Sequence[Imprint],
    policy: Policy,
    form: WrittenForm,
) -> tuple[Verdict, ...]:
    """The verdicts on a file, those about earlier releases decided beside these."""
    from sfumato.workflows.chain_check import judge_beside_earlier

    documents = [imprint.as_dict() for imprint in (*earlier, plan.imprint)]
    compared = judge_beside_earlier([staged], documents, policy, form)
    decided = {} if compared is None else {verdict.promise: verdict for verdict in compared.verdicts}
    return tuple(decided.get(verdict.promise, verdict) for verdict in verdicts)
