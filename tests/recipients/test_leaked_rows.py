"""How many leaked rows identify a recipient: the chance counted out, and coalitions tried one by one."""

import random
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.contract import Promises
from sfumato.recipients.capacity import USUAL_DOUBT, identifying_rows, rows_needed
from sfumato.search.suppression import recoded
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

TREE = Taxonomy.grow(["*", "ab", "a", "b", "cd", "c", "d"], [-1, 0, 1, 1, 0, 4, 4])


def all_cuts():
    """The five cuts of the tree."""
    leaves = {"ab": ["a", "b"], "cd": ["c", "d"]}
    yield dict.fromkeys("abcd", "*")
    for left in (leaves["ab"], ["ab", "ab"]):
        for right in (leaves["cd"], ["cd", "cd"]):
            yield dict(zip("abcd", [*left, *right], strict=True))


CUTS = list(all_cuts())


def cut(words):
    labels = list(TREE.labels)
    return Cut.of_nodes(TREE, sorted({labels.index(words[leaf]) for leaf in "abcd"}))


def made(draw, rows, columns):
    names = [f"q{j}" for j in range(columns)]
    cells = [[draw.choice("abcd") for _ in range(rows)] for _ in names]
    parts = [Column(name, Role.QUASI, TREE) for name in names]
    codes = [np.array([TREE.rank(v) for v in line], np.int32) for line in cells]
    table = Microdata.of_codes(parts, codes)
    return names, list(zip(*cells, strict=True)), table


def shown(row, version):
    return tuple(words[v] for words, v in zip(version, row, strict=True))


def can_come_from(text, value, words):
    """Whether somebody who shows `words[value]` can make this text: it is the same node or one above."""
    below = {"*": set("abcd"), "ab": set("ab"), "cd": set("cd")}
    return below.get(words[value], {words[value]}) <= below.get(text, {text})


@given(st.integers(0, 10**9))
def test_telling_rows_are_those_that_no_coalition_can_make(seed):
    draw = random.Random(seed)
    names, rows, table = made(draw, draw.randint(1, 7), draw.randint(1, 2))
    versions = [[draw.choice(CUTS) for _ in names] for _ in range(draw.randint(2, 4))]
    cuts = [{n: cut(w) for n, w in zip(names, version, strict=True)} for version in versions]
    found = identifying_rows("first", recoded(table, cuts[0], Promises(())), cuts[1:])
    for size, needed in found.by_size.items():
        telling = []
        for group in combinations(versions[1:], size):
            told = 0
            for row in rows:
                texts = shown(row, versions[0])
                explained = all(
                    any(can_come_from(texts[j], row[j], version[j]) for version in group)
                    for j in range(len(names))
                )
                told += not explained
            telling.append(told)
        assert needed == least(len(rows), telling)


def least(rows, telling):
    for drawn in range(1, rows + 1):
        missed = sum(Fraction(comb(rows - b, drawn), comb(rows, drawn)) for b in telling)
        if missed <= USUAL_DOUBT:
            return drawn
    return None


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_the_least_number_is_that_of_exact_chances(rows):
    draw = random.Random(rows)
    for _ in range(60):
        telling = [draw.randint(0, rows) for _ in range(draw.randint(1, 4))]
        assert rows_needed(rows, telling) == least(rows, telling)


def test_nobody_else_holds_a_version():
    names, _, table = made(random.Random(1), 4, 1)
    found = identifying_rows("only", recoded(table, {names[0]: cut(CUTS[1])}, Promises(())), [])
    assert found.by_size == {} and found.alone == 1 and "one row" in found.sentence
