"""The words of the five papers, looked up by whoever has one of them in hand."""

import pytest
from typer.testing import CliRunner

from sfumato.cli.main import app

WORDS = (
    *("F-attack", "C-attack", "B-attack", "crack size", "cracked records", "buddies", "generator"),
    *("correspondence knowledge", "comparable groups", "timestamp T2", "BCF-anonymity"),
    *("minimum QID", "minimal QID", "k-anonymity-test", "Algorithm 5.1"),
    *("tailset", "set-enumeration tree", "external table E", "sensitive label", "K(tp)"),
    *("inverse weighted cost", "QS t-closeness", "item suppression"),
    *(
        "guarding set",
        "FF-attack",
        "FF-anonymity",
        "BR(T*)",
        "extended breach",
        "Definition 3.3",
        "observability",
    ),
    *("sensitivity principle", "target attribute"),
    *("generalization pattern", "complementary release", "cluster", "lattice node", "Samarati"),
)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_a_paper_is_found_in_the_guide(word):
    done = CliRunner().invoke(app, ["help", "--find", word])
    assert done.exit_code == 0 and word.lower() in done.stdout.lower(), word


def test_most_words_are_in_the_glossary():
    found = [CliRunner().invoke(app, ["help", "--find", word]).stdout for word in WORDS]
    assert sum("glossary, " in text for text in found) >= 25
