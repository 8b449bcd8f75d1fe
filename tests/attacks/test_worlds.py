"""What the search tells about hidden values: against enumeration of every labelled table."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.system.errors import Infeasible, UsageError

pytestmark = pytest.mark.slow

SEARCHES = ["top-down", "lattice", "optimum", "mondrian", "local", "best"]
TREES = {
    "q": {"tree": {"A": ["a1", "a2"], "B": ["b1", "b2"]}},
    "n": {"intervals": [1, 2], "from": 0, "to": 4},
}
LEAVES = {"q": ["a1", "a2", "b1", "b2"], "n": ["0", "1", "2", "3"]}


def policy(keys, search, *promises):
    return sf.Policy.from_dict(
        {
            "columns": {
                **{k: {"role": "quasi", "taxonomy": TREES[k]} for k in keys},
                "s": {"role": "sensitive"},
            },
            "promises": list(promises),
            "protect": {"suppress": 0, "search": search},
            "confirm": {"s": True},
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
    assert finding.details["method"] == "all tables" and finding.details["before"] == Fraction(1, 3)


@settings(max_examples=3, deadline=None)
@pytest.mark.parametrize("search", SEARCHES)
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


def test_what_depends_on_more_than_the_table_is_refused():
    frame = pl.DataFrame(WONG, schema=["q", "s"], orient="row")
    rules = policy(["q"], "top-down", HALF)
    with pytest.raises(UsageError, match="more tables than may be listed"):
        sf.attack.downcoding(sf.protect(frame, rules).apply(frame), rules, steps=1)
    with pytest.raises(UsageError, match="at least one plan"):
        sf.attack.downcoding(frame, rules, steps=0)
    words = rules.to_dict()
    words["columns"]["who"] = {"role": "identifier"}
    whose = sf.Policy.from_dict(words | {"person": "who"})
    with pytest.raises(UsageError, match="several per person"):
        sf.attack.downcoding(frame, whose)


def test_a_promise_about_the_whole_table_is_attacked_like_any_other():
    frame = pl.DataFrame(WONG, schema=["q", "s"], orient="row")
    rules = policy(["q"], "top-down", {"t-closeness": {"of": "s", "t": "1/2"}})
    (finding,) = sf.attack.downcoding(sf.protect(frame, rules).apply(frame), rules).findings
    assert finding.details["method"] == "all tables"


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
