"""Problems of a policy, beside the data it is meant for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from sfumato.core.beliefs import BeliefLimit
from sfumato.core.errors import BadInput, BadPolicy, BadTaxonomy
from sfumato.core.knowledge import Knowledge
from sfumato.core.microdata import Missing, Role
from sfumato.core.problem import did_you_mean, short
from sfumato.core.rounded_number import rounded_number
from sfumato.core.taxonomy import ANY, Taxonomy
from sfumato.policy.column_evidence import (
    ColumnEvidence,
    TableEvidence,
    folded,
    is_free_text,
    nearly_unique,
    texts,
)
from sfumato.policy.column_names import ONE_PERSON
from sfumato.policy.column_names import words as words_of
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.doctor.hierarchy import examine_file, examine_hierarchy
from sfumato.policy.doctor.knowledge import HeldTermSets, examine_knowledge, examine_sets
from sfumato.policy.doctor.near_misses import near_misses
from sfumato.policy.doctor.sparse_values import sparse_values
from sfumato.policy.doctor.written_cells import look_alikes, no_numbers
from sfumato.policy.lexicon.header_lexicon import lexicon
from sfumato.policy.person_keys import may_be_number_of_people
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.recipients import Coalition
from sfumato.policy.taxonomies import HierarchyFile, NestedTree, ReadyTaxonomy, TaxonomyRule
from sfumato.policy.taxonomies.arx import as_line
from sfumato.policy.taxonomies.levels import is_lack
from sfumato.policy.taxonomies.range_ends import check_range_ends
from sfumato.policy.taxonomies.rows import WrittenRows, paths
from sfumato.policy.yaml import MOST_FILE_BYTES, read
from sfumato.show.card import several
from sfumato.system.disk import read_start

MOST_COMPARISONS = 200_000
"""With more comparisons only spellings that look alike are matched."""

__all__ = ["Diagnosis", "Severity", "examine", "examine_file", "examine_held", "examine_path"]
__all__ += ["examine_table", "worst_first"]


def examine(policy: Policy, survey: TableEvidence | None = None) -> list[Diagnosis]:
    """Returns everything that is wrong, worst first; without a survey, with the policy's own files alone."""
    diagnoses = list(_hierarchies(policy))
    for _, knowledge in _known(policy):
        diagnoses += examine_knowledge(knowledge, name=knowledge.file or "knowledge")
    diagnoses += _no_coalition(policy)
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
    checks = WARNING_CHECKS if warnings else CHECKS
    for name, rule in policy.columns.items():
        if name in survey.columns:
            for check in checks:
                diagnoses += check(name, rule, survey.columns[name], policy, survey.rows)
    return diagnoses


def worst_first(diagnoses: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Sorts errors before warnings before notes."""
    worst = list(Severity)
    return sorted(diagnoses, key=lambda diagnosis: worst.index(diagnosis.gravity))


def examine_held(policy: Policy, sets: Mapping[str, HeldTermSets]) -> list[Diagnosis]:
    """Returns the problems of a table's term sets, by the name that promises use, with the knowledge."""
    known = [(name, knowledge) for name, knowledge in _known(policy) if name in sets]
    return [diagnosis for name, what in known for diagnosis in examine_sets(name, what, sets[name])]


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
        where = wrong.where or file.name
        found = Diagnosis("policy", Severity.ERROR, where, wrong.message, 1, wrong.remedy, wrong.values)
        diagnoses = [found]
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


def _no_coalition(policy: Policy) -> Iterator[Diagnosis]:
    """Yields a note where versions are safe only as long as nobody puts two of them together."""
    if policy.recipients is not None and policy.recipients.coalition is Coalition.NONE:
        yield Diagnosis(
            "coalition",
            Severity.NOTE,
            "recipients",
            "two recipients who put their versions together may learn more than is promised",
            1,
            "Say coalition: pairs or any, if they may meet.",
        )


UNCONFIRMED = "unconfirmed"


def _unconfirmed(policy: Policy) -> Iterator[Diagnosis]:
    """Yields an error for every column that nobody has confirmed yet: it may be planned, not published."""
    for name, reason in policy.confirm.items():
        yield Diagnosis(
            UNCONFIRMED,
            Severity.ERROR,
            f"column {short(name)}",
            f"nobody has confirmed that it may be published unchanged{f': {reason}' if reason else ''}",
            1,
            f"Change its role, or say: sfumato policy confirm POLICY {short(name)}",
        )


def _columns(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    absent = [name for name in policy.columns if name not in survey.columns]
    for name in survey.columns:
        if name not in policy.columns:
            hint = did_you_mean(name, absent, otherwise="Give it a role; insensitive if it is harmless.")
            yield Diagnosis(
                "undeclared",
                Severity.ERROR,
                f"column {short(name)}",
                "the policy does not declare it",
                1,
                hint,
            )
    for name in absent:
        hint = "Drop it from the policy, or look whether the data lost it."
        yield Diagnosis(
            "absent", Severity.ERROR, f"column {short(name)}", "the data does not have it", 1, hint
        )


def _few_people(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    person = survey.columns.get(policy.person or "")
    people = survey.rows if person is None else person.distinct
    asked = [promise.least_people for promise in policy.promises if people < promise.least_people]
    repeated = next(several_rows(policy, survey), None) if asked else None
    told = several(people, "person", "people") if repeated is None else several(people, "row")
    what = f"it {'is about' if repeated is None else 'has'} {told}"
    for k in asked:
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
NO_NUMBER = "Add a column with a number for each person, and name it under person."


def several_rows(policy: Policy, survey: TableEvidence) -> Iterator[Diagnosis]:
    """Yields a warning for every identifier that repeats, where the policy names no person column.

    None, where a column whose name says that it tells people apart is different in every row, and none for
    columns of batches, of free text or of people who look after others.
    """
    if policy.person is not None or any(_tells_people_apart(n, policy, survey) for n in policy.columns):
        return
    batches = {p.batch_column for p in policy.promises if not p.tells_people}
    for name, rule in policy.columns.items():
        column = survey.columns.get(name)
        if column is None or rule.role is not Role.IDENTIFIER or not column.repeats or name in batches:
            continue
        if _holds_free_text(name, column) or "staff" in lexicon().read(name).kinds:
            continue
        rows, seen = survey.rows - column.missing, "values repeat"
        if column.complete:
            seen = f"{several(column.distinct, 'different value')} in {rows:,} rows"
        yield Diagnosis(
            SEVERAL_ROWS,
            Severity.WARNING,
            f"column {short(name)}",
            f"{seen}: if these are people with several rows, then rows are counted where people are promised",
            rows - column.distinct,
            f"Say person: {short(name)}, if equal values mean the same person; what all rows of a person show"
            " together is then judged. If not, nothing has to change."
            if may_be_number_of_people(name, column)
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


def _empty_cells(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    del rows
    if not column.missing or not rule.role.is_key:
        return
    gravity, remedy = {
        Missing.OWN_VALUE: (Severity.NOTE, "They are a value of their own."),
        Missing.SUPPRESS: (Severity.WARNING, "These rows will not be published."),
        Missing.REFUSE: (Severity.ERROR, "The policy refuses them: say missing: own-value or suppress."),
    }[policy.missing]
    what = several(column.missing, "cell is empty", "cells are empty")
    yield Diagnosis("empty-cells", gravity, f"column {short(name)}", what, column.missing, remedy)


def _unknown_values(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    del policy, rows
    if rule.taxonomy is None or not column.complete:
        return
    try:
        rule.tree_of(column.values)
    except BadTaxonomy as wrong:
        lacking = wrong.values
        where = f"column {short(name)}"
        if not is_lack(wrong):
            yield Diagnosis("bad-taxonomy", Severity.ERROR, where, wrong.message, 1, wrong.remedy, lacking)
            return
        cells = _cells(column, set(lacking))
        listed = isinstance(rule.taxonomy, HierarchyFile | WrittenRows | NestedTree)
        if isinstance(rule.taxonomy, ReadyTaxonomy):
            repair, remedy = near_misses(rule.taxonomy, lacking)
        else:
            repair = _lines_to_add(rule.taxonomy, lacking)
            remedy = "Lines to add are proposed." if repair else "Correct the data, or widen the taxonomy."
        what = f"{several(len(lacking), 'value')} that the taxonomy lacks, in {several(cells, 'cell')}"
        if listed and (near := _nearly_there(rule.taxonomy, lacking)):
            what += f"; {near:,} of them differ from one that it has by case, blanks or accents alone"
        yield Diagnosis("lacking", Severity.ERROR, where, what, len(lacking), remedy, lacking, repair)


def _no_range_ends(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    """Yields an error where the search publishes ranges, and this column has none to publish."""
    del rows
    if not rule.role.is_key or not policy.publishes_ranges or not column.complete:
        return
    try:
        check_range_ends(rule.taxonomy, column.values, search=policy.protect.search)
    except BadTaxonomy as wrong:
        where = f"column {short(name)}"
        yield Diagnosis("no-range-ends", Severity.ERROR, where, wrong.message, 1, wrong.remedy)


def _never_seen(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    del policy, rows
    if not isinstance(rule.taxonomy, HierarchyFile | WrittenRows | NestedTree) or not column.complete:
        return
    try:
        tree = rule.tree_of(column.values)
    except BadTaxonomy:  # told by another check
        tree = rule.taxonomy.build([])
    seen = {tree.rank(value) for value in column.values}
    unseen = [leaf for rank, leaf in enumerate(tree.leaf_labels) if rank not in seen]
    if unseen:
        what = several(
            len(unseen), "value of the taxonomy never occurs", "values of the taxonomy never occur"
        )
        where = f"column {short(name)}"
        remedy = "Fine if they may occur later; they count in the loss."
        shown = tuple(str(leaf) for leaf in unseen)
        yield Diagnosis("never-seen", Severity.NOTE, where, what, len(unseen), remedy, shown)


def _like_an_identifier(
    name: str, rule: ColumnRule, column: ColumnEvidence, policy: Policy, rows: int
) -> Iterator[Diagnosis]:
    del policy
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
        yield Diagnosis(
            "like-an-identifier",
            Severity.WARNING,
            f"column {short(name)}",
            f"{column.distinct:,} different values in {rows - column.missing:,} cells: {fate}",
            column.distinct,
            "Make it an identifier, or a quasi-identifier with a taxonomy.",
        )


def _cells(column: ColumnEvidence, chosen: set[str]) -> int:
    pairs = zip(column.values, column.counts.tolist(), strict=True)
    return sum(count for value, count in pairs if value in chosen)


def _nearly_there(rule: TaxonomyRule, lacking: tuple[str, ...]) -> int:
    """Returns how many values look like a leaf of a written tree."""
    leaves = {folded(str(leaf)) for leaf in rule.build([]).leaf_labels}
    return sum(folded(value) in leaves for value in lacking)


def _lines_to_add(rule: TaxonomyRule, lacking: tuple[str, ...], most: int = 1000) -> tuple[str, ...]:
    """Returns each value with the path of the most similar one; below the root where none is similar."""
    if not isinstance(rule, HierarchyFile | WrittenRows | NestedTree):
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
        above = _root_only(tree) if near is None else [str(x) for x in path[near][1:]]
        lines.append(as_line([value, *(value if x == near else x for x in above)]))
    return tuple(lines)


def _root_only(tree: Taxonomy) -> list[str]:
    return [str(tree.labels[0] or ANY)]


CHECKS = (
    _empty_cells,
    _unknown_values,
    _no_range_ends,
    no_numbers,
    _never_seen,
    look_alikes,
    sparse_values,
    _like_an_identifier,
)
WARNING_CHECKS = (_empty_cells, look_alikes, sparse_values, _like_an_identifier)
