"""The verb `declare`: a policy to start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any

from sfumato.discovery.identifiers import findings
from sfumato.draft.doctor import Diagnosis, Severity, several_rows
from sfumato.draft.draft import draft, harmful_values
from sfumato.draft.evidence import ColumnFinding, ColumnProfile, TableEvidence, empty_texts
from sfumato.draft.functional_dependencies import dependencies
from sfumato.draft.roles import grouped_categories, taxonomy_of, without_undecided
from sfumato.inputs import (
    AnyMemory,
    NotedWarnings,
    Warn,
    check_header,
    count_table,
    declared_form,
    open_table,
)
from sfumato.models.contract import Promise, Promises
from sfumato.models.registry import make
from sfumato.policy.compatibility import searches_of
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy, RoleNames, changed_columns, changed_promises
from sfumato.search.loss import LostCells
from sfumato.search.plan import Plan, make_plan
from sfumato.system.errors import Infeasible, SfumatoError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.data_file import DataFile, SourceForm
from sfumato.table.form_of_source import RowSource, first_reader
from sfumato.table.microdata import Microdata, Role
from sfumato.table.reading.csv import CsvReader
from sfumato.table.source import AnyTable, ShowsFirstRows, Source, SurveysFirstRows
from sfumato.table.survey import Survey

# The evidence that drafts are made from: a table, opened and surveyed once.


@dataclass(frozen=True, eq=False)
class DraftEvidence:
    """A table with what its columns hold, what was recognized in them, and how it is read."""

    source: Source
    survey: Survey
    findings: Mapping[str, ColumnFinding]
    form: SourceForm

    @classmethod
    def of(
        cls, data: AnyTable, *, header: bool = False, memory: AnyMemory = None, progress: Progress = silent
    ) -> DraftEvidence:
        """Returns the evidence of a table, which is read once.

        A CSV file in which `NA`, or the like, stands among numbers or dates is read again with empty cells
        there, unless somebody said which texts stand for one.
        Raises `BadData` where the first line of a CSV file may be a row, unless `header` says it is none.
        """
        source = open_table(data, memory)
        check_header(source, header=header)
        survey = source.survey(progress=progress)
        if isinstance(data, str | PathLike) and _may_say_empty(source) and (as_empty := empty_texts(survey)):
            as_read = DataFile.reading_as_empty(data, as_empty)
            return cls.of(as_read, header=header, memory=memory, progress=progress)
        long = [
            name for name, column in survey.columns.items() if not column.complete and column.kind != "list"
        ]
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


# The trial of a draft: planned before anybody sees it, mended where it must be, and told what it costs.

LOST_SHARE = Fraction(1, 10)
"""So many of the key cells may be lost without a word."""
NOTABLE_GAIN = Fraction(1, 20)
"""Giving up a promise has to save at least so many of the key cells."""
MOST_LEFT_OUT = 3
"""At most so many columns are proposed to be left out."""
QUICK_SEARCHES = ("local", "mondrian")
COLUMNS_LOST, REFUSED = "columns-lost", "refused"


@dataclass(frozen=True)
class Trial:
    """A draft, its plan on the table it was drafted for, and what that plan loses."""

    policy: Policy
    plan: Plan
    lost: LostCells

    @property
    def keys(self) -> int:
        return len(self.plan.recoding.table.keys)

    @property
    def most_is_lost(self) -> bool:
        """Whether more than half of the key columns, or of their cells, tell nothing any more."""
        return 2 * len(self.lost.columns) > self.keys or 2 * self.lost.share > 1


def tried(
    policy: Policy,
    source: Source,
    survey: TableEvidence,
    *,
    kept: Collection[str] = (),
    progress: Progress = silent,
) -> tuple[Policy, list[Diagnosis]]:
    """Returns a draft that can be followed on its table, what it costs in its note, and warnings.

    A table that no draft can be followed on, because it is about too few people, gets one that says so.
    A promise of diversity that cannot be kept, or that costs most of the detail because nearly everybody has
    the same value, gives way to one about the values that harm, and is given up where that costs as much: its
    column then waits for confirmation, as do columns of which nothing is known where they cost much as
    quasi-identifiers. Promises about the columns `kept` are never weakened.
    Where most is lost all the same, columns are proposed to be left out.
    """
    planned: list[Trial] = []

    def plan(draft: Policy) -> Trial:
        planned_trial = next((trial for trial in planned if trial.policy is draft), None)
        if planned_trial is None:
            # Further rows of a person are placed in classes of others: they change what is lost by a little.
            table = count_table(source, draft, by_person=False, progress=progress)
            planned_trial = min(_trials(draft, table, progress), key=lambda trial: trial.plan.loss)
            planned.append(planned_trial)
        return planned_trial

    try:
        trial = _with_fewer_promises(_decided(policy, plan), survey, plan, kept)
    except SfumatoError as refused:
        diagnosis = Diagnosis(
            REFUSED, Severity.WARNING, "table", refused.message.rstrip("."), 1, refused.remedy
        )
        note = f"protect refuses this table as it is: {refused.message}"
        return replace(policy, note="\n".join(line for line in (policy.note, note) if line)), [diagnosis]
    warnings = _proposal(trial, survey, plan) if trial.most_is_lost else []
    sentences = [_cost(trial), *(f"{warning.what}. {warning.remedy}" for warning in warnings)]
    note = "\n".join(line for line in (trial.policy.note, *sentences) if line)
    follows = dependencies(trial.plan.recoding.table)
    return replace(trial.policy, note=note, follows=follows), warnings


def _trials(draft: Policy, table: Microdata, progress: Progress) -> Iterator[Trial]:
    """Yields what the quick searches make of a draft; raises what the last one says if none keeps it.

    What `protect` finds by comparing all searches has no larger loss.
    """
    refused, any_kept = None, False
    for quick in _quick_searches(draft):
        try:
            plan = make_plan(table, quick, progress=progress)
        except Infeasible as reason:
            refused = reason
            continue
        any_kept = True
        yield Trial(draft, plan, LostCells.of(plan.recoding))
    if refused is not None and not any_kept:
        raise refused


def _quick_searches(policy: Policy) -> list[Policy]:
    """Returns the policy with one search instead of several: those of the quick ones that can follow it.

    Local recoding keeps most where groups are nodes, Mondrian where columns have an order and ranges help.
    """
    able = [name for name in QUICK_SEARCHES if name in searches_of(policy)]
    if not able:
        return [replace(policy, protect=replace(policy.protect, search="top-down"))]
    choices = [replace(policy.protect, search=name, suppress=Fraction(0)) for name in able]
    return [replace(policy, protect=protect) for protect in choices]


def _decided(policy: Policy, plan: Callable[[Policy], Trial]) -> Policy:
    """Returns the policy; without quasi-identifiers of which nothing is known, where these cost much."""
    undecided = without_undecided(policy.columns)
    if not undecided or len(undecided) == sum(rule.role.is_key for rule in policy.columns.values()):
        return policy
    try:
        if plan(policy).lost.share <= LOST_SHARE:
            return policy
    except SfumatoError:  # it is tried again without them, and says then what is wrong
        pass
    waiting = {name: rule.reason for name, rule in undecided.items()} | dict(policy.confirm)
    confirm = {name: waiting[name] for name in policy.columns if name in waiting}
    return replace(policy, columns={**policy.columns, **undecided}, confirm=confirm)


def _with_fewer_promises(
    policy: Policy, survey: TableEvidence, plan: Callable[[Policy], Trial], kept: Collection[str]
) -> Trial:
    """Returns the trial with as much promised of sensitive columns as leaves the table useful.

    What is promised is weakened step by step: of one column after the other, the most one-sided first, the
    values that harm are protected instead of all, then more loosely, then none.
    """
    free = [p for p in policy.promises.stated if p.sensitive and not set(p.sensitive) & set(kept)]
    diverse = sorted(free, key=lambda p: -_commonest(p, survey))
    try:
        whole = plan(policy)
    except SfumatoError:
        if not diverse:
            raise
        whole = None
    if whole is not None and (whole.lost.share <= LOST_SHARE or not diverse):
        return whole
    steps = _weakening(diverse, survey)
    least = plan(_weakened(policy, steps, survey))
    if whole is not None and whole.lost.share - least.lost.share < NOTABLE_GAIN:
        return whole
    wanted = max(LOST_SHARE, least.lost.share + NOTABLE_GAIN)
    best, low, high = least, 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            trial = plan(_weakened(policy, steps[:middle], survey))
        except SfumatoError:
            trial = None
        if trial is not None and trial.lost.share <= wanted:
            best, high = trial, middle
        else:
            low = middle
    return _with_certainty(best)


Step = tuple[Promise, Promise | None]
"""A promise about a sensitive column, and what is promised instead of it; `None`: nothing."""
BOUNDS = (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4))
"""Shares of a group that a value may have at most: the first that is no less than twice its share of all."""
LOOSE_BOUND = Fraction(9, 10)


def _weakening(diverse: Sequence[Promise], survey: TableEvidence) -> list[Step]:
    """Returns the steps from promises of diversity to none, in the order in which they are taken."""
    named = {promise: _of_harmful_values(promise, survey) for promise in diverse}
    steps: list[Step] = [(promise, bounds[0]) for promise, bounds in named.items() if bounds]
    steps += [(promise, bounds[-1]) for promise, bounds in named.items() if len(bounds) > 1]
    return [*steps, *((promise, None) for promise in diverse)]


def _of_harmful_values(promise: Promise, survey: TableEvidence) -> tuple[Promise, ...]:
    """Returns promises about the values of a column that harm, the stricter one first; none where no value
    does, or nearly everybody has it."""
    (name,) = promise.sensitive
    shares = harmful_values(name, survey.columns[name])
    largest = max(shares.values(), default=Fraction(1))
    bounds = [*[bound for bound in BOUNDS if bound >= 2 * largest][:1], LOOSE_BOUND]
    return tuple(
        make("confidence-bounding", {"of": name, "confidence": bound, "values": list(shares)})
        for bound in bounds
        if largest < bound
    )


def _with_certainty(trial: Trial) -> Trial:
    """Returns a trial whose policy says of how many people a value that is not protected is certain."""
    certain = trial.plan.not_protected
    confirm = {
        name: f"{why}; as planned, one is certain for {pluralize(certain[name], 'person', 'people')}"
        if name in certain
        else why
        for name, why in trial.policy.confirm.items()
    }
    return replace(trial, policy=replace(trial.policy, confirm=confirm))


def _commonest(promise: Promise, survey: TableEvidence) -> Fraction:
    """Returns the share of the rows that have the commonest value of a promise's column."""
    column = survey.columns[promise.sensitive[0]]
    return Fraction(int(column.counts.max(initial=0)), max(1, survey.rows))


def _weakened(policy: Policy, steps: Sequence[Step], survey: TableEvidence) -> Policy:
    """Returns the policy after these steps; columns that lose protection wait for confirmation."""
    instead = dict(steps)
    wanted = (instead.get(promise, promise) for promise in policy.promises.stated)
    promises = Promises(tuple(promise for promise in wanted if promise is not None))
    waiting = {}
    for promise, weaker in instead.items():
        name, share = promise.sensitive[0], f"{float(_commonest(promise, survey)):.0%}"
        what = "no value of it is protected"
        if weaker is not None:
            count = len(getattr(weaker, "values", ()))
            what = f"protected {'is' if count == 1 else 'are'} {pluralize(count, 'value')} that would harm"
            what += ", which is a guess (values), and no other"
        waiting[name] = (
            f"{policy.columns[name].reason}; published unchanged, and {what}: {share} of the rows have one"
            " value, and groups with two would cost most detail"
        )
    order = [name for name in policy.columns if name in policy.confirm or name in waiting]
    confirm = {name: waiting.get(name) or policy.confirm[name] for name in order}
    return replace(policy, promises=promises, confirm=confirm)


def _cost(trial: Trial) -> str:
    """Returns what a plan costs, in a sentence without a value."""
    share_left, rows = 1 - trial.lost.share, pluralize(trial.plan.rows, "row")
    lost = f"; lost for everybody: {', '.join(trial.lost.columns)}" if trial.lost.columns else ""
    return (
        f"Planned on {rows} by {trial.plan.search}: {float(share_left):.0%} of the cells of"
        f" {pluralize(trial.keys, 'key column')} still tell something,"
        f" {pluralize(trial.plan.suppressed, 'row')}"
        f" suppressed{lost}."
    )


def _proposal(trial: Trial, survey: TableEvidence, plan: Callable[[Policy], Trial]) -> list[Diagnosis]:
    """Returns the warning that most is lost, and which columns to leave out, tried one after the other."""
    keys = [name for name, rule in trial.policy.columns.items() if rule.role.is_key]
    dearest = sorted(keys, key=lambda name: (-survey.columns[name].distinct, name))
    best = trial
    left_out: tuple[str, ...] = ()
    for count in range(1, min(MOST_LEFT_OUT, len(dearest) - 1) + 1):
        try:
            candidate = plan(_leaving_out(trial.policy, dearest[:count]))
        except SfumatoError:
            continue
        if candidate.lost.share < best.lost.share - NOTABLE_GAIN:
            best, left_out = candidate, tuple(dearest[:count])
        if best.lost.share <= LOST_SHARE:
            break
    what = (
        f"{len(trial.lost.columns)} of {pluralize(trial.keys, 'key column')} and"
        f" {float(trial.lost.share):.0%} of their cells are lost under this draft"
    )
    if left_out:
        single = len(left_out) == 1
        remedy = (
            f"Leaving out {', '.join(left_out)} (role identifier) would bring that to"
            f" {float(best.lost.share):.0%} of the cells that are left; or give {'it' if single else 'them'}"
            " a coarser taxonomy, or another role where nobody knows the values."
        )
    else:
        remedy = (
            "Give columns another role where nobody can know their values, or coarser taxonomies; or ask for"
            " a smaller k."
        )
    return [Diagnosis(COLUMNS_LOST, Severity.WARNING, "table", what, len(trial.lost.columns), remedy)]


def _leaving_out(policy: Policy, names: Sequence[str]) -> Policy:
    columns = {
        name: ColumnRule(Role.IDENTIFIER, None, rule.reason) if name in names else rule
        for name, rule in policy.columns.items()
    }
    return replace(policy, columns=columns)


def declare(
    data: AnyTable,
    *,
    preset: str | None = None,
    header: bool = False,
    warn: Warn | None = None,
    progress: Progress | None = None,
) -> Policy:
    """Propose a working policy from the data alone, to be read and corrected by whoever knows the data.

    Roles come from headers in five languages, from the cells, and from what `discover` recognizes in them.
    What nobody is thought to know is `insensitive` and waits for somebody to confirm it (`policy.confirm`).
    The draft is planned on the table before it is returned: `protect` does not refuse it, and its note says
    what it costs.

    Args:
        data: the table, as for `protect`.
        preset: the name of a preset whose promises the policy takes over.
        header: the first line of a CSV file names the columns. Without this, a first line that may be a row
            is refused.
        warn: receives each `Diagnosis` of what the data leave open: an identifier that repeats, where nothing
            tells that it names people; columns that are lost, and which ones to leave out.
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.declare(people)
    >>> {name: rule.role.value for name, rule in policy.columns.items()}
    {'age': 'quasi', 'disease': 'sensitive'}
    """
    show, noted = progress or silent, NotedWarnings.of(warn)
    evidence = DraftEvidence.of(data, header=header, progress=show)
    policy, warnings = tried(evidence.draft(preset), evidence.source, evidence.survey, progress=show)
    for diagnosis in (*several_rows(policy, evidence.survey), *warnings):
        if noted is not None:
            noted(diagnosis)
    return policy


# A policy from a table and the roles that a caller names: what a notebook needs to protect at once.


def policy_of_roles(
    data: AnyTable,
    names: RoleNames,
    changes: Mapping[str, Any],
    noted: Warn | None,
    *,
    memory: AnyMemory = None,
    progress: Progress = silent,
) -> Policy:
    """Returns the policy that `declare` proposes, with the roles and the words that a caller says.

    Quasi-identifiers that are named are all there are: what else the draft takes for one is published
    unchanged, and waits for confirmation. What is promised of sensitive columns that are named, or with `l`
    or `t`, is never given up.
    """
    evidence = DraftEvidence.of(data, memory=memory, progress=progress)
    preset = changes.get("preset")
    changes = {key: value for key, value in changes.items() if key != "preset"}
    drafted, kept = evidence.draft(preset), [n for n, role in names.roles.items() if role is Role.SENSITIVE]
    if {"l", "t"} & set(changes):
        kept = list(drafted.columns)
    if "t" in changes and "l" not in changes:
        sizes = tuple(promise for promise in drafted.promises.stated if promise.by_size)
        drafted = replace(drafted, promises=Promises(sizes))
    before: Mapping[str, Any] = changes if names.roles or kept else {}
    changed = _with_roles(drafted, names, evidence.survey).with_(**before)
    policy, warnings = tried(changed, evidence.source, evidence.survey, kept=kept, progress=progress)
    for diagnosis in warnings:
        if noted is not None and diagnosis.name != REFUSED:  # the verb raises what refuses it
            noted(diagnosis)
    return policy if before else policy.with_(**changes)


def _with_roles(drafted: Policy, names: RoleNames, survey: TableEvidence) -> Policy:
    """Returns a draft with the roles that a caller names."""
    roles = names.roles
    columns, waiting = changed_columns(drafted, names), dict(drafted.confirm)
    for name, rule in columns.items():
        was = drafted.columns[name]
        if names.quasi and name not in roles and rule.role is Role.QUASI:
            waiting[name] = f"{rule.reason}; published unchanged, since others are named as quasi-identifiers"
            columns[name] = ColumnRule(Role.INSENSITIVE, None, waiting[name])
        elif rule.role is not was.role:
            columns[name] = replace(rule, reason="named by the caller")
    columns.update(with_taxonomies(columns, drafted.columns, survey))
    person = drafted.person if roles.get(drafted.person or "", Role.IDENTIFIER) is Role.IDENTIFIER else None
    if person is None:
        least = max(promise.least_people for promise in drafted.promises)
        columns.update(grouped_categories(columns, survey, least))
    waiting = {name: waiting[name] for name in columns if name in waiting and name not in roles}
    promises = changed_promises(drafted, columns, {})
    return replace(drafted, columns=columns, promises=promises, person=person, confirm=waiting)


def with_taxonomies(
    columns: Mapping[str, ColumnRule], before: Mapping[str, ColumnRule], survey: TableEvidence
) -> dict[str, ColumnRule]:
    """Returns rules for the columns that became quasi-identifiers, with the first taxonomy that fits."""
    rules = {}
    for name, rule in columns.items():
        if rule.role is Role.QUASI and before[name].role is not Role.QUASI and rule.taxonomy is None:
            profile = ColumnProfile.of(name, survey.columns[name], survey.rows)
            rules[name] = replace(rule, taxonomy=taxonomy_of(profile)[0])
    return rules
