"""The catalogue of sentences: each claim is said of a table of which it is true, and not of another one."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from reports.conftest import POLICY, people
from sfumato.policy.policy import Policy
from sfumato.reports.report import W, row_is
from sfumato.system.presentation.sentences import catalogue
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

SOURCE = Path(sf.__file__).parent
SAFE = pd.DataFrame({"zip": ["021**"] * 6, "disease": ["flu", "cold"] * 3})
CERTAIN = SAFE.assign(disease="HIV")
KEYS = {"zip": {"role": "quasi"}, "disease": {"role": "sensitive"}}


def policy(k=3, *more, columns=KEYS, **words):
    return {"columns": columns, "promises": [{"k-anonymity": {"k": k}}, *more], **words}


DIVERSE = {"l-diversity": {"of": "disease", "l": 3}}
UNKNOWN = policy(columns={**KEYS, "zip": {"role": "quasi", "taxonomy": {"tree": {"North": ["011"]}}}})
FREE = {
    "columns": {
        "zip": {"role": "quasi"},
        "disease": {
            "role": "free",
            "taxonomy": {"tree": {"a": ["flu", "HIV"], "b": ["cold"]}},
            "sensitive": ["HIV"],
        },
    },
    "promises": [{"freeform": {"threat": "1/2"}}],
}
NESTED = SAFE.assign(disease=["a", "flu"] * 3)
CLOSE = {"columns": KEYS, "promises": [{"t-closeness": {"of": "disease", "t": "1/2"}}]}
HARMLESS = {"columns": {"zip": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 3}}]}
PERSON = {"who": {"role": "identifier"}, **KEYS}


def card(table, rules):
    return str(sf.audit(table, rules))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The words of a report on a published table."""

    def words(table, rules, **more):
        path = tmp_path_factory.mktemp("page") / "safe.csv"
        table.to_csv(path, index=False)
        return text(sf.report(path, rules, **more).html)

    return words


def text(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).replace("&#x27;", "'")


def criterion(words, number):
    """The section of one of the three criteria."""
    titles = ["Singling out:", "Linkability:", "Inference:", "Identifiability:"]
    start = words.index(titles[number])
    return words[start : words.index(titles[number + 1], start)]


def said(sentence, words):
    """Whether a sentence stands in these words, whatever was filled in."""
    figures = re.sub(r"\\{(count|won|attacks|kept|promises)\\}", "[0-9]+( attacks?)?", re.escape(sentence))
    pattern = re.sub(r"\\{\w+\\}", ".{1,60}?", figures)
    return re.search(rf"(?<![\w]){pattern}(?! [A-Z][a-z]+ that)", re.sub(r"\s+", " ", words)) is not None


CARDS = {
    "all_hold": ((SAFE, policy()), (SAFE, policy(9))),
    "one_broken": ((SAFE, policy(9)), (SAFE, policy(9, DIVERSE))),
    "broken": ((SAFE, policy(9, DIVERSE)), (SAFE, policy(9))),
    "undecided": ((SAFE, UNKNOWN), (SAFE, policy())),
    "none_succeeds": ((SAFE, policy()), (CERTAIN, policy())),
    "one_succeeds": ((CERTAIN, policy(3, {"l-diversity": {"of": "disease", "l": 2}})), (SAFE, policy())),
    "succeed": ((SAFE, policy(9)), (SAFE, policy())),
    "one_beyond": ((CERTAIN, policy()), (SAFE, policy())),
    "several_beyond": ((SAFE[:3], FREE), (CERTAIN, policy())),
    "passed": ((SAFE, policy()), (SAFE, policy(9))),
    "passed_beyond": ((SAFE[:3], FREE), (SAFE, policy())),
    "failed": ((SAFE, policy(9)), (SAFE, policy())),
    "failed_certain": ((CERTAIN, policy()), (SAFE, policy())),
    "open": ((SAFE, UNKNOWN), (SAFE, policy())),
}


@pytest.mark.parametrize("key", CARDS)
def test_an_audit_says_it_where_it_is_so(key):
    sentence = catalogue()["claims"][key]
    (true, false) = CARDS[key]
    assert said(sentence, card(*true)) and not said(sentence, card(*false))


def test_a_headline_says_what_was_tried():
    nothing = sf.audit(SAFE, policy()).headline.__class__(True, 1, 0, 0, 0, 0)
    assert W.NONE_TRIED in nothing.title and W.NONE_TRIED not in card(SAFE, policy())
    partly = sf.audit(SAFE, policy()).headline.__class__(True, 1, 0, 0, 2, 0, partly_tried=1)
    assert W.WITHSTOOD_AS_TRIED in partly.title and W.WITHSTOOD_AS_TRIED not in card(SAFE, policy())
    audit = sf.audit(SAFE, policy())
    assert said(W.NOT_TRIED, str(audit)) and audit.reasons()
    assert not said(W.NOT_TRIED, str(audit.__class__(audit.verdicts, (), (), 6, ("zip",))))


PAGES = {
    "report_holds": ((SAFE, policy()), (SAFE, policy(9))),
    "report_beyond": ((SAFE[:3], FREE), (SAFE, policy())),
    "report_broken": ((SAFE, policy(9)), (SAFE, policy())),
    "report_undecided": ((NESTED, FREE), (SAFE, policy())),
    "report_certain": ((CERTAIN, policy()), (SAFE, policy())),
    "attacked_all": ((CERTAIN, policy()), (SAFE, policy())),
    "attacked_none": ((SAFE, policy()), (CERTAIN, policy())),
}


@pytest.mark.parametrize("key", PAGES)
def test_a_report_says_it_where_it_is_so(page, key):
    sentence = catalogue()["claims"][key]
    (true, false) = PAGES[key]
    assert said(sentence, page(*true)) and not said(sentence, page(*false))


def test_a_report_counts_promises_and_the_attacks_that_it_lists(page):
    words = page(SAFE, policy(3, DIVERSE))
    assert W.KEPT.format(kept=1, promises=2) in words and W.KEPT.format(kept=2, promises=2) not in words
    listed = words[words.index("What attackers get from the published table") :]
    listed = listed[: listed.index("Share of rows")]
    count = listed.count("✔ withstood") + listed.count("✘ BREACH")
    counted = re.search(r"(\d+) of (\d+) attacks on|None of (\d+) attacks on", words)
    assert counted is not None and int(counted[2] or counted[3]) == count


CRITERIA = {
    "criterion_held": ((0, SAFE, policy()), (0, SAFE, policy(9))),
    "criterion_withstood": ((2, SAFE, policy()), (2, CERTAIN, policy())),
    "criterion_open": ((2, CERTAIN, policy()), (2, SAFE, policy())),
    "criterion_none": ((1, SAFE, policy()), (0, SAFE, policy())),
    "criterion_promised": ((1, SAFE, policy(3, {"continuous": {"k": 3}})), (1, SAFE, policy())),
}


@pytest.mark.parametrize("key", CRITERIA)
def test_a_criterion_says_it_where_it_is_so(page, key):
    sentence = catalogue()["claims"][key]
    for (number, table, rules), expected in zip(CRITERIA[key], (True, False), strict=True):
        if key == "criterion_promised" and expected:
            continue  # see below
        words = criterion(page(table, rules, criteria="wp29"), number)
        assert said(sentence, words) is expected
        assert "k-anonymity" not in words or number == 0
        if number == 1:
            assert "What was tried" not in words and "no attack gets further" not in words


def test_a_promise_that_holds_and_that_nobody_attacked_is_said_to_be_so():
    from sfumato.models.attack_contract import Criterion
    from sfumato.reports.report import PromiseLine, criterion_sections

    line = PromiseLine("p", "", "", holds=True, criteria=(Criterion.LINKABILITY,))
    assert criterion_sections([line], None, ())[1].blocks[0].text.template == W.CRITERION_PROMISED
    assert criterion_sections([], None, ())[1].blocks[0].text.template == W.CRITERION_NONE


def test_what_a_row_is_follows_from_the_policy():
    rules = {
        W.ROW_ASSUMED: policy(),
        W.ROW_IS_PERSON: policy(person="each-row"),
        W.ROW_OR_BARE: policy(columns=PERSON, person="who"),
        W.ROW_OF_PERSON: policy(columns=PERSON, person={"column": "who", "rows": "all"}),
    }
    for sentence, words in rules.items():
        told = row_is(Policy.from_dict(words)).template
        assert told == sentence
        assert all(told != other for other in rules if other != sentence)


def test_a_report_says_what_was_not_at_hand(page, tmp_path):
    plan = text(sf.report(sf.protect(people(), POLICY)).html)
    file = page(SAFE, policy())
    whole = page(SAFE, policy(), original=SAFE)
    assert said(W.NOT_ATTACKED, plan) and not said(W.NOT_ATTACKED, file)
    for sentence in (W.NO_ORIGINAL, W.NOT_COMPARED):
        assert said(sentence, file) and not said(sentence, whole)
    assert said(W.BEFORE_SUMMARY, whole) and not said(W.BEFORE_SUMMARY, file)
    people().write_csv(tmp_path / "people.csv")
    protect_file(tmp_path / "people.csv", POLICY, tmp_path / "safe.csv")
    public = text(sf.report(tmp_path / "safe.csv", POLICY, audience="public").html)
    assert said(W.UNSIGNED, public) and not said(W.CERTIFIED, public)


def test_a_report_on_a_release_names_its_certificate(clinic):
    words = text(sf.report(clinic.folder, clinic.policy, audience="public").html)
    assert said(W.CERTIFIED, words) and not said(W.UNSIGNED, words)


def test_a_column_that_reads_one_group_everywhere_tells_nothing(page):
    rules = policy(columns={**KEYS, "zip": {"role": "quasi", "taxonomy": {"prefix": [3]}}})
    one, two = page(SAFE, rules), page(pd.concat([SAFE, SAFE.assign(zip="022**")]), rules)
    assert "zip 0.0%" in one and "zip 100.0%" in two
    raw = SAFE.assign(zip=["02139", "02138"] * 3)
    kept = str(sf.compare(raw, SAFE.assign(zip="*"), rules))
    assert "nothing is left" in kept and "nothing is left" not in str(sf.compare(raw, raw, rules))


def test_open_warnings_stand_in_the_internal_report(page):
    waiting = policy(columns={**KEYS, "note": {"role": "insensitive"}}, confirm={"note": "nobody knows it"})
    words = page(SAFE.assign(note="a"), waiting)
    assert "note waits for confirmation: nobody knows it" in words
    assert "waits for confirmation" not in page(SAFE, policy())


def test_no_claim_is_left_without_a_table_of_which_it_is_false():
    """A sentence that is added here without a case above fails."""
    tested = Path(__file__).read_text(encoding="utf-8")
    for key in catalogue()["claims"]:
        assert f'"{key}"' in tested or f"W.{key.upper()}" in tested, key


def test_no_two_sections_have_a_sentence_of_one_name():
    names = [name for section in catalogue().values() for name in section]
    assert len(names) == len(set(names))


def test_every_sentence_is_said_somewhere():
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for section in catalogue().values():
        for key in section:
            assert re.search(rf"\b(?:W|SAYS)\.{key.upper()}\b", code), key
