"""Problems of a policy, beside the data it is meant for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.draft.evidence import (
    ColumnEvidence,
    TableEvidence,
    folded,
    is_free_text,
    look_alikes,
    nearly_unique,
    texts,
)
from sfumato.draft.functional_dependencies import ColumnsBesideKeys
from sfumato.draft.safe_harbor_cells import may_be_number_of_people
from sfumato.models.quasi_sensitive.knowledge import BeliefLimit, Knowledge
from sfumato.policy.columns import ONE_PERSON
from sfumato.policy.columns import words as words_of
from sfumato.policy.content import ColumnRule
from sfumato.policy.header_lexicon import lexicon
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.files import (
    HierarchyFile,
    NestedTree,
    Row,
    WrittenRows,
    as_line,
    parse,
    paths,
    read_bytes,
)
from sfumato.policy.taxonomies.intervals import check_range_ends
from sfumato.policy.taxonomies.levels import is_lack
from sfumato.policy.taxonomies.ready.catalogue import ReadyTaxonomy
from sfumato.policy.taxonomies.texts import LISTING
from sfumato.policy.yaml import MOST_FILE_BYTES, read
from sfumato.system.disk import read_start
from sfumato.system.errors import BadInput, BadPolicy, BadTaxonomy, did_you_mean, short
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import ABSENCE, AttackLimits, Bound
from sfumato.table.microdata import Missing, Role, terms_of
from sfumato.table.published_texts import rounded_number
from sfumato.table.spelling import Folding, Spelling, meaning, meaning_under
from sfumato.table.taxonomy import ANY, Label, TaxonomyRule

# Values that a ready taxonomy lacks, and those that are probably meant.

MOST_PROPOSALS = 1000


def near_misses(rule: ReadyTaxonomy, lacking: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Returns a line for every value that has a near one in the list, and a remedy that tells no value.

    >>> near_misses(ReadyTaxonomy("countries"), ["Holland", "Atlantis"])[0]
    ('Holland: write Netherlands',)
    """
    nearest = [(value, rule.nearest(value)) for value in lacking[:MOST_PROPOSALS]]
    lines = tuple(f"{value}: write {near}" for value, near in nearest if near is not None)
    own = f"or use a hierarchy file of your own; `sfumato policy ready {rule.name}` prints the list"
    if not lines:
        return lines, f"Correct the data, {own}."
    meant = pluralize(len(lines), "has a near one in the list", "have near ones in the list")
    return lines, f"Of them {meant}, which --show-values tells. Correct the data, {own}."


# Diagnoses: what is wrong with a policy, a hierarchy or a knowledge table, and the remedy.

MOST_OF_A_KIND = 10
"""Of one kind so many are told, where people read them: a survey may have hundreds of columns."""


class Severity(StrEnum):
    """How bad a problem is."""

    ERROR = "error"
    """Protecting will be refused."""
    WARNING = "warning"
    """It works, but probably not as meant."""
    NOTE = "note"
    """Good to know."""


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, where, how often, and what to do.

    `what`, `where` and `remedy` hold no cell values. `values` lists the values concerned and `repair` the
    lines that would mend it; both may hold values of the data and are shown only when somebody asks.
    """

    name: str
    gravity: Severity
    where: str
    what: str
    count: int
    remedy: str = ""
    values: tuple[str, ...] = field(default=(), repr=False)
    repair: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        sentence = f"{self.gravity}: {self.where}: {self.what.removesuffix('.')}."
        return f"{sentence} {self.remedy}" if self.remedy else sentence


def _of_column(
    column: str,
    name: str,
    gravity: Severity,
    what: str,
    count: int,
    remedy: str = "",
    values: tuple[str, ...] = (),
    repair: tuple[str, ...] = (),
) -> Diagnosis:
    return Diagnosis(name, gravity, f"column {short(column)}", what, count, remedy, values, repair)


def diagnosis_lines(diagnoses: Sequence[Diagnosis], *, most: int = MOST_OF_A_KIND) -> list[str]:
    """Returns a line for each diagnosis, in order; of one kind `most` at most, and how many are left out.

    >>> few = [Diagnosis("absent", Severity.ERROR, f"column {c}", "it is absent", 1) for c in "abcd"]
    >>> diagnosis_lines(few, most=2)[1:]
    ['error: column b: it is absent.', 'error: 2 more of the same kind (absent); --json lists them all']
    """
    lines: list[str] = []
    counts: Counter[tuple[Severity, str]] = Counter()
    kinds = Counter((diagnosis.gravity, diagnosis.name) for diagnosis in diagnoses)
    for diagnosis in diagnoses:
        kind = (diagnosis.gravity, diagnosis.name)
        counts[kind] += 1
        if counts[kind] <= most or kinds[kind] == most + 1:
            lines.append(str(diagnosis))
        elif counts[kind] == most + 1:
            left = f"{kinds[kind] - most:,} more of the same kind ({diagnosis.name})"
            lines.append(f"{diagnosis.gravity}: {left}; --json lists them all")
    return lines


def look_alike_spellings(
    where: str, kind: str, groups: Sequence[Sequence[str]], *, remedy: str = "Write each in one way."
) -> Diagnosis:
    """Returns the diagnosis for groups of texts of one kind that only look alike."""
    return Diagnosis(
        "look-alikes",
        Severity.WARNING,
        where,
        f"{pluralize(len(groups), kind)} in spellings that look alike (case, blanks, accents)",
        len(groups),
        remedy,
        tuple(text for group in groups for text in group),
    )


# Problems of a hierarchy file.


def examine_file(path: str | Path) -> list[Diagnosis]:
    """Returns everything that is wrong with a hierarchy file on its own; never raises for its content."""
    file = Path(path)
    try:
        return examine_hierarchy(read_bytes(file), name=file.name)
    except BadInput as wrong:
        return [_unreadable(wrong, file.name)]


def examine_hierarchy(content: bytes, *, name: str) -> list[Diagnosis]:
    """Returns the same for the content of a file."""
    try:
        rows, lines = parse(content, name=name)
    except BadInput as wrong:
        return [_unreadable(wrong, name)]
    diagnoses = [diagnosis for check in HIERARCHY_CHECKS for diagnosis in check(_Lines(rows, lines, name))]
    if not any(diagnosis.gravity is Severity.ERROR for diagnosis in diagnoses):
        try:
            HierarchyFile(name, content).build([])
        except BadInput as wrong:
            diagnoses.append(_unreadable(wrong, name))
    return diagnoses


def _unreadable(wrong: BadInput, file: str, name: str = "unreadable") -> Diagnosis:
    where = wrong.where or file
    return Diagnosis(name, Severity.ERROR, where, wrong.message, 1, wrong.remedy, wrong.values)


@dataclass(frozen=True)
class _Lines:
    """The lines of a hierarchy file, and where each stands."""

    rows: Sequence[Row]
    numbers: Sequence[int]
    name: str

    def place(self, i: int) -> str:
        return f"{self.name}, line {self.numbers[i]}"

    def diagnosis(
        self, kind: str, gravity: Severity, which: Sequence[int], what: str, fix: str
    ) -> Iterator[Diagnosis]:
        """Yields one diagnosis of all these lines, placed at the first; none if there are no such lines."""
        if which:
            values = tuple(self.rows[i][0] for i in which)
            yield Diagnosis(kind, gravity, self.place(which[0]), what, len(which), fix, values)


def _repeated(file: _Lines) -> Iterator[Diagnosis]:
    first: dict[str, int] = {}
    equal: list[int] = []
    differing: list[int] = []
    for i, row in enumerate(file.rows):
        earlier = first.setdefault(row[0], i)
        if earlier != i:
            (equal if file.rows[earlier] == row else differing).append(i)
    what = pluralize(len(equal), "line repeats an earlier one", "lines repeat an earlier one")
    yield from file.diagnosis("repeated", Severity.NOTE, equal, what, "Harmless; delete them.")
    what = pluralize(len(differing), "line contradicts an earlier one", "lines contradict an earlier one")
    yield from file.diagnosis("contradicting", Severity.ERROR, differing, what, "Keep one line per value.")


def _circles(file: _Lines) -> Iterator[Diagnosis]:
    circular = []
    for i, row in enumerate(file.rows):
        steps = [label for j, label in enumerate(row) if j == 0 or label != row[j - 1]]
        if len(set(steps)) < len(steps):
            circular.append(i)
    what = pluralize(len(circular), "line runs in a circle", "lines run in a circle")
    yield from file.diagnosis("circle", Severity.ERROR, circular, what, "Give the upper one another name.")


def _two_parents(file: _Lines) -> Iterator[Diagnosis]:
    """Yields groups whose leaves go on to different groups."""
    above: dict[str, dict[str, int]] = {}
    for i, row in enumerate(file.rows):
        for j in range(1, len(row) - 1):
            if row[j] != row[j + 1]:
                above.setdefault(row[j], {}).setdefault(row[j + 1], i)
    for label, parents in above.items():
        if len(parents) > 1 and label != ANY:
            yield Diagnosis(
                "two-parents",
                Severity.ERROR,
                file.place(list(parents.values())[1]),
                f"a label stands below {pluralize(len(parents), 'different label')}",
                len(parents),
                "Rename it, for example with what it becomes in brackets behind it.",
                (label, *parents),
                tuple(_renamed(row, label) for row in file.rows if label in row[1:]),
            )


def _renamed(row: Row, label: str) -> str:
    """Returns the row with the label renamed by what it becomes."""
    parent = next((up for up in row[row.index(label, 1) :] if up != label), ANY)
    return as_line([row[0], *(f"{label} ({parent})" if x == label else x for x in row[1:])])


def _value_and_group(file: _Lines) -> Iterator[Diagnosis]:
    groups = {label for row in file.rows for label in row[1:] if label != row[0]}
    last = {row[0]: i for i, row in enumerate(file.rows)}
    both = [i for value, i in last.items() if value in groups]
    what = pluralize(len(both), "value bears the name of a group", "values bear the name of a group")
    fix = "Rename the group, for example with `(all)` behind it: readers could not tell the two apart."
    yield from file.diagnosis("value-and-group", Severity.WARNING, both, what, fix)


def _ragged(file: _Lines) -> Iterator[Diagnosis]:
    lengths = [len(row) for row in file.rows]
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    odd = [i for i, length in enumerate(lengths) if length != usual]
    what = f"{pluralize(len(odd), 'line')} with more or fewer than {pluralize(usual, 'level')}"
    fix = "Lines are aligned at the root; a shorter one keeps its value longer."
    yield from file.diagnosis("ragged", Severity.NOTE, odd, what, fix)


def _no_root(file: _Lines) -> Iterator[Diagnosis]:
    open_ends = [i for i, row in enumerate(file.rows) if row[-1] != ANY]
    if len({row[-1] for row in file.rows}) > 1:
        what = pluralize(len(open_ends), f"line does not end in {ANY!r}", f"lines do not end in {ANY!r}")
        yield from file.diagnosis("no-root", Severity.NOTE, open_ends, what, f"{ANY!r} is added above them.")


def _look_alikes(file: _Lines) -> Iterator[Diagnosis]:
    pairs = look_alikes(list(dict.fromkeys(label for row in file.rows for label in row)))
    if pairs:
        yield look_alike_spellings(file.name, "label", pairs)


HIERARCHY_CHECKS = (_repeated, _circles, _two_parents, _value_and_group, _ragged, _no_root, _look_alikes)


# Problems of a knowledge table, alone and beside the term sets it is meant for.

DISTINCT = "Write each in one way: they count as different."

MOST_PAIRS = 2_000_000
"""So many pairs of a label and another one that shares its rarest term are compared."""


@dataclass(frozen=True, eq=False)
class HeldTermSets:
    """The term sets of a column, as texts of a coded column, and how often each occurs."""

    texts: tuple[Label, ...]
    counts: NDArray[np.int64]


def examine_knowledge(knowledge: Knowledge, *, name: str = "knowledge") -> Iterator[Diagnosis]:
    """Yields the problems that show without data."""
    empty = [label for label, terms in knowledge.rows if not terms]
    if empty:
        what = pluralize(len(empty), "label has a row without terms", "labels have rows without terms")
        remedy = "Only a person without any term links to them."
        yield Diagnosis("no-terms", Severity.WARNING, name, what, len(empty), remedy, tuple(empty))
    if alike := look_alikes(knowledge.terms):
        yield look_alike_spellings(name, "term", alike, remedy=DISTINCT)
    if alike := look_alikes(knowledge.labels):
        yield look_alike_spellings(name, "label", alike, remedy=DISTINCT)
    inside = list(subsumed(knowledge))
    if inside:
        single, many = "label has all its terms in another label", "labels have all their terms in others"
        what = pluralize(len(inside), single, many)
        remedy = "Whoever links to such a label links to the other one too; are both meant?"
        yield Diagnosis("subsumed", Severity.NOTE, name, what, len(inside), remedy, tuple(inside))


def subsumed(knowledge: Knowledge) -> Iterator[str]:
    """Yields the labels every row of which is contained in a row of another label.

    >>> list(subsumed(Knowledge.of([("Cold", ["cough"]), ("Flu", ["cough", "fever"])])))
    ['Cold']
    """
    first, holders = knowledge.holders
    often = np.diff(first)
    number, group = knowledge.number_of, knowledge.label_of_row
    compared = 0
    inside: dict[str, bool] = {}
    for i, (label, terms) in enumerate(knowledge.rows):
        if not terms or inside.get(label) is False:
            inside[label] = False
            continue
        rarest = min(terms, key=lambda t: (int(often[number[t]]), t))
        near = holders[first[number[rarest]] : first[number[rarest] + 1]].tolist()
        compared += len(near)
        if compared > MOST_PAIRS:
            return
        inside[label] = any(group[r] != group[i] and terms <= knowledge.rows[r][1] for r in near)
    yield from (label for label, truth in inside.items() if truth)


def examine_sets(column: str, knowledge: Knowledge, term_sets: HeldTermSets) -> Iterator[Diagnosis]:
    """Yields the problems that show beside the data."""
    sets = [terms_of(text) for text in term_sets.texts]
    rows = int(term_sets.counts.sum())
    present = {term for terms in sets for term in terms}
    unknown = sorted(present - set(knowledge.terms))
    if unknown:
        what = pluralize(len(unknown), "term that no label has", "terms that no label has")
        fix = "A row with such a term links to nothing: correct the data, or add the term to the knowledge."
        terms = tuple(unknown)
        yield _of_column(column, "unknown-terms", Severity.WARNING, what, len(unknown), fix, terms)
    alike = look_alikes(sorted(present | set(knowledge.terms)))
    if mixed := [group for group in alike if present & set(group)]:
        yield look_alike_spellings(f"column {short(column)}", "term", mixed, remedy=DISTINCT)
    bare = int(term_sets.counts[[not terms for terms in sets]].sum())
    if bare:
        what = pluralize(bare, "row has no terms", "rows have no terms")
        yield _of_column(column, "no-terms", Severity.NOTE, what, bare, "They link to every label alike.")
    if not rows:
        return
    from sfumato.models.quasi_sensitive.labels import links_of_texts  # noqa: PLC0415  # compiled

    number = links_of_texts(knowledge, term_sets.texts).number
    lost = int(term_sets.counts[number == 0].sum())
    if lost:
        what = f"{pluralize(lost, 'row links', 'rows link')} to no label, of {rows:,}"
        remedy = "The knowledge says nothing about them, so nothing is promised about them."
        yield _of_column(column, "unlinked", Severity.WARNING, what, lost, remedy)
    order = np.argsort(number, kind="stable")
    typical = int(number[order][np.searchsorted(np.cumsum(term_sets.counts[order]), (rows + 1) // 2)])
    alone = int(term_sets.counts[number == 1].sum())
    what = (
        f"a typical row links to {pluralize(typical, 'label')} of {len(knowledge.labels):,}; "
        f"{pluralize(alone, 'row links', 'rows link')} to a single one"
    )
    yield _of_column(column, "links", Severity.NOTE, what, typical)


# Problems that only rows show: what one column tells of another.


def examine_rows(unchanged: ColumnsBesideKeys, rows: Mapping[str, Sequence[Label]]) -> list[Diagnosis]:
    """Returns which columns are published unchanged and tell what a key is, by the texts of some rows."""
    return [
        _of_column(
            telling.column,
            "telling",
            Severity.WARNING,
            f"published unchanged, it {telling}, however coarsely that is published",
            telling.told,
            "Make it a quasi-identifier, or do not publish it.",
        )
        for telling in unchanged.telling(rows)
    ]


# How the cells of a column are written: numbers that are to be rounded, and texts that look alike.


@dataclass(frozen=True)
class DeclaredColumn:
    """A column of a table of so many rows, beside the rule that its policy has for it."""

    name: str
    rule: ColumnRule
    cells: ColumnEvidence
    policy: Policy
    rows: int


def no_numbers(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    """Yields an error where a column is to be rounded that holds something else than numbers."""
    cells, digits = declared.cells, declared.rule.digits
    if digits is None:
        return
    wrong = tuple(text for text in texts(cells) if rounded_number(text, digits) is None)
    if wrong or (not cells.complete and cells.kind not in ("integer", "decimal")):
        count = pluralize(len(wrong), "value is", "values are") if wrong else "some values are"
        remedy = "Drop `digits`, or write every value as a number; read texts for nothing with --empty."
        what = f"{count} no number written as 1234.5, and the column is to be rounded"
        yield _of_column(declared.name, "no-numbers", Severity.ERROR, what, max(1, len(wrong)), remedy, wrong)


def look_alike_cells(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    """Yields a warning where values are written in several ways that look alike, or count as one."""
    rule = declared.rule
    if rule.role is Role.SENSITIVE and rule.spelling is Spelling.FOLDED:
        yield from _folded_spellings(declared)
        return
    if rule.one_spelling or not (rule.role.is_key or rule.role is Role.SENSITIVE):
        return
    if groups := look_alikes(texts(declared.cells)):
        remedy = "Write each in one way: they count as different values and split groups."
        if rule.role is Role.QUASI and (rule.taxonomy is None or isinstance(rule.taxonomy, LISTING)):
            remedy += " With spelling: folded they are published as one."
        yield look_alike_spellings(f"column {short(declared.name)}", "value", groups, remedy=remedy)


def _folded_spellings(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    """Yields what promises count as one value, and as none, though it is published as it stands."""
    folding = Folding.of(declared.cells.values)
    if folding:
        what, count = f"{folding}; that is how promises count them", folding.texts + folding.missing
        yield _of_column(declared.name, "folded", Severity.WARNING, what, count, _remedy(folding))


def _remedy(folding: Folding) -> str:
    alternative = "or say spelling: exact if"
    if not folding.missing:
        return f"Write each value in one way, {alternative} they differ."
    if not folding.texts:
        return f"Leave a cell empty where nothing is known, {alternative} such a text (none, n/a) is a value."
    return f"Write each value in one way and leave what is unknown empty, {alternative} each text is a value."


# Sensitive columns in which many cells are empty, and what that costs.

SPARSE = Fraction(1, 10)
"""From this share of empty cells on, what they cost is said."""


def sparse_values(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    """Yields a warning where a promise looks at those who have a value alone, and many have none."""
    name, promises = declared.name, declared.policy.promises
    limited = [promise for promise in promises if promise.known_alone and name in promise.sensitive]
    if not limited:
        return
    count = _empty(declared.rule, declared.cells)
    if not declared.rows or count < SPARSE * declared.rows:
        return
    share = Fraction(count, declared.rows)
    keys = " and ".join(f"`{key}`" for key in dict.fromkeys(promise.name for promise in limited))
    verb = "counts" if keys.count("`") == 2 else "count"
    what = f"it is empty in {float(share):.0%} of rows: {keys} {verb} among the rows that have a value"
    limits = AttackLimits.of(limit for promise in limited for limit in promise.limits())
    allowed, _ = limits.limit(ABSENCE, name)
    if share > allowed:
        what += f", and allows a share of {allowed} without one"
    remedy = "Fill it, drop it, or ask less: groups have to be larger than if every row had one."
    yield _of_column(name, "sparse", Severity.WARNING, what, count, remedy)


# Values that promises protect: whether they occur, and in which spelling.


def protected_values(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    """Yields a warning where values that a promise names do not occur, or are spelled otherwise."""
    limits, spelling = declared.policy.promises.limits, declared.rule.spelling
    named = dict.fromkeys(v for b in limits.of_kind(Bound) if b.column == declared.name for v in b.values)
    if not named or not declared.cells.complete:
        return
    cells = set(declared.cells.values)
    meant = {meaning_under(cell, spelling) for cell in cells} - {None}
    alike = {meaning(cell) for cell in cells} - {None}
    absent = tuple(value for value in named if meaning_under(value, spelling) not in meant)
    respelled = tuple(value for value in named if value not in cells and value not in absent)
    if absent:
        what = f"{len(absent)} of the {pluralize(len(named), 'value')} that promises name do not occur in it"
        near = sum(meaning(value) in alike for value in absent)
        remedy = "Nothing is promised of any other value: name those that harm as the table writes them."
        if near:
            remedy = f"In another spelling {near} of them would; leave out `spelling: exact`, or write that."
        yield _of_column(declared.name, "no-such-value", Severity.WARNING, what, len(absent), remedy, absent)
    if respelled:
        what = (
            f"it spells {pluralize(len(respelled), 'value')} that promises name otherwise; both count as one"
        )
        yield _of_column(declared.name, "spelled", Severity.NOTE, what, len(respelled), "", respelled)


def _empty(rule: ColumnRule, column: ColumnEvidence) -> int:
    """Returns how many cells are missing, or say in words that nothing is known."""
    if rule.spelling is not Spelling.FOLDED:
        return column.missing
    pairs = zip(column.values, column.counts.tolist(), strict=False)
    return column.missing + sum(int(n) for text, n in pairs if text is not None and meaning(text) is None)


WRITTEN = (HierarchyFile, WrittenRows, NestedTree)
"""Taxonomies that list their values."""
MOST_COMPARISONS = 200_000
"""With more comparisons only spellings that look alike are matched."""

__all__ = ["Diagnosis", "Severity", "examine", "examine_file", "examine_held", "examine_path"]
__all__ += ["examine_table", "worst_first"]


def examine(policy: Policy, survey: TableEvidence | None = None) -> list[Diagnosis]:
    """Returns everything that is wrong, worst first; without a survey, with the policy's own files alone."""
    diagnoses = list(_hierarchies(policy))
    for _, knowledge in _known(policy):
        diagnoses += examine_knowledge(knowledge, name=knowledge.file or "knowledge")
    diagnoses += _unconfirmed(policy)
    if survey is not None:
        diagnoses += examine_table(policy, survey)
    return worst_first(diagnoses)


def examine_table(policy: Policy, survey: TableEvidence, *, warnings: bool = False) -> list[Diagnosis]:
    """Returns what is wrong with a table beside its policy, and not with the policy alone.

    With `warnings` columns are asked only what may be answered by a warning: who goes on to count the table
    meets its errors there, and builds its taxonomies once.
    """
    diagnoses = [*_columns(policy, survey), *_few_people(policy, survey), *several_rows(policy, survey)]
    diagnoses += _single_values(policy, survey)
    checks = WARNING_CHECKS if warnings else POLICY_CHECKS
    for name, rule in policy.columns.items():
        if name in survey.columns:
            for check in checks:
                diagnoses += check(DeclaredColumn(name, rule, survey.columns[name], policy, survey.rows))
    return diagnoses


def worst_first(diagnoses: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Sorts errors before warnings before notes."""
    worst = list(Severity)
    return sorted(diagnoses, key=lambda diagnosis: worst.index(diagnosis.gravity))


def examine_held(policy: Policy, sets: Mapping[str, HeldTermSets]) -> list[Diagnosis]:
    """Returns the problems of a table's term sets, by the name that promises use, with the knowledge."""
    columns = [(name, knowledge) for name, knowledge in _known(policy) if name in sets]
    return [diagnosis for name, what in columns for diagnosis in examine_sets(name, what, sets[name])]


def _known(policy: Policy) -> Iterator[tuple[str, Knowledge]]:
    """Yields the columns of term sets, and the knowledge that a promise brings for each."""
    for limit in policy.promises.limits.of_kind(BeliefLimit):
        if not limit.parts:
            yield limit.column, limit.knowledge


def examine_path(path: str | Path, survey: TableEvidence | None = None) -> list[Diagnosis]:
    """Returns the same for a policy file; where it cannot be loaded, for its hierarchy files alone."""
    try:
        return examine(Policy.load(path), survey)
    except BadPolicy as wrong:
        file = Path(path)
        diagnoses = [_unreadable(wrong, file.name, "policy")]
        for name in _files_of(file):
            diagnoses += examine_file(file.parent / name)
        return diagnoses


def _files_of(path: Path) -> list[str]:
    """Returns the hierarchy files that a policy names, as far as it can be read."""
    try:
        words = read(read_start(path, MOST_FILE_BYTES + 1)).data
    except (BadInput, OSError):
        return []
    columns = words.get("columns") if isinstance(words, Mapping) else None
    rules = list(columns.values()) if isinstance(columns, Mapping) else []
    trees = [rule.get("taxonomy") for rule in rules if isinstance(rule, Mapping)]
    names = [tree.get("file") for tree in trees if isinstance(tree, Mapping)]
    return [name for name in dict.fromkeys(names) if isinstance(name, str)]


def _hierarchies(policy: Policy) -> Iterator[Diagnosis]:
    for rule in policy.columns.values():
        if isinstance(rule.taxonomy, HierarchyFile):
            yield from examine_hierarchy(rule.taxonomy.content, name=rule.taxonomy.name)


UNCONFIRMED = "unconfirmed"


def _unconfirmed(policy: Policy) -> Iterator[Diagnosis]:
    """Yields an error for every column that nobody has confirmed yet: it may be planned, not published."""
    for name, reason in policy.waiting.items():
        yield _of_column(
            name,
            UNCONFIRMED,
            Severity.ERROR,
            f"nobody has confirmed that it may be published unchanged{f': {reason}' if reason else ''}",
            1,
            f"Change its role, or say: sfumato policy confirm POLICY {short(name)}",
        )


def _columns(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    absent = [name for name in policy.columns if name not in survey.columns]
    for name in survey.columns:
        if name not in policy.columns:
            hint = did_you_mean(name, absent, otherwise="Give it a role; insensitive if it is harmless.")
            yield _of_column(name, "undeclared", Severity.ERROR, "the policy does not declare it", 1, hint)
    for name in absent:
        hint = "Drop it from the policy, or look whether the data lost it."
        yield _of_column(name, "absent", Severity.ERROR, "the data does not have it", 1, hint)


def _few_people(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    person = survey.columns.get(policy.person or "")
    people = survey.rows if person is None else person.distinct
    least = [promise.least_people for promise in policy.promises if people < promise.least_people]
    repeated = next(several_rows(policy, survey), None) if least else None
    size = pluralize(people, "person", "people") if repeated is None else pluralize(people, "row")
    what = f"it {'is about' if repeated is None else 'has'} {size}"
    for k in least:
        yield Diagnosis(
            "too-few",
            Severity.ERROR,
            "table",
            f"{what}, fewer than k = {k}",
            people,
            "No recoding can mend that; collect more or ask for a smaller k.",
        )


SEVERAL_ROWS = "several-rows"
NUMBERS_OF_PEOPLE = {"person", "person_number"}
"""Kinds of headers, as the lexicon calls them, under which every person has a number. Numbers of rows and
cases are different in every row, whoever these are about."""
NOBODY = {"staff", "place", "date", "birth", "age", "sex", "time_word"}
"""Kinds of headers below which equal values are not the same person's."""
NO_NUMBER = "Add a column with a number for each person, and name it under person."


def several_rows(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    """Yields a warning for every identifier that repeats, where the policy names no person column.

    None, where a column whose name says that it tells people apart is different in every row, or where it is
    stated that nobody has two; and none for columns of batches, of free text or of people who look after
    others.
    """
    batches = {p.batch_column for p in policy.promises.cross_release if not p.tells_people}
    repeating = [
        (name, survey.columns[name])
        for name, rule in policy.columns.items()
        if rule.role is Role.IDENTIFIER and name in survey.columns and name not in batches
    ]
    repeating = [(name, column) for name, column in repeating if column.repeats]
    since = None if policy.chain is None else policy.chain.since
    stated = policy.person is not None or policy.people.each_row or since is not None
    if stated or not repeating or any(_tells_people_apart(n, policy, survey) for n in policy.columns):
        return
    least = max((2, *(promise.least_people for promise in policy.promises)))  # fewer values name nobody
    for name, column in repeating:
        if _holds_free_text(name, column) or lexicon().read(name).kinds & NOBODY:
            continue
        rows, sign = survey.rows - column.missing, "values repeat"
        if column.complete:
            sign = f"{pluralize(column.distinct, 'different value')} in {rows:,} rows"
        yield _of_column(
            name,
            SEVERAL_ROWS,
            Severity.WARNING,
            f"{sign}: if these are people with several rows, then rows are counted where people are promised",
            rows - column.distinct,
            f"Say person: {short(name)}, if equal values mean the same person, who then shows values once."
            " If every row is another person, say person: each-row."
            if column.distinct >= least and may_be_number_of_people(name, column)
            else NO_NUMBER,
        )


def _holds_free_text(name: str, column: ColumnEvidence) -> bool:
    """Returns whether cells are sentences, or notes of any length below a header that says so."""
    cells = texts(column)
    noted = "biometric" in lexicon().read(name).kinds and any(len(cell.split()) > 1 for cell in cells)
    return noted or is_free_text(cells)


def _tells_people_apart(name: str, policy: Policy, survey: TableEvidence) -> bool:
    """Returns whether an identifier names people, by its name in any language, and every row another one."""
    column = survey.columns.get(name)
    if column is None or policy.columns[name].role is not Role.IDENTIFIER:
        return False
    if not column.complete or column.missing or column.repeats:
        return False
    return bool(words_of(name) & ONE_PERSON or lexicon().read(name).kinds & NUMBERS_OF_PEOPLE)


def _empty_cells(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    count = declared.cells.missing
    if not count or not declared.rule.role.is_key:
        return
    gravity, remedy = {
        Missing.OWN_VALUE: (Severity.NOTE, "They are a value of their own."),
        Missing.SUPPRESS: (Severity.WARNING, "These rows will not be published."),
        Missing.REFUSE: (Severity.ERROR, "The policy refuses them: say missing: own-value or suppress."),
    }[declared.policy.missing]
    what = pluralize(count, "cell is empty", "cells are empty")
    yield _of_column(declared.name, "empty-cells", gravity, what, count, remedy)


def _unknown_values(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    name, rule, column = declared.name, declared.rule, declared.cells
    if rule.taxonomy is None or not column.complete:
        return
    try:
        rule.tree_of(column.values)
    except BadTaxonomy as wrong:
        lacking = wrong.values
        if not is_lack(wrong):
            message, remedy = wrong.message, wrong.remedy
            yield _of_column(name, "bad-taxonomy", Severity.ERROR, message, 1, remedy, lacking)
            return
        pairs = zip(column.values, column.counts.tolist(), strict=True)
        cells = sum(count for value, count in pairs if value in set(lacking))
        if isinstance(rule.taxonomy, ReadyTaxonomy):
            repair, remedy = near_misses(rule.taxonomy, lacking)
        else:
            repair = _lines_to_add(rule.taxonomy, lacking)
            remedy = "Lines to add are proposed." if repair else "Correct the data, or widen the taxonomy."
        what = f"{pluralize(len(lacking), 'value')} that the taxonomy lacks, in {pluralize(cells, 'cell')}"
        if isinstance(rule.taxonomy, WRITTEN) and (near := _nearly_there(rule.taxonomy, lacking)):
            what += f"; {near:,} of them differ from one that it has by case, blanks or accents alone"
        yield _of_column(name, "lacking", Severity.ERROR, what, len(lacking), remedy, lacking, repair)


def _no_range_ends(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    """Yields an error where the search publishes ranges, and this column has none to publish."""
    rule, cells, policy = declared.rule, declared.cells, declared.policy
    if not rule.role.is_key or not policy.publishes_ranges or not cells.complete:
        return
    try:
        check_range_ends(rule.taxonomy, cells.values, search=policy.protect.search)
    except BadTaxonomy as wrong:
        yield _of_column(declared.name, "no-range-ends", Severity.ERROR, wrong.message, 1, wrong.remedy)


def _never_seen(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    rule, values = declared.rule, declared.cells.values
    if not isinstance(rule.taxonomy, WRITTEN) or not declared.cells.complete:
        return
    try:
        tree = rule.tree_of(values)
    except BadTaxonomy:  # told by another check
        tree = rule.taxonomy.build([])
    ranks = {tree.rank(value) for value in values}
    unseen = tuple(str(leaf) for rank, leaf in enumerate(tree.leaf_labels) if rank not in ranks)
    if unseen:
        count = len(unseen)
        what = pluralize(count, "value of the taxonomy never occurs", "values of the taxonomy never occur")
        remedy = "Fine if they may occur later; they count in the loss."
        yield _of_column(declared.name, "never-seen", Severity.NOTE, what, count, remedy, unseen)


def _like_an_identifier(declared: DeclaredColumn) -> Iterator[Diagnosis]:
    rule, column, rows = declared.rule, declared.cells, declared.rows
    if rule.role in (Role.IDENTIFIER, Role.QUASI_SENSITIVE) or not nearly_unique(column, rows):
        return
    if rule.digits is not None and column.complete:
        left = {rounded_number(text, rule.digits) for text in texts(column)}
        if len(left) < column.distinct:  # warnings are about what is published
            return
    fate = {
        Role.INSENSITIVE: "published unchanged, it would tell nearly everybody apart",
        Role.SENSITIVE: "published unchanged, whoever knows a value finds its person",
    }.get(rule.role)
    if fate is None and (rule.taxonomy is None or rule.taxonomy.spec.get("flat") is not None):
        fate = "without a hierarchy it will become * everywhere"
    if fate is not None:
        yield _of_column(
            declared.name,
            "like-an-identifier",
            Severity.WARNING,
            f"{column.distinct:,} different values in {rows - column.missing:,} cells: {fate}",
            column.distinct,
            "Make it an identifier, or a quasi-identifier with a taxonomy.",
        )


SINGLE_SHARE = Fraction(1, 100)
"""From this share of rows on that a column singles out, people are warned of it."""
MOST_NAMED = 5


def _single_values(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    """Yields one warning of the columns that are published unchanged with values that nobody else has."""
    single = {}
    for name, rule in policy.columns.items():
        column = survey.columns.get(name)
        if column is None or rule.role is not Role.INSENSITIVE or rule.digits is not None:
            continue
        count = int((column.counts == 1).sum()) if column.complete else column.distinct
        if count > 1 and count >= SINGLE_SHARE * survey.rows and not nearly_unique(column, survey.rows):
            single[name] = count
    if single:
        worst = sorted(single, key=lambda name: -single[name])
        named = ", ".join(f"{short(name)} ({pluralize(single[name], 'row')})" for name in worst[:MOST_NAMED])
        more = f" and {len(worst) - MOST_NAMED} more columns" if len(worst) > MOST_NAMED else ""
        yield Diagnosis(
            "single-values",
            Severity.WARNING,
            "table",
            f"published unchanged with values that nobody else has: {named}{more}; whoever knows such a value"
            " finds its row",
            single[worst[0]],
            "Make these columns quasi-identifiers, round them (digits), or do not publish them.",
        )


def _nearly_there(rule: TaxonomyRule, lacking: tuple[str, ...]) -> int:
    """Returns how many values look like a leaf of a written tree."""
    leaves = {folded(str(leaf)) for leaf in rule.build([]).leaf_labels}
    return sum(folded(value) in leaves for value in lacking)


def _lines_to_add(rule: TaxonomyRule, lacking: tuple[str, ...], most: int = 1000) -> tuple[str, ...]:
    """Returns each value with the path of the most similar one; below the root where none is similar."""
    if not isinstance(rule, WRITTEN):
        return ()
    tree = rule.build([])
    path = dict(zip(tree.leaf_labels, paths(tree), strict=True))
    alike = {folded(str(leaf)): str(leaf) for leaf in path}
    compare = len(alike) * len(lacking) <= MOST_COMPARISONS
    lines = []
    for value in lacking[:most]:
        near = alike.get(folded(value))
        if near is None and compare:
            near = next(iter(get_close_matches(value, alike.values(), n=1)), None)
        above = [str(tree.labels[0] or ANY)] if near is None else [str(x) for x in path[near][1:]]
        lines.append(as_line([value, *(value if x == near else x for x in above)]))
    return tuple(lines)


POLICY_CHECKS = (
    _empty_cells,
    _unknown_values,
    _no_range_ends,
    no_numbers,
    _never_seen,
    look_alike_cells,
    sparse_values,
    protected_values,
    _like_an_identifier,
)
WARNING_CHECKS = (_empty_cells, look_alike_cells, sparse_values, protected_values, _like_an_identifier)
