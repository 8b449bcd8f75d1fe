"""Ready taxonomies: what they hold, when a draft proposes them, and what the doctor knows of near misses."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.published_forms import example_of
from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.files import HierarchyFile
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyKind, ReadyTaxonomy
from sfumato.policy.taxonomies.texts import Prefix
from sfumato.system.errors import BadPolicy, BadTaxonomy, UsageError
from sfumato.workflows.confirm import check_policy, ready_list, ready_text

POLICY = {
    "columns": {"land": {"role": "quasi", "taxonomy": {"ready": "countries"}}},
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}
FOLDER = Path(sf.__file__).parent / "policy" / "taxonomies" / "ready"


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
class TestEntry:
    def test_says_where_it_comes_from(self, entry):
        assert entry.title and entry.source and entry.date and entry.licence
        assert bool(entry.file) == (entry.kind is not ReadyKind.RULE)

    def test_is_read_and_builds(self, entry):
        rule = rule_from({"ready": entry.name})
        assert rule.build([]) is not None
        if entry.file:
            assert len(rule.listed().leaf_labels) == len(set(rule.listed().leaf_labels)) > 8

    def test_every_near_value_is_one_of_the_list_and_no_miss_is(self, entry):
        if entry.near:
            rule = ReadyTaxonomy(entry.name)
            assert all(rule.knows(leaf) and rule.nearest(miss) == leaf for miss, leaf in entry.near.items())
            assert not any(rule.knows(miss) for miss in entry.near)


def test_every_file_is_in_the_catalogue():
    assert {path.name for path in FOLDER.glob("*.csv")} == {e.file for e in CATALOGUE.values() if e.file}


def test_no_list_of_the_who_is_shipped():
    assert all("WHO" not in path.name for path in FOLDER.iterdir())
    assert CATALOGUE["atc"].kind is ReadyKind.RULE and not CATALOGUE["atc"].file
    assert "not ICD-10 of the World Health Organization" in CATALOGUE["icd-10-cm"].source


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("countries", [249, 23, 6, 1]),
        ("us-states", [51, 9, 4, 1]),
        ("isced", [9, 3, 1]),
        ("naics-sectors", [96, 96, 20, 1]),
        ("icd-10-cm", [1918, 1918, 285, 22, 1]),
    ],
)
def test_as_many_groups_as_the_classification_has(name, sizes):
    tree = ReadyTaxonomy(name).listed()
    assert [len(set(level.tolist())) for level in tree.levels] == sizes


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("countries", "NLD", ["Netherlands", "Western Europe", "Europe", "*"]),
        ("countries", "Turkey", ["Türkiye", "Western Asia", "Asia", "*"]),
        ("countries", "NA", ["Namibia", "Southern Africa", "Africa", "*"]),
        ("countries", "Mexico", ["Mexico", "Central America", "Americas", "*"]),
        ("us-states", "DC", ["District of Columbia", "South Atlantic", "South", "*"]),
        ("isced", "ISCED 4", ["4", "ISCED 3-4", "*"]),
        ("naics-sectors", "324110", ["324110", "324-", "31-33 Manufacturing", "*"]),
        (
            "icd-10-cm",
            "C7A.00",
            ["C7A.00", "C7A.-", "Malignant neuroendocrine tumors (C7A)", "Neoplasms (C00-D49)", "*"],
        ),
    ],
)
def test_what_a_value_becomes(name, value, path):
    tree = ReadyTaxonomy(name).build([value])
    assert [tree.labels[node] for node in tree.levels[:, tree.rank(value)]] == path


STATES = {
    "New England": "CT MA ME NH RI VT",
    "Middle Atlantic": "NJ NY PA",
    "East North Central": "IL IN MI OH WI",
    "West North Central": "IA KS MN MO ND NE SD",
    "South Atlantic": "DC DE FL GA MD NC SC VA WV",
    "East South Central": "AL KY MS TN",
    "West South Central": "AR LA OK TX",
    "Mountain": "AZ CO ID MT NM NV UT WY",
    "Pacific": "AK CA HI OR WA",
}
SUBSECTORS = {
    "11": 5, "21": 3, "22": 1, "23": 3, "31-33": 21, "42": 3, "44-45": 9, "48-49": 11, "51": 6, "52": 5,
    "53": 3, "54": 1, "55": 1, "56": 2, "61": 1, "62": 4, "71": 3, "72": 2, "81": 4, "92": 8,
}  # fmt: skip
COUNTRIES = {
    "Eastern Africa": 22, "Middle Africa": 9, "Northern Africa": 7, "Southern Africa": 5,
    "Western Africa": 17,
    "Caribbean": 28, "Central America": 8, "Northern America": 5, "South America": 16,
    "Central Asia": 5, "Eastern Asia": 8, "South-eastern Asia": 11, "Southern Asia": 9, "Western Asia": 18,
    "Eastern Europe": 10, "Northern Europe": 16, "Southern Europe": 16, "Western Europe": 9,
    "Australia and New Zealand": 6, "Melanesia": 5, "Micronesia": 8, "Polynesia": 10,
}  # fmt: skip


def lines_of(name):
    return [line.split(";") for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def test_lists_hold_what_their_sources_count():
    """Counted by hand, group by group; Taiwan is one of eight in Eastern Asia, Antarctica is in no group."""
    held = {}
    for value, division, _ in lines_of("us_states.csv"):
        held.setdefault(division, []).append(value.split("|")[1])
    assert {division: " ".join(sorted(codes)) for division, codes in held.items()} == STATES
    sectors = {sector.split()[0]: codes.split() for codes, sector in lines_of("naics_sectors.csv")}
    assert {sector: len(codes) for sector, codes in sectors.items()} == SUBSECTORS
    assert all(code[0] == sector[0] for sector, some in sectors.items() for code in some)
    regions = [line[1] for line in lines_of("countries.csv") if len(line) == 3]
    assert {region: regions.count(region) for region in regions} == COUNTRIES
    codes = [line[0].split("|")[1:3] for line in lines_of("countries.csv")]
    assert all(len(two) == 2 and len(three) == 3 and (two + three).isupper() for two, three in codes)
    assert len({x for pair in codes for x in pair}) == 2 * 249


def test_a_taxonomy_that_stands_for_another_is_that_one():
    assert isinstance(rule_from({"ready": "ages"}), Intervals)
    assert isinstance(rule_from({"ready": "dates"}), Dates)
    assert rule_from({"ready": "atc"}) == Prefix((5, 4, 3, 1))
    assert rule_from({"ready": "nuts"}).build(["DE212"]).labels[-1] == "DE212"


@pytest.mark.parametrize("name", ["isco-08", "atc", "nuts"])
def test_an_example_of_codes_without_a_list_is_such_a_code(name):
    entry = CATALOGUE[name]
    assert re.fullmatch(entry.shape, entry.example)
    code, *coarser, root = example_of(rule_from({"ready": name}), entry.example)
    assert (code, root) == (entry.example, "*")
    assert all(len(text) == len(code) for text in coarser)


def test_a_name_that_there_is_not():
    with pytest.raises(BadPolicy) as refused:
        rule_from({"ready": "contries"})
    assert "countries" in refused.value.remedy


def test_a_policy_keeps_the_name():
    policy = sf.Policy.from_dict(POLICY)
    assert policy.to_dict()["columns"]["land"]["taxonomy"] == {"ready": "countries"}
    assert "{ready: countries}" in policy.to_yaml()


def test_an_unknown_value_is_refused_without_a_word_about_it():
    with pytest.raises(BadTaxonomy) as refused:
        ReadyTaxonomy("countries").build(["Holland", "Chad"])
    assert "Holland" not in str(refused.value) and refused.value.values == ("Holland",)


LANDS = ["Germany", "France", "Netherlands", "Chad"]


def drafted(header, values):
    people = pl.DataFrame({header: [values[i % len(values)] for i in range(200)], "n": ["a", "b"] * 100})
    return sf.declare(people).columns[header].taxonomy


class TestDrafts:
    @pytest.mark.parametrize(
        ("header", "values", "name"),
        [
            ("x", LANDS, "countries"),
            ("country", ["DE", "FR", "NL", "TD"], "countries"),
            ("state", ["CA", "IN", "DE", "GA"], "us-states"),
            ("country", ["CA", "IN", "DE", "GA"], "countries"),
            ("education isced", [str(i) for i in range(9)], "isced"),
            ("naics", ["622110", "3111", "541511", "722511"], "naics-sectors"),
        ],
    )
    def test_proposed_where_the_values_fit(self, header, values, name):
        assert drafted(header, values) == ReadyTaxonomy(name)

    @pytest.mark.parametrize(
        ("header", "values"),
        [
            ("x", ["CA", "IN", "DE", "GA"]),  # states, countries or anything else
            ("rooms", ["1", "2", "3", "4", "5"]),
            ("educ", ["1", "2", "3", "4", "5", "6", "7"]),  # whose codes they are is not known
            ("country", [*LANDS, "Atlantis"]),  # would be refused
            ("country", LANDS[:2]),
        ],
    )
    def test_not_proposed_where_they_do_not(self, header, values):
        assert not isinstance(drafted(header, values), ReadyTaxonomy)

    def test_truncated_codes_are_proposed_by_header(self):
        assert drafted("nuts3", ["DE212", "DE213", "FR101", "FRK21"]) == Prefix((4, 3, 2))


class TestDoctor:
    @pytest.fixture
    def found(self):
        people = pl.DataFrame({"land": ["Holland", "germany", "Atlantis", *LANDS] * 3})
        [lacking] = [d for d in check_policy(POLICY, people) if d.name == "lacking"]
        return lacking

    def test_knows_near_misses(self, found):
        assert set(found.repair) == {"Holland: write Netherlands", "germany: write Germany"}
        assert found.count == 3 and "2 have near ones" in found.remedy

    def test_tells_no_value_unasked(self, found):
        assert not any(word in str(found) + repr(found) for word in ("Holland", "germany", "Atlantis"))


def test_a_list_can_be_printed_changed_and_named_as_a_file():
    text = ready_text("countries")
    tree = HierarchyFile("countries.csv", text.encode()).build(["Netherlands"])
    assert tree.labels == ReadyTaxonomy("countries").listed().labels
    with pytest.raises(UsageError, match="stands for other words"):
        ready_text("ages")
    with pytest.raises(UsageError, match="no ready taxonomy"):
        ready_text("galaxies")
    assert [entry["name"] for entry in ready_list()] == list(CATALOGUE)
