"""Each rule about values, removed: the same enumeration finds people of whom more is known than promised."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product

import pytest

from oracles.group_beliefs import believed, exposed, gaps, worlds_of
from oracles.groups import (
    CERTAIN,
    REFUSED,
    Closeness,
    Confidence,
    Distinct,
    Group,
    Rules,
    classes_of,
    every_outcome,
    published,
)

HALF = Fraction(1, 2)
TWO_VALUES = Rules((Distinct(2),), decoys=Fraction(0))
PAIRS = ((((0, 1), (2, 3), (4, 5)),),)
"""Three units of two people in one block."""


def surely(observation):
    """A program without coins."""
    return {observation: CERTAIN}


def everything(values, people):
    return ["".join(world) for world in product(values, repeat=people)]


def certain_people(beliefs, observation):
    return {person: biography for seen, person, biography in exposed(beliefs) if seen == observation}


def by_chains(classes, rows, likely=lambda _: True):
    """Belief about whole biographies, from classes that may lie in several releases.

    `classes` are (what is shown, places), where a place is (person, row): every way to deal each class out to
    its places is a world, if every person's biography is likely. `rows` is how many rows each person has.
    """
    beliefs = defaultdict(Counter)
    worlds = 0
    for deals in product(*(set(_orders(values)) for values, _ in classes)):
        told = {
            place: value
            for deal, (_, places) in zip(deals, classes, strict=True)
            for place, value in zip(places, deal, strict=True)
        }
        people = {
            who: "".join(told.get((who, row), "?") for row in range(count)) for who, count in rows.items()
        }
        if all(likely(biography) for biography in people.values()):
            worlds += 1
            for who, biography in people.items():
                beliefs[who][biography] += 1
    return {who: {b: Fraction(n, worlds) for b, n in found.items()} for who, found in beliefs.items()}


def _orders(values):
    return [tuple(world) for world in worlds_of(values)]


# A–D: people with further rows ----------------------------------------------------------------------------


def h_for_life(biography):
    """Whoever has h in one row has it in all later ones that are known."""
    seen = biography.replace("?", "")
    return "h" not in seen or set(seen[seen.index("h") :]) == {"h"}


def test_a_values_of_a_returning_person_beside_newcomers_tell_the_first_row():
    rows = {"P": 2, "X": 1, "Y": 1, "Q": 1, "R": 1}
    first = ("ffh", [("P", 0), ("X", 0), ("Y", 0)])
    second = ("cub", [("P", 1), ("Q", 0), ("R", 0)])
    told = by_chains([first, second], rows, h_for_life)
    assert {biography[0] for biography in told["P"]} == {"f"}
    bare = by_chains([first], rows, h_for_life)
    assert bare["P"] == {"f?": Fraction(2, 3), "h?": Fraction(1, 3)}


def test_b_placing_a_returning_person_by_what_the_class_holds_tells_the_value():
    """P (person 0) joins the newcomers 3 and 4 if the three show two values; P's own has not changed."""

    def publish(world):
        place = len({world[0], world[3], world[4]}) >= 2
        second = (0, 3, 4) if place else (3, 4)
        return surely(frozenset(Group(m, classes_of(m, world)) for m in ((0, 1, 2), second)))

    worlds = [w for w in everything("ab", 5) if len(set(w[:3])) == 2]
    beliefs = believed(worlds, publish)
    no = frozenset({Group((0, 1, 2), ("aab",)), Group((3, 4), ("aa",))})
    assert certain_people(beliefs, no)[0] == "a"
    assert beliefs[frozenset({Group((0, 1, 2), ("aab",)), Group((0, 3, 4), ("aab",))})].about(0)[
        "a"
    ] == Fraction(4, 5)


def test_c_leaving_with_the_own_rows_alone_tells_them():
    """P and X leave; P had rows in two classes with the same value, X in the first."""
    rows = {"P": 2, "X": 1, "c": 1, "d": 1, "e": 1, "g": 1}
    first = [("P", 0), ("X", 0), ("c", 0), ("d", 0)]
    second = [("P", 1), ("e", 0), ("g", 0)]

    def unchanged(biography):
        return len(set(biography.replace("?", ""))) <= 1

    before = by_chains([("abcd", first), ("ace", second)], rows, unchanged)
    assert before["P"] == {"aa": HALF, "cc": HALF}
    difference = [("ab", first[:2]), ("cd", first[2:]), ("a", second[:1]), ("ce", second[1:])]
    after = by_chains(difference, rows, unchanged)
    assert after["P"] == {"aa": 1}
    assert after["X"] == {"b": 1}


def test_c_one_person_who_leaves_alone_is_told_by_the_difference():
    def publish(world, whole):
        now = () if whole else (1, 2, 3)
        return surely((Group((0, 1, 2, 3), classes_of((0, 1, 2, 3), world)), classes_of(now, world)))

    alone = believed(worlds_of("aabc"), lambda world: publish(world, whole=False))
    assert {person for _, person, _ in exposed(alone)} == {0}
    assert len({seen for seen, person, _ in exposed(alone)}) == len(alone) == 3
    together = believed(worlds_of("aabc"), lambda world: publish(world, whole=True))
    assert gaps(together, lambda seen: seen[:1]) == []


def test_d_a_row_that_lacks_one_unchanged_column_names_its_person():
    """The class of P's further row: everybody else shows a number of visits beside the value, P does not."""

    def publish(world, unchanged):
        cells = [(value, "" if person == 0 and not unchanged else "1") for person, value in enumerate(world)]
        return surely((Group((0, 1, 2), classes_of((0, 1, 2), world)), tuple(sorted(cells))))

    partly = believed(worlds_of("abc"), lambda world: publish(world, unchanged=False))
    assert {person for _, person, _ in exposed(partly)} == {0}
    wholly = believed(worlds_of("abc"), lambda world: publish(world, unchanged=True))
    assert gaps(wholly, lambda seen: seen[:1]) == []


# E–F: groups that look at values --------------------------------------------------------------------------


def test_e_withholding_a_group_that_fails_tells_its_values():
    keep = Confidence("a", HALF)

    def publish(world):
        shown = [unit for unit in ((0, 1), (2, 3)) if keep("".join(sorted(world[p] for p in unit)))]
        return surely(frozenset(Group(unit, classes_of(unit, world)) for unit in shown))

    beliefs = believed(everything("ab", 4), publish)
    seen = frozenset({Group((0, 1), ("ab",))})
    assert certain_people(beliefs, seen) == {2: "a", 3: "a"}


@pytest.mark.parametrize("choice", ["a broken unit", "any unit"])
def test_e_units_that_are_left_over_are_drawn_before_values_are_read(choice):
    """Five units, blocks of two: of the unit that is not shown, nothing but the prior must be believed."""
    units = tuple((p, p + 1) for p in range(0, 10, 2))
    rules = Rules((Confidence("a", HALF),), Fraction(0))

    def publish(world):
        broken = [unit for unit in units if not rules.keep(classes_of(unit, world))]

        def run(coins):
            gone = coins.draw(broken if broken and choice == "a broken unit" else units)
            kept = [unit for unit in units if unit != gone]
            return (gone, coins.pick(published(((tuple(kept[:2]), tuple(kept[2:])),), rules, world)))

        return every_outcome(run)

    beliefs = believed(everything("ab", 10), publish)
    assert gaps(beliefs, lambda seen: [] if seen[1] == REFUSED else seen[1]) == []
    told = {belief.about(person)["a"] for (gone, _), belief in beliefs.items() for person in gone}
    assert (told == {HALF}) == (choice == "any unit")


def classes_by_search(world, least):
    """The partition of least loss that keeps k = 2 and `least` values: a search that looks at values."""
    people = range(len(world))

    def partitions(left):
        if not left:
            yield ()
            return
        for size in range(1, len(left)):
            for others in combinations(left[1:], size):
                part = (left[0], *others)
                rest = tuple(p for p in left if p not in part)
                yield from ((part, *further) for further in partitions(rest))

    kept = [
        parts
        for parts in partitions(tuple(people))
        if all(len({world[p] for p in part}) >= least for part in parts)
    ]
    return min(kept, key=lambda parts: (loss(parts), parts), default=None)


def loss(parts):
    """Keys are the numbers of people; everybody loses the width of their class."""
    return sum((max(part) - min(part)) * len(part) for part in parts)


def test_f_a_search_that_looks_at_values_tells_them():
    worlds = [world for world in everything("abc", 6) if len(set(world)) > 1]
    parts_of = {world: classes_by_search(world, 2) for world in worlds}

    def publish(world):
        return surely(frozenset(Group(part, classes_of(part, world)) for part in parts_of[world]))

    beliefs = believed(worlds, publish)
    certain = {seen for seen, *_ in exposed(beliefs)}
    tables = sum(bool(certain & publish(world).keys()) for world in worlds)
    assert (len(worlds), tables) == (726, 174)


def test_f_choosing_the_better_of_two_modes_by_their_losses_tells_values():
    """Blind, if its loss is at most 1.1 times the loss of a search that looks at values."""
    worlds = [world for world in everything("ab", 6) if len(set(world)) == 2]

    def publish(world):
        parts = classes_by_search(world, 2)
        informed = frozenset(Group(part, classes_of(part, world)) for part in parts)

        def run(coins):
            blind = coins.pick(published(PAIRS, TWO_VALUES, world))
            if 10 * loss([group.members for group in blind]) <= 11 * loss(parts):
                return ("blind", blind)
            return ("informed", informed)

        return every_outcome(run)

    beliefs = believed(worlds, publish)
    assert gaps(beliefs, lambda seen: seen[1])
    assert exposed({seen: belief for seen, belief in beliefs.items() if seen[0] == "blind"})


# I–N: what is said beside the table -----------------------------------------------------------------------


def test_i_the_number_of_rows_is_not_chosen_by_what_they_hold():
    """Second rows are shown if they keep two values, else bare; f and h in the first rows, h is for life."""

    def publish(world):
        second = classes_of((0, 1), tuple(biography[1] for biography in world))
        first = Group((0, 1), classes_of((0, 1), tuple(biography[0] for biography in world)))
        return surely((first, second if Distinct(2)(second[0]) else "bare"))

    worlds = [w for w in product(["ff", "fh", "hf", "hh"], repeat=2) if {b[0] for b in w} == {"f", "h"}]
    beliefs = believed(worlds, publish, likely=h_for_life)
    belief = beliefs[Group((0, 1), ("fh",)), "bare"]
    assert belief.about(0, 1) == belief.about(1, 1) == {"h": 1}


def test_j_that_a_value_changed_is_not_shown():
    def publish(world):
        first = Group((0, 1), classes_of((0, 1), tuple(biography[0] for biography in world)))
        return surely((first, world[0][0] != world[0][1]))

    worlds = [w for w in product(["ff", "fh", "hf", "hh"], repeat=2) if {b[0] for b in w} == {"f", "h"}]
    beliefs = believed(worlds, publish, likely=h_for_life)
    assert beliefs[Group((0, 1), ("fh",)), True].about(0) == {"f": 1}


def test_k_whoever_has_several_rows_may_have_had_a_value_in_any():
    plan = ((((0, 1),),),)
    beliefs = believed(worlds_of("fh", "fh"), lambda world: published(plan, TWO_VALUES, world))
    (belief,) = beliefs.values()
    assert [belief.about(0, row)["h"] for row in (0, 1)] == [HALF, HALF]
    assert belief.ever(0, "h") == Fraction(3, 4)


def test_l_a_batch_that_waits_for_a_low_loss_tells_its_values():
    """Four newcomers wait for four others if neither of their units can be shown without the other."""

    def publish(world, wait):
        first = (0, 1), (2, 3)
        costly = all(not TWO_VALUES.keep(classes_of(unit, world)) for unit in first)
        if wait and costly:
            later = ((((0, 4), (1, 5), (2, 6), (3, 7)),),)
            return {("waited", seen): p for seen, p in published(later, TWO_VALUES, world).items()}
        plan = ((first,), (((4, 5), (6, 7)),))
        return {("at once", seen): p for seen, p in published(plan, TWO_VALUES, world).items()}

    def groups_of(seen):
        return [] if seen[1] == REFUSED else seen[1]

    worlds = everything("ab", 8)
    beliefs = believed(worlds, lambda world: publish(world, wait=True))
    wrong = gaps(beliefs, groups_of)
    assert {gap.observation[0] for gap in wrong} == {"waited"}
    assert sum(max(gap.belief.values()) == 1 for gap in wrong) == 96
    assert gaps(believed(worlds, lambda world: publish(world, wait=False)), groups_of) == []


@pytest.mark.parametrize(
    "promise", [Distinct(2), Distinct(3), Confidence("a", HALF), Closeness("aabc", HALF)]
)
def test_m_classes_that_look_like_one_keep_what_each_keeps(promise):
    kept = [
        c for n in range(1, 6) for c in {"".join(sorted(w)) for w in product("abc", repeat=n)} if promise(c)
    ]
    assert all(promise("".join(sorted(one + other))) for one, other in product(kept, repeat=2))


def test_m_a_promise_that_a_union_may_break_is_noticed():
    def at_most_two_rows(values):
        return values.count("a") <= 2

    assert at_most_two_rows("aab")
    assert not at_most_two_rows("aab" + "aab")


def test_n_a_number_that_was_counted_with_the_truth_tells_it():
    def publish(world):
        hits = (world[0] == "a") + (world[1] == "b")
        return surely((Group((0, 1), classes_of((0, 1), world)), hits))

    assert len(exposed(believed(worlds_of("ab"), publish))) == 4
