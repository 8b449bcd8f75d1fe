"""The transformation of an earlier plan, taken over for another delivery of the same kind of table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from sfumato.models.contract import Cuts, Promises
from sfumato.search.contract import Aim, Outcome, Search
from sfumato.search.controls import broken_control
from sfumato.search.suppression import recoded
from sfumato.system.errors import BadData, BrokenPromise
from sfumato.system.json_object import JsonMapping
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Verdict
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata
from sfumato.table.recoding import Recoding, classes_under
from sfumato.table.taxonomy import ROOT, Label, Taxonomy, within_ceiling

NAME = "reuse_plan"
SEARCH_ANEW = "Plan it without `reuse_plan`, by a search."


@dataclass(frozen=True)
class Transformation:
    """What each key column became: its level, where whole levels were chosen, else the labels of its cut.

    `where` names the plan in messages.
    """

    labels: Mapping[str, Sequence[Label]]
    levels: Mapping[str, int] | None = None
    where: str = "reuse_plan"

    @classmethod
    def of_document(cls, document: JsonMapping, *, where: str) -> Transformation:
        """Returns the transformation of a plan as `plan.as_dict` or `protect --json` writes it.

        Raises `BadData` where it is no such document, or where every class was recoded by itself.
        """
        cuts, levels = document.get("cuts"), document.get("levels")
        if "cuts" not in document or not isinstance(cuts, Mapping | None):
            raise BadData("this is no plan", where=where, remedy="`sfumato protect --json` writes one.")
        if cuts is None:
            raise no_cuts(where)
        named = {
            str(name): [text if text is None else str(text) for text in texts] for name, texts in cuts.items()
        }
        return cls(named, cast("Mapping[str, int] | None", levels), where)

    def cuts_on(self, table: Microdata) -> tuple[dict[str, Cut], dict[str, int] | None]:
        """Returns the cuts on today's trees, and the levels if they are such.

        A value that no label covers, because it is new, becomes the most general node that has none of the
        labels below it. Raises `BadData` where a column or a level is not there, or where labels do not
        fit today's tree: two of them cover the same value, as under local recoding.
        """
        absent = [c.name for c in table.keys if c.name not in self.labels]
        if absent:
            raise BadData(
                f"the earlier plan says nothing of {', '.join(absent)}", where=self.where, remedy=SEARCH_ANEW
            )
        if self.levels is None:
            return {c.name: self._cut(c) for c in table.keys}, None
        levels = {c.name: int(self.levels[c.name]) for c in table.keys if c.name in self.levels}
        for column in table.keys:
            if not 0 <= levels.get(column.name, -1) <= column.taxonomy.height:
                raise BadData(
                    f"{column.name} has the levels 0 to {column.taxonomy.height} now, and had another one",
                    where=self.where,
                    remedy="Give it the taxonomy that it had.",
                )
        return {c.name: Cut.level(c.taxonomy, levels[c.name]) for c in table.keys}, levels

    def _cut(self, column: Column) -> Cut:
        tree = column.taxonomy
        wanted = set(self.labels[column.name])
        named = np.array([label in wanted for label in tree.labels], dtype=bool)
        if any(label is not None and label not in tree.labels and tree.is_range(label) for label in wanted):
            raise no_cuts(f"{self.where}, column {column.name}")
        if wanted and not named.any():
            raise BadData(
                "no value of today's taxonomy is among those that the earlier plan published",
                where=f"{self.where}, column {column.name}",
                remedy="Is it the plan of another table? Else plan without `reuse_plan`.",
            )
        node_of = np.full(len(tree.leaves), -1, np.int32)
        for node in np.flatnonzero(named).tolist():
            inside = slice(int(tree.low[node]), int(tree.high[node]))
            if (node_of[inside] < 0).all():
                node_of[inside] = node
            elif not _repeats(tree, int(node_of[inside][0]), node):
                raise no_cuts(f"{self.where}, column {column.name}")
        below = np.concatenate(([0], np.cumsum(named)))
        for rank in np.flatnonzero(node_of < 0).tolist():
            node = int(tree.leaves[rank])
            while node != ROOT and not _holds(below, tree, int(tree.parent[node])):
                node = int(tree.parent[node])
            node_of[rank] = node
        return Cut(tree, node_of)


def no_cuts(where: str) -> BadData:
    """Returns the error for a plan that has no transformation to take over."""
    return BadData(
        "local recoding made the earlier table: the same value became different things in different classes,"
        " so there is no transformation to take over",
        where=where,
        remedy="Plan the first delivery by top-down, lattice or optimum: search: top-down under protect, or"
        " search='top-down' in Python.",
    )


def search_reusing(earlier: Transformation) -> Search:
    """Returns a search that takes the cuts of an earlier plan and looks for nothing else.

    It raises `BrokenPromise` where the promises do not hold then: which, and by how much.
    """

    def reuse(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
        progress(NAME, 0, 1)
        cuts, levels = earlier.cuts_on(table)
        _check_ceilings(table, cuts, earlier.where)
        recoding = recoded(table, cuts, promises)
        broken = _broken(table, cuts, promises, recoding, aim)
        if broken:
            raise BrokenPromise(
                f"the earlier transformation does not keep the promises on this table: {'; '.join(broken)}",
                where=earlier.where,
                remedy=SEARCH_ANEW,
            )
        progress(NAME, 1, 1)
        return Outcome(recoding, aim.loss_of(recoding, levels), levels, checked=1)

    return reuse


def _check_ceilings(table: Microdata, cuts: Cuts, where: str) -> None:
    """Raises where the policy has come to forbid what the earlier plan did."""
    for column in table.keys:
        published = cuts[column.name].node_of[table.codes(column.name)]
        if not within_ceiling(column.taxonomy)[published].all():
            top = column.taxonomy.ceiling + column.taxonomy.start
            raise BrokenPromise(
                f"the earlier plan made {column.name} coarser than level {top}, which the policy permits",
                where=where,
                remedy=SEARCH_ANEW,
            )


def _broken(table: Microdata, cuts: Cuts, promises: Promises, recoding: Recoding, aim: Aim) -> list[str]:
    """Returns what does not hold, promise by promise; nothing where suppression within the limit mends it."""
    sentences = []
    allowed = aim.allowed(table)
    if recoding.suppressed > allowed or broken_control(recoding, aim):
        class_of, _ = classes_under(table, cuts)
        classes = Classes.of(table, class_of, sensitive=promises.sensitive)
        broken = [verdict for verdict in promises.verdicts(classes) if verdict.holds is not True]
        sentences += [_shortfall(verdict, rows_only=table.rows_only) for verdict in broken]
        if recoding.suppressed > allowed:
            sentences.append(
                f"{pluralize(recoding.suppressed, 'row')} would have to be suppressed, {allowed:,} may be"
            )
        elif control := broken_control(recoding, aim):
            sentences.append(control)
    for promise in promises.of_table:
        verdict = promise.verdict_on(table, cuts)
        if verdict.holds is not True:
            sentences.append(f"{verdict.promise} fails{f': {verdict.reason}' if verdict.reason else ''}")
    return sentences


def _shortfall(verdict: Verdict, *, rows_only: bool) -> str:
    """Returns which promise fails, for how many, and what was reached."""
    who = pluralize(verdict.people, "row") if rows_only else pluralize(verdict.people, "person", "people")
    reached = "" if verdict.measured is None else f" (reached {verdict.measured}, asked {verdict.limit})"
    return f"{verdict.promise} fails for {who}{reached}"


def _repeats(tree: Taxonomy, above: int, node: int) -> bool:
    """Whether two nodes are one below the other, with the same label and the same leaves."""
    alike = tree.labels[above] == tree.labels[node] and tree.leaf_count[above] == tree.leaf_count[node]
    return bool(alike and tree.covers(above, node))


def _holds(below: np.ndarray[tuple[int], np.dtype[np.int64]], tree: Taxonomy, node: int) -> bool:
    """Whether a node is named, or has a named node below it."""
    return bool(below[tree.end[node]] > below[node])
