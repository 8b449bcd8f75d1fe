"""Changes of written trees: whatever is done, the values stay the same and the tree stays one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.taxonomies.files import NestedTree, TreeChange, with_values, written_tree
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.errors import UsageError

TREE = NestedTree.read({"tree": {"A": {"A1": ["a", "b"], "A2": ["c"]}, "B": ["d", "e"]}})


def values(tree):
    """The values of a written tree, counted without building it."""

    def below(branch):
        return [branch] if isinstance(branch, str) else [v for child in branch[1] for v in below(child)]

    return Counter(value for branch in tree.branches for value in below(branch))


def paths(tree):
    """The paths of all nodes, and whether each is a group."""

    def below(branch, path):
        yield path, not isinstance(branch, str)
        if not isinstance(branch, str):
            for number, child in enumerate(branch[1]):
                yield from below(child, (*path, number))

    return [found for number, branch in enumerate(tree.branches) for found in below(branch, (number,))]


def test_each_change_does_what_it_says():
    assert TreeChange(TREE).rename((0, 1), "Z").spec["tree"]["A"] == {"A1": ["a", "b"], "Z": ["c"]}
    assert TreeChange(TREE).group([(1, 0), (1, 1)], "N").spec["tree"]["B"] == {"N": ["d", "e"]}
    split = TreeChange(TREE).split([(0, 0)], "N").spec["tree"]
    assert split == {"A": {"A2": ["c"]}, "N": {"A1": ["a", "b"]}, "B": ["d", "e"]}
    assert TreeChange(TREE).merge([(0, 0), (0, 1)], "A1").spec["tree"]["A"] == {"A1": ["a", "b", "c"]}
    assert TreeChange(TREE).move([(0, 1, 0)], (1,)).spec["tree"] == {
        "A": {"A1": ["a", "b"]},
        "B": ["d", "e", "c"],
    }
    assert TreeChange(TREE).dissolve((0,)).spec["tree"] == {"A1": ["a", "b"], "A2": ["c"], "B": ["d", "e"]}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t.rename((0, 0, 0), "x"), "a value, not a group"),
        (lambda t: t.rename((0,), "B"), "of this name already"),
        (lambda t: t.rename((0,), "  "), "needs a name"),
        (lambda t: t.rename((7,), "x"), "no such node"),
        (lambda t: t.rename((), "x"), "a value, not a group"),
        (lambda t: t.group([(0,), (1, 0)], "x"), "not side by side"),
        (lambda t: t.group([], "x"), "no node is chosen"),
        (lambda t: t.split([(0,)], "x"), "in no group"),
        (lambda t: t.split([(1, 0), (1, 1)], "x"), "nothing would be left"),
        (lambda t: t.merge([(1, 0), (1, 1)], "x"), "two groups or more"),
        (lambda t: t.merge([(0,)], "x"), "two groups or more"),
        (lambda t: t.move([(0,)], (0, 0)), "into itself"),
        (lambda t: t.move([(0,)], (1, 0)), "a value, not a group"),
        (lambda t: t.move([()], (1,)), "no node is chosen"),
    ],
)
def test_what_makes_no_sense_is_refused(change, why):
    with pytest.raises(UsageError, match=why):
        change(TreeChange(TREE))


def done(change, act, chosen, name, target):
    if act == "move":
        return change.move(chosen, target)
    if act == "dissolve":
        return change.dissolve(chosen[0])
    if act == "rename":
        return change.rename(chosen[0], name)
    return getattr(change, act)(chosen, name)


@given(st.data())
def test_values_stay_whatever_is_done(data):
    tree = TREE
    for number in range(data.draw(st.integers(1, 6))):
        nodes = [path for path, _ in paths(tree)]
        chosen = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
        act = data.draw(st.sampled_from(["rename", "group", "split", "merge", "move", "dissolve"]))
        target = data.draw(st.sampled_from([(), *nodes]))
        try:
            changed = done(TreeChange(tree), act, chosen, f"new {number}", target)
        except UsageError:
            continue
        assert values(changed) == values(TREE)
        again = NestedTree.read(changed.spec)
        assert Counter(again.build([]).leaf_labels) == values(TREE)
        tree = changed


def test_what_was_built_is_written_down_and_values_are_added():
    built = TREE.build(["a", None])
    assert written_tree(built).spec == TREE.spec
    assert written_tree(Flat().build(["b", "a", None])).spec == {"tree": ["a", "b"]}
    more = with_values(TREE, [("f", "B", "*"), ("g", "C1", "C", "*"), ("h", "*")])
    assert more.spec["tree"][:2] == [{"A": {"A1": ["a", "b"], "A2": ["c"]}}, {"B": ["d", "e", "f"]}]
    assert more.spec["tree"][2:] == [{"C": {"C1": ["g"]}}, "h"]
