"""Releases of a made-up table, and what must be true of a ledger and its folders whatever happened."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.releases import issue as issuing
from sfumato.releases.certificate import examine, read_certificate
from sfumato.releases.issue import PlannedRelease, begin, judge_folders, recover
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.staging import no_hook
from sfumato.system.errors import RefusedByHistory
from sfumato.system.verdict import Verdict

CANARY = "canary-7f3a91"
"""Stands in what only the judge may see."""


def planned(memory=b"", rows=200, **more):
    def write(path):
        path.write_text("zip,disease\n" + "021**,flu\n" * rows, encoding="utf-8")

    def judge(path, private):
        (private / "witness.csv").write_text(CANARY, encoding="utf-8")
        assert path.read_text(encoding="utf-8").count("flu") == rows
        return (Verdict("k-anonymity, k = 5", True, 5, 5),)

    figures = {"rows": rows, "k": 5, "loss": 0.5}
    record = ReleaseRecord("", "", "p" * 64, memory=memory, figures=figures, **more)
    return PlannedRelease(record, write, judge)


def issue_all(ledger, versions, *, into, chain="main", checks=(), **options):
    """Release a table in all these versions."""
    begun = begin(ledger, into=into, chain=chain, **options)
    with judge_folders(begun, versions, checks=checks) as folders:
        return issuing.issue(folders)


def issue(ledger, version, **options):
    """Release a table in one version."""
    (receipt,) = issue_all(ledger, [version], **options)
    return receipt


def release(ledger, into, *, chain="main", memory=b"", checks=(), aside=None, at=no_hook, **more):
    return issue(ledger, planned(memory, **more), into=into, chain=chain, checks=checks, aside=aside, at=at)


NAMES = ("Ärzte", "registry", "the council")


def release_to_three(ledger, into, *, chain="main", aside=None, at=no_hook):
    versions = [planned(rows=100 + i, recipient=name, place=name) for i, name in enumerate(NAMES)]
    return issue_all(ledger, versions, into=into, chain=chain, aside=aside, at=at)


def one_side(history, this):
    """Made up: releases of the same side are safe together, releases of two sides are not."""
    if any(earlier.memory != this.memory for earlier in history):
        raise RefusedByHistory("unsafe next to an earlier release")


def visible(folder):
    return sorted(path for path in Path(folder).iterdir() if path.is_dir() and not path.name.startswith("."))


def released(folder):
    """The folders of releases; those with versions for several recipients hold one for each."""
    return [
        place
        for path in visible(folder)
        for place in ([path] if (path / "manifest.json").exists() else sorted(path.iterdir()))
    ]


def check_visible(folder):
    """A folder that has its name is whole."""
    for path in visible(folder):
        if not (path / "manifest.json").exists():
            assert {place.name for place in path.iterdir()} == set(NAMES), "all versions, or none"
    for path in released(folder):
        found = examine(path / "certificate.json")
        assert found.holds is None, (path.name, found.faults)  # by its own word; nothing is wrong
        listed = {file["name"] for file in json.loads((path / "manifest.json").read_text())["files"]}
        assert "data.csv" in listed
        assert {file.name for file in path.iterdir()} == listed | {"manifest.json", "certificate.json"}


def check_all(url, key, folder):
    """Before and after recovery; the number of releases."""
    check_visible(folder)
    with Ledger(url, key=key) as ledger:
        recover(ledger)
        assert recover(ledger) == (), "recovering twice is recovering once"
        assert ledger.verify().holds, ledger.verify().faults
        entered = {record.release: record.hash for record in ledger.history()}
    check_visible(folder)
    certificates = [read_certificate(path / "certificate.json") for path in released(folder)]
    assert {c["entry"]["release"]: c["hash"] for c in certificates} == entered, "in both, or in neither"
    assert len(certificates) == len(entered)
    left = [path.name for path in Path(folder).glob(".staged-*") if any(path.iterdir())]
    assert left == [], "nothing is left behind"
    return len(entered)
