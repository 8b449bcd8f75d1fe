"""What must be true of a ledger and a bucket whatever happened."""

from __future__ import annotations

from pathlib import Path

from faults.made_up import NAMES
from sfumato.releases.certificate import examine, read_certificate
from sfumato.releases.downloads import local_copy
from sfumato.releases.issue import recover
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.targets import Store
from sfumato.system.address import Address

FILES = ("certificate.json", "data.csv", "manifest.json")


def objects(address):
    """The names below an address."""
    return sorted(Store(Address.of(address)).sizes())


def released(address):
    """The places that have a manifest."""
    ending = "/manifest.json"
    return [name.removesuffix(ending) for name in objects(address) if name.endswith(ending)]


def certificates(address):
    """Those of all places that can be seen; each of them is whole."""
    found = []
    for place in released(address):
        with local_copy(f"{address}/{place}/certificate.json", whole=False) as path:
            seen = examine(path)
            assert seen.holds is None, (place, seen.faults)  # by its own word; nothing is wrong
            found.append(read_certificate(path))
    return found


def check_store(url, key, address, aside, *, chain=None):
    """Before and after recovery; the number of releases, or of those of one chain, all below the address."""
    certificates(address)
    with Ledger(url, key=key) as ledger:
        recover(ledger)
        assert recover(ledger) == (), "recovering twice is recovering once"
        assert ledger.verify().holds, ledger.verify().faults
        entered = {record.release: record.hash for record in ledger.history(chain)}
    seen = certificates(address)
    assert {c["entry"]["release"]: c["hash"] for c in seen} == entered, "in both, or in neither"
    assert len(seen) == len(entered)
    whole = [f"{place}/{name}" for place in released(address) for name in FILES]
    assert objects(address) == sorted(whole), "nothing is left behind in the store"
    for place in released(address):
        versions = {other.partition("/")[2] for other in released(address) if other.startswith(f"{place}/")}
        assert versions in (set(), set(NAMES))
    left = [path.name for path in Path(aside).glob(".staged-*") if any(path.iterdir())]
    assert left == [], "nothing is left behind on this machine"
    return len(entered)
