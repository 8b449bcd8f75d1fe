"""A chain from which people are withheld, in a ledger: an exposed row no longer costs a whole column."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.errors import RefusedByHistory, SfumatoError
from sfumato.core.imprint import Imprint
from sfumato.core.marks import are_known, label_marks

COLUMNS = {
    "who": {"role": "identifier"},
    "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
    "disease": {"role": "sensitive"},
}
MAY = [(f"{p}{had}{n}", p, had) for p in ("UK", "France") for had in ("Flu", "HIV") for n in range(6)]
JUNE = [(f"new{had}{n}", "UK", had) for had in ("Flu", "HIV") for n in range(3)]
ALONE = ("newcomer", "France", "Flu")
KEYS = {"k": 4, "person": "who", "leavers": "counted"}


def policy(**keys):
    return {
        "columns": COLUMNS,
        "promises": [{"continuous": keys}],
        "protect": {"search": "top-down", "suppress": 0},
    }


def table(rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


@pytest.fixture
def go(tmp_path):
    def release(people, name, **keys):
        ledger = f"sqlite:///{tmp_path}/l.db"
        return sf.release(table(people), policy(**keys), ledger=ledger, into=tmp_path / name)

    return release


def test_a_newcomer_who_stands_alone_costs_a_column_or_waits(go, tmp_path):
    first = sf.protect(table(MAY), policy(**KEYS))
    june = table([*MAY, *JUNE, ALONE])
    assert sf.protect(june, policy(**KEYS), earlier=[first.imprint]).cuts == {"place": ("Europe",)}
    keys = {**KEYS, "companions": 2}
    go(MAY, "may", **keys)
    record = go([*MAY, *JUNE, ALONE], "june", **keys).record
    assert record.figures["withheld"] == record.figures["suppressed"] == 1
    assert set(pl.read_csv(tmp_path / "june" / "data.csv")["place"]) == {"UK", "France"}
    more = [(f"late{n}", "France", "HIV") for n in range(3)]
    july = go([*MAY, *JUNE, ALONE, *more], "july", **keys).record
    assert "withheld" not in july.figures and july.figures["rows"] == 34


def test_companions_of_one_who_left_stay_out(go, tmp_path):
    """One of France leaves alone: some others are withheld, and stay so, and the second judge agrees."""
    keys = {**KEYS, "companions": 6}
    go(MAY, "may", **keys)
    less = [row for row in MAY if row[0] != "FranceHIV0"]
    june = go(less + JUNE, "june", **keys).record
    assert june.figures["withheld"] == 3
    assert set(pl.read_csv(tmp_path / "june" / "data.csv")["place"]) == {"UK", "France"}
    found = sf.audit(tmp_path / "june" / "data.csv", policy(**keys), against=f"sqlite:///{tmp_path}/l.db")
    assert found.holds
    with pytest.raises(RefusedByHistory, match="3 people have left and come back"):
        go(less + JUNE, "july", **KEYS)
    july = go(less + JUNE, "july", **keys).record
    assert july.figures["withheld"] == 3


def test_a_plan_says_who_is_withheld_and_the_table_lacks_them():
    keys = {**KEYS, "companions": 2}
    first = sf.protect(table(MAY), policy(**keys))
    june = table([*MAY, *JUNE, ALONE])
    plan = sf.protect(june, policy(**keys), earlier=[first.imprint])
    assert "1 of them is a person withheld so that others are safe beside earlier releases" in str(
        plan.card()
    )
    assert plan.as_dict()["withheld"] == plan.withheld == plan.suppressed == 1 and plan.rows == len(june)
    shown = plan.apply(june)
    assert len(shown) == len(june) - 1 == plan.imprint.rows
    assert len(plan.apply(june, keep_index=True)) == len(june) - 1
    again = Imprint.from_json(plan.imprint.to_json())
    assert again.digest == plan.imprint.digest and len(again.batches) == len(june) - 1
    assert plan.explain() and plan.outlook


def test_the_number_is_said_where_a_release_is_refused(sfumato, tmp_path):
    words = tmp_path / "policy.yaml"
    flu = [(f"f{n}", "UK", "Flu") for n in range(5)] + [(f"h{n}", "UK", "HIV") for n in range(5)]
    new = [(f"x{n}", "UK", "Flu") for n in range(3)] + [(f"y{n}", "UK", "HIV") for n in range(3)]
    table(flu).write_csv(tmp_path / "may.csv")
    table(flu[:-1] + new).write_csv(tmp_path / "june.csv")

    def release(name, companions):
        said = f"{{k: 5, person: who, leavers: counted, companions: {companions}}}"
        words.write_text(
            "columns: {who: {role: identifier}, disease: {role: sensitive},"
            " place: {role: quasi, taxonomy: {tree: {Europe: [UK, France]}}}}\n"
            f"promises: [{{continuous: {said}}}]\n"
        )
        place = ["--ledger", f"sqlite:///{tmp_path}/l.db", "--into", str(tmp_path / name)]
        return sfumato("release", tmp_path / f"{name}.csv", "-p", words, *place)

    assert release("may", 0).code == 0
    refused = release("june", 0)
    assert refused.code == 5 and "(companions: 2)" in " ".join(refused.err.split())
    done = release("june", 2)
    assert done.code == 0, done.err
    assert len(pl.read_csv(tmp_path / "june" / "data.csv")) == 13


def test_a_batch_that_is_held_back_keeps_a_label_that_was_never_published():
    """Told by batches, newcomers wait batch by batch; nothing that was published is withheld."""
    columns = {"month": {"role": "identifier"}, "left": {"role": "identifier"}}
    columns |= {name: COLUMNS[name] for name in ("place", "disease")}
    keys = {"k": 4, "since": "month", "until": "left", "leavers": "counted", "companions": 3}
    rules = {
        "columns": columns,
        "promises": [{"continuous": keys}],
        "protect": {"search": "top-down", "suppress": 0},
    }

    def data(rows):
        return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")

    may = [("May", None, p, had) for p in ("UK", "France") for had in ("Flu", "HIV") for _ in range(6)]
    june = [("June", None, "UK", had) for had in ("Flu", "HIV") for _ in range(3)]
    late = [("late June", None, "France", "Flu")]
    first = sf.protect(data(may), rules)
    second = sf.protect(data(may + june + late), rules, earlier=[first.imprint])
    assert second.withheld == 1 and second.cuts == {"place": ("UK", "France")}
    assert len(second.apply(data(may + june + late))) == len(may + june)
    assert are_known(label_marks(["May", "June", "late June"]), second.imprint.batches).tolist() == [
        True,
        True,
        False,
    ]
    more = [("late June", None, "France", had) for had in ("Flu", "HIV", "HIV")]
    third = sf.protect(data(may + june + late + more), rules, earlier=[first.imprint, second.imprint])
    assert third.withheld == 0 and third.verdicts[0].holds


def test_nobody_is_withheld_who_was_published_where_nobody_may_leave():
    less = [row for row in MAY if row[1] == "UK"] + [("one", "France", "Flu")]
    keys = {"k": 4, "person": "who", "companions": 5}
    first = sf.protect(table(less), policy(**keys))
    assert first.withheld == 1 and first.cuts == {"place": ("UK", "France")}
    with pytest.raises(SfumatoError, match="not in the table any more"):
        sf.protect(table(less[1:]), policy(**keys), earlier=[first.imprint])


BATCHES = {
    "b": {"role": "identifier"},
    "l": {"role": "identifier"},
    **{n: COLUMNS[n] for n in COLUMNS if n != "who"},
}


def monthly(rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(BATCHES, pl.String), orient="row")


def test_a_batch_is_held_back_while_people_leave_with_the_same_label():
    """Whoever leaves with June and whoever comes with June name one batch; the latter may still wait."""
    keys = {"k": 2, "since": "b", "until": "l", "companions": 4}
    words = {
        "columns": BATCHES,
        "promises": [{"continuous": keys}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    may = [
        ("May", None, place, had) for place in ("UK", "France") for had in ("Flu", "HIV") for _ in range(4)
    ]
    june = [(b, "June" if n % 4 < 2 else None, *rest) for n, (b, _, *rest) in enumerate(may)]
    waits = [("June", None, "UK", "Cold"), ("June", "July", "UK", "Cold")]
    first = sf.protect(monthly(may), words).imprint
    second = sf.protect(monthly([*june, waits[0]]), words, earlier=[first])
    assert len(second.apply(monthly([*june, waits[0]]))) == 8
    later = [("July", None, *rest) for *_, place, had in may[::2] for rest in [(place, had)]]
    third = monthly([*june, *waits, *later])
    found = sf.protect(third, words, earlier=[first, second.imprint])
    assert len(found.apply(third)) in (16, 17)
    fourth = sf.protect(third, words, earlier=[first, second.imprint, found.imprint])
    assert fourth.verdicts[0].holds
    wrong = monthly([*june, *waits, ("August", "May", "UK", "Flu")])
    with pytest.raises(SfumatoError, match="left before they came"):
        sf.protect(wrong, words, earlier=[first, second.imprint])
