"""A ledger in which tests release a chain of groups, and what they look at."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

import sfumato as sf
from sfumato.releases.base_file import BaseStore
from sfumato.releases.ledger.ledger import Ledger


@pytest.fixture
def release(tmp_path):
    """Releases tables into folders 1, 2, … of one ledger."""
    url = f"sqlite:///{tmp_path}/ledger.db"

    def run(data, words, *, into=None, **options):
        folder = tmp_path / (into or str(1 + sum(path.is_dir() for path in tmp_path.glob("[0-9]"))))
        return sf.release(data, words, ledger=url, into=folder, **options)

    run.url, run.folder = url, tmp_path
    return run


def rows(receipt):
    """The rows of a released CSV file, as often as they occur."""
    with (receipt.folder / "data.csv").open(newline="") as file:
        return Counter(tuple({"bare_row": "no", **row}.items()) for row in csv.DictReader(file))


def last_base(release, chain="main"):
    ledger = Ledger(release.url)
    return BaseStore.of(ledger).open(ledger.history(chain)[-1].memory)


def bases(release):
    return sorted(path.name for path in (release.folder / "ledger.db.bases").iterdir())
