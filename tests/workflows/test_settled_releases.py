"""What was settled beside an earlier release is taken over, and every figure is as if nothing were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from oracles.tiny_chains import chains, releases
from sfumato.policy.policy import Policy
from sfumato.releases.ledger.keys import Key
from sfumato.releases.overrides import WeakerOverride
from sfumato.workflows import chain_check
from sfumato.workflows.chain_check import ProvedReleases, _chain_check_attacked, closing_release
from sfumato.workflows.history import imprints_of

POLICY = {
    "columns": {
        "batch": {"role": "identifier"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 40], "from": 0, "to": 80}},
        "zip": {"role": "quasi", "taxonomy": {"tree": {"1*": ["10", "11"], "2*": ["20", "21"]}}},
        "disease": {"role": "sensitive", "taxonomy": {"tree": ["flu", "cold", "cough"]}},
    },
    "promises": [{"continuous": {"k": 3, "since": "batch"}}],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"disease": True},
}
ASKED = Policy.from_dict({**POLICY, "promises": [{"continuous": {"k": 2, "since": "batch"}}]})


def batches(count, *, rows=40, seed=2):
    draw = np.random.default_rng(seed)
    for number in range(count):
        yield pl.DataFrame(
            {
                "batch": [f"{number}"] * rows,
                "age": draw.integers(0, 80, rows).astype(str),
                "zip": draw.choice(["10", "11", "20", "21"], rows),
                "disease": draw.choice(["flu", "cold", "cough"], rows),
            }
        )


def made(place, count, *, overlook=None):
    """The records of a chain of releases, with the settled ones overlooked or not."""
    people, receipts = [], []
    with pytest.MonkeyPatch.context() as patch:
        if overlook:
            patch.setattr(chain_check, "proved_releases", lambda history, *_: (None,) * len(history))
        for number, batch in enumerate(batches(count)):
            people.append(batch)
            where = {"ledger": f"sqlite:///{place}/l.db", "into": place / f"{number}"}
            receipts.append(sf.release(pl.concat(people), POLICY, **where))
    return [receipt.record for receipt in receipts]


def test_a_chain_has_the_same_figures_and_verdicts_as_if_nothing_were_settled(tmp_path, monkeypatch):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    whole = made(tmp_path / "other", 7, overlook=True)
    looked, attack = [], chain_check._chain_check_attacked
    monkeypatch.setattr(
        chain_check,
        "_chain_check_attacked",
        lambda *given: looked.append(closing_release(given[0], given[2])) or attack(*given),
    )
    taken_over = made(tmp_path / "one", 7)
    assert [record.figures for record in taken_over] == [record.figures for record in whole]
    assert [record.verdicts for record in taken_over] == [record.verdicts for record in whole]
    assert len(looked) == 6 and sum(start is not None for start in looked) >= 2


@given(st.integers(3, 5).flatmap(lambda n: chains(count=n, rows=7, values=2)))
def test_the_attack_finds_what_it_finds_in_the_whole_chain(chain):
    found = releases(*chain)
    settled = [None]
    for upto in range(2, len(found)):
        known, figures = _chain_check_attacked(found[:upto], ASKED, [])
        fewest = figures.of_anybody
        settled.append(ProvedReleases(fewest, figures) if known.holds and fewest is not None else None)
    (got, now), (whole, figures) = (_chain_check_attacked(found, ASKED, each) for each in (settled, []))
    assert (got.k, got.holds, now) == (whole.k, whole.holds, figures)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    records = made(tmp_path_factory.mktemp("chain"), 4)
    return records, imprints_of(records)


def test_what_a_ledger_tells_is_settled(kept):
    records, imprints = kept
    found = chain_check.proved_releases(records, imprints, Policy.from_dict(POLICY))
    assert found[0] is None and all(found[1:])
    assert [known.figures.forward for known in found[1:]] == [record.figures["FA"] for record in records[1:]]


@pytest.mark.parametrize(
    "harm",
    [
        {"imported": True},
        {"figures": {"FA": 3, "BA": 3, "open": 1}},
        {"figures": {"FA": None, "BA": None}},
        {"figures": {"FA": "3", "BA": 3}},
        {"verdicts": ()},
        {"verdicts": ({"promise": "continuous, k = 3", "holds": None, "measured": 3},)},
        {"verdicts": ({"promise": "continuous, k = 3", "holds": True, "measured": None},)},
        {"verdicts": ({"promise": "continuous, k = 2", "holds": True, "measured": 3},)},
    ],
    ids=str,
)
def test_what_was_not_settled_is_found_again(kept, harm):
    records, imprints = kept
    harmed = [*records[:2], replace(records[2], **harm), records[3]]
    found = chain_check.proved_releases(harmed, imprints, Policy.from_dict(POLICY))
    assert [known is None for known in found] == [True, False, True, False]


@pytest.mark.parametrize("harm", [{"after": ()}, {"since": "other"}, {"unchanged": ("other",)}], ids=str)
def test_what_stood_beside_others_is_found_again(kept, harm):
    records, imprints = kept
    other = [*imprints[:2], replace(imprints[2], **harm), imprints[3]]
    found = chain_check.proved_releases(records, other, Policy.from_dict(POLICY))
    assert found[2] is None and (found[1] is not None) is ("after" in harm)


def test_nothing_is_settled_where_more_is_asked(kept):
    records, imprints = kept
    twice = [*POLICY["promises"], {"continuous": {"k": 2, "since": "batch"}}]
    policy = Policy.from_dict({**POLICY, "promises": twice})
    assert not any(chain_check.proved_releases(records, imprints, policy))


@pytest.fixture
def starts(monkeypatch):
    """From which earlier release on each release was attacked; `None`: from the first."""
    found, attack = [], chain_check._chain_check_attacked
    monkeypatch.setattr(
        chain_check,
        "_chain_check_attacked",
        lambda *given: found.append(closing_release(given[0], given[2])) or attack(*given),
    )
    return found


def audited(place, records, policies, chain="main"):
    """Audits every file beside the whole ledger: all hold, and the newest as its certificate says."""
    for record, rules in zip(records, policies, strict=True):
        file = place / f"{chain}-{record.sequence}" / "data.csv"
        found = sf.audit(file, rules, against=f"sqlite:///{place}/l.db", chain=chain)
        assert found.holds and not found.objections and not found.failed
        assert found.beside.place == record.sequence
    said = {verdict["promise"]: verdict["measured"] for verdict in records[-1].verdicts}
    assert {v.promise: v.measured for v in found.verdicts} == said


@pytest.mark.slow
def test_two_chains_in_turn_in_one_ledger_are_what_each_is_alone(tmp_path, starts):
    other = {**POLICY, "columns": {n: POLICY["columns"][n] for n in ("batch", "zip", "age", "disease")}}
    policies, made_alone, together = {"main": POLICY, "second": other}, {}, {"main": [], "second": []}

    def go(place, chain, people, number):
        where = {"ledger": f"sqlite:///{place}/l.db", "into": place / f"{chain}-{number}"}
        return sf.release(pl.concat(people), policies[chain], chain=chain, **where).record

    tables = {"main": list(batches(4, rows=300)), "second": list(batches(4, rows=400))}
    for chain, parts in tables.items():
        (tmp_path / chain).mkdir()
        made_alone[chain] = [go(tmp_path / chain, chain, parts[: i + 1], i + 1) for i in range(4)]
    alone, both = starts[:], tmp_path / "both"
    both.mkdir()
    starts.clear()
    for i in range(4):
        for chain, parts in tables.items():
            together[chain].append(go(both, chain, parts[: i + 1], i + 1))
    assert sorted(map(str, starts)) == sorted(map(str, alone))
    assert any(start is not None for start in starts)
    for chain, records in together.items():
        for one, other_one in zip(records, made_alone[chain], strict=True):
            assert (one.sequence, one.figures, one.cuts) == (
                other_one.sequence,
                other_one.figures,
                other_one.cuts,
            )
            assert one.verdicts == other_one.verdicts
        audited(both, records, [policies[chain]] * 4, chain)
    with sf.Ledger(f"sqlite:///{both}/l.db", readonly=True) as ledger:
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_release_that_promises_less_by_override_is_not_taken_over_by_others(tmp_path, starts):
    """Releases 3 and 4 promise k = 2, somebody signed for it; 5 promises k = 3 again, where that is left."""
    key, levels = Key.make(tmp_path / "berg.key"), {"age": {"fixed": 1}, "zip": {"fixed": 1}}
    strict, lax = (
        Policy.from_dict(
            {
                **POLICY,
                "columns": {
                    name: {**words, **levels.get(name, {})} for name, words in POLICY["columns"].items()
                },
                "promises": [{"continuous": {"k": k, "since": "batch"}}],
                "recipients": {"overriders": [key.public]},
            }
        )
        for k in (3, 2)
    )
    signed = WeakerOverride(lax.digest, "main", "flood", "Berg", "2099-12-31").sign(key)
    asked = [strict, strict, lax, lax, strict]
    parts, made = list(batches(5, rows=300)), {}
    for overlook in (False, True):
        place = tmp_path / str(overlook)
        place.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            if overlook:
                patch.setattr(chain_check, "proved_releases", lambda history, *_: (None,) * len(history))
            made[overlook] = [
                sf.release(
                    pl.concat(parts[: i + 1]),
                    rules,
                    ledger=f"sqlite:///{place}/l.db",
                    into=place / f"main-{i + 1}",
                    to="registry",
                    overrides=[signed] if rules is lax else [],
                ).record
                for i, rules in enumerate(asked)
            ]
    for one, whole in zip(made[False], made[True], strict=True):
        assert one.figures == whole.figures and one.verdicts == whole.verdicts and one.cuts == whole.cuts
    assert [bool(record.weaker) for record in made[False]] == [False, False, True, True, False]
    assert starts == [None, None, 2, 1, *[None] * 4], "each goes on from what was settled of its own promise"
    audited(tmp_path / "False", made[False], asked)
