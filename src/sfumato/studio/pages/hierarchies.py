"""The hierarchy of a column: as a tree that is edited, or by a form."""

from __future__ import annotations

import csv
from collections.abc import Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.policy.policy import ROLES, Policy
from sfumato.policy.taxonomies.dates import UNITS
from sfumato.policy.taxonomies.files import (
    ROOT,
    HierarchyFile,
    NestedTree,
    NodePath,
    TreeChange,
    WrittenRows,
    with_values,
    written_tree,
)
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE
from sfumato.policy.taxonomies.texts import Flat
from sfumato.studio.page import SentForm, action, policy_within, render, studio_of, to
from sfumato.studio.pages.declare import STEP, begin_checkup, checkup_of, same_step
from sfumato.studio.policy_edit import apply_edit, marked_secret, taxonomy_changed, tree_changed, tree_of
from sfumato.studio.security import Studio
from sfumato.studio.views import MOST_NODES, ColumnCheckup, taxonomy_kind, tree_rows
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.table.taxonomy import ANY

MOST_LEVELS = 12


def show(request: Request) -> Response:
    """Shows the hierarchy of one column."""
    studio = studio_of(request)
    policy = _policy(studio)
    name = request.query_params.get("name", "")
    rule = policy.columns.get(name)
    if rule is None:
        raise UsageError("the policy has no such column", remedy="Go back to Declare.")
    job = begin_checkup(studio)
    checkup = checkup_of(studio)
    column = ColumnCheckup() if checkup is None else checkup.columns.get(name, ColumnCheckup())
    spec: JsonObject = {} if rule.taxonomy is None else dict(rule.taxonomy.spec)
    rows = tree_rows(rule)
    return render(
        request,
        "hierarchy.html",
        step=STEP,
        same=same_step(studio, policy),
        name=name,
        rule=rule,
        roles=ROLES,
        kind=taxonomy_kind(rule),
        spec=spec,
        rows=rows,
        groups=[row for row in rows if row.group],
        whole=len(rows) < MOST_NODES,
        job=job,
        column=column,
        units=list(UNITS),
        ready=CATALOGUE,
        can_be_written=isinstance(rule.taxonomy, HierarchyFile | WrittenRows) or bool(column.values),
    )


def _policy(studio: Studio) -> Policy:
    text = studio.policy.text
    if text is None:
        raise UsageError("there is no policy yet", remedy="Let one be proposed on the page Discover.")
    return policy_within(text, studio.policy.path)


def _back(name: str) -> Response:
    return to(f"/declare/column?name={quote(name, safe='')}")


def set_taxonomy(request: Request, form: SentForm) -> Response:
    """Gives a column a hierarchy that a form describes."""
    studio, name = studio_of(request), form.text("name")
    spec = _spec(form, form.text("kind"))
    apply_edit(studio.policy, form.version, taxonomy_changed(name, spec))
    return _back(name)


def _spec(form: SentForm, kind: str) -> JsonObject | None:
    """Returns the words of a taxonomy from a form; none, where there is to be none."""
    forms: dict[str, Callable[[], JsonObject | None]] = {
        "none": lambda: None,
        "flat": lambda: {"flat": True},
        "prefix": lambda: {"prefix": _numbers(form.text("keep"))},
        "mask": lambda: {"mask": form.text("end")},
        "intervals": lambda: _intervals(form),
        "date": lambda: _dates(form),
        "ready": lambda: {"ready": form.text("ready")},
    }
    if kind not in forms:
        raise UsageError("there is no such kind of hierarchy", remedy="Open the page again.")
    return forms[kind]()


def _intervals(form: SentForm) -> JsonObject:
    ends = {key: form.text(key, "").strip() for key in ("from", "to", "top", "bottom")}
    words: JsonObject = {"intervals": _numbers(form.text("widths"))}
    words.update({key: _number(text) for key, text in ends.items() if text})
    return {**words, "decimal": True} if form.text("decimal", "") == "yes" else words


def _dates(form: SentForm) -> JsonObject:
    written = form.text("written", "").strip()
    return {"date": list(form.all("unit")), **({"written": written} if written else {})}


def _numbers(text: str) -> list[object]:
    words = [_number(word) for word in text.replace(",", " ").split()]
    if not 1 <= len(words) <= MOST_LEVELS:
        raise UsageError(f"from 1 to {MOST_LEVELS} numbers are needed", remedy="Such as: 5 10 20")
    return words


def _number(word: str) -> object:
    return int(word) if word.isascii() and word.removeprefix("-").isdigit() and len(word) < 18 else word


def take_proposal(request: Request, form: SentForm) -> Response:
    """Takes the hierarchy that fits the values of the column."""
    studio, name = studio_of(request), form.text("name")
    checkup = checkup_of(studio)
    column = None if checkup is None else checkup.columns.get(name)
    if column is None or column.proposed is None:
        raise UsageError("nothing is proposed for this column", remedy="Choose a table first.")
    apply_edit(studio.policy, form.version, taxonomy_changed(name, dict(column.proposed)))
    return _back(name)


def write_tree(request: Request, form: SentForm) -> Response:
    """Makes a written tree of a column's hierarchy, or of its values, so that it can be edited."""
    studio, name = studio_of(request), form.text("name")
    policy = _policy(studio)
    rule = policy.columns.get(name)
    if rule is None:
        raise UsageError("the policy has no such column", remedy="Go back to Declare.")
    checkup = checkup_of(studio)
    column = ColumnCheckup() if checkup is None else checkup.columns.get(name, ColumnCheckup())
    if isinstance(rule.taxonomy, HierarchyFile | WrittenRows):
        tree = written_tree(rule.taxonomy.build([]))
    elif rule.taxonomy is not None and column.values:
        tree = written_tree(rule.taxonomy.build(column.values))
    elif column.values:
        tree = written_tree(Flat().build(column.values))
    else:
        raise UsageError("its values are not known, or too many", remedy="Choose a table, or write a file.")
    apply_edit(studio.policy, form.version, taxonomy_changed(name, dict(tree.spec)))
    return _back(name)


def change_tree(request: Request, form: SentForm) -> Response:
    """Renames, groups, splits, merges, moves or dissolves nodes of a written tree, or marks them secret."""
    studio, name, act = studio_of(request), form.text("name"), form.text("act")
    paths = [_path(word) for word in form.all("node")]
    if act in {"secret", "known"}:
        labels = _labels(tree_of(_policy(studio), name), paths)
        apply_edit(studio.policy, form.version, marked_secret(name, labels, secret=act == "secret"))
        return _back(name)
    if not paths:
        raise UsageError("no node is chosen", remedy="Choose at least one.")
    label, target = form.text("label", ""), _path(form.text("target", ""))
    changes: dict[str, Callable[[TreeChange], NestedTree]] = {
        "rename": lambda tree: tree.rename(paths[0], label),
        "group": lambda tree: tree.group(paths, label),
        "split": lambda tree: tree.split(paths, label),
        "merge": lambda tree: tree.merge(paths, label),
        "move": lambda tree: tree.move(paths, target),
        "dissolve": lambda tree: tree.dissolve(paths[0]),
    }
    if act not in changes:
        raise UsageError("there is no such change of a tree", remedy="Open the page again.")
    if act in {"rename", "dissolve"} and len(paths) > 1:
        raise UsageError("this is done to one group at a time", remedy="Choose one.")
    edit = tree_changed(name, act, lambda tree: changes[act](TreeChange(tree)))
    apply_edit(studio.policy, form.version, edit)
    return _back(name)


def add_values(request: Request, form: SentForm) -> Response:
    """Adds values of the data that a written tree lacks, where the doctor proposes."""
    studio, name = studio_of(request), form.text("name")
    checkup = checkup_of(studio)
    lines = [
        cells
        for finding in (() if checkup is None else checkup.findings)
        if finding.column == name and finding.diagnosis.name == "lacking"
        for cells in csv.reader(finding.diagnosis.repair, delimiter=";")
    ]
    if not lines:
        raise UsageError("no value is lacking", remedy="Open the page again.")
    edit = tree_changed(name, "values added", lambda tree: with_values(tree, lines))
    apply_edit(studio.policy, form.version, edit)
    return _back(name)


def _path(word: str) -> NodePath:
    if not word:
        return ROOT
    parts = word.split(".")
    if len(parts) > 40 or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise UsageError("the tree has no such node", remedy="Open the page again.")
    return tuple(map(int, parts))


def _labels(tree: NestedTree, paths: list[NodePath]) -> list[str]:
    """Returns the labels of nodes; the whole tree is `*`."""
    labels = []
    for path in paths:
        branches, label = tree.branches, ANY
        for position in path:
            if position >= len(branches):
                raise UsageError("the tree has no such node", remedy="Open the page again.")
            branch = branches[position]
            label, branches = (branch, ()) if isinstance(branch, str) else branch
        labels.append(label)
    return labels


routes = [
    Route("/declare/column", show),
    Route("/declare/column/taxonomy", action(set_taxonomy), methods=["POST"]),
    Route("/declare/column/proposal", action(take_proposal), methods=["POST"]),
    Route("/declare/column/write", action(write_tree), methods=["POST"]),
    Route("/declare/column/tree", action(change_tree), methods=["POST"]),
    Route("/declare/column/values", action(add_values), methods=["POST"]),
]
