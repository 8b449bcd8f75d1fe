"""What does not fit in memory waits on disk, and nobody can tell from the result."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.system import memory
from sfumato.system.disk import PREFIX
from sfumato.system.errors import BadData, NotEnoughMemory, UsageError
from sfumato.system.memory import Memory, in_words, machine_memory
from sfumato.table import publication as published_columns
from sfumato.table import spill as runs
from sfumato.table import writing as writer
from sfumato.table.cut import Cut
from sfumato.table.form_of_source import RowSource
from sfumato.table.recoding import Recoding, Rewriting
from sfumato.table.source import open_source
from sfumato.table.spill import Runs, Spill
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.engines import check_engine, codings, recodings
from table.kinds import MAKERS

pytestmark = pytest.mark.slow


@pytest.fixture
def tight(monkeypatch):
    """Buffers of a few rows."""
    monkeypatch.setattr(Memory, "room", 256)
    monkeypatch.setattr(runs, "KEYS_AT_A_TIME", 8)
    monkeypatch.setattr(published_columns, "LEAST_ROWS", 4)


def keys(words, sizes):
    row = st.tuples(*[st.integers(0, size) for size in sizes[:words]])
    return st.lists(st.lists(st.tuples(row, st.integers(1, 4)), max_size=12), max_size=8)


@pytest.mark.parametrize("words", [1, 2, 3])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_runs_sort_like_python(words, data):
    added = data.draw(keys(words, [9, 3, 2]))
    room = data.draw(st.sampled_from([0, 64, 512, 1 << 20]))
    at_a_time = data.draw(st.integers(1, 12))
    with pytest.MonkeyPatch.context() as patch, Spill(Memory()) as spill:
        patch.setattr(Memory, "room", room)
        patch.setattr(runs, "KEYS_AT_A_TIME", at_a_time)
        made, expected = Runs(spill), Counter()
        for some in added:
            packed = np.array([row for row, _ in some], np.int64).reshape(len(some), words).T.copy()
            counts = np.array([count for _, count in some], np.int64)
            if data.draw(st.booleans()):
                packed, counts = np.repeat(packed, counts, axis=1), None
            made.add(packed, counts)
            for row, count in some:
                expected[row] += count
        found = [
            (tuple(row), count)
            for block, counts in made.blocks()
            for row, count in zip(block.T.tolist(), counts.tolist(), strict=True)
        ]
        assert found == sorted(expected.items())
        assert made.rows == expected.total()
        rows = data.draw(st.integers(1, 7))
        pieces = [block.T.tolist() for block in made.expanded(rows)]
        assert [len(piece) for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)
        assert [tuple(r) for piece in pieces for r in piece] == sorted(expected.elements())


@pytest.mark.parametrize("kind", ["pyarrow", "csv", "parquet"])
@pytest.mark.usefixtures("tight")
def test_engines_keep_the_contract(kind):
    made = MAKERS[kind]
    check_engine(lambda cells: open_source(made(cells)))


def many_rows(rows=3000, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": [f"a{i}" for i in rng.integers(0, 40, rows)],
            "b": [f"b{i}" if i else None for i in rng.integers(0, 7, rows)],
            "s": [f"s{i}" for i in rng.integers(0, 5, rows)],
            "n": rng.integers(0, 900, rows),
            "p": [f"p{i}" for i in rng.integers(0, 2000, rows)],
        }
    )


@pytest.mark.parametrize("numbered", [(), ("p",)])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_same_bytes_with_little_memory(ending, numbered, monkeypatch, tmp_path):
    source = RowSource(open_source(many_rows()).reader)
    table = source.count(codings(["a", "b"], ["s"]), person="p")
    whole = [
        source.write(r, tmp_path / f"{i}.{ending}", drop=["p"] if not numbered else (), numbered=numbered)
        for i, r in enumerate(recodings(table))
    ]
    monkeypatch.setattr(Memory, "room", 4096)
    monkeypatch.setattr(published_columns, "LEAST_ROWS", 50)
    stored = []
    store = Spill.store
    monkeypatch.setattr(Spill, "store", lambda spill, lines: stored.append(1) or store(spill, lines))
    assert source.count(codings(["a", "b"], ["s"]), person="p").digest == table.digest
    for i, recoding in enumerate(recodings(table)):
        path = tmp_path / f"little-{i}.{ending}"
        source.write(recoding, path, drop=["p"] if not numbered else (), numbered=numbered)
        assert path.read_bytes() == whole[i].read_bytes()
    assert stored


def test_leaves_that_depend_on_all_values_are_read_again(monkeypatch):
    """The first letters of the values, as many as tell half of them apart: known only at the end."""

    def build(values):
        width = 1 if len(values) < 30 else 3
        leaves = sorted({str(v)[:width] for v in values})
        at = {value: 1 + leaves.index(str(value)[:width]) for value in values}
        return Taxonomy.grow(["*", *leaves], [-1, *[0] * len(leaves)], aliases=at)

    table = pa.table({"a": [f"{i // 10}{i % 10}" for i in range(20)] * 50 + [f"x{i}" for i in range(50)]})
    from sfumato.table.microdata import Coding, Role

    coding = Coding("a", Role.QUASI, build)
    expected = open_source(table).count([coding])
    monkeypatch.setattr(Memory, "room", 512)
    reader = open_source(table).reader
    passes = []

    class Small:
        kind, schema, total = "small", reader.schema, None

        def batches(self, names):
            passes.append(1)
            return iter(table.select(names).to_batches(max_chunksize=100))

    found = RowSource(Small()).count([coding])
    assert found.digest == expected.digest
    assert len(passes) == 2


def test_too_many_different_rows_are_refused(monkeypatch):
    monkeypatch.setattr(Memory, "room", 4096)
    monkeypatch.setattr(Memory, "left", 1_000_000)
    source = RowSource(open_source(many_rows(60_000)).reader, Memory(memory.PROGRAM_BYTES))
    with pytest.raises(NotEnoughMemory, match="different rows") as refused:
        source.count(codings(["a", "b", "n"], ["s"]))
    assert "'n' has the most values" in refused.value.remedy
    assert refused.value.exit_code == 3


def test_a_spill_folder_is_used_and_left_clean(monkeypatch, tmp_path):
    monkeypatch.setattr(Memory, "room", 4096)
    seen = []
    store = Spill.store

    def look(spill, lines):
        kept = store(spill, lines)
        seen.append((kept.file.parent.parent, oct(kept.file.parent.stat().st_mode & 0o777)))
        return kept

    monkeypatch.setattr(Spill, "store", look)
    place = tmp_path / "spill"
    place.mkdir()
    left_over = place / f"{PREFIX}of-a-crash"
    left_over.mkdir()
    source = RowSource(open_source(many_rows()).reader, Memory(spill=place))
    recoding = next(recodings(source.count(codings(["a", "b"], ["s"]))))
    source.write(recoding, tmp_path / "out.csv")
    assert set(seen) == {(place, "0o700")}
    assert list(place.iterdir()) == []


def test_limits_as_people_write_them():
    assert Memory.of("1.5 gb").limit == 1_500_000_000
    assert Memory.of("2GiB").limit == 2 << 30
    assert Memory.of(10**9).limit == 10**9
    for wrong in ("four", "4 apples", "-4GB", "", "4i"):
        with pytest.raises(UsageError, match="number and a unit"):
            Memory.of(wrong)
    with pytest.raises(UsageError, match="below what the program takes"):
        Memory.of("1MB")
    with pytest.raises(UsageError, match="does not exist"):
        Memory.of("4GB", spill="nowhere")


def test_the_memory_of_a_container_counts(tmp_path):
    assert 0 < machine_memory() <= machine_memory(tmp_path)
    group = tmp_path / "sys/fs/cgroup"
    (group / "app/worker").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/app/worker\n")
    (group / "app/worker/memory.max").write_text("max\n")
    (group / "app/memory.max").write_text("123456789\n")
    assert machine_memory(tmp_path) == 123456789
    assert in_words(machine_memory(tmp_path)) == "123 MB"


def test_joint_tables_look_up_what_single_ones_do(monkeypatch):
    source = RowSource(open_source(many_rows()).reader)
    joint = source.count(codings(["a", "b", "s", "n"])).digest
    monkeypatch.setattr(runs, "LARGEST_JOINT_TABLE", 0)
    assert source.count(codings(["a", "b", "s", "n"])).digest == joint


def test_files_of_one_pattern_are_one_table(tmp_path):
    table = many_rows()
    for number, start in enumerate(range(0, table.num_rows, 700)):
        pq.write_table(table.slice(start, 700), tmp_path / f"rows-{number}.parquet")
    whole, parts = open_source(table), open_source(tmp_path / "rows-*.parquet")
    given = codings(["a", "b"], ["s"])
    assert parts.kind == "parquet"
    assert parts.count(given).digest == whole.count(given).digest
    recoding = next(recodings(whole.count(given)))
    assert parts.recode(recoding).equals(whole.recode(recoding))
    with pytest.raises(BadData, match="no file has such a name"):
        _ = open_source(tmp_path / "other-*.parquet").columns
    pq.write_table(pa.table({"z": [1]}), tmp_path / "rows-9.parquet")
    with pytest.raises(BadData, match="different columns"):
        _ = open_source(tmp_path / "rows-*.parquet").columns


@pytest.mark.parametrize("room", [4096, 1 << 30])
def test_copies_that_publish_different_things(room, monkeypatch):
    """Terms may be gone from one copy of a row and not from another: the copies in order say which."""
    monkeypatch.setattr(Memory, "room", room)
    monkeypatch.setattr(published_columns, "LEAST_ROWS", 50)
    data = many_rows().select(["a", "b", "s", "n"])
    source = RowSource(open_source(data).reader)
    table = source.count(codings(["a", "b"], ["s"]))
    tree = Taxonomy.flat(["x", "y", "z", None])
    codes = np.random.default_rng(2).integers(0, 4, table.rows).astype(np.int32)
    cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    whole = Recoding.of_cuts(table, cuts)
    some = np.arange(whole.count) % 3 > 0
    recoding = replace(Recoding.of_cuts(table, cuts, keep=some), rewritten={"s": Rewriting(tree, codes)})
    rank = [{label: c.taxonomy.rank(label) for label in c.taxonomy.leaf_labels} for c in table.columns]
    told = [tuple(row.values()) for row in data.to_pylist()]
    rows = sorted((rank[0][a], rank[1][b], rank[2][s], n, a, b) for a, b, s, n in told)
    numbers = {pair: i for i, pair in enumerate(sorted({row[:2] for row in rows}))}
    new = tree.leaf_labels
    expected = [
        (a, b, new[code], n)
        for (i, j, _, n, a, b), code in zip(rows, codes.tolist(), strict=True)
        if some[numbers[i, j]]
    ]
    found = [tuple(row.values()) for row in source.recode(recoding).to_pylist()]
    assert Counter(found) == Counter(expected)


@pytest.mark.parametrize("group", [64, 700])
def test_a_row_group_holds_only_the_values_it_has(group, monkeypatch, tmp_path):
    """Else every row group of a column in which all values differ would hold the values of all rows."""
    monkeypatch.setattr(writer, "ROW_GROUP", group)
    rows = 3000
    notes = [f"note {i}" if i % 7 else None for i in range(rows)]
    data = many_rows(rows).append_column("note", pa.array(notes))
    source = RowSource(open_source(data).reader)
    recoding = next(recodings(source.count(codings(["a", "b"], ["s"]))))
    path = source.write(recoding, tmp_path / "out.parquet")
    assert pq.read_table(path).equals(source.recode(recoding))
    with pq.ParquetFile(path, read_dictionary=["note"]) as file:
        assert file.num_row_groups == -(-rows // group)
        for number in range(file.num_row_groups):
            [cells] = file.read_row_group(number, columns=["note"]).column("note").chunks
            assert len(cells.dictionary) <= group
