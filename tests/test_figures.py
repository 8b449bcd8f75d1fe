"""Figures on pages: those that take seconds are made again, the others say when they were measured."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from experiments import quasi_identifiers

import sfumato as sf

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "decisions" not in page.parts]
SHOWN = ("born", "zip", "job", "income", "disease")
"""The columns of the README's table of six people, before and after."""
MEASURED = re.compile(r"\b(?:CPU|processor time)\b")
DATED = re.compile(r"\b(?:\d{1,2} November 20\d\d|20\d\d-\d\d-\d\d)\b")
BLOCK = re.compile(r"^ *```.*?^ *```$|<!-- made by guide.*?<!-- end -->", re.MULTILINE | re.DOTALL)
MOST_LINES = 70
"""A version of the changelog: what a user reads on one page."""


LIMITS = [
    ("how-to/scale.md", "{:,} entries, ", "policy.yaml.MOST_NODES"),
    ("how-to/scale.md", "entries, {} levels deep", "policy.yaml.MOST_DEPTH"),
    ("how-to/scale.md", "levels deep, {} aliases", "policy.yaml.MOST_ALIASES"),
    ("how-to/scale.md", "| {:,} characters, 20 problems", "system.errors.LONGEST_MESSAGE"),
    ("how-to/declare.md", "of the first {:,} rows", "table.survey.FIRST_ROWS"),
    (
        "explanation/searches.md",
        "of which it walks through {:,} at most",
        "search.contract.MOST_LEVEL_VECTORS",
    ),
    ("explanation/searches.md", "from 1 to {}", "policy.compatibility.MOST_PRICE"),
    (
        "decisions/0022-the-best-search-by-default.md",
        "are asked, the nearest first, {} at most",
        "search.best.MOST_RUNGS",
    ),
    (
        "decisions/0043-work-beside-the-server.md",
        "more than {:,} combinations",
        "search.counted_lattice.MOST_NODES",
    ),
]
"""Limits that a page states: where, in which words, and the constant."""
IN_WORDS = [
    (
        "how-to/scale.md",
        "a hierarchy, knowledge, a prior, a reference distribution | 64 MiB",
        "policy.taxonomies.files.MOST_FILE_BYTES",
        2**26,
    ),
    ("how-to/scale.md", "a policy | 1 MiB", "policy.yaml.MOST_FILE_BYTES", 2**20),
    ("how-to/scale.md", "a cell of a CSV file | 1 MiB", "table.reading.csv.LONGEST_CELL", 2**20),
    (
        "explanation/continuous.md",
        "only sixteen further steps are decided",
        "search.top_down.MOST_EXACT_ANSWERS",
        16,
    ),
    ("explanation/searches.md", "beyond five million combinations", "search.lattice.MOST_NODES", 5_000_000),
    ("limitations.md", "are more than 67 million", "search.class_term_removal.MOST_ROW_PAIRS", 2**26),
    ("limitations.md", "judged together, up to four", "models.quasi_sensitive.promise.MOST_TABLES", 4),
]
"""The same where a page says a number in words or rounded: the value that the words stand for."""


def words_of(page: str) -> str:
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def constant(place: str) -> int:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"sfumato.{module}"), name)


@pytest.mark.parametrize(("page", "words", "place"), LIMITS, ids=lambda part: part)
def test_a_limit_on_a_page_is_that_of_the_program(page, words, place):
    assert words.format(constant(place)) in words_of(page)


@pytest.mark.parametrize(("page", "words", "place", "value"), IN_WORDS, ids=str)
def test_a_limit_in_words_is_that_of_the_program(page, words, place, value):
    assert words in words_of(page)
    assert constant(place) == value


def test_the_page_on_scale_has_the_curve_that_calls_are_held_to():
    curve = json.loads((ROOT / "benchmarks/curve.json").read_text(encoding="utf-8")).values()
    first, *between, last = (f"{point['cpu']:.1f}" for point in curve)
    *peaks, highest = (f"{point['peak']:,.0f}" for point in curve)
    told = f"{first} CPU s, {', '.join(between)} and {last}, start included, "
    told += f"with {', '.join(peaks)} and {highest} MB"
    assert told in words_of("how-to/scale.md")


def test_planted_covers_are_found_as_the_page_of_reproductions_says():
    """The one experiment that takes seconds and no data."""
    rows = list(quasi_identifiers.planted_covers())
    words = words_of("explanation/reproductions.md")
    best = sorted(row["50 orders"] for row in rows)
    assert f"the best ends with {best[0]} to {best[-1]} columns" in words
    assert {row["greedy"] for row in rows} == {8} and "Greedy cover finds the 8 in" in words
    assert f"proves that at least {min(row['at least'] for row in rows)} are needed" in words
    assert f"more than {max(row['factor'] for row in rows)} times the fewest" in words


def table_of_people() -> list[list[str]]:
    """The rows of the README's table: a name, what is known, and what is published."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("| name | born |"))
    return [
        [cell.strip().replace("\\*", "*") for cell in line.strip("|").split("|")]
        for line in lines[head + 2 : head + 8]
    ]


@pytest.mark.slow
def test_the_six_people_of_the_readme_are_the_demos():
    people = sf.demo.hospital(20_000).to_pandas()
    plan = sf.protect(people, sf.demo.policy())
    safe = plan.apply(people, keep_index=True)
    for number, row in enumerate(table_of_people()):
        known, published = people.loc[number], safe.loc[number]
        assert row[:6] == [known["name"], *(str(known[column]) for column in SHOWN)]
        assert row[6] == "" and row[7:] == [str(published[column]) for column in SHOWN]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_measured_times_say_when_they_were_measured(page):
    """A figure of speed cannot be held by a test; a reader has to know how old it is."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    if MEASURED.search(text) and re.search(r"\d (?:s|ms|MB|GB)\b|\| CPU s \|", text):
        assert DATED.search(text), "name the date and the commit of what was measured"


@pytest.mark.parametrize("page", sorted((DOCS / "decisions").glob("*.md")), ids=lambda page: page.stem[:4])
def test_a_decision_begins_with_what_was_decided_and_the_runner_up(page):
    title, *lines = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"# {int(page.name[:4])}. ")
    first = "\n".join(lines[:8])
    assert "**Decided.**" in first
    assert re.search(r"\*\*Runners?-up\.\*\*|\*\*Runners-up\*\*", first)


def test_a_version_of_the_changelog_is_one_page():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [version.splitlines()[0] for version in versions if len(version.splitlines()) > MOST_LINES] == []
    assert text.count("### Speed") <= len(versions)
