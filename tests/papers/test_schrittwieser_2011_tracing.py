"""The examples of the paper on fingerprints."""

import numpy as np
import pytest

from papers.schrittwieser_2011_tracing import SETS, TABLE_V, cluster_c1, table_v
from recipients.toy_ledger import at_levels, found, shown
from sfumato.table.classes import Classes
from sfumato.table.recoding import classes_under


@pytest.mark.parametrize("content", [True, False])
def test_the_first_leak_of_table_v_is_from_the_police(content):
    result = table_v(content=content).trace({"gender": "p", "birthdate": "03.1970", "zip": "101X"})
    assert result.ours
    assert found(result) == {frozenset({"police"})}
    assert result.alone == ("police",)
    assert result.sources["birthdate"] == ("police",)
    assert set(result.sources["gender"]) == set(result.sources["zip"]) == set(SETS)


@pytest.mark.parametrize("content", [True, False])
def test_the_second_leak_of_table_v_needs_fireguard_and_police(content):
    result = table_v(content=content).trace({"gender": "p", "birthdate": "03.1970", "zip": "1015"})
    assert found(result) == {frozenset({"fireguard", "police"})}
    assert result.sources["zip"] == ("fireguard",) and result.sources["birthdate"] == ("police",)
    assert result.alone == ()


def test_the_pooled_pattern_of_all_three_is_the_minimum_and_names_everybody_alone():
    pooled = tuple(np.min(list(SETS.values()), axis=0).tolist())
    assert pooled == (0, 1, 0)
    class_of, _ = classes_under(TABLE_V, at_levels(TABLE_V, pooled))
    assert Classes.of(TABLE_V, class_of, sensitive=()).people.min() == 1
    result = table_v().trace(shown(TABLE_V, at_levels(TABLE_V, pooled)))
    assert found(result) == {frozenset(SETS)}


def test_the_printed_sets_are_2_anonymous_only_as_corrected():
    smallest = {}
    for name, levels in SETS.items():
        class_of, _ = classes_under(TABLE_V, at_levels(TABLE_V, levels))
        smallest[name] = int(Classes.of(TABLE_V, class_of, sensitive=()).people.min())
    assert smallest == {"fireguard": 2, "police": 1, "ambulance": 1}


def test_m_1970_is_from_u2():
    result = cluster_c1().trace({"gender": "m", "birthdate": "1970"})
    assert found(result) == {frozenset({"U2"})}


def test_a_leak_at_exactly_a_pattern_does_not_prove_its_owner_if_somebody_has_a_finer_one():
    ledger = table_v().give("archive", TABLE_V, at_levels(TABLE_V, (0, 1, 0)))
    result = ledger.trace({"gender": "p", "birthdate": "03.1970", "zip": "101X"})
    assert found(result) == {frozenset({"police"}), frozenset({"archive"})}
    assert result.alone == ("police", "archive")


def test_an_absent_column_is_no_knowledge():
    result = table_v().trace({"zip": "1015"})
    assert found(result) == {frozenset({"fireguard"})}
    result = table_v().trace({"gender": "p", "birthdate": "1970"})
    assert found(result) == {frozenset({name}) for name in SETS}
