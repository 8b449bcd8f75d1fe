"""Views of one base of groups, in every release and for every recipient, tell nothing but histograms."""

import os
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from oracles.group_beliefs import believed, gaps
from oracles.group_chains import (
    History,
    Step,
    groups_hidden,
    groups_seen,
    left_out_by_coins,
    left_out_by_keys,
    left_out_by_values,
    marked,
    plain,
    plans_of,
    publish_chain,
    raised_by_values,
)
from oracles.groups import REFUSED, Confidence, Distinct, Rules

CHAINS = int(os.environ.get("SFUMATO_GROUP_WORLDS", "600")) // 20
HALF = Fraction(1, 2)
RULES = (
    Rules((Distinct(2),), Fraction(1, 20)),
    Rules((Distinct(2), Confidence("a", Fraction(2, 3))), Fraction(1, 20)),
    Rules((Confidence("a", HALF),), HALF, "quiet"),
)
RECIPIENTS = (
    (plain,),
    (plain, marked),
    (plain, left_out_by_keys),
    (left_out_by_coins,),
    (raised_by_values, marked),
    (left_out_by_keys, left_out_by_coins, plain),
)
LIFE = {"any": lambda _: 1, "for life": lambda b: 5 if len(set(b)) == 1 else 1}


def histories(count, seed=2):
    """Two or three releases of few people: batches, leavers, people who return, several recipients."""
    draw = random.Random(seed)
    for place in range(count):
        batches = draw.choice([(4, 2), (2, 2, 2), (2, 4), (3, 3), (6,), (4, 4)])
        shows = (1,) * sum(batches)
        if place % 5 == 4:
            batches, shows = (4, 2), (2, 2, 2, 2, 1, 1)
        steps = []
        begun = 0
        for size in batches:
            known = list(range(begun))
            gone = tuple(draw.sample(known, 1)) if known and place % 2 else ()
            again = tuple(draw.sample(known, 1)) if known else ()
            steps.append(Step(tuple(range(begun, begun + size)), gone, again))
            begun += size
        yield History(
            keys=tuple((draw.randrange(8), draw.randrange(8)) for _ in shows),
            shows=shows,
            steps=tuple(steps),
            k=1 if max(batches) == 2 else 2,
            block=2,
            rules=draw.choice(RULES),
            recipients=draw.choice(RECIPIENTS),
            leavers=draw.choice(["linger", "withheld"]),
        )


def worlds(history, values="ab", further=0):
    """Every assignment of values to every row; `further` people have one more row, which is not shown."""
    rows = [count + (person < further) for person, count in enumerate(history.shows)]
    return list(product(*(["".join(b) for b in product(values, repeat=count)] for count in rows)))


def test_every_view_of_every_release_tells_histograms_alone():
    totals = Counter()
    for place, history in enumerate(histories(CHAINS)):
        for plans in plans_of(history):
            beliefs = believed(
                worlds(history),
                lambda world, h=history, p=plans: publish_chain(h, p, world),
                likely=LIFE["for life" if place % 2 else "any"],
            )
            assert gaps(beliefs, groups_seen) == [], (history, plans)
            units = {unit for plan in plans for kind in plan for block in kind for unit in block}
            totals["plans"] += 1
            totals["observations"] += len(beliefs)
            totals["refused"] += sum(REFUSED in seen for seen in beliefs)
            totals["groups seen"] += sum(len(groups_seen(seen)) for seen in beliefs)
            totals["joined groups"] += sum(g.members not in units for s in beliefs for g in groups_seen(s))
            totals["hidden groups"] += sum(len(groups_hidden(seen)) for seen in beliefs)
    assert totals["joined groups"] > totals["plans"]
    if "SFUMATO_GROUP_TOTALS" in os.environ:
        print(dict(totals, chains=CHAINS))


@pytest.mark.parametrize("rule", ["any", "a for life", "changes"])
def test_first_rows_are_told_by_their_class_whatever_further_rows_hold(rule):
    """Two people return, their further rows are bare; how rows of one person hang together is known."""
    likely = {
        "any": lambda _: 1,
        "a for life": lambda b: 0 if b[0] == "a" and "b" in b else 1,
        "changes": lambda b: 4 if len(set(b)) > 1 else 1,
    }[rule]
    first, second = Step((0, 1, 2, 3), (), (0, 1)), Step((4, 5), (), (0, 1))
    keys = ((1, 1), (2, 5), (5, 1), (3, 2), (2, 2), (4, 4))
    history = History(keys, (1,) * 6, (first, second), 2, 2, RULES[0], (plain, marked))
    (plans,) = plans_of(history)
    # The rule is the same for all members of a group, so everybody has a second row, in the table or not.
    everybody = worlds(history, further=6)
    beliefs = believed(everybody, lambda world: publish_chain(history, plans, world), likely=likely)
    assert gaps(beliefs, groups_seen) == []
    assert any(bare for seen in beliefs if REFUSED not in seen for view in seen[-1] for *_, bare in view)


def test_that_people_return_must_tell_nothing_of_their_values():
    """Where those alone return who had a, their bare rows tell it: this is outside of what groups promise."""
    keys = ((1, 1), (2, 2), (3, 3))
    history = History(keys, (1,) * 3, (Step((0, 1, 2)),), 3, 2, RULES[0], (plain,))
    (plans,) = plans_of(history)

    def publish(world):
        came = tuple(person for person, biography in enumerate(world) if biography == "a")
        return {(*seen, came): p for seen, p in publish_chain(history, plans, world).items()}

    beliefs = believed(worlds(history), publish)
    assert gaps(beliefs, lambda seen: groups_seen(seen[:-1]))


def test_groups_that_no_view_shows_are_believed_to_keep_every_promise():
    """A view may leave groups out by what they show: of hidden people, a mean of kept histograms is told."""
    keys = tuple((person, 0) for person in range(8))
    rules = Rules((Confidence("a", HALF),), Fraction(1, 20))
    history = History(keys, (1,) * 8, (Step(tuple(range(8))),), 2, 2, rules, (left_out_by_values,))
    (plans,) = plans_of(history)
    beliefs = believed(worlds(history), lambda world: publish_chain(history, plans, world))
    assert gaps(beliefs, groups_seen) == []
    hidden = [
        belief.about(person).get("a", 0)
        for seen, belief in beliefs.items()
        if seen != (REFUSED,)
        for members in groups_hidden(seen)
        for person in members
    ]
    assert hidden
    assert max(hidden) <= HALF
    assert len(set(hidden)) > 1
