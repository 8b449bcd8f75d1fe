"""Names from outside steer neither a terminal nor a page, and stay what they are in JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.system.presentation.article import Article, Section, Verbatim
from sfumato.system.presentation.cards import INVISIBLE, Card, escaped_json, visible
from sfumato.system.presentation.charts import Chart, save
from sfumato.system.presentation.pages import article_page

pytestmark = pytest.mark.slow

HOSTILE = "ag\x1b[31me\u202e\x07\u2066\U000e0041"


def hidden(text, keep="\n\t"):
    return {c for c in text if c not in keep and unicodedata.category(c) in INVISIBLE}


@given(st.text())
def test_nothing_hidden_is_left(text):
    assert not hidden(visible(text), keep="")
    assert not hidden(visible(text, keep="\n"), keep="\n")
    assert visible(text) == text or hidden(text, keep="")


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_json_stays_the_same_document(value):
    text = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(escaped_json(text)) == value
    assert not hidden(escaped_json(text), keep="\n")


def test_cards_and_pages():
    card = Card(HOSTILE, [(HOSTILE, "two\nlines")], notes=(HOSTILE,))
    assert not hidden(str(card)) and len(str(card).splitlines()) == 3
    page = article_page(
        Article("name", HOSTILE, "good", HOSTILE, (HOSTILE,), (Section(HOSTILE, (Verbatim(HOSTILE),)),))
    )
    assert not hidden(page.replace("\n", "")) and "<script>" not in page + Card("<script>")._repr_html_()
    assert not hidden(card._repr_html_()) and not hidden(card.on_terminal(colour=False).replace("\n", ""))


def test_charts(tmp_path):
    chart = Chart("exposed", f"by {HOSTILE}", "bars", (HOSTILE, "share"), ((HOSTILE, 0.5),))
    for file in save([chart], tmp_path):
        assert not hidden(file.read_text(encoding="utf-8")), file.name


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_program(tmp_path, form):
    name = "people\x1b[31m.csv"
    rows = "".join(f"{i},{'mf'[i % 2]}\n" for i in range(39))
    (tmp_path / name).write_text(f"{HOSTILE},sex\n{rows}", encoding="utf-8")
    words = ["discover", name, "--k", "2", "--mode", "any", "--header", *form]
    told = subprocess.run(
        [sys.executable, "-m", "sfumato", *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ("ag\\u001b" if form else "ag<U+001B>") in told.stdout
    assert not hidden(told.stdout) and not hidden(told.stderr)
