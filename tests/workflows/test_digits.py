"""A policy says how many digits of a number are published, and nothing depends on those beyond."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.reports.report import Report
from sfumato.system.errors import BadData, BadPolicy, Infeasible, RefusedByHistory
from sfumato.table.published_texts import rounded_number
from sfumato.workflows.confirm import check_policy
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

ZIPS = ["021", "021", "021", "022", "022", "022", "023", "023"]
DOSES = [1 / 3, 33.333333333333336, 2.449, 2.51, -0.04, 7.0, 0.25, 0.35]
SCORES = [1249, 7, 99, 1351, 1250, 50, 150, 3]
TABLE = pl.DataFrame({"zip": ZIPS, "dose": DOSES, "score": SCORES})
WORDS = {
    "columns": {
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2]}},
        "dose": {"role": "sensitive", "digits": 1},
        "score": {"role": "insensitive", "digits": -2},
    },
    "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "dose", "l": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}
PUBLISHED = ["0.3", "33.3", "2.4", "2.5", "0", "7", "0.2", "0.4"]


def with_digits(**digits):
    columns = {name: {**column} for name, column in WORDS["columns"].items()}
    for name, places in digits.items():
        columns[name].pop("digits", None)
        columns[name] |= {} if places is None else {"digits": places}
    return {**WORDS, "columns": columns}


def write(table, path):
    frame = table.to_pandas()
    {".csv": lambda: frame.to_csv(path, index=False), ".parquet": lambda: frame.to_parquet(path)}.get(
        path.suffix, lambda: frame.to_excel(path, index=False)
    )()
    return path


@pytest.mark.parametrize("source", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("target", ["csv", "parquet", "xlsx"])
def test_every_file_holds_the_same_rounded_numbers(tmp_path, source, target):
    data = write(TABLE, tmp_path / f"people.{source}")
    out = tmp_path / f"safe.{target}"
    _, verdicts = protect_file(data, WORDS, out, dictionary=True)
    assert all(verdict.holds for verdict in verdicts)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}[target](out)
    assert sorted(map(float, read["dose"])) == sorted(map(float, PUBLISHED))
    assert sorted(map(int, read["score"])) == [0, 0, 0, 100, 200, 1200, 1200, 1400]
    assert sf.audit(out, WORDS).holds
    told = json.loads((tmp_path / "safe.dictionary.json").read_text())["notes"][0]["columns"]
    assert [column["published"] for column in told] == [
        "made less exact",
        "rounded to 1 digit",
        "rounded to multiples of 100",
    ]


@given(
    st.lists(st.integers(-400, 400), min_size=8, max_size=8),
    st.lists(st.tuples(st.integers(-489, 489), st.integers(-489, 489)), min_size=8, max_size=8),
    st.sampled_from(["csv", "parquet"]),
)
@settings(max_examples=15, deadline=None)
def test_digits_beyond_the_policy_change_no_byte(tmp_path_factory, tenths, beyond, kind):
    """Two sources that differ only in digits beyond the policy: the same plan, files and dictionaries."""
    folder = tmp_path_factory.mktemp("beyond")
    made = []
    for side in (0, 1):
        doses = [(tenth * 1000 + more[side]) / 10_000 for tenth, more in zip(tenths, beyond, strict=True)]
        scores = [100 * tenth + more[side] // 10 for tenth, more in zip(tenths, beyond, strict=True)]
        assert [float(rounded_number(repr(dose), 1)) for dose in doses] == [tenth / 10 for tenth in tenths]
        table = TABLE.with_columns(pl.Series("dose", doses), pl.Series("score", scores))
        place = folder / str(side)
        place.mkdir()
        plan, verdicts = protect_file(
            write(table, folder / f"people-{side}.{kind}"),
            {**WORDS, "promises": [{"k-anonymity": {"k": 2}}, {"t-closeness": {"of": "dose", "t": 0.6}}]},
            place / f"safe.{kind}",
            dictionary=True,
        )
        files = {file.name: file.read_bytes() for file in sorted(place.iterdir())}
        made.append((files, [str(verdict) for verdict in verdicts], plan.as_dict()))
    assert made[0] == made[1]


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame])
def test_frames_and_their_plans(make):
    """Promises see rounded numbers: 0.31 and 0.33 are one value of the dose."""
    frame = make({"zip": ["021"] * 4, "dose": [0.31, 0.33, 0.34, 0.29], "score": [1, 2, 3, 4]})
    with pytest.raises(Infeasible):
        sf.protect(frame, WORDS)
    assert sf.protect(frame, with_digits(dose=2)).apply(frame) is not None
    finer = sf.protect(TABLE, WORDS)
    assert set(finer.apply(TABLE)["dose"].to_list()) == set(map(float, PUBLISHED))
    kept = finer.apply(TABLE.to_pandas(), keep_index=True)
    assert [rounded_number(repr(dose), 1) for dose in DOSES] == [
        rounded_number(repr(d), 1) for d in kept["dose"]
    ]


def test_a_published_table_with_more_digits_breaks_the_policy(tmp_path):
    """The second judge sees it in the bytes, in rows of a frame, and in zeros that nobody needs."""
    plan = sf.protect(TABLE, WORDS)
    safe = plan.apply(TABLE)
    assert sf.audit(safe, WORDS).holds
    finer = safe.with_columns(pl.col("dose") + 0.01)
    for table in (finer, write(finer, tmp_path / "finer.csv"), write(finer, tmp_path / "finer.parquet")):
        audited = sf.audit(table, WORDS)
        assert not audited.holds
        assert "no digits beyond those that the policy publishes" in [
            v.promise for v in audited.verdicts if not v.holds
        ]
    written = tmp_path / "zeros.csv"
    safe.with_columns(pl.col("dose").map_elements(lambda d: f"{d:.3f}", pl.String)).write_csv(written)
    assert not sf.audit(written, WORDS).holds


def test_what_is_compared_is_what_could_be_published():
    safe = sf.protect(TABLE, WORDS).apply(TABLE)
    assert (
        sf.compare(TABLE, safe, WORDS).table.share_lost
        == sf.compare(
            TABLE.with_columns(pl.Series("dose", [float(text) for text in PUBLISHED])), safe, WORDS
        ).table.share_lost
    )


def test_versions_for_recipients(tmp_path):
    """Every version has the same rounded numbers, by which recipients who collude match rows."""
    rng, rows = np.random.default_rng(5), 600
    many = pl.DataFrame(
        {
            "zip": [f"{z:03d}" for z in rng.integers(0, 40, rows)],
            "age": [str(a) for a in rng.integers(20, 60, rows)],
            "dose": (rng.integers(0, 3, rows) + rng.uniform(-0.04, 0.04, rows)).tolist(),
            "score": rng.integers(0, 300, rows).tolist(),
        }
    )
    rules = {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
            "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 80}},
            "dose": {"role": "sensitive", "digits": 1},
            "score": {"role": "insensitive", "digits": -2},
        },
        "promises": [{"k-anonymity": {"k": 4}}],
        "protect": {"search": "top-down", "suppress": 0},
        "recipients": {"quality": "entropy", "tolerance": "100%"},
        "confirm": {"dose": True},
    }
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    sf.release(many, rules, ledger=ledger, into=tmp_path / "to", to=["ada", "ben"], format="csv")
    text = {"zip": pl.String, "age": pl.String}
    held = [pl.read_csv(tmp_path / "to" / who / "data.csv", schema_overrides=text) for who in ("ada", "ben")]
    assert not held[0].equals(held[1])
    for version in held:
        assert set(version["dose"]) == {0, 1, 2} and set(version["score"]) == {0, 100, 200, 300}
        assert sf.audit(version, rules).holds


def test_later_releases_of_a_chain_have_as_many_digits(tmp_path):
    """No override changes that: values of a release could not be found again in another."""
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    asked = {"promises": [{"continuous": {"k": 2}}], "confirm": {"dose": True}}
    sf.release(TABLE, {**WORDS, **asked}, ledger=ledger, into=tmp_path / "first")
    finer = TABLE.with_columns(dose=pl.Series([0.34, 33.31, 2.41, 2.54, -0.01, 7.03, 0.21, 0.36]))
    sf.release(finer, {**WORDS, **asked}, ledger=ledger, into=tmp_path / "second")
    assert sf.audit(tmp_path / "second" / "data.csv", {**WORDS, **asked}, against=ledger).holds
    for places in (None, 2, 0):
        with pytest.raises(RefusedByHistory, match=r"no override can weaken this: columns\.dose\.digits"):
            sf.release(
                TABLE, {**with_digits(dose=places), **asked}, ledger=ledger, into=tmp_path / f"again-{places}"
            )


def test_the_same_table_is_known_again_whatever_its_digits(tmp_path):
    """The fingerprint is that of the rows as they are: fewer digits make no other table of them."""
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    sf.release(TABLE, WORDS, ledger=ledger, into=tmp_path / "one", chain="one")
    with pytest.raises(RefusedByHistory, match="one"):
        sf.release(TABLE, with_digits(dose=0), ledger=ledger, into=tmp_path / "two", chain="two")


@pytest.mark.parametrize(
    ("column", "words", "message"),
    [
        ("zip", {"role": "quasi", "digits": 1}, "generalized by its taxonomy, not rounded"),
        ("zip", {"role": "identifier", "digits": 1}, "the column is identifier"),
        ("dose", {"role": "sensitive", "digits": 1.5}, "digits"),
        ("dose", {"role": "sensitive", "digits": 31}, "digits"),
        ("dose", {"role": "sensitive", "digits": True}, "digits"),
    ],
)
def test_a_policy_that_cannot_be_followed(column, words, message):
    with pytest.raises(BadPolicy, match=message):
        Policy.from_dict(
            {**WORDS, "columns": {**WORDS["columns"], "other": {"role": "quasi"}, column: words}}
        )


def test_a_column_that_tells_releases_apart_is_not_rounded():
    continuous = {"continuous": {"k": 2, "since": "score"}}
    with pytest.raises(BadPolicy, match="rounded, it would take several for one"):
        Policy.from_dict({**WORDS, "promises": [*WORDS["promises"], continuous]})


def test_texts_and_dates_are_told_of_by_the_doctor_and_refused():
    table = TABLE.with_columns(pl.Series("dose", ["1.5", "n/a", *map(str, DOSES[2:])]))
    found = [one for one in check_policy(WORDS, table) if one.name == "no-numbers"]
    assert [one.count for one in found] == [1] and "n/a" not in str(found[0])
    with pytest.raises(BadData, match="no numbers such as"):
        sf.protect(table, WORDS)


def test_words_and_digests():
    """A policy without the option is what it was; with it, it is written and read again."""
    rules = Policy.from_dict(WORDS)
    assert rules.to_dict()["columns"]["dose"] == {"role": "sensitive", "digits": 1}
    assert "digits" not in Policy.from_dict(with_digits(dose=None, score=None)).to_yaml()
    assert Policy.from_dict(rules.to_dict()).digest == rules.digest
    assert rules.digest != Policy.from_dict(with_digits(dose=2)).digest
    assert "published rounded to 1 digit" in str(rules.card())


def test_reports_say_it(tmp_path):
    out = tmp_path / "safe.csv"
    protect_file(TABLE, WORDS, out)
    report = sf.report(out, WORDS)
    assert isinstance(report, Report)
    assert "rounded to 1 digit" in report.html and "rounded to multiples of 100" in report.html
