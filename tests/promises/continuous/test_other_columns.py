"""The promise beside releases with other columns, through the search: against the enumeration of worlds."""

import os
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from oracles.other_columns import S, random_other_columns
from sfumato.core.errors import Infeasible, RefusedByHistory
from sfumato.core.leavers import Leavers
from sfumato.core.marks import label_marks
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.promise import Promises
from sfumato.core.taxonomy import Taxonomy
from sfumato.promises import Continuous
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.top_down import top_down

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "12"))
AIM = Aim(loss="discernibility")
ROWS = Taxonomy.flat([f"p{i:02}" for i in range(40)])


def table(case, j):
    """The people who are in release j, with the columns that it shows, told by a key."""
    there = [(n, p) for n, p in enumerate(case.people) if j in p[-1]]
    columns = [Column(f"q{c}", Role.QUASI, case.trees[c]) for c in case.keys[j]]
    columns += [Column(f"v{c}", Role.SENSITIVE, S) for c in case.values[j]]
    columns.append(Column("who", Role.IDENTIFIER, ROWS))
    codes = [[case.trees[c].rank(p[c]) for _, p in there] for c in case.keys[j]]
    codes += [[p[-2][c] for _, p in there] for c in case.values[j]]
    codes.append([ROWS.rank(f"p{n:02}") for n, _ in there])
    return Microdata.of_codes(columns, [np.array(some, np.int32) for some in codes])


def remembered(case, known):
    """The imprints of all releases but the last, as those of a chain that tells people by a key."""
    made = []
    for j, imprint in enumerate(case.imprints(known or "counted")[:-1]):
        marks = label_marks([f"p{n:02}" for n, p in enumerate(case.people) if j in p[-1]])
        after = tuple(i.digest for i in made)
        told = {"departures": None} if known is None else {}
        made.append(replace(imprint, batches=marks, since="who", after=after, **told))
    return made


def in_all(case):
    people = [(*p[:-1], frozenset(range(min(p[-1]), case.count))) for p in case.people]
    return replace(case, people=people)


@pytest.mark.parametrize("known", [None, "counted", "total", "unknown"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_search_is_safe_and_for_two_releases_minimal(known, count):
    found, last = 0, count - 1
    for seed in range(CASES):
        case = random_other_columns(seed, count=count, rows=6 if count == 2 else 3)
        case = case if count == 2 else replace(case, people=case.people * 2)
        case = in_all(case) if known is None else case
        if all(last not in p[-1] for p in case.people):
            continue
        leavers = None if known is None else Leavers(known)
        promise = Continuous(2, person="who", leavers=leavers)
        bound = Promises((promise,)).given(remembered(case, known))
        try:
            outcome = top_down(table(case, last), bound, AIM)
        except (Infeasible, RefusedByHistory):
            continue
        found += 1
        chosen = list(case.cuts[last])
        for c in case.keys[last]:
            chosen[c] = outcome.recoding.cuts[f"q{c}"]
        assert judged(case, chosen, known) >= 2, seed
        for c in case.keys[last] if count == 2 else ():
            for node in chosen[c].specializations.tolist():
                finer = [*chosen[:c], chosen[c].specialize(node), *chosen[c + 1 :]]
                assert judged(case, finer, known) < 2, seed
    assert found


def judged(case, cuts, known):
    return min(replace(case, cuts=[*case.cuts[:-1], cuts]).exact(known or "counted").values())


COLUMNS = {
    "age": {"role": "quasi", "taxonomy": {"tree": {"All": ["young", "old"]}}},
    "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
    "disease": {"role": "sensitive"},
    "wage": {"role": "sensitive"},
}
PEOPLE = pl.DataFrame(
    [
        (age, place, had, wage)
        for age in ("young", "old")
        for place in ("UK", "France")
        for had in ("Flu", "HIV")
        for wage in ("low", "high")
    ]
    * 2,
    schema=list(COLUMNS),
    orient="row",
)


def policy(names, *others, **keys):
    return {
        "columns": {name: COLUMNS[name] for name in names},
        "promises": [{"continuous": {"k": 3, **keys}}, *others],
        "protect": {"search": "top-down", "suppress": 0},
    }


def planned(*shown, **keys):
    made = []
    for names in shown:
        plan = sf.protect(PEOPLE.select(names), policy(names, **keys), earlier=[p.imprint for p in made])
        made.append(plan)
    return made


def test_the_same_people_are_published_with_other_columns_for_another_purpose():
    first, second, third = planned(
        ["age", "disease", "wage"], ["place", "disease"], ["age", "place", "disease"]
    )
    assert all(plan.verdicts[0].holds for plan in (first, second, third))
    found = sf.attack.correspondence([p.imprint for p in (first, second, third)], policy(["age", "disease"]))
    assert found.holds and found.FA >= 3


def test_a_column_that_comes_and_goes_is_refused():
    with pytest.raises(RefusedByHistory, match="several releases of the chain and not by all"):
        planned(["age", "disease", "wage"], ["place", "disease", "wage"], ["age", "disease"])


def test_what_survives_is_not_judged_beside_other_columns():
    names = ["place", "disease"]
    l_diversity = {"l-diversity": {"of": "disease", "kind": "distinct", "l": 2}}
    rules = policy(names, l_diversity, survivors=True)
    first = sf.protect(
        PEOPLE.select(["age", "disease"]), policy(["age", "disease"], l_diversity, survivors=True)
    )
    with pytest.raises(RefusedByHistory, match="what survives is not judged"):
        sf.protect(PEOPLE.select(names), rules, earlier=[first.imprint])


def test_against_a_register_the_columns_stay_the_same():
    first = sf.protect(PEOPLE.select(["age", "disease"]), policy(["age", "disease"], adversary="register"))
    names = ["place", "disease"]
    with pytest.raises(RefusedByHistory, match="showed other columns"):
        sf.protect(PEOPLE.select(names), policy(names, adversary="register"), earlier=[first.imprint])
