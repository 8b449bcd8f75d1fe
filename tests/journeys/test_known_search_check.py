"""`known-search`: a table is refused by itself where knowing the search tells too much."""

import json
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import polars as pl
import pytest
from experiments.stricter_promises import Setting
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.worlds.published_boxes import publication_of
from sfumato.core.errors import BadPolicy, BrokenPromise, Infeasible, WrongCall
from sfumato.core.microdata import Microdata
from sfumato.engine import open_source
from sfumato.journey.known_search import known_search
from sfumato.journey.known_search_check import check_known_search
from sfumato.journey.protect_file import protect_file

WONG = pl.DataFrame({"q": ["a1", "a1", "a2", "a2", "a2", "a2"], "s": ["x", "x", "y", "z", "w", "v"]})
HALF = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
TWO = {"l-diversity": {"of": "s", "l": 2}}


def policy(*promises, leaves=("a1", "a2"), **words):
    columns = {"q": {"role": "quasi", "taxonomy": {"tree": {"A": list(leaves)}}}, "s": {"role": "sensitive"}}
    return sf.Policy.from_dict({"columns": columns, "promises": list(promises or [HALF]), **words})


def asked(gain, **words):
    return {"known-search": {"minimality": gain, **words}}


def released(folder, rules, frame=WONG, **words):
    return sf.release(frame, rules, ledger=f"sqlite:///{folder}/ledger.db", into=folder / "out", **words)


def test_a_release_refuses_by_itself(tmp_path):
    """Both people with key a1 have x, or they were a class of their own: 2/3 more than the table tells."""
    assert released(tmp_path, policy(), dry_run=True).record.figures.keys() & {"minimality"} == set()
    for words in ({"dry_run": True}, {}):
        with pytest.raises(BrokenPromise, match="up to 2/3 likelier to be right, and 1/10 is allowed") as no:
            released(tmp_path, policy(**asked("1/10")), **words)
        assert no.value.exit_code == 1 and "stricter" in no.value.remedy
        assert not {"x", "y", "z", "w", "v", "a1", "a2"} & set(str(no.value).replace(",", " ").split())
    assert not (tmp_path / "out").exists()
    ledger = sf.Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True)
    assert not ledger.history("main")


def test_a_file_is_refused_like_a_release(tmp_path):
    with pytest.raises(BrokenPromise, match="known-search"):
        protect_file(WONG, policy(**asked("1/10")), tmp_path / "safe.csv")
    assert not list(tmp_path.iterdir())
    protect_file(WONG, policy(**asked("1/10"), protect={"stricter": "1/2"}), tmp_path / "safe.csv")


def test_what_was_measured_is_in_the_certificate(tmp_path):
    receipt = released(tmp_path, policy(**asked("1/10"), protect={"stricter": "1/2"}))
    told = "0 gained by knowing the search, at most 1/10 allowed (all worlds)"
    assert receipt.record.figures["minimality"] == told
    assert told in json.dumps(json.loads(receipt.certificate.read_text()))
    assert told in str(receipt.card())


def test_both_attacks_strike_a_table_that_is_recoded_once(monkeypatch):
    rules = policy(**asked(1, downcoding=1), protect={"stricter": "1/2"})
    source, plan, recoded = open_source(WONG), sf.protect(WONG, rules), []
    recode = type(source).recode

    def counted(*given, **how):
        recoded.append(1)
        return recode(*given, **how)

    monkeypatch.setattr(type(source), "recode", counted)
    both = check_known_search(source, plan, rules, lambda *_: None)
    assert len(recoded) == 1
    alone = [{"minimality": 1}, {"downcoding": 1}]
    for words in alone:
        only = policy(**{"known-search": words}, protect={"stricter": "1/2"})
        ((name, said),) = check_known_search(open_source(WONG), plan, only, lambda *_: None).items()
        assert both.pop(name) == said
    assert not both


def test_a_refusal_names_the_page_on_minimality(sfumato, tmp_path):
    WONG.write_csv(tmp_path / "raw.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(policy(**asked("1/10")).to_dict()))
    said = sfumato(
        "protect", tmp_path / "raw.csv", "-p", tmp_path / "policy.yaml", "-o", tmp_path / "safe.csv"
    )
    assert said.code == 1 and said.err.splitlines()[-1].endswith("minimality.md (sfumato help minimality)")


def test_more_worlds_than_steps_are_a_doubt(tmp_path):
    with pytest.raises(BrokenPromise, match="not known for all worlds: 6 people drawn") as no:
        released(tmp_path, policy(**asked(1, steps=2)))
    assert "doubt: publish" in no.value.remedy
    receipt = released(tmp_path, policy(**asked(1, steps=2, doubt="publish")))
    assert "NOT all worlds: 6 people drawn" in receipt.record.figures["minimality"]


def test_a_promise_that_compares_with_the_table_is_a_doubt(tmp_path):
    rules = policy({"t-closeness": {"of": "s", "t": "1/2"}}, **asked(1, steps=1))
    with pytest.raises(BrokenPromise, match="compares classes with the whole table"):
        released(tmp_path, rules)


def test_suppressed_rows_are_a_doubt_of_downcoding(tmp_path):
    frame = pl.DataFrame({"q": ["a1", "a1", "a2"], "s": ["x", "y", "z"]})
    words = {"protect": {"search": "top-down", "suppress": "1/2"}, "known-search": {"downcoding": 1}}
    with pytest.raises(BrokenPromise, match="suppressed rows are not guessed at"):
        released(tmp_path, policy({"k-anonymity": {"k": 2}}, **words), frame)


SUPPRESSED = pl.DataFrame({"q": ["a1", "a1", "a2", "a2", "a2", "b1", "b2"], "s": list("xyyzzzx")})


def test_suppressed_people_who_are_exposed_are_a_reason_to_refuse(tmp_path):
    """Those with key a2 would have been z, z and y, and two thirds are too many."""
    words = {"protect": {"search": "top-down", "suppress": "1/2"}, **asked("1/3")}
    rules = policy(**words).to_dict()
    rules["columns"]["q"]["taxonomy"] = {"tree": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}
    with pytest.raises(BrokenPromise, match="knows more of somebody than a table may tell"):
        released(tmp_path, sf.Policy.from_dict(rules), SUPPRESSED)


def test_rows_that_are_withheld_one_by_one_are_a_doubt(tmp_path):
    frame = pl.DataFrame({"q": ["a1"] * 4 + ["a2"], "s": list("xyzwx")})
    words = {"protect": {"search": "mondrian", "suppress": "1/2", "price": 1}}
    assert sf.protect(frame, policy({"k-anonymity": {"k": 2}}, **words)).suppressed == 1
    with pytest.raises(BrokenPromise, match="people more than the table has rows"):
        released(tmp_path, policy({"k-anonymity": {"k": 2}}, **words, **asked(1)), frame)


@settings(max_examples=8, deadline=None)
@given(
    keys=st.lists(st.sampled_from(["a1", "a2", "a3"]), min_size=5, max_size=5),
    values=st.lists(st.sampled_from("wxyz"), min_size=5, max_size=5),
    promise=st.sampled_from([TWO, HALF]),
)
def test_the_gain_against_every_way_to_deal_the_values(keys, values, promise):
    """The largest gain of anybody, and a refusal just above it, from all permutations of the values."""
    rules = policy(promise, leaves=("a1", "a2", "a3"))
    known: dict[tuple, list | None] = {}

    def ask(rows):
        table = tuple(sorted(rows))
        if table not in known:
            frame = pl.DataFrame(table, schema=["q", "s"], orient="row")
            try:
                known[table] = sorted(sf.protect(frame, rules).apply(frame).rows())
            except Infeasible:
                known[table] = None
        return known[table]

    shown = ask(zip(keys, values, strict=True))
    assume(shown is not None)
    label = {
        key: key if (key in {a for a, _ in shown}) else next(a for a, _ in shown if a[0] in "A*")
        for key in keys
    }
    sizes, held = Counter(a for a, _ in shown), Counter(shown)
    right, left = Counter(), 0
    for order in permutations(values):
        dealt = list(zip(keys, order, strict=True))
        if sorted((label[key], s) for key, s in dealt) == shown == ask(dealt):
            left += 1
            right.update(dealt)
    people = Counter(keys)
    before = {a: Fraction(max(n for (b, _), n in held.items() if b == a), sizes[a]) for a in sizes}
    after = {k: Fraction(max(n for (b, _), n in right.items() if b == k), left * people[k]) for k in people}
    gain = max(Fraction(0), *(after[key] - before[label[key]] for key in people))
    frame = pl.DataFrame({"q": keys, "s": values})
    safe = pl.DataFrame(shown, schema=["q", "s"], orient="row")
    (finding,) = sf.attack.minimality(safe, rules, frame.select("q")).findings
    assert finding.details["method"] == "all worlds" and finding.details["largest gain"] == gain

    def refused(limit):
        gated = policy(promise, leaves=("a1", "a2", "a3"), **asked(limit))
        try:
            check_known_search(open_source(frame), sf.protect(frame, gated), gated, lambda *_: None)
        except BrokenPromise:
            return True
        return False

    assert refused(gain) == finding.breach
    assert not gain or refused(gain - gain / 1000)


def published(search, table):
    """What a search publishes; nothing where it refuses."""
    recoding = search(table)
    return None if recoding is None else frozenset(publication_of(recoding, 1).items())


def exposed(worlds):
    """The published tables in all worlds of which the people with some key have one value."""
    shown = [some for told, some in worlds.items() if told is not None]
    return [some for some in shown if any(len({v for w in some for v in w[key]}) == 1 for key in (0, 1))]


def test_a_search_that_is_asked_for_more_is_judged_by_what_is_promised():
    """On every table of six people: what `stricter` publishes is what the stricter promise would, the verdict
    is about the promise, and nobody knows more than it allows who knows the mode."""
    setting = Setting(6, nodes=1, values=4)
    columns = {
        "q": {"role": "quasi", "taxonomy": {"tree": setting.tree}},
        "s": {"role": "sensitive", "taxonomy": {"flat": setting.texts}},
    }

    def search(least, **protect):
        rules = {
            "columns": columns,
            "promises": [{"l-diversity": {"of": "s", "l": least}}],
            "protect": protect,
        }
        rules = sf.Policy.from_dict(rules)
        return rules, known_search(rules, steps=1, seed=0).republish

    (rules, more), (_, three), (_, two) = search(2, stricter="1/2"), search(3), search(2)
    every = pl.DataFrame(list(product(setting.keys, setting.texts)), schema=["q", "s"], orient="row")
    coded = open_source(every).count(rules.codings, missing=rules.missing).columns
    worlds = {search: defaultdict(list) for search in (more, two)}
    for values in product(*(combinations_with_replacement(range(4), n) for n in (2, 4))):
        held = np.array([v for some in values for v in some])
        table = Microdata.of_codes(coded, [np.array([0, 0, 1, 1, 1, 1]), held])
        shown = {search: published(search, table) for search in (more, three, two)}
        assert shown[more] == shown[three]
        for search in worlds:
            worlds[search][shown[search]].append(values)
    assert exposed(worlds[two]) and not exposed(worlds[more])
    frame = pl.DataFrame({"q": ["a1"] * 3 + ["a2"] * 3, "s": ["v0", "v1", "v2"] * 2})
    plan = sf.protect(frame, rules)
    (verdict,) = plan.verdicts
    assert verdict.promise == str(next(iter(rules.promises))) and verdict.limit == 2
    assert "asked for more than is promised" in str(plan.card())
    with pytest.raises(Infeasible, match="asked for more than is promised"):
        sf.protect(frame.with_columns(s=pl.Series(["v0", "v1"] * 3)), rules)


@pytest.mark.parametrize("search", ["top-down", "lattice", "optimum", "mondrian", "local", "best"])
def test_asking_for_more_ends_what_wong_finds(search):
    rules = policy(**asked(0), protect={"search": search, "stricter": "1/2"})
    plan = sf.protect(WONG, rules)
    assert "0 gained" in check_known_search(open_source(WONG), plan, rules, lambda *_: None)["minimality"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"known-search": {}}, "names no attack"),
        ({"known-search": {"minimality": 2}}, "from 0 to 1"),
        ({"known-search": {"minimality": "1/10", "doubt": "perhaps"}}, "doubt"),
        ({"protect": {"stricter": 101}}, "from 0 to 100"),
        (
            {"protect": {"stricter": "1/2"}, "promises": [{"k-anonymity": {"k": 2}}]},
            "no promise can be asked",
        ),
    ],
)
def test_a_policy_that_asks_in_vain_is_refused(words, said):
    with pytest.raises(BadPolicy, match=said):
        policy(**words) if "promises" not in words else policy(*words.pop("promises"), **words)


def test_what_depends_on_more_than_the_table_is_refused():
    columns = {"q": {"role": "quasi"}, "who": {"role": "identifier"}, "s": {"role": "sensitive"}}
    for more in (asked("1/10"), {"protect": {"stricter": 1}}):
        rules = {"columns": columns, "promises": [TWO], "person": "who", **more}
        with pytest.raises(BadPolicy, match="depends on several rows of a person"):
            sf.Policy.from_dict(rules)
    rules = {"columns": {"q": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 2}}], **asked("1/10")}
    with pytest.raises(BadPolicy, match="no column is sensitive"):
        sf.Policy.from_dict(rules)


def test_versions_and_earlier_transformations_are_not_measured(tmp_path):
    for rules in (policy(**asked(1)), policy(protect={"stricter": 1})):
        with pytest.raises(WrongCall, match="chosen among many"):
            released(tmp_path, rules, to=["ann", "bob"], dry_run=True)
    plan = sf.protect(WONG, policy())
    with pytest.raises(WrongCall, match="where none is made"):
        released(tmp_path, policy(**asked(1)), like=plan, dry_run=True)
    with pytest.raises(WrongCall, match="where none is made"):
        protect_file(WONG, policy(**asked(1)), tmp_path / "safe.csv", like=plan)
    assert released(
        tmp_path, policy({"k-anonymity": {"k": 2}}, **asked(0)), to="ann", dry_run=True
    ).record.figures["minimality"]


def test_the_rule_is_written_as_it_is_read():
    rules = policy(
        protect={"stricter": "1/2"},
        **{"known-search": {"minimality": "1/10", "downcoding": "1/4", "doubt": "publish", "steps": 50}},
    )
    assert sf.Policy.from_dict(rules.to_dict()) == rules and "known-search" in rules.to_yaml()
    assert rules.digest != policy().digest
