"""The program releases chains of small tables twice, and tells the same where values changed places."""

import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from oracles import program_chains
from oracles.program_chains import Waits, differences, told_of_biographies
from sfumato.search import blind_groups
from sfumato.search.blind_groups import Values
from sfumato.table import known_rows
from sfumato.table.base import PERSON, Base
from sfumato.workflows import grown_base

TABLES = int(os.environ.get("SFUMATO_GROUP_TABLES", "300"))
"""So many tables are released, each twice; a hundred take some ten seconds."""
TRIED = 150
"""So many chains are tried at most until a rule that was taken away is noticed."""


@pytest.mark.slow
def test_files_tell_nothing_but_what_each_class_holds(tmp_path):
    """All of them: SFUMATO_GROUP_TABLES=20000 pytest -s tests/oracles/test_program_chains.py -k each_class"""
    totals, seed = Counter(), 0
    while totals["tables"] < TABLES:
        wrong, tried = differences(seed, tmp_path if seed % 8 == 0 else None)
        assert wrong == [], seed
        totals.update(tried)
        seed += 1
    assert totals["joined groups"] > totals["tables"] / 8
    assert totals["bare rows"] > totals["tables"]
    if "SFUMATO_GROUP_TABLES" in os.environ:
        print(dict(totals, chains=seed))


@pytest.mark.slow
def test_whole_biographies_of_a_unit_change_places():
    tried = 0
    for seed in range(max(20, TABLES // 10)):
        before, after = told_of_biographies(seed)
        assert [result.seen for result in before] == [result.seen for result in after], seed
        tried += len(before)
    assert tried > 4


# Each rule that is taken away is noticed ------------------------------------------------------------------


def known_coins(_patch):
    """Coins are known to everybody."""


def one_leaves_alone(patch):
    """Whoever is erased is taken out, and the others of the group stay."""
    without = Base.without
    patch.setattr(Base, "without", lambda base, who: _kept(base, without(base, who)))


def _kept(base, left):
    return replace(left[0], withheld=base.withheld), left[1]


def bare_rows_show_a_column(patch):
    """Nights are shown in further rows."""
    grow, bare = grown_base.grow, Base.with_bare_rows
    nights = {}

    def noting(source, *args, **options):
        table = pa.Table.from_batches(list(source.reader.batches(["person", "nights"])))
        people = known_rows.hashes_of_people(table.column("person").to_pylist()).to_pylist()
        nights.update(zip(people, table.column("nights").to_pylist(), strict=True))
        return grow(source, *args, **options)

    def shown(base, people, *args):
        grown = bare(base, people, *args)
        place = grown.rows.column_names.index("nights")
        cells = grown.rows.column(place).to_pylist()
        cells[len(base.rows) :] = [nights[person] for person in people[PERSON].to_pylist()]
        field = grown.rows.schema.field(place)
        return replace(grown, rows=grown.rows.set_column(place, field, pa.array(cells, field.type)))

    patch.setattr(program_chains, "grow", noting)
    patch.setattr(Base, "with_bare_rows", shown)


def every_row_shows_values(patch):
    """Further rows of newcomers show their values, too."""
    first_rows = known_rows._first_rows

    def every(source, number, known, *more):
        first = first_rows(source, number, known, *more)
        return (~known, *first[1:]) if isinstance(first, tuple) else ~known

    patch.setattr(known_rows, "_first_rows", every)


def rehearsed_with_the_truth(patch):
    """The size of units is the one that suits the true values."""
    patch.setattr(Values, "dealt", lambda values, *_: values)


def order_of_the_source(patch):
    """Rows are written as they stand in the source."""

    def as_they_are(rows, path, *_):
        path.write_text(repr(rows.to_pylist()))

    patch.setattr(program_chains, "write_rows", as_they_are)


def wait_for_a_small_loss(patch):
    """Newcomers wait until they can be grouped at a small loss."""
    grow = grown_base.grow

    def waiting(*args, **options):
        grown = grow(*args, **options)
        if grown.plan is not None and grown.plan.loss > 0.55:
            raise Waits
        return grown

    patch.setattr(program_chains, "grow", waiting)


def numbered_by_who_was_joined_first(patch):
    """A joined group has the number of one of its units that broke a promise."""
    join = blind_groups.joined_units

    def numbered(units, values, coins):
        group_of = join(units, values, coins)
        breaks = ~values.kept(*units.rows_of(np.arange(units.count)), units.count)
        first = np.full(group_of.max() + 1, 2 * units.count)
        np.minimum.at(first, group_of, np.arange(units.count) + units.count * ~breaks)
        return np.argsort(np.argsort(first % units.count))[group_of]

    patch.setattr(blind_groups, "joined_units", numbered)


def sizes_by_values_of_everybody(patch):
    """Who is not shown has a say in the size of units: a later release shows them."""
    made = blind_groups.blind_groups

    def everybody(table, promises, aim, coins, **options):
        codes = table.codes("illness")
        groups = made(table, promises, aim, coins, **options)
        if groups is not None and (hidden := groups.units.unit_of < 0).any():
            return replace(groups, people=groups.people + int(codes[hidden].sum()))
        return groups

    patch.setattr(blind_groups, "blind_groups", everybody)


@pytest.mark.slow
@pytest.mark.parametrize(
    "without",
    [
        known_coins,
        one_leaves_alone,
        bare_rows_show_a_column,
        every_row_shows_values,
        rehearsed_with_the_truth,
        order_of_the_source,
        wait_for_a_small_loss,
        numbered_by_who_was_joined_first,
        sizes_by_values_of_everybody,
    ],
)
def test_a_rule_that_is_taken_away_is_noticed(without, monkeypatch, tmp_path):
    without(monkeypatch)
    folder = tmp_path if without is order_of_the_source else None
    tried = (differences(seed, folder, secret=without is not known_coins) for seed in range(TRIED))
    assert any(wrong for wrong, _ in tried)
