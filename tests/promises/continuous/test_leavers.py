"""The promise on tables that people leave, through the search: against the enumeration of worlds."""

from dataclasses import replace

import numpy as np
import pytest

from oracles.living_chains import LivingCase, random_case
from oracles.tiny_chains import two
from sfumato.chains.presence import LivingHistory
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData, BadPolicy, HeldBack, Infeasible, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy
from sfumato.policy.policy import Policy
from sfumato.promises import Continuous, DistinctLDiversity
from sfumato.promises.continuous.leavers_watch import LeaversRule
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.top_down import top_down

AIM = Aim(loss="discernibility")
S = Taxonomy.flat([f"s{i}" for i in range(6)])
BATCHES = [f"b{i}" for i in range(1, 7)]
SINCE = Taxonomy.flat(BATCHES)
UNTIL = Taxonomy.grow(["*", *BATCHES, None], [-1] + [0] * (len(BATCHES) + 1))
ROWS = Taxonomy.flat([f"p{i:02}" for i in range(40)])


def table(trees, people, now):
    """People (labels, s, presence) as they stand when release `now` (from 0) is made; told by batches."""
    known = [p for p in people if min(p[-1]) <= now]
    gone = [max(p[-1]) + 1 for p in known]
    columns = [Column(f"q{j}", Role.QUASI, t) for j, t in enumerate(trees)]
    columns += [Column("s", Role.SENSITIVE, S), Column("since", Role.IDENTIFIER, SINCE)]
    columns += [Column("until", Role.IDENTIFIER, UNTIL), Column("who", Role.IDENTIFIER, ROWS)]
    codes = [[t.rank(p[j]) for p in known] for j, t in enumerate(trees)]
    codes += [[p[-2] for p in known], [SINCE.rank(BATCHES[min(p[-1])]) for p in known]]
    codes.append([UNTIL.rank(BATCHES[g] if g <= now else None) for g in gone])
    codes.append([n for n, p in enumerate(people) if min(p[-1]) <= now])
    return Microdata.of_codes(columns, [np.array(c, np.int32) for c in codes]).without_departed("until")


def promise(k, earlier, known, *others, **more):
    told = {"since": "since", "until": "until", "leavers": Leavers(known), **more}
    return (Promises(others) & Continuous(k, **told)).given(earlier)


def released(trees, people, cuts, known, *, k=1, **more):
    """The imprints of releases under these cuts."""
    made = []
    for j, cut in enumerate(cuts):
        recoding = Recoding.of_cuts(table(trees, people, j), {f"q{c}": x for c, x in enumerate(cut)})
        bound = promise(k, made, known, **more).of_table[0]
        after, said = [i.digest for i in made], bound.departures(recoding)
        made.append(Imprint.of(recoding, ["s"], since=bound.batch_column, after=after, departures=said))
    return made


def searched(trees, people, cuts, known, k, *others, **more):
    earlier = released(trees, people, cuts[:-1], known)
    data, bound = table(trees, people, len(cuts) - 1), promise(k, earlier, known, *others, **more)
    return data, bound, top_down(data, bound, AIM)


def judged(case, chosen, known):
    found = LivingCase(case.trees, case.people, [*case.cuts[:-1], chosen]).exact(known)
    return min(found.values())


@pytest.mark.parametrize("known", list(Leavers))
@pytest.mark.parametrize("count", [2, 3])
def test_the_search_is_safe_and_minimal(known, count):
    """What is found leaves everybody k; for two releases every finer recoding would leave somebody fewer."""
    some = 0
    for seed in range(30):
        case = random_case(seed, count=count, keys=4 - count, rows=5 + 2 * count, values=2)
        if all(max(p[-1]) < count - 1 for p in case.people):
            continue  # nobody is left to publish
        try:
            data, bound, found = searched(case.trees, case.people, case.cuts, known, 2)
        except (RefusedByHistory, Infeasible):
            continue
        some += 1
        chosen = [found.recoding.cuts[f"q{j}"] for j in range(len(case.trees))]
        assert judged(case, chosen, known) >= 2
        assert bound.of_table[0].verdict_on(data, found.recoding.cuts).holds
        for j, cut in enumerate(chosen) if count == 2 else ():
            for node in cut.specializations.tolist():
                assert judged(case, [*chosen[:j], cut.specialize(node), *chosen[j + 1 :]], known) < 2
    assert some


def test_a_chain_that_nobody_leaves_is_planned_as_before():
    """Counted departures, of which there are none, are the rule for tables that only grow."""
    tree, rng = (
        Taxonomy.grow(["*", "A", "B", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2]),
        np.random.default_rng(3),
    )
    same = 0
    for _ in range(12):
        drawn = [[str(x) for x in rng.choice(list("abcd"), 2)] for _ in range(40)]
        people = [
            (*q, int(rng.integers(3)), frozenset({0, 1} if i < 24 else {1})) for i, q in enumerate(drawn)
        ]
        cuts = [[Cut.of_labels(tree, ["A", "B"]), Cut.root(tree)], None]
        earlier = released([tree, tree], people, cuts[:1], Leavers.COUNTED)
        data = table([tree, tree], people, 1)
        grown = Promises((Continuous(3, since="since"),)).given(
            [replace(i, departures=None) for i in earlier]
        )
        left = promise(3, earlier, Leavers.COUNTED)
        try:
            before = top_down(data, grown, AIM)
        except RefusedByHistory:
            with pytest.raises(RefusedByHistory):
                top_down(data, left, AIM)
            continue
        assert top_down(data, left, AIM).recoding.cuts == before.recoding.cuts
        same += 1
    assert same


X = [two("x", "y")]
OLD = [("x", s, frozenset({0, 1})) for s in (0, 0, 0, 1, 1)] + [
    ("y", s, frozenset({0, 1})) for s in (0, 0, 1, 1)
]
LEFT = [
    ("x", 0, frozenset({0})),
    ("x", 1, frozenset({0})),
    ("y", 0, frozenset({0})),
    ("y", 1, frozenset({0})),
]
NEW = [("x", 0, frozenset({1})), ("x", 1, frozenset({1})), ("y", 0, frozenset({1})), ("y", 1, frozenset({1}))]
CUTS = [[Cut.leaves(X[0])], [Cut.leaves(X[0])]]


def refusal(people, earlier, known="counted", k=2, error=RefusedByHistory, **more):
    with pytest.raises(error) as caught:
        promise(k, earlier, known, **more).of_table[0].watch(table(X, people, len(earlier)))
    return str(caught.value)


def test_rows_that_are_missing_or_altered_are_refused():
    people = OLD + LEFT + NEW
    earlier = released(X, people, CUTS[:1], "counted")
    promise(2, earlier, "counted").of_table[0].watch(table(X, people, 1))
    assert "1 rows of release 1 are missing" in refusal(OLD + LEFT[1:] + NEW, earlier)
    altered = [("y", 1, frozenset({0})), *LEFT[1:]]
    assert "do not give what was published" in refusal(OLD + altered + NEW, earlier)


def test_an_assumption_stays_what_it_was():
    people = OLD + LEFT + NEW
    earlier = released(X, people, CUTS[:1], "counted")
    assert "knows something else of departures" in refusal(people, earlier, "unknown")
    plain = [replace(i, departures=None) for i in earlier]
    promise(2, plain, "counted").of_table[0].watch(table(X, people, 1))
    assert "knows something else of departures" in refusal(people, plain, "total")


def test_leaving_before_coming_is_bad_data():
    data = table(X, OLD + LEFT + NEW, 1)
    earlier = released(X, OLD + LEFT + NEW, CUTS[:1], "counted")
    late = Microdata.of_codes(
        data.columns,
        [np.array([c], np.int32) for c in (X[0].rank("x"), 0, SINCE.rank("b2"), UNTIL.rank("b1"), 0)],
    )
    broken = replace(data, departed=late)
    with pytest.raises(BadData, match="left before they came"):
        promise(2, earlier, "counted").of_table[0].watch(broken)


def test_who_stands_alone_is_named():
    gone = [("x", 1, frozenset({0}))]
    people = OLD + gone
    earlier = released(X, people, CUTS[:1], "counted", k=1)
    with pytest.raises((RefusedByHistory, Infeasible), match="who has left"):
        top_down(table(X, people, 1), promise(4, earlier, "counted"), AIM)
    newcomer = [*OLD, ("x", 1, frozenset({1}))]
    earlier = released(X, newcomer, CUTS[:1], "counted", k=1)
    assert "somebody who is new would keep 1 candidate of 4" in refusal(newcomer, earlier, k=4)
    assert "new" in refusal(newcomer, earlier, k=4, error=HeldBack, hold=True)


def test_how_many_more_people_are_needed_is_said():
    """Five with flu and five with HIV, one of whom is erased; three and three come: two companions."""
    tree = two("x", "y")
    people = (
        [("x", 0, frozenset({0, 1}))] * 5 + [("x", 1, frozenset({0, 1}))] * 4 + [("x", 1, frozenset({0}))]
    )
    people += [("x", s, frozenset({1})) for s in (0, 1) for _ in range(3)]
    earlier = released([tree], people, [[Cut.root(tree)]], "counted")
    with pytest.raises(
        Infeasible, match=r"who has left .*: at least 2 more people have to leave or come first"
    ):
        top_down(table([tree], people, 1), promise(5, earlier, "counted"), AIM)


def test_survivors_keep_their_values():
    tree = two("x", "y")
    people = [(x, s, frozenset({0, 1})) for x in "xy" for s in (0, 1) for _ in range(3)]
    cuts = [[Cut.leaves(tree)], None]
    _, _, found = searched([tree], people, cuts, "unknown", 2, DistinctLDiversity("s", 2), survivors=True)
    assert found.recoding.count == 2
    alike = [(x, s, frozenset({0, 1})) for x, s in zip("xy", (0, 1), strict=True) for _ in range(3)]
    cuts = [[Cut.root(tree)], None]
    _, _, found = searched([tree], alike, cuts, "unknown", 2, DistinctLDiversity("s", 2), survivors=True)
    assert found.recoding.count == 1


def read(**keys):
    columns = {n: {"role": "identifier"} for n in ("batch", "left", "who")}
    columns |= {
        "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK"]}}},
        "s": {"role": "sensitive"},
    }
    return Policy.from_dict(
        {
            "columns": columns,
            "promises": [{"continuous": {"k": 2, **keys}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"until": "left"}, "until needs since"),
        ({"since": "batch", "leavers": "total"}, "needs until"),
        ({"leavers": "unknown"}, "needs until or person"),
        ({"person": "who", "leavers": "counted", "returns": True}, "say leavers: unknown"),
        ({"since": "batch", "until": "left", "moves": ["place"]}, "moves needs person"),
        ({"person": "who", "leavers": "counted", "moves": ["s"]}, "is no key"),
        (
            {"person": "who", "leavers": "counted", "corrected": True},
            "corrected needs person, since and until",
        ),
        (
            {"person": "who", "since": "batch", "until": "left", "corrected": True},
            "corrected can be judged where departures are unknown alone",
        ),
        ({"since": "batch", "until": "left", "adversary": "register"}, "against a register nobody may leave"),
        ({"since": "batch", "returns": True}, "say with until or leavers"),
        ({"since": "batch", "until": "place"}, "must not be published"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(keys, said):
    with pytest.raises(BadPolicy, match=said):
        read(**keys)


def test_versions_for_recipients_are_refused():
    words = {**read(since="batch", until="left").to_dict(), "recipients": {"coalition": "none"}}
    with pytest.raises(BadPolicy, match="releases that people have left"):
        Policy.from_dict(words)


def test_the_policy_says_what_it_promises():
    found = read(since="batch", until="left").promises.of_table[0]
    assert str(found) == "continuous, k = 2, departures counted"
    assert "is or was in a release" in found.in_words() and "in every part" in found.in_words()
    again = read(**found.parameters())
    assert again.promises.of_table[0] == found


@pytest.mark.parametrize("known", list(Leavers))
@pytest.mark.parametrize("count", [2, 3])
def test_people_who_are_alike_are_judged_together(known, count):
    """Counted together or one by one: the same candidates, the same shared people, under all cuts."""
    merged = 0
    for seed in range(20):
        case = random_case(seed, count=count, keys=4 - count, rows=12, values=2)
        if all(max(p[-1]) < count - 1 for p in case.people):
            continue
        people = [(*p[:-1], frozenset(p[-1])) for p in case.people for _ in range(2)]
        earlier = released(case.trees, people, case.cuts[:-1], known)
        terms = promise(2, earlier, known).of_table[0]._living_terms
        apart = LivingHistory.of(table(case.trees, people, count - 1), earlier, terms)
        together = apart.merged
        merged += together.table.distinct < apart.table.distinct
        for cut in (*case.cuts, [Cut.root(t) for t in case.trees], [Cut.leaves(t) for t in case.trees]):
            cuts = {f"q{j}": x for j, x in enumerate(cut)}
            one, other = LeaversRule(apart, 2), LeaversRule(together, 2)
            for every in (False, True):
                kept = one.candidates(cuts, all_of_them=every)
                assert other.candidates(cuts, all_of_them=every) == kept
            shared = [h.shared_with(*h.released(cuts)) for h in (apart, together)]
            assert [s.tolist() for s in shared[0]] == [s.tolist() for s in shared[1]]
    assert merged
