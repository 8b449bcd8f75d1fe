"""The public report: every text and number of it is published, whatever its maker does."""

from __future__ import annotations

import json
import re

import polars as pl
import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from reports.conftest import CANARY, POLICY, SOURCE_ROWS, SUPPRESSED
from reports.test_report import NOON, text_of
from sfumato.policy.policy import Policy
from sfumato.reports import public
from sfumato.reports.public import check_public, public_article
from sfumato.system.errors import BadData, BrokenPromise, Infeasible, UsageError
from sfumato.system.presentation.article import Cell, Listing, Section
from sfumato.system.progress import silent
from sfumato.workflows.protect_file import protect_file
from sfumato.workflows.report import published_evidence

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(clinic):
    return sf.report(clinic.folder, clinic.policy, audience="public", made=NOON)


@pytest.fixture(scope="module")
def evidence(clinic):
    return published_evidence(clinic.folder / "data.csv", Policy.load(clinic.policy), progress=silent)


WORD = re.compile(r"[\w.,%/:-]+")
"""A time of day is one word: its minutes are no number of rows."""


def secrets():
    """What nobody may learn in public, in every form in which it could be written."""
    yield CANARY
    for number in (SOURCE_ROWS, SUPPRESSED):
        yield from {str(number), f"{number:,}"}
    yield from ("9000", "9036", "80", "116")


def inside(pdf):
    """Everything a PDF holds: its bytes, its streams without compression, its texts, and its metadata."""
    reader = pypdf.PdfReader(pdf)
    things = [reader.get_object(number) for some in reader.xref.values() for number in some]
    things += [reader.get_object(number) for number in reader.xref_objStm]
    streams = [thing.get_data().decode("latin-1") for thing in things if hasattr(thing, "get_data")]
    assert streams
    texts = [page.extract_text() for page in reader.pages]
    said = [str(reader.metadata), str(reader.xmp_metadata)]
    return "\n".join([pdf.read_bytes().decode("latin-1"), *streams, *texts, *said])


def test_nothing_that_is_not_published_is_in_it(report, clinic, tmp_path):
    html, pdf = report.save(tmp_path / "public")
    shown = (clinic.folder / "data.csv").read_text(encoding="utf-8")
    assert CANARY not in shown
    assert CANARY not in report.html and CANARY not in html.read_text(encoding="utf-8")
    whole = inside(pdf)
    assert CANARY not in whole
    words = WORD.findall(text_of(report.html))
    spoken = WORD.findall("\n".join(page.extract_text() for page in pypdf.PdfReader(pdf).pages))
    for secret in secrets():
        assert secret not in words, "in the page"
        assert secret not in spoken, "in the PDF"


def test_the_search_would_find_it(clinic, tmp_path):
    """The internal report holds what the search above looks for: it is found there, also in the PDF."""
    made = sf.report(clinic.folder, clinic.policy, original=clinic.people)
    _, pdf = made.save(tmp_path / "internal")
    assert CANARY in made.html and CANARY in inside(pdf)
    assert "1,237" in text_of(made.html)


def test_the_original_makes_no_difference(report, clinic):
    with_it = sf.report(clinic.folder, clinic.policy, original=clinic.people, audience="public", made=NOON)
    assert with_it == report


def test_it_tells_what_is_published(report, clinic):
    words = text_of(report.html)
    assert "Every promise holds" in words[:300]
    assert "1,200" in words and clinic.receipt.record.hash in words
    assert "k-anonymity, k = 3" in words and "linkage, prosecutor" in words
    assert "Examples stand in the published table" in words


SMUGGLED = [
    ("a text of a cell", '<span class="v">1,200</span>', f'<span class="v">{CANARY}</span>'),
    ("a number of rows", '<span class="v">1,200</span>', '<span class="v">1,237</span>'),
    ("words", "Every promise holds", f"Every promise holds for {CANARY}"),
    ("a number among words", "Every promise holds", "Every promise holds, 37 rows left out"),
    ("a number between elements", "<section>", "<section>37"),
    ("a bar", 'class="fill w', 'class="fill w1 w'),
    ("an attribute", "<section>", f'<section data-x="{CANARY}">'),
    ("a heading", 'data-head="Promise"', f'data-head="{CANARY}"'),
    ("a comment", "<section>", "<!--37--><section>"),
    ("a style", "<style>", "<style>.x{--y:37}"),
    ("the window", "<title>Report", "<title>37 Report"),
    ("a link", "<section>", '<section><a href="x">'),
    ("the policy of its content", "base-uri 'none'", "base-uri 37"),
]


@pytest.mark.parametrize(
    ("old", "new"), [(old, new) for _, old, new in SMUGGLED], ids=[s[0] for s in SMUGGLED]
)
def test_whatever_is_smuggled_in_is_found(report, evidence, old, new):
    asked = {"written_at": "2026-11-16 12:00 UTC", "fingerprint": report.fingerprint}
    check_public(report.html, evidence, **asked)
    assert old in report.html
    with pytest.raises(BadData, match="not published") as error:
        check_public(report.html.replace(old, new, 1), evidence, **asked)
    assert CANARY not in str(error.value) and "37" not in str(error.value)


@pytest.mark.parametrize("said", [f"{CANARY}-7", "1,237", "37", "96.9%"])
def test_a_careless_maker_is_stopped(clinic, tmp_path, monkeypatch, said):
    """Figures of the original, and shares of which these could be solved, stop the report."""
    honest = public_article

    def careless(*given, **asked):
        article = honest(*given, **asked)
        more = Section("", [Listing([""], [[Cell(said)]])])
        return type(article)(**{**vars(article), "sections": (*article.sections, more)})

    monkeypatch.setattr(public, "public_article", careless)
    with pytest.raises(BadData, match="not published"):
        sf.report(clinic.safe, clinic.policy, audience="public").save(tmp_path / "public")
    assert list(tmp_path.iterdir()) == []


def test_figures_beside_a_reference_are_not_told(clinic):
    """What was measured beside the original is no figure of the published table."""
    reference = {"flu": 4, "gout": 3, "burn": 3, f"{CANARY} fever": 1}
    closeness = {"t-closeness": {"of": "disease", "t": "4/5", "distance": "equal", "reference": reference}}
    policy = {**POLICY, "promises": [*POLICY["promises"], closeness]}
    told = sf.report(clinic.safe, policy, audience="public")
    rows = re.findall(r"<tr>(.*?)</tr>", told.html)
    (row,) = [text_of(row).split() for row in rows if "t-closeness" in row and "holds" in row]
    assert row[-2:] == ["–", "4/5"]
    assert CANARY not in told.html


def test_nothing_public_is_said_of_a_broken_promise(clinic):
    for k in (900, 2000):
        with pytest.raises(BrokenPromise, match="broken or not decided"):
            sf.report(clinic.safe, {**POLICY, "promises": [{"k-anonymity": {"k": k}}]}, audience="public")
    with pytest.raises(BrokenPromise):
        sf.report(clinic.people, clinic.policy, audience="public")


def test_a_plan_is_not_public(clinic):
    for of, more in ((clinic.plan, {}), ("2", {"ledger": clinic.ledger})):
        with pytest.raises(UsageError, match="published table"):
            sf.report(of, audience="public", **more)


@pytest.mark.parametrize("criteria", ["iso27559", "wp29"])
def test_both_orders_are_checked(clinic, criteria):
    made = sf.report(clinic.safe, clinic.policy, audience="public", criteria=criteria)
    assert ("WP216" in made.html) == (criteria == "wp29")
    assert "There is no certificate" in made.html


ROWS = st.lists(
    st.tuples(st.integers(0, 99), st.sampled_from("ab"), st.sampled_from(["x", "y", "Zebra"])),
    min_size=6,
    max_size=40,
)


@given(ROWS, st.sampled_from(["top-down", "mondrian", "local"]), st.booleans())
def test_any_published_table_can_be_reported_in_public(tmp_path_factory, rows, search, criteria):
    """The page passes its own check, and says no age, sex or count that the published table does not show."""
    home = tmp_path_factory.mktemp("any")
    policy = {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [10, 50], "from": 0, "to": 100}},
            "sex": {"role": "quasi"},
            "secret": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"suppress": 0, "search": search, **({"suppress": "20%"} if search == "top-down" else {})},
        "confirm": {"secret": True},
    }
    table = pl.DataFrame(
        [(str(age), sex, secret) for age, sex, secret in rows], ["age", "sex", "secret"], orient="row"
    )
    try:
        protect_file(table, policy, home / "safe.csv")
    except Infeasible:
        return
    made = sf.report(
        home / "safe.csv", policy, audience="public", criteria="wp29" if criteria else "iso27559"
    )
    shown = {cell for row in pl.read_csv(home / "safe.csv", infer_schema=False).rows() for cell in row}
    assert "Zebra" not in made.html, "no value of a sensitive column is listed"
    examples = re.findall(r'data-head="Example"><span class="v">(.*?)</span>', made.html)
    assert set(examples) <= {json.loads(json.dumps(text)) for text in shown}


def test_further_rows_of_people_are_told_apart(tmp_path):
    rows = 60
    table = pl.DataFrame(
        {
            "who": [f"{CANARY}{i // 2}" for i in range(rows)],
            "age": [str(20 + i // 2 % 30) for i in range(rows)],
            "ward": ["north"] * rows,
        }
    )
    policy = {
        "columns": {
            "who": {"role": "identifier"},
            "age": {"role": "quasi", "taxonomy": {"intervals": [10, 50], "from": 0, "to": 100}},
            "ward": {"role": "insensitive"},
        },
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"search": "top-down", "suppress": 0},
        "person": "who",
    }
    protect_file(table, policy, tmp_path / "safe.csv")
    made = sf.report(tmp_path / "safe.csv", policy, audience="public")
    assert "bare rows are further rows of these people" in made.html and CANARY not in made.html
    assert "not decidable" not in text_of(made.html)
