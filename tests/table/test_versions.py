"""Several versions of one table from one pass: the same bytes as if each were written by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.system.errors import BadData, UsageError
from sfumato.system.memory import Memory
from sfumato.table import publication as published_columns
from sfumato.table.arrow_rows import CanWriteVersions, version_writer
from sfumato.table.cut import Cut
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import SetForm
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from sfumato.table.spill import Spill
from sfumato.testing.engines import codings, recodings
from table.test_little_memory import many_rows
from table.test_term_sets import BITS, TEXT, planned

pytestmark = pytest.mark.slow


class CountingReader:
    """Counts how often its rows are asked for."""

    def __init__(self, reader):
        self.reader, self.passes = reader, 0

    def __getattr__(self, name):
        return getattr(self.reader, name)

    def batches(self, names):
        self.passes += 1
        return self.reader.batches(names)


class OneByOne:
    """A source that knows nothing of versions."""

    def __init__(self, source):
        self.source = source

    def survey(self, *given, **more):
        return self.source.survey(*given, **more)

    def count(self, *given, **more):
        return self.source.count(*given, **more)

    def recode(self, *given, **more):
        return self.source.recode(*given, **more)

    def write(self, *given, **more):
        return self.source.write(*given, **more)


def written(source, versions, folder, *, ending, drop, numbered):
    """The bytes of every version and its witness."""
    folder.mkdir()
    with version_writer(
        source, versions[0].table, count=len(versions), drop=drop, numbered=numbered
    ) as write:
        for i, recoding in enumerate(versions):
            witness = folder / f"{i}-witness.{ending}" if numbered else None
            write(recoding, folder / f"{i}.{ending}", witness)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def one_by_one(source, versions, folder, *, ending, drop, numbered):
    """The same, each file by a pass of its own."""
    folder.mkdir()
    for i, recoding in enumerate(versions):
        source.write(recoding, folder / f"{i}.{ending}", drop=drop)
        if numbered:
            rest = [name for name in drop if name not in numbered]
            source.write(recoding, folder / f"{i}-witness.{ending}", drop=rest, numbered=numbered)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("room", [None, 4096])
@pytest.mark.parametrize("numbered", [(), ("p",)])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_versions_are_written_as_if_each_were_alone(ending, numbered, room, monkeypatch, tmp_path):
    source = open_source(many_rows())
    table = source.count(codings(["a", "b"], ["s"]), person="p")
    versions = list(recodings(table))
    assert len(versions) > 1
    how = {"ending": ending, "drop": ["p"], "numbered": numbered}
    expected = one_by_one(source, versions, tmp_path / "alone", **how)
    stored = []
    if room is not None:
        monkeypatch.setattr(Memory, "room", room)
        monkeypatch.setattr(published_columns, "LEAST_ROWS", 50)
        store = Spill.store
        monkeypatch.setattr(Spill, "store", lambda spill, lines: stored.append(1) or store(spill, lines))
    reader = CountingReader(source.reader)
    assert written(RowSource(reader), versions, tmp_path / "together", **how) == expected
    assert reader.passes == 1
    assert bool(stored) == (room is not None)
    assert written(OneByOne(source), versions, tmp_path / "foreign", **how) == expected


@pytest.mark.parametrize(("data", "form"), [(TEXT, SetForm("|")), (BITS, SetForm(parts=("a", "b", "c")))])
def test_term_sets_are_written_back_in_file_and_witness(data, form, tmp_path):
    source = open_source(pa.table(data))
    recoding, _ = planned(source, form)
    plain = Recoding.of_cuts(recoding.table, recoding.cuts)
    for numbered in ((), ("x",)):
        how = {"ending": "csv", "drop": ["x"], "numbered": numbered}
        folder = tmp_path / str(len(numbered))
        folder.mkdir()
        expected = one_by_one(source, [recoding, plain], folder / "alone", **how)
        assert written(source, [recoding, plain], folder / "together", **how) == expected


def test_a_witness_may_be_read_by_its_owner_alone(tmp_path):
    source = open_source(many_rows(50))
    table = source.count(codings(["a", "b"], ["s"]), person="p")
    written(source, list(recodings(table))[:1], tmp_path / "one", ending="csv", drop=["p"], numbered=("p",))
    assert (tmp_path / "one" / "0-witness.csv").stat().st_mode & 0o077 == 0
    assert (tmp_path / "one" / "0.csv").stat().st_mode & 0o044


@pytest.mark.parametrize("drop", [(), ("n", "p")])
def test_rows_are_read_when_the_first_version_needs_them_and_gone_after_the_last(tmp_path, drop):
    """They are needed where a column is published that was not counted."""
    reader = CountingReader(open_source(many_rows(50)).reader)
    source = RowSource(reader)
    table = source.count(codings(["a", "b"], ["s"]))
    recoding = next(iter(recodings(table)))
    with version_writer(source, table, count=1, drop=drop) as write:
        assert reader.passes == 1
        write(recoding, tmp_path / "one.csv", None)
        assert reader.passes == (1 if drop else 2)
        with pytest.raises(UsageError, match="the last version"):
            write(recoding, tmp_path / "two.csv", None)
    assert not (tmp_path / "two.csv").exists()


def test_another_table_than_the_counted_one_is_refused(tmp_path):
    table = open_source(many_rows(50)).count(codings(["a", "b"], ["s"]))
    recoding = Recoding.of_cuts(table, {c.name: Cut.leaves(c.taxonomy) for c in table.keys})
    with (
        version_writer(open_source(many_rows(50, seed=2)), table, count=2) as write,
        pytest.raises(BadData, match="not the table that was planned"),
    ):
        write(recoding, tmp_path / "one.csv", None)
    assert list(tmp_path.iterdir()) == []
    assert np.unique(recoding.class_of).size > 1


def test_sources_of_rows_write_versions_and_others_need_not():
    assert isinstance(open_source(many_rows(3)), CanWriteVersions)
    assert not isinstance(OneByOne(None), CanWriteVersions)
