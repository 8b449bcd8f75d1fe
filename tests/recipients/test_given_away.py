"""What the rest of a row gives away is no difference of versions: town follows zip, by a public list."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.inputs import count_table
from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.capacity import identifying_rows
from sfumato.recipients.marks import follows_of
from sfumato.recipients.patterns import classify
from sfumato.recipients.versions import AvailableVersions, ColumnClues
from sfumato.search.contract import Aim
from sfumato.search.suppression import recoded
from sfumato.table.source import open_source

ROWS = 900
FOLLOWS = {"town": ("zip",)}
TOWNS = {"red": ["north", "*"], "blue": ["north", "*"], "green": ["south", "*"], "grey": ["south", "*"]}
WORDS = {
    "columns": {
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "town": {"role": "quasi", "taxonomy": {"rows": [[town, *above] for town, above in TOWNS.items()]}},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 80}},
        "day": {"role": "quasi", "taxonomy": {"intervals": [7, 14], "from": 0, "to": 28}},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def people():
    """Six postal codes a town, and the first digit of one says which town."""
    rng = np.random.default_rng(7)
    place = rng.integers(0, 4, ROWS)
    return pl.DataFrame(
        {
            "zip": [
                f"{n + 1}{end // 2}{end % 2}" for n, end in zip(place, rng.integers(0, 6, ROWS), strict=True)
            ],
            "town": [list(TOWNS)[i] for i in place],
            "age": [str(age) for age in rng.integers(20, 60, ROWS)],
            "day": [str(day) for day in rng.integers(0, 28, ROWS)],
        }
    )


@pytest.fixture(scope="module")
def table():
    return count_table(open_source(people()), sf.Policy.from_dict(WORDS))


@pytest.fixture(scope="module")
def patterns(table):
    promised = Promises((make("k-anonymity", {"k": 2}),))
    return classify(table, promised, Aim(suppress=Fraction(0)))


def known_level_of_town(zip_level, town_level):
    """By the list of postal codes: with any digit of the zip everybody knows the town."""
    return 0 if zip_level < 3 else town_level


def builds(coalition, target):
    """Whether recipients of these levels of zip, town, age and day can show all that the target shows."""
    known = [(zip, known_level_of_town(zip, town), *others) for zip, town, *others in coalition]
    return all(min(levels) <= wanted for levels, wanted in zip(zip(*known, strict=True), target, strict=True))


def versions(patterns, *, frame_proof=1, follows=FOLLOWS):
    rule = RecipientRule(tolerance=Fraction(3), frame_proof=frame_proof)
    return AvailableVersions(patterns, rule, "loss", follows=follows)


def test_the_town_that_follows_is_found_in_the_rows(table):
    assert follows_of(sf.Policy.from_dict(WORDS), table) == FOLLOWS
    declared = sf.Policy.from_dict({**WORDS, "follows": {"age": "town"}})
    assert follows_of(declared, table) == {"age": ("town",), **FOLLOWS}


@pytest.mark.parametrize("frame_proof", [1, 2])
def test_nobody_builds_the_version_of_another_from_the_list(patterns, frame_proof):
    family = versions(patterns, frame_proof=frame_proof).family().tolist()
    levels = [patterns.levels(index) for index in family]
    assert len(levels) > frame_proof
    for target in levels:
        others = [other for other in levels if other != target]
        for size in range(1, frame_proof + 1):
            assert not any(builds(some, target) for some in combinations(others, size))


@pytest.mark.parametrize("frame_proof", [1, 2])
def test_without_a_word_of_the_list_somebody_could(patterns, frame_proof):
    """The same policy as if columns were independent: its versions can be built by others."""
    family = versions(patterns, frame_proof=frame_proof, follows={}).family().tolist()
    levels = [patterns.levels(index) for index in family]
    pairs = [
        (some, target)
        for target in levels
        for some in combinations([other for other in levels if other != target], frame_proof)
    ]
    assert any(builds(some, target) for some, target in pairs)


def test_versions_handed_out_before_give_away_as_much(patterns):
    """A version that shows the zip and no town leaves no room for one that differs by the town alone."""
    rule, shape = RecipientRule(tolerance=Fraction(3)), versions(patterns)
    shown = shape.shown
    one, other = (patterns.cuts(patterns.index(levels)) for levels in ((1, 2, 1, 1), (2, 0, 1, 1)))
    assert shown.builds([one], other) and not shown.builds([other], one)
    plain = AvailableVersions(patterns, rule, "loss").shown
    assert not plain.builds([one], other)


def test_a_date_of_birth_gives_the_age_away():
    rng = np.random.default_rng(8)
    year, month = rng.integers(1940, 2000, ROWS), rng.integers(1, 13, ROWS)
    rows = pl.DataFrame(
        {
            "born": [
                f"{y}-{m:02d}-{d:02d}" for y, m, d in zip(year, month, rng.integers(1, 28, ROWS), strict=True)
            ],
            "age": [str(2025 - y - (m > 6)) for y, m in zip(year, month, strict=True)],
        }
    )
    columns = {
        "born": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}},
        "age": {"role": "quasi", "taxonomy": {"intervals": [5, 20], "from": 0, "to": 100}},
    }
    policy = sf.Policy.from_dict({**WORDS, "columns": columns})
    table = count_table(open_source(rows), policy)
    clues = ColumnClues(table, follows_of(policy, table))
    assert [clues.level_told("age", "born", level) for level in range(4)] == [0, 0, 1, 3]


def test_rows_that_differ_by_the_town_alone_identify_nobody(table, patterns):
    one, other = (patterns.cuts(patterns.index(levels)) for levels in ((2, 0, 1, 1), (1, 2, 1, 1)))
    version = recoded(table, one, Promises(()))
    assert identifying_rows("first", version, [other]).by_size == {1: 1}
    assert identifying_rows("first", version, [other], FOLLOWS).by_size == {1: None}


@pytest.mark.slow
def test_a_release_takes_the_list_into_account(tmp_path):
    words = {**WORDS, "recipients": {"by": "patterns", "tolerance": "300%", "quality": "loss"}}
    event = sf.release(
        people(), words, ledger=f"sqlite:///{tmp_path}/ledger.db", into=tmp_path / "out", to=["a", "b", "c"]
    )
    table = count_table(open_source(people()), sf.Policy.from_dict(words))
    levels = []
    for receipt in event.receipts:
        sizes = {
            column.name: [len(set(level)) for level in column.taxonomy.levels.tolist()]
            for column in table.keys
        }
        levels.append(
            tuple(sizes[name].index(len(receipt.record.cuts[name])) for name in ("zip", "town", "age", "day"))
        )
    assert len(set(levels)) == 3
    for target in levels:
        assert not any(builds([other], target) for other in levels if other != target)
