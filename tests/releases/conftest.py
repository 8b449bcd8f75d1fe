"""A ledger with some releases in it."""

from __future__ import annotations

import shutil

import pytest

from faults.made_up import release
from sfumato.releases.ledger.ledger import Ledger


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture(scope="module")
def kept_ledger(tmp_path_factory):
    """Three releases in two chains, and a change of keys."""
    folder = tmp_path_factory.mktemp("template")
    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    release(ledger, folder / "one", memory=b"1")
    release(ledger, folder / "two", chain="other", memory=b"2")
    ledger.rotate()
    release(ledger, folder / "three", memory=b"3", people=bytes(range(32)))
    return folder


@pytest.fixture
def filled(kept_ledger, url, tmp_path):
    """A copy of it."""
    shutil.copytree(kept_ledger, tmp_path, dirs_exist_ok=True)
    return Ledger(url)
