"""A chain that people leave, in a ledger: from the first release to the audit."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.errors import BadData, RefusedByHistory, SfumatoError
from sfumato.core.imprint import Imprint

COLUMNS = {
    "who": {"role": "identifier"},
    "month": {"role": "identifier"},
    "left": {"role": "identifier"},
    "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
    "disease": {"role": "sensitive"},
}
BY_BATCH = {"k": 4, "since": "month", "until": "left"}
BY_KEY = {"k": 4, "person": "who", "leavers": "unknown"}


def policy(**keys):
    return {
        "columns": COLUMNS,
        "promises": [{"continuous": keys}],
        "protect": {"search": "top-down", "suppress": 0},
    }


def table(rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


MAY = [
    (f"{place}{n}{had}", "May", None, place, had)
    for place in ("UK", "France")
    for had in ("Flu", "HIV")
    for n in range(6)
]
JUNE = [
    (f"{p}{n}{had}x", "June", None, p, had)
    for p in ("UK", "France")
    for had in ("Flu", "HIV")
    for n in range(3)
]


def leaving(rows, names, label):
    """The rows, with people of these names gone from this batch on."""
    return [(w, m, label if w in names else gone, p, d) for w, m, gone, p, d in rows]


GONE = [f"{place}{n}{had}" for place in ("UK", "France") for had in ("Flu", "HIV") for n in (0, 1)]


@pytest.fixture
def go(tmp_path):
    def release(people, keys, name):
        ledger = f"sqlite:///{tmp_path}/l.db"
        return sf.release(table(people), policy(**keys), ledger=ledger, into=tmp_path / name)

    return release


def test_rows_of_people_who_left_are_not_published(go, tmp_path):
    go(MAY, BY_BATCH, "may")
    june = go(leaving(MAY, GONE, "June") + JUNE, BY_BATCH, "june")
    assert len(pl.read_csv(tmp_path / "june" / "data.csv")) == len(MAY) - len(GONE) + len(JUNE)
    assert june.record.figures["suppressed"] == 0
    assert min(june.record.figures[name] for name in ("FA", "BA", "left")) >= 4
    audit = sf.audit(tmp_path / "june" / "data.csv", policy(**BY_BATCH), against=f"sqlite:///{tmp_path}/l.db")
    assert all(verdict.holds for verdict in audit.verdicts)
    assert [f.breach for f in audit.findings if f.attack == "leaver"] == [False]


def test_one_who_leaves_alone_is_refused(go):
    go(MAY, BY_BATCH, "may")
    with pytest.raises(SfumatoError, match="who has left would keep fewer than 4"):
        go(leaving(MAY, GONE[:1], "June"), BY_BATCH, "june")


def test_a_deleted_row_is_refused_where_batches_tell_and_taken_where_keys_do(go):
    go(MAY, BY_BATCH, "may")
    with pytest.raises(RefusedByHistory, match="1 rows of release 1 are missing"):
        go(MAY[1:], BY_BATCH, "june")
    plain = sf.protect(table(MAY), policy(**BY_KEY))
    assert sf.protect(table(MAY[1:]), policy(**BY_KEY), earlier=[plain.imprint]).rows == len(MAY) - 1


def test_who_comes_back_is_refused_unless_returns_are_allowed():
    some = [row for row in MAY if row[0] not in GONE]
    for keys in (BY_KEY, {**BY_KEY, "returns": True}):
        made = []
        for rows in (MAY, some):
            made.append(sf.protect(table(rows), policy(**keys), earlier=made).imprint)
        if keys is BY_KEY:
            with pytest.raises(RefusedByHistory, match="8 people have left and come back"):
                sf.protect(table(MAY), policy(**keys), earlier=made)
        else:
            assert sf.protect(table(MAY), policy(**keys), earlier=made).verdicts[0].holds


def test_who_moves_is_refused_unless_the_column_may_change():
    moved = [(w, m, g, "France" if w in GONE[:2] else p, d) for w, m, g, p, d in MAY]
    first = sf.protect(table(MAY), policy(**BY_KEY))
    with pytest.raises(RefusedByHistory, match="do not give what was published"):
        sf.protect(table(moved), policy(**BY_KEY), earlier=[first.imprint])
    keys = {**BY_KEY, "moves": ["place"]}
    first = sf.protect(table(MAY), policy(**keys))
    assert sf.protect(table(moved), policy(**keys), earlier=[first.imprint]).verdicts[0].holds


def test_a_corrected_value_is_a_new_row_of_the_same_person():
    keys = {**BY_BATCH, "person": "who", "corrected": True, "leavers": "unknown"}
    first = sf.protect(table(MAY), policy(**keys))
    old = leaving(MAY, GONE[:1], "June")
    new = [(GONE[0], "June", None, "UK", "HIV")]
    found = sf.protect(table(old + new), policy(**keys), earlier=[first.imprint])
    assert found.verdicts[0].holds and found.rows == len(MAY)
    with pytest.raises(RefusedByHistory, match="`corrected` does not allow it"):
        less = {**keys, "corrected": False}
        first = sf.protect(table(MAY), policy(**less))
        sf.protect(table(old + new), policy(**less), earlier=[first.imprint])


def test_everybody_may_be_corrected():
    """Nobody has one value in both releases, so nobody is in a class of people who stayed."""
    keys = {**BY_BATCH, "person": "who", "corrected": True, "leavers": "unknown"}
    flu = [row for row in MAY if row[-1] == "Flu"]
    first = sf.protect(table(flu), policy(**keys))
    now = [
        *leaving(flu, {row[0] for row in flu}, "June"),
        *((w, "June", None, p, "HIV") for w, _, _, p, _ in flu),
    ]
    found = sf.protect(table(now), policy(**keys), earlier=[first.imprint])
    assert found.verdicts[0].measured == 6 and found.cuts == {"place": ("UK", "France")}


def test_a_chain_that_only_grew_goes_on_when_somebody_leaves(go):
    go(MAY, {"k": 4, "since": "month"}, "may")
    june = go(leaving(MAY, GONE, "June") + JUNE, BY_BATCH, "june")
    assert june.record.sequence == 2
    with pytest.raises(RefusedByHistory):
        go(leaving(MAY, GONE, "June") + JUNE, {**BY_BATCH, "leavers": "unknown"}, "july")


def test_an_imprint_is_read_back_with_its_shared_counts():
    first = sf.protect(table(MAY), policy(**BY_BATCH))
    second = sf.protect(table(leaving(MAY, GONE, "June") + JUNE), policy(**BY_BATCH), earlier=[first.imprint])
    again = Imprint.from_json(second.imprint.to_json())
    assert again.digest == second.imprint.digest
    assert [numbers.sum() for numbers in again.departures.shared] == [len(MAY) - len(GONE)]


def padded(rows):
    """The rows, with a blank before every key, as a fixed-width export has it."""
    return [(f" {who}", *others) for who, *others in rows]


@pytest.mark.parametrize("leavers", ["counted", "total", "unknown"])
def test_people_whose_keys_have_other_blanks_now_are_not_taken_for_newcomers(go, leavers):
    keys = {**BY_KEY, "leavers": leavers}
    go(MAY, keys, "one")
    with pytest.raises(RefusedByHistory, match="24 people of release 1 have other blanks around their key"):
        go(padded(MAY), keys, "two")


def test_one_person_with_two_keys_is_refused_in_a_chain(go):
    with pytest.raises(BadData, match="of the keys of people 1 differ from others"):
        go([*MAY, ("UK0Flu ", *MAY[0][1:])], BY_KEY, "one")


def test_a_chain_whose_keys_always_had_blanks_goes_on(go):
    go(padded(MAY), BY_KEY, "one")
    assert go(padded(MAY + JUNE), BY_KEY, "two").record.sequence == 2
