"""What the search tells about hidden values: against enumeration of every labelled table."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from sfumato.attacks.adversaries.downcoding import Downcoding
from sfumato.attacks.adversaries.minimality import ValueMinimality
from sfumato.attacks.audit import audit
from sfumato.attacks.class_worlds import error_of
from sfumato.cli.main import app
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.source import open_source
from sfumato.workflows.attack import known_search

pytestmark = pytest.mark.slow

SEARCHES = ["top-down", "lattice", "optimum", "mondrian", "local", "best"]
TREES = {
    "q": {"tree": {"A": ["a1", "a2"], "B": ["b1", "b2"]}},
    "n": {"intervals": [1, 2], "from": 0, "to": 4},
    "o": {"flat": ["lo", "mid", "hi"], "ordered": True},
}
LEAVES = {"q": ["a1", "a2", "b1", "b2"], "n": ["0", "1", "2", "3"], "o": ["lo", "mid", "hi"]}


def policy(keys, search, *promises):
    return sf.Policy.from_dict(
        {
            "columns": {
                **{k: {"role": "quasi", "taxonomy": TREES[k]} for k in keys},
                "s": {"role": "sensitive"},
            },
            "promises": list(promises),
            "protect": {"suppress": 0, "search": search},
        }
    )


def published(rows, keys, rules):
    """What the search publishes, as a sorted list of rows; nothing where it refuses."""
    frame = pl.DataFrame(rows, schema=[*keys, "s"], orient="row")
    try:
        plan = sf.protect(frame, rules)
    except Infeasible:
        return None
    return sorted(plan.apply(frame).rows())


def ask_once(keys, rules):
    """The same, of each table once: worlds repeat, and the order of their rows tells nothing."""
    known = {}

    def ask(rows):
        table = tuple(sorted(rows))
        if table not in known:
            known[table] = published(table, keys, rules)
        return known[table]

    return ask


def covered(label, key):
    """The leaves below a published text."""
    if label == "*":
        return LEAVES[key]
    tree = {"A": ["a1", "a2"], "B": ["b1", "b2"], "[0, 2)": ["0", "1"], "[2, 4)": ["2", "3"]}
    tree |= {f"[{n}, {n + 1})": [str(n)] for n in range(4)}
    if label in tree:
        return tree[label]
    if "–" in label:
        first, last = (LEAVES[key].index(end) for end in label.split("–"))
        return LEAVES[key][first : last + 1]
    return [label]


def finer(leaf, label, key):
    """What a leaf would be one step below a published text."""
    if label == "*" and key in "qn":
        return {"a": "A", "b": "B"}.get(leaf[0], str(int(leaf) // 2) if key == "n" else leaf)
    return leaf


TABLES = st.lists(st.tuples(st.sampled_from(LEAVES["q"]), st.sampled_from("xy")), min_size=3, max_size=4)
ORDERED = st.lists(st.tuples(st.sampled_from(LEAVES["n"]), st.sampled_from("xy")), min_size=3, max_size=4)


@settings(max_examples=2, deadline=None)
@pytest.mark.parametrize("search", [name for name in SEARCHES if name != "best"])  # which runs the others
@pytest.mark.parametrize("key", ["q", "n"])
@given(data=st.data())
def test_downcoding_against_every_labelled_table(search, key, data):
    rows = data.draw(TABLES if key == "q" else ORDERED)
    rules = policy([key], search, {"k-anonymity": {"k": 2}})
    ask = ask_once([key], rules)
    shown = ask(rows)
    assume(shown is not None and any(len(covered(a, key)) > 1 for a, _ in shown))
    every, same = Counter(), Counter()
    worlds = list(product(*(covered(label, key) for label, _ in shown)))
    left = 0
    for world in worlds:
        fits = ask((leaf, s) for leaf, (_, s) in zip(world, shown, strict=True)) == shown
        left += fits
        for leaf, (label, _) in zip(world, shown, strict=True):
            every[label, finer(leaf, label, key)] += 1
            same[label, finer(leaf, label, key)] += fits
    sizes = Counter(label for label, _ in shown)
    hiding = {label: n for label, n in sizes.items() if len(covered(label, key)) > 1}
    frame = pl.DataFrame(shown, schema=[key, "s"], orient="row")
    (finding,) = sf.attack.downcoding(frame, rules).findings
    assert finding.details["worlds left"] == Fraction(left, len(worlds))
    found = []
    for name, tally, total in (("before", every, len(worlds)), ("after", same, left)):
        best = {
            a: Fraction(max(n for (b, _), n in tally.items() if b == a), total * sizes[a]) for a in hiding
        }
        mean = sum((n * best[a] for a, n in hiding.items()), Fraction(0)) / sum(hiding.values())
        assert finding.details[name] == mean
        found.append(best)
    gain = max(Fraction(0), *(found[1][a] - found[0][a] for a in hiding))
    assert finding.details["largest gain"] == gain


HALF = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
WONG = [("a1", "x"), ("a1", "x"), ("a2", "y"), ("a2", "z"), ("a2", "w"), ("a2", "v")]


@pytest.mark.parametrize("search", ["top-down", "optimum", "mondrian", "lattice"])
def test_wong_both_people_with_the_first_key_must_have_the_value(search):
    """Two of six have x. Had the two people with the first key different values, the class would have been
    divided: both have x, though one in three seems to."""
    rules = policy(["q"], search, HALF)
    assert {label for label, _ in published(WONG, ["q"], rules)} <= {"A", "*"}
    frame = pl.DataFrame(WONG, schema=["q", "s"], orient="row")
    safe = sf.protect(frame, rules).apply(frame)
    (finding,) = sf.attack.minimality(safe, rules, frame.select("q")).findings
    assert finding.breach and finding.confidence == 1 and finding.people == 2
    assert finding.details["method"] == "all worlds" and finding.details["before"] == Fraction(1, 3)


@pytest.mark.parametrize("search", ["top-down", "mondrian"])
def test_wong_in_several_classes_is_estimated(search):
    three = [(group + key[1], s) for group in "abc" for key, s in WONG]
    groups = {g.upper(): [f"{g}1", f"{g}2"] for g in "abc"}
    rules = policy(["q"], search, HALF).to_dict()
    rules["columns"]["q"]["taxonomy"] = {"tree": groups}
    frame = pl.DataFrame(three, schema=["q", "s"], orient="row")
    safe = sf.protect(frame, rules).apply(frame)
    assert set(safe["q"]) == set(groups)
    (drawn,) = sf.attack.minimality(safe, rules, frame.select("q"), steps=1000).findings
    assert drawn.details["method"] == "worlds of single classes" and drawn.confidence == 1
    assert drawn.details["people told of"] == 18 and drawn.details["before"] == Fraction(1, 3)


@pytest.mark.parametrize("search", ["top-down", "optimum"])
def test_a_node_of_many_classes_tells_what_it_may(search):
    """Twelve classes of five show the node, and any of them may have kept it: hardly a world is excluded. A
    class that shows it alone must have kept it itself. Of 32 ways to give five people two keys 22 divide."""
    rules = policy(["q", "o"], search, {"k-anonymity": {"k": 2}}).to_dict()
    kinds = [f"c{i}" for i in range(12)]
    rules["columns"]["o"]["taxonomy"] = {"flat": kinds}
    rules["columns"]["q"]["taxonomy"] = {"tree": {"*": {"A": ["a1", "a2"]}}}
    many = [("a1", kind, "x") for kind in kinds for _ in range(4)] + [("a2", kind, "x") for kind in kinds]
    told = {}
    for name, rows in (("many", many), ("few", [*many[:4], ("a2", "c0", "x")])):
        frame = pl.DataFrame(rows, schema=["q", "o", "s"], orient="row")
        safe = sf.protect(frame, rules).apply(frame)
        assert set(safe["q"]) == {"A"} and safe["o"].n_unique() == frame["o"].n_unique()
        known = known_search(sf.Policy.from_dict(rules), steps=2400, seed=0)
        found = audit(safe, sf.Policy.from_dict(rules), attacks=(Downcoding(replace(known, most_listed=0)),))
        (finding,) = found.findings
        assert finding.details["people told of"] == len(rows)
        told[name] = finding.details
    assert abs(told["many"]["worlds left"] - (1 - Fraction(22, 32) ** 12)) < Fraction(1, 50)
    assert abs(told["few"]["worlds left"] - (1 - Fraction(22, 32))) < Fraction(1, 20)
    assert told["few"]["share after"] > told["few"]["share before"] > 0


@pytest.mark.parametrize("people", [60, 8])
def test_the_shape_of_the_best_table_tells_of_single_classes(people):
    """At 60 everything is a column of its own level or nothing; at 8 classes are recoded one by one."""
    rules, frame = policy(["q", "n"], "best", {"k-anonymity": {"k": people}}), large(120)
    safe = sf.protect(frame, rules).apply(frame)
    found = sf.attack.downcoding(safe, rules, steps=120).findings
    struck = [finding for finding in found if "worlds left" in finding.details]
    assert struck and all(finding.details["method"] == "worlds of single classes" for finding in struck)


def test_people_who_are_exposed_in_a_small_class_of_a_large_table_are_found():
    """One class of six in a table of 606 is that of Wong; an estimate of means cannot see two people."""
    others = [(f"b{i % 2 + 1}", "vwxyz"[i // 2 % 5]) for i in range(600)]
    frame = pl.DataFrame(WONG + others, schema=["q", "s"], orient="row")
    for search in SEARCHES:
        rules = policy(["q"], search, HALF)
        safe = sf.protect(frame, rules).apply(frame)
        shown = dict(safe.group_by("q").len().iter_rows())
        if search != "lattice":  # which has one level for everybody
            assert shown["A"] == 6, search
        codings = [coding for coding in rules.codings if coding.role.is_key]
        people = open_source(frame).count(codings, missing=rules.missing)
        known = replace(known_search(rules, steps=150, seed=0), most_listed=0)
        (finding,) = audit(safe, rules, attacks=(ValueMinimality(known, people),)).findings
        assert finding.details["method"] == "worlds of single classes", search
        if search != "lattice":
            assert finding.details["classes listed"] and finding.breach, search
            assert finding.confidence == 1 and finding.people >= 2, search


def test_overlapping_classes_of_local_recoding_are_attacked():
    rules, frame = policy(["q", "n"], "local", HALF), large(60)
    safe = sf.protect(frame, rules).apply(frame)
    (finding,) = sf.attack.minimality(safe, rules, frame.select("q", "n"), steps=60).findings
    assert finding.details["method"] == "worlds of single classes"
    assert finding.details["people drawn"] + finding.details["people not placed"] >= 60


@settings(max_examples=3, deadline=None)
@pytest.mark.parametrize("search", [name for name in SEARCHES if name != "local"])
@given(rows=st.lists(st.tuples(st.sampled_from(LEAVES["q"]), st.sampled_from("xyz")), min_size=4, max_size=5))
def test_minimality_against_every_way_to_deal_the_values(search, rows):
    """Where every key has one label; the best table may be a local one, as that of the test above."""
    rules = policy(["q"], search, {"l-diversity": {"of": "s", "l": 2}})
    rows, ask = sorted(rows), ask_once(["q"], rules)
    shown = ask(rows)
    assume(shown is not None)
    labels_of = {leaf: {a for a, _ in shown if leaf in covered(a, "q")} for leaf, _ in rows}
    assume(all(len(labels) == 1 for labels in labels_of.values()))
    label_of = {leaf: next(iter(labels)) for leaf, labels in labels_of.items()}
    right, left = Counter(), 0
    for order in set(permutations([s for _, s in rows])):
        dealt = [(leaf, s) for (leaf, _), s in zip(rows, order, strict=True)]
        if sorted((label_of[leaf], s) for leaf, s in dealt) != shown or ask(dealt) != shown:
            continue
        left += 1
        for leaf, s in dealt:
            right[leaf, s] += 1
    people = Counter(leaf for leaf, _ in rows)
    best = {a: Fraction(max(n for (b, _), n in right.items() if b == a), left * people[a]) for a in people}
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    safe = pl.DataFrame(shown, schema=["q", "s"], orient="row")
    (finding,) = sf.attack.minimality(safe, rules, frame.select("q")).findings
    assert finding.details["after"] == sum(people[a] * best[a] for a in people) / len(rows)
    assert finding.confidence == max(best.values())


def test_k_alone_tells_nothing_of_values():
    rules = policy(["q"], "top-down", {"k-anonymity": {"k": 2}})
    frame = pl.DataFrame(WONG, schema=["q", "s"], orient="row")
    safe = sf.protect(frame, rules).apply(frame)
    (finding,) = sf.attack.minimality(safe, rules, frame.select("q")).findings
    assert finding.details["before"] == finding.details["after"] and not finding.breach


def test_a_register_of_other_people_is_refused():
    rules = policy(["q"], "top-down", HALF)
    frame = pl.DataFrame(WONG, schema=["q", "s"], orient="row")
    safe = sf.protect(frame, rules).apply(frame)
    with pytest.raises(UsageError, match="register"):
        sf.attack.minimality(safe, rules, frame.select("q").head(5))
    with pytest.raises(UsageError, match="no column q"):
        sf.attack.minimality(safe, rules, frame.select("s"))


def test_what_depends_on_more_than_the_table_is_refused():
    frame = pl.DataFrame(WONG, schema=["q", "s"], orient="row")
    rules = policy(["q"], "top-down", {"t-closeness": {"of": "s", "t": "1/2"}})
    with pytest.raises(UsageError, match="compares classes with the whole table"):
        sf.attack.downcoding(sf.protect(frame, rules).apply(frame), rules, steps=1)
    with pytest.raises(UsageError, match="at least one search"):
        sf.attack.downcoding(frame, rules, steps=0)


def large(rows=400, seed=1):
    rng = np.random.default_rng(seed)
    keys = {
        k: rng.choice(LEAVES[k], rows, p=p)
        for k, p in (("q", [0.6, 0.2, 0.1, 0.1]), ("n", [0.1, 0.2, 0.3, 0.4]))
    }
    return pl.DataFrame({**keys, "s": rng.choice(["x", "y", "z"], rows)})


@pytest.mark.parametrize("search", SEARCHES)
def test_large_tables_are_estimated_the_same_way_twice(search):
    frame, rules = large(), policy(["q", "n"], search, {"k-anonymity": {"k": 60}})
    safe = sf.protect(frame, rules).apply(frame)
    first, second = (sf.attack.downcoding(safe, rules, steps=300, seed=3).findings for _ in range(2))
    assert first == second
    for finding in first:
        if "error" in finding.details:
            assert finding.details["error"] == error_of(finding.details["people drawn"])
            assert 0 <= finding.details["before"] <= 1 and 0 <= finding.details["after"] <= 1


def test_estimates_agree_with_listing_on_one_class():
    """A class of six that could not be divided: at most one row is alone, or five share one value."""
    rows = [("a1", "x"), ("a1", "y"), ("a1", "x"), ("a1", "y"), ("a1", "x"), ("a2", "y")]
    rules = policy(["q"], "mondrian", {"k-anonymity": {"k": 2}})
    safe = pl.DataFrame(published(rows, ["q"], rules), schema=["q", "s"], orient="row")
    (exact,) = sf.attack.downcoding(safe, rules).findings
    (drawn,) = sf.attack.downcoding(safe, rules, steps=300).findings
    assert exact.details["share before"] < exact.details["share after"] == Fraction(5, 6)
    assert drawn.details["share after"] >= Fraction(5, 6)


def test_the_command_line(tmp_path):
    frame, rules = pl.DataFrame(WONG, schema=["q", "s"], orient="row"), policy(["q"], "top-down", HALF)
    (tmp_path / "policy.yaml").write_text(rules.to_yaml(), encoding="utf-8")
    frame.write_csv(tmp_path / "raw.csv")
    sf.protect(frame, rules).apply(frame).write_csv(tmp_path / "safe.csv")
    where = [str(tmp_path / "safe.csv"), "-p", str(tmp_path / "policy.yaml"), "--json"]
    struck = CliRunner().invoke(
        app, ["attack", "minimality", *where, "--register", str(tmp_path / "raw.csv")]
    )
    assert struck.exit_code == 1 and '"worlds":' in struck.stdout
    struck = CliRunner().invoke(app, ["attack", "downcoding", *where])
    assert struck.exit_code == 0 and '"attack": "downcoding"' in struck.stdout


def test_the_error_shrinks_with_the_sample():
    assert error_of(0) == 1 and error_of(200) > error_of(2000) and error_of(10**9) == Fraction(1, 1000)
