"""What the safe table kept: every figure that compares it with its original, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.json_object import JsonObject
from sfumato.show.card import Card, Printable, figure, several
from sfumato.show.chart import Figure
from sfumato.show.document import json_ready
from sfumato.usefulness.charts import charts_of
from sfumato.usefulness.column_figures import ColumnFigures, PairFigures, column_figures, pair_figures
from sfumato.usefulness.model_figures import ModelFigures
from sfumato.usefulness.paired_column import PairedColumn
from sfumato.usefulness.paired_tables import PairedTables
from sfumato.usefulness.range_queries import QueryFigures, query_figures
from sfumato.usefulness.table_figures import TableFigures, table_figures

NOT_FOR_PUBLICATION = "not for publication: these figures were taken from the original table, too"
MOST_PAIRS_SHOWN = 5


@dataclass(frozen=True)
class Price:
    """What a table would be under another policy: `change` says which, `loss` is the policy's measure.

    `loss` is `None` where no table can keep that policy.
    """

    change: str
    loss: float | None
    suppressed: int | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Usefulness(Printable):
    """What the safe table still tells of the original; aggregates of what the owner holds, no cell of it.

    `prices` holds what the policy costs as it is, first, and what it would without each promise and with
    k + 1. All of it is for the owner, except what `published` gives: that can be taken from the safe table
    alone.
    """

    table: TableFigures
    columns: tuple[ColumnFigures, ...]
    pairs: tuple[PairFigures, ...]
    queries: QueryFigures | None
    model: ModelFigures | None
    prices: tuple[Price, ...]
    notes: tuple[str, ...]
    drawn: tuple[PairedColumn, ...]

    @property
    def published(self) -> JsonObject:
        """What anybody can count in the safe table: rows, classes, and class size by k."""
        whole = self.table
        return {
            "rows": whole.published,
            "classes": whole.classes,
            "k": whole.k,
            "class_size": whole.class_size,
        }

    def as_dict(self) -> JsonObject:
        """Returns JSON, under the names of the attributes."""
        return {
            "not_for_publication": True,
            "table": {**json_ready(self.table), "share_lost": self.table.share_lost},
            "columns": {one.name: json_ready(one) for one in self.columns},
            "pairs": json_ready(self.pairs),
            "queries": json_ready(self.queries),
            "model": json_ready(self.model),
            "prices": json_ready(self.prices),
            "notes": list(self.notes),
            "published": self.published,
        }

    def charts(self) -> Sequence[Figure]:
        """Returns each key column before and after, and how far columns and pairs moved."""
        return charts_of(self.columns, self.pairs, self.drawn)

    def card(self) -> Card:
        """Returns the figures on a few lines."""
        whole = self.table
        head: list[tuple[str, ...]] = [
            ("key cells that tell nothing", f"{whole.share_lost:.1%}", _named(whole.columns_lost)),
            ("rows suppressed", f"{whole.suppressed:,} of {whole.rows:,}"),
            ("classes", f"{whole.classes:,}", f"{figure(whole.class_size)} times k rows each"),
            ("granularity", figure(whole.granularity), f"NCP {figure(whole.ncp)}"),
            ("discernibility", figure(whole.discernibility)),
        ]
        if self.queries is not None:
            told = f"median error {self.queries.median:.1%}, a tenth above {self.queries.worst_tenth:.1%}"
            head.append(("range queries", f"{self.queries.queries}", told))
        if self.model is not None:
            head.append(_model_line(self.model))
        lines = [*head, (), *map(_column_line, self.columns), (), *map(_pair_line, self._worst_pairs)]
        lines += [(), *map(_price_line, self.prices)] if self.prices else []
        return Card("what the safe table kept", lines, (*self.notes, NOT_FOR_PUBLICATION))

    @property
    def _worst_pairs(self) -> list[PairFigures]:
        return sorted(self.pairs, key=lambda pair: -pair.distance)[:MOST_PAIRS_SHOWN]

    def __repr__(self) -> str:
        return f"Usefulness({len(self.columns)} columns, {self.table.share_lost:.1%} of the key cells lost)"


def measure_usefulness(
    tables: PairedTables,
    *,
    seed: int = 0,
    model: ModelFigures | None = None,
    prices: Sequence[Price] = (),
    notes: Sequence[str] = (),
) -> Usefulness:
    """Returns every figure of two tables; a model and prices are the caller's."""
    columns = tuple(column_figures(tables, column) for column in tables.columns)
    unread = [
        f"{several(c.unread, 'row')} of {c.name} with a text that cannot be read" for c in columns if c.unread
    ]
    if unread:
        unread.append("they count as any value; hand in the policy that the table was published under")
    return Usefulness(
        table_figures(tables),
        columns,
        pair_figures(tables),
        query_figures(tables, seed=seed),
        model,
        tuple(prices),
        (*notes, *unread),
        tables.keys,
    )


def _named(columns: Sequence[str]) -> str:
    return f"{several(len(columns), 'column')} lost: {', '.join(columns)}" if columns else "no column lost"


def _model_line(model: ModelFigures) -> tuple[str, ...]:
    scores = f"{model.score} {figure(model.safe)}, with the original {figure(model.raw)}"
    return "a model of", model.target, f"{scores}, by guess {figure(model.guess)}"


def _column_line(one: ColumnFigures) -> tuple[str, ...]:
    before = several(one.values, "value")
    after = several(one.groups, "group") if one.key else several(one.groups, "value")
    mean = "" if one.mean is None else f"mean {figure(one.mean[0])} → {figure(one.mean[1])}"
    return one.name, f"{before} → {after}", f"moved {figure(one.distance)}", mean


def _pair_line(pair: PairFigures) -> tuple[str, ...]:
    bits = f"{figure(pair.information[0])} → {figure(pair.information[1])} bits shared"
    tie = pair.correlation
    told = "" if tie is None else f"correlation {figure(tie[0])} → {figure(tie[1])}"
    return " and ".join(pair.columns), f"moved {figure(pair.distance)}", bits, told


def _price_line(price: Price) -> tuple[str, ...]:
    if price.loss is None:
        return price.change, "no table"
    return price.change, f"loss {figure(price.loss)}", f"{several(price.suppressed or 0, 'row')} suppressed"
