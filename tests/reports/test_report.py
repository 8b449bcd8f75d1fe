"""The report for a data protection officer: from whatever there is, for the owner."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import stat
import sys
from datetime import UTC, datetime

import pytest

import sfumato as sf
from reports.conftest import CANARY, POLICY
from sfumato.cli.main import run
from sfumato.policy.policy import Policy
from sfumato.reports.report import Criterion, criterion_of
from sfumato.system.errors import BadData, UsageError

pytestmark = pytest.mark.slow

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def text_of(html):
    """The words of a page, without its style and elements."""
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", bare))


@pytest.fixture(scope="module")
def internal(clinic):
    return sf.report(clinic.folder, clinic.policy, original=clinic.people, made=NOON)


def test_the_verdict_comes_first(internal):
    words = text_of(internal.html)
    assert "Every promise holds" in words[:400]
    assert words.index("Every promise holds") < words.index("k-anonymity, k = 3")
    order = ["Context:", "Data:", "Identifiability:", "Governance:"]
    assert [words.index(section) for section in order] == sorted(words.index(section) for section in order)


def test_it_says_what_an_officer_asks_for(internal, clinic):
    words, policy = text_of(internal.html), Policy.load(clinic.policy)
    for promise in policy.promises:
        assert promise.in_words().replace("'", "&#x27;") in words
        assert promise.silent_on in words
    assert policy.digest in words
    assert clinic.receipt.record.hash in words
    assert "2026-11-16 12:00 UTC" in words and internal.fingerprint in words
    assert "1,237" in words and "1,200" in words, "rows before and after"
    assert "linkage, prosecutor" in words and "On the original" in words
    assert "Data protection officer: name, date, signature" in words
    assert "age: tenths of the original" in words, "charts of what was lost"
    assert "no legal opinion" in words


def test_examples_come_from_the_taxonomy_and_never_from_a_row(internal):
    words = text_of(internal.html)
    assert "12345 → 12*** → 1**** → *" in words
    assert "Nurse → Care → *" in words, "the first value of the policy's hierarchy"
    assert f"{CANARY}-1" not in words and f"{CANARY} fever" not in words


def test_it_is_one_page_that_loads_nothing(internal):
    html = internal.html
    assert "<script" not in html and "src=" not in html and "@import" not in html and "url(" not in html
    assert not re.search(r"https?://", html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in html
    assert "style=" not in html.replace(style, ""), "the content policy would drop such styles"


def test_the_same_from_a_file_a_folder_a_certificate_and_a_receipt(clinic):
    pages = [
        sf.report(of, clinic.policy, made=NOON)
        for of in (
            clinic.folder,
            clinic.folder / "certificate.json",
            clinic.receipt,
            str(clinic.folder / "data.csv"),
        )
    ]
    assert len({page.html for page in pages}) == 1
    alone = text_of(sf.report(clinic.safe, clinic.policy, made=NOON).html)
    assert "Every promise holds" in alone and "Hash of the entry" not in alone


def test_a_plan(clinic):
    words = text_of(sf.report(clinic.plan, original=clinic.people).html)
    assert "1,237" in words and "linkage, prosecutor" in words
    bare = text_of(sf.report(clinic.plan).html)
    assert "no attack was tried on it" in bare and "was not handed in" in bare


def test_a_plan_as_json(clinic, tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(clinic.plan.as_dict()), encoding="utf-8")
    words = text_of(sf.report(file, clinic.policy).html)
    assert "Every promise holds" in words and "Rows left out 37" in words
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(BadData, match="no plan"):
        sf.report(file, clinic.policy)


@pytest.mark.parametrize("by_name", [True, False])
def test_an_entry_of_the_ledger(clinic, by_name):
    record = clinic.receipt.record
    of = record.release if by_name else record.number
    words = text_of(sf.report(of, ledger=clinic.ledger).html)
    assert "Report on release 1 of chain main" in words and record.hash in words
    assert "Every promise holds" in words and "k-anonymity, k = 3" in words
    with pytest.raises(BadData, match="no such release"):
        sf.report("99", ledger=clinic.ledger)


def test_what_cannot_be_reported_on_is_refused(clinic, tmp_path):
    with pytest.raises(UsageError, match="policy"):
        sf.report(clinic.safe)
    with pytest.raises(BadData, match="no such file"):
        sf.report(tmp_path / "nowhere", clinic.policy)
    with pytest.raises(UsageError, match="number is that"):
        sf.report(3)
    with pytest.raises(BadData, match="another policy"):
        sf.report(clinic.folder, {**POLICY, "promises": [{"k-anonymity": {"k": 2}}]})
    with pytest.raises(BadData, match="another policy"):
        sf.report("2", {**POLICY, "missing": "refuse"}, ledger=clinic.ledger)
    with pytest.raises(UsageError, match="internal or public"):
        sf.report(clinic.safe, clinic.policy, audience="secret")
    with pytest.raises(UsageError, match="iso27559 or wp29"):
        sf.report(clinic.safe, clinic.policy, criteria="mine")
    with pytest.raises(UsageError, match="original is compared"):
        sf.report("2", ledger=clinic.ledger, original=clinic.people)


def test_a_folder_that_was_changed_is_not_reported_on(clinic, tmp_path):
    import shutil

    shutil.copytree(clinic.folder, tmp_path / "copy")
    (tmp_path / "copy" / "dictionary.html").write_text("other", encoding="utf-8")
    with pytest.raises(BadData, match="another size"):
        sf.report(tmp_path / "copy", clinic.policy)


def test_the_folder_of_an_event_names_its_versions(clinic, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadData, match="2 versions") as error:
        sf.report(tmp_path, clinic.policy)
    assert "/one" in error.value.remedy


def test_a_broken_promise_is_said_first(clinic):
    report = sf.report(clinic.safe, {**POLICY, "promises": [{"k-anonymity": {"k": 900}}]})
    words = text_of(report.html)
    assert "A promise is broken" in words[:400]
    assert 'class="banner bad"' in report.html and "✘" in report.html


def test_the_three_criteria(clinic):
    words = text_of(sf.report(clinic.safe, clinic.policy, criteria="wp29").html)
    order = [words.index(title) for title in ("Singling out:", "Linkability:", "Inference:")]
    assert order == sorted(order)
    assert criterion_of("linkage") is Criterion.SINGLING_OUT
    assert criterion_of("an attack of another package") is Criterion.INFERENCE


def test_every_known_attack_has_its_criterion():
    from sfumato.models.attack_contract import built_in

    inferring = {"homogeneity", "skewness", "gain", "freeform", "quasi-sensitive", "minimality"}
    assert {name for name in built_in() if criterion_of(name) is Criterion.INFERENCE} == inferring


def test_files_of_the_owner_are_for_the_owner(internal, tmp_path):
    html, pdf = internal.save(tmp_path / "report")
    assert (html.name, pdf.name) == ("report.html", "report.pdf")
    assert stat.S_IMODE(html.stat().st_mode) == stat.S_IMODE(pdf.stat().st_mode) == 0o600
    assert html.read_text(encoding="utf-8") == internal.html
    assert pdf.read_bytes().startswith(b"%PDF-")
    with pytest.raises(UsageError, match="exists already"):
        internal.save(tmp_path / "report.html")
    assert internal.save(tmp_path / "report.html", overwrite=True) == (html,)
    with pytest.raises(UsageError, match="does not exist"):
        internal.save(tmp_path / "no" / "report")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(UsageError, match="folder"):
        internal.save(tmp_path / "folder.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.html", "report.html", "report.pdf"]


def test_in_a_notebook(internal):
    frame = internal._repr_html_()
    assert frame.startswith("<iframe sandbox srcdoc=") and "<html" not in frame
    assert repr(internal) == f"Report(internal, {internal.fingerprint[:16]})"


@pytest.mark.parametrize("lacking", ["package", "library"])
def test_without_a_pdf_maker(clinic, tmp_path, monkeypatch, capsys, lacking):
    """The HTML is written, and it is said what is missing; a PDF that was asked for by name is an error."""
    if lacking == "package":
        monkeypatch.setitem(sys.modules, "weasyprint", None)
    else:
        monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
        monkeypatch.setattr(sys, "meta_path", [NoPango(), *sys.meta_path])
    call = ["report", str(clinic.safe), "-p", str(clinic.policy), "-o", str(tmp_path / "report")]
    assert run(call) == 0
    told = capsys.readouterr()
    assert told.out.strip().endswith("report.html")
    assert "no PDF was written" in told.err
    assert ("sfumato[report]" if lacking == "package" else "libpango") in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert run([*call[:-1], str(tmp_path / "report.pdf")]) == 2
    assert not (tmp_path / "report.pdf").exists()


class NoPango:
    """An import system in which WeasyPrint is installed, and Pango is not."""

    def find_spec(self, name, path=None, target=None):
        del path, target
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")


def test_the_program_writes_both(clinic, tmp_path, capsys):
    call = ["report", str(clinic.folder), "-p", str(clinic.policy), "-o", str(tmp_path / "r"), "--public"]
    assert run(call) == 0
    assert [line.rsplit("/", 1)[-1] for line in capsys.readouterr().out.split()] == ["r.html", "r.pdf"]
    assert run(call) == 2
    assert run(["report", "2", "--ledger", clinic.ledger, "-o", str(tmp_path / "e.html")]) == 0
