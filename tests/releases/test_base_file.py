"""The file of a base: what is kept, what is refused, and what is removed."""

from __future__ import annotations

import os
import stat
import time

import numpy as np
import pyarrow as pa
import pytest

from sfumato.releases.base_file import BaseFile, BaseMissing, BaseStore, sweep_bases
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import LONGEST_NOTES, memory_bytes, notes_of_groups
from sfumato.system.errors import BadLedger, UsageError
from sfumato.table.base import BARE_ROW, GROUP, HOME, KEYS, LOSS, PERSON, RELEASE, ROW, Base


@pytest.fixture
def base():
    hashes = pa.array([bytes([i]) * 16 for i in range(4)], pa.binary(16))
    columns = {
        PERSON: hashes,
        ROW: hashes,
        KEYS: hashes,
        GROUP: pa.array([0, 0, 1, 1]),
        HOME: pa.array([0, 0, 1, 1]),
        RELEASE: pa.array(np.ones(4, np.int32)),
        BARE_ROW: pa.array(np.zeros(4, bool)),
        LOSS: pa.array(np.zeros(4)),
        "town": pa.array(["Ahus", "Ahus", "*", "*"]),
        "illness": pa.array(["secret flu", "cold", "TB", None]),
    }
    return Base(pa.table(columns), ("town", "illness"), ("town",), releases=1, groups=2, made_by=(0,))


@pytest.fixture
def store(tmp_path):
    return BaseStore.beside(tmp_path / "ledger.db")


def kept(store, base):
    """A base on disk, and what a release would remember of it."""
    sealed = BaseFile.of(base)
    store.keep(sealed)
    return memory_bytes(sealed.notes)


def test_what_was_kept_is_opened_again(store, base):
    memory = kept(store, base)
    again = store.open(memory)
    assert again.rows.equals(base.rows)
    assert (again.published, again.groups, again.made_by) == (("town", "illness"), 2, (0,))
    assert len(memory) < LONGEST_NOTES


def test_files_are_encrypted_and_for_their_owner_alone(store, base):
    memory = kept(store, base)
    (path,) = store.folder.iterdir()
    assert b"secret flu" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert path.name == notes_of_groups(memory)["base"]


def test_no_two_files_are_the_same(base):
    assert BaseFile.of(base).digest != BaseFile.of(base).digest
    assert "key" not in repr(BaseFile.of(base))


def test_a_base_that_is_not_there(store, base):
    memory = kept(store, base)
    assert store.has(memory)
    store.forget(memory)
    store.forget(memory)
    assert not store.has(memory)
    with pytest.raises(BaseMissing, match="is not beside the ledger"):
        store.open(memory)


def test_a_base_that_is_another_one(store, base):
    memory = kept(store, base)
    (path,) = store.folder.iterdir()
    path.write_bytes(BaseFile.of(base).content)
    with pytest.raises(BadLedger, match="was changed"):
        store.open(memory)


def test_a_base_whose_key_is_another_one(store, base):
    sealed, other = BaseFile.of(base), BaseFile.of(base)
    store.keep(sealed)
    with pytest.raises(BadLedger, match="cannot be opened"):
        store.open(memory_bytes({**sealed.notes, "key": other.key}))
    with pytest.raises(BadLedger, match="cannot be opened"):
        store.open(memory_bytes({**sealed.notes, "key": "no key"}))


@pytest.mark.parametrize("memory", [b"", b"{}", b'{"kind":"imprint"}', b"[1]", b"\xff", b" " * 2000])
def test_releases_of_another_kind_name_no_base(store, memory):
    assert notes_of_groups(memory) is None
    assert not store.has(memory)
    store.forget(memory)
    with pytest.raises(BadLedger, match="has no base"):
        store.open(memory)


def test_bases_go_along_with_a_backup(store, base, tmp_path):
    memories = [kept(store, base), kept(store, base)]
    copy = BaseStore.beside(tmp_path / "backup.db")
    store.copy_to(copy.folder)
    store.copy_to(copy.folder)
    for memory in memories:
        assert copy.open(memory).rows.equals(base.rows)
    BaseStore.beside(tmp_path / "nothing").copy_to(tmp_path / "none.bases")
    assert not (tmp_path / "none.bases").exists()


def test_what_no_release_names_is_left_for_a_day(tmp_path, base):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    store = BaseStore.of(ledger)
    sweep_bases(ledger)
    kept(store, base)
    (path,) = store.folder.iterdir()
    sweep_bases(ledger)
    assert path.exists(), "a release may be under way that is going to name it"
    yesterday = time.time() - 90_000
    os.utime(path, (yesterday, yesterday))
    sweep_bases(Ledger(f"sqlite:///{tmp_path}/ledger.db", readonly=True))
    assert path.exists()
    sweep_bases(ledger)
    assert not path.exists()


def test_a_ledger_elsewhere_has_its_bases_beside_its_key(tmp_path):
    class Elsewhere:
        key_path = tmp_path / "clinic.key"
        database = type("Database", (), {"path": None})

    assert BaseStore.of(Elsewhere).folder == tmp_path / "clinic.key.bases"
    Elsewhere.key_path = None
    with pytest.raises(UsageError, match="beside the key of its ledger"):
        BaseStore.of(Elsewhere)
