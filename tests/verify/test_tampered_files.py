"""Files that are not what the policy publishes, or not what was written."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oracles.published_rows import as_csv as plain_csv
from sfumato.models.k_anonymity import judge as k_anonymity
from sfumato.system.errors import BadData, BrokenPromise, SfumatoError
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import judge_of
from verify.both import recheck
from verify.published_tables import KEYS, policy, write
from verify.test_file import MADE, TABLE

pytestmark = pytest.mark.slow

COLUMNS = (*KEYS, "disease", "visits")
CANARY = "canary-5d1f"


def with_column(name, cell):
    return [{**row, name: cell} for row in TABLE]


def csv_file(folder):
    return write(folder / "table.csv", with_column("visits", CANARY))


def parquet_file(folder):
    return write(folder / "table.parquet", with_column(KEYS[1], CANARY))


def chain(error):
    """All that an error could print, its causes included."""
    while error is not None:
        yield f"{error} {error!r} {error.args}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("make", [csv_file, parquet_file])
def test_a_whole_file_is_read(tmp_path, make):
    assert len(recheck(make(tmp_path), policy(MADE))) == len(MADE)


@pytest.mark.parametrize("make", [csv_file, parquet_file])
def test_a_file_cut_anywhere_inside_a_line_is_refused(tmp_path, make):
    path = make(tmp_path)
    whole = path.read_bytes()
    for end in [*range(0, len(whole), len(whole) // 25), len(whole) - 2, len(whole) - 1]:
        if path.suffix == ".csv" and whole[:end].endswith(b"\n"):
            continue
        path.write_bytes(whole[:end])
        with pytest.raises(BadData) as refused:
            recheck(path, policy(MADE))
        assert not any(CANARY in text for text in chain(refused.value))


def test_a_header_alone_is_an_empty_table_and_keeps_every_promise(tmp_path):
    for name in ("table.csv", "table.parquet"):
        verdicts = recheck(write(tmp_path / name, []), policy(MADE))
        told = {(v.holds, v.measured, v.reason) for v in verdicts}
        assert told == {(True, None, "nothing is published")}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ((*COLUMNS, "name"), "must not be published: name"),
        ((*COLUMNS, "index"), "not declared: index"),
        ((*COLUMNS, "__index_level_0__"), "not declared: __index_level_0__"),
        (COLUMNS[:-1], "missing: visits"),
        (COLUMNS[1:], "missing: q 0"),
        (("x", "y"), "2 columns are not declared"),
    ],
)
def test_other_columns_are_refused(tmp_path, suffix, columns, complaint):
    table = [dict.fromkeys(columns, None) | {c: v for c, v in row.items() if c in columns} for row in TABLE]
    path = write(tmp_path / f"table{suffix}", table, columns)
    with pytest.raises(BadData, match=complaint):
        recheck(path, policy(MADE))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_column_that_is_there_twice_is_refused(tmp_path, suffix):
    """Though every column that the policy publishes is there, and no other."""
    path = tmp_path / f"table{suffix}"
    twice = [*COLUMNS, COLUMNS[-1]]
    if suffix == ".csv":
        path.write_bytes(plain_csv(TABLE, twice))
    else:
        cells = [pa.array([str(row[c]) for row in TABLE]) for c in twice]
        pq.write_table(pa.Table.from_arrays(cells, names=twice), path)
    with pytest.raises(BadData, match="a column name occurs twice"):
        recheck(path, policy(MADE))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_that_changes_while_it_is_judged_is_refused(tmp_path, monkeypatch, suffix):
    path, other = (write(tmp_path / f"{name}{suffix}", TABLE) for name in ("table", "other"))
    honest = k_anonymity.people_verdict

    def meddled(*words, **more):
        other.replace(path)
        return honest(*words, **more)

    assert all(v.holds for v in recheck(path, policy(MADE)))
    monkeypatch.setattr(k_anonymity, "people_verdict", meddled)
    with pytest.raises(BadData, match="changed while it was judged"):
        recheck(path, policy(MADE))


@pytest.mark.parametrize("diseases", [("Flu", "TB"), ("Flu", None)])
def test_one_person_with_two_values_is_one_too_many(tmp_path, diseases):
    """Nobody else holds more than one; a missing value is one, too."""
    rows = [{**TABLE[0], "disease": disease, "who": 0} for disease in diseases]
    rows += [{**row, "who": i} for i, row in enumerate(TABLE[1:], start=1)]
    path = write(tmp_path / "table.csv", rows)
    witness = write(tmp_path / "witness.csv", rows, (*COLUMNS, "who"))
    with pytest.raises(BadData, match="1 people hold more than one value of disease"):
        recheck(path, policy(MADE, person="who"), witness=witness)


def test_without_a_header_no_cell_is_named(tmp_path):
    path = csv_file(tmp_path)
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    with pytest.raises(BadData) as refused:
        recheck(path, policy(MADE))
    assert not any(CANARY in text for text in chain(refused.value))
    assert CANARY in refused.value.values


@pytest.mark.parametrize(
    "spoil",
    [
        lambda b: b.replace(b"\n", b"\r\n", 2),
        lambda b: b + b'"a","x"\n',
        lambda b: b + b'"a","x","Flu","1","2"\n',
        lambda b: b + b'"a","x","Flu","' + CANARY.encode() + b"\n",
        lambda b: b + b'"a","x","Fl"u","1"\n',
        lambda b: b.replace(b"Flu", b"Fl\xff"),
        lambda b: b"\xef\xbb\xbf" + b,
        lambda b: b.decode().encode("utf-16"),
        lambda b: b[:0],
        lambda b: b.replace(b'"q 0"', b'"visits"'),
        lambda b: b.replace(b"Flu", b"Flue"),
    ],
    ids=[
        "line ends",
        "short row",
        "long row",
        "open quote",
        "stray quote",
        "not UTF-8",
        "BOM",
        "UTF-16",
        "empty",
        "twin columns",
        "value outside the taxonomy",
    ],
)
def test_bytes_that_are_no_such_table_are_refused(tmp_path, spoil):
    path = csv_file(tmp_path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(BadData) as refused:
        recheck(path, policy(MADE))
    assert not any(CANARY in text or "Flue" in text for text in chain(refused.value))


def test_parquet_with_notes_is_refused(tmp_path):
    table = pa.table({c: [row[c] for row in TABLE] for c in COLUMNS})
    path = tmp_path / "table.parquet"
    pq.write_table(table.replace_schema_metadata({"pandas": CANARY}), path)
    with pytest.raises(BadData, match="notes"):
        recheck(path, policy(MADE))


def test_one_removed_row_breaks_what_held(tmp_path):
    path = write(tmp_path / "table.csv", TABLE[1:])
    assert [v.holds for v in recheck(path, policy(MADE))][:2] == [False, False]


@pytest.mark.parametrize("change", [lambda t: t[1:], lambda t: [*t[1:], t[1]], lambda t: [*t, t[0]]])
def test_a_witness_of_other_rows_is_refused(tmp_path, change):
    path = write(tmp_path / "table.csv", TABLE)
    told = [{**row, "who": i} for i, row in enumerate(change(TABLE))]
    witness = write(tmp_path / "witness.csv", told, (*COLUMNS, "who"))
    with pytest.raises(BadData, match="differ"):
        recheck(path, policy(MADE, person="who"), witness=witness)


def test_a_witness_without_the_person_is_refused(tmp_path):
    path = write(tmp_path / "table.csv", TABLE)
    with pytest.raises(BadData, match="person"):
        recheck(path, policy(MADE, person="who"), witness=path)


def test_a_promise_without_a_second_judge_is_not_confirmed():
    novelty = PromiseData({"promise": "novelty", "sentence": "something new"})
    with pytest.raises(BrokenPromise, match="no second judge for novelty"):
        judge_of(novelty)


def test_no_such_file(tmp_path):
    with pytest.raises(SfumatoError):
        recheck(tmp_path / "absent.csv", policy(MADE))
