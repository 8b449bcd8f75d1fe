"""Borders of tracing: what is not there, what comes twice, what is asked no further."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from recipients.toy_ledger import table_of
from sfumato.recipients import evidence as chance
from sfumato.recipients import leak, readings
from sfumato.recipients import trace_report as report
from sfumato.recipients.collusion import Explanations
from sfumato.recipients.evidence import LeakEvidence, guess_chance
from sfumato.recipients.leak import Leak
from sfumato.recipients.suspects import ColumnMatch
from sfumato.table.taxonomy import Taxonomy

NOBODY, EVERYBODY = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)


def test_without_imprints_every_row_may_fit():
    assert chance.chance_in_versions(None, EVERYBODY, SimpleNamespace(trees={}), []) == 1.0


def test_chances_of_several_events_are_no_more_than_certain(monkeypatch):
    monkeypatch.setattr(chance, "chance_in_version", lambda *_: 0.8)
    versions = [
        (SimpleNamespace(event=event, whole=True, columns=(), digests=()), None) for event in ("one", "other")
    ]
    assert chance.chance_in_versions(None, EVERYBODY, SimpleNamespace(trees={}), versions) == 1.0
    assert chance.chance_in_versions(None, EVERYBODY, SimpleNamespace(trees={}), versions[:1]) == 0.8


def test_columns_that_the_leak_lacks_do_not_count_in_the_original():
    trees = {"sex": Taxonomy.flat(["f", "m"]), "zip": Taxonomy.flat(["1", "2"])}
    original = table_of(trees, [("f", "1"), ("f", "2"), ("m", "1"), ("m", "2")])
    told = Leak(("sex",), ("sex",), (("f",),), (np.zeros(1, np.int32),), np.ones(1, np.int64), {})
    assert chance.chance_in_original(told, EVERYBODY, original) == pytest.approx(1.0)


@pytest.mark.parametrize("real", [True, False])
def test_the_original_says_whether_a_row_is_real(real):
    """What imprints say is asked only where there is no original."""
    evidence = SimpleNamespace(
        leak=SimpleNamespace(counts=np.ones(1, np.int64), legible=EVERYBODY),
        real=np.array([real]),
        held=True,
        existing={"event": np.array([not real])},
        unchanged=SimpleNamespace(may_hold=lambda *_: EVERYBODY),
        _possible_sources=[],
        finer=NOBODY,
        never_shown=NOBODY,
    )
    assert LeakEvidence.foreign.func(evidence).tolist() == [not real]


@pytest.mark.parametrize(
    ("legible", "finer", "never_shown"), [(False, False, False), (True, True, False), (True, False, True)]
)
def test_rows_that_are_not_ours_are_not_guessed(legible, finer, never_shown):
    evidence = SimpleNamespace(
        leak=SimpleNamespace(legible=np.array([legible])),
        finer=np.array([finer]),
        never_shown=np.array([never_shown]),
        knowledge=SimpleNamespace(issued=SimpleNamespace(recipients=("a", "b")), columns=()),
    )
    assert guess_chance(evidence, "a", 1, [], None) is None


@pytest.mark.parametrize("complete", [True, False])
def test_a_column_of_which_not_all_values_were_seen_is_not_recognised(monkeypatch, complete):
    monkeypatch.setattr(leak, "_readable_share", lambda *_: 1.0)
    seen = {"plz": SimpleNamespace(complete=complete, values=("1",), counts=(1,))}
    source = SimpleNamespace(survey=lambda *_, **__: SimpleNamespace(columns=seen))
    found = leak._by_content(source, ["plz"], {"zip": ()}, SimpleNamespace(known_nodes=None), None)
    assert found == ({"zip": "plz"} if complete else {})


def test_one_column_of_the_leak_is_one_column_of_ours():
    assert leak._by_name(["Zip"], {"Zip": (), "zip": ()}, {}) == {"Zip": "Zip"}
    assert leak._by_name(["ZIP", "sex"], {"zip": (), "Sex": ()}, {}) == {"zip": "ZIP", "Sex": "sex"}


@dataclass(frozen=True)
class Evidence:
    """As much of the evidence as other readings ask for."""

    leak: object
    ours: object
    unchanged: object
    readings: tuple = ()
    uncounted: frozenset = frozenset()
    unplaced: bool = False


def test_comparisons_are_shared_among_readings(monkeypatch):
    asked = []
    monkeypatch.setattr(readings, "MOST_COMPARISONS", 5)
    monkeypatch.setattr(readings, "_has_unplaced_columns", lambda *_: False)
    monkeypatch.setattr(readings, "_copies", lambda _: {})
    monkeypatch.setattr(readings, "columns_that_fit", lambda *_: {0: ("a", "b", "c")})
    monkeypatch.setattr(
        readings, "_read", lambda *words: asked.append(len(words[5])) or SimpleNamespace(ours=NOBODY)
    )
    told = SimpleNamespace(names=("a",), unchanged={}, fixed=frozenset())
    evidence = Evidence(told, EVERYBODY, SimpleNamespace(exchangeable=()))
    issued = SimpleNamespace(columns=("a", "b", "c"))
    readings.with_other_readings(evidence, issued, [("r", None)] * 20)
    assert asked == [2, 2]


@pytest.mark.parametrize(
    ("leaked", "held", "as_held", "covers"),
    [(1, 2, 5, False), (2, 1, 0, True), (1, 1, 0, True), (None, 1, 1, True), (1, None, 0, False)],
)
def test_levels_say_whether_a_version_is_fine_enough(leaked, held, as_held, covers):
    assert ColumnMatch("zip", leaked, held, 3, as_held).covers_leak is covers


def test_one_other_explanation_is_spoken_of_as_one():
    explanations = Explanations((("Birch",), ("Ash",), ("Elm",)), ((0,), (1, 2)))
    one = SimpleNamespace(perhaps_guessed=False, explanations=explanations, alone=["Birch"])
    assert report._nobody_charged(one) == "Birch alone explains it, and so does 1 coalition of others"
