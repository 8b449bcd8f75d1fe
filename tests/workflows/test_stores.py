"""From a table to a release in a store, and back: published, verified, audited, by its address alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import sfumato as sf
from quick_demo import write_quick_demo
from sfumato.cli.main import run
from sfumato.releases.targets import Store
from sfumato.system.address import Address
from sfumato.system.errors import BadData, StoreUnavailable, UsageError
from sfumato.workflows.doctor import doctor
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow


@pytest.fixture
def place(buckets, tmp_path, monkeypatch):
    write_quick_demo(tmp_path, 400)
    monkeypatch.chdir(tmp_path)
    return buckets.new()


def released(place, **options):
    return sf.release("hospital.csv", "policy.yaml", ledger="sqlite:///ledger.db", into=place, **options)


def test_release_verify_audit(place, capsys):
    words = ["release", "hospital.csv", "-p", "policy.yaml", "--into", place, "--json"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == place and told["files"] == ["data.csv", "dictionary.json", "dictionary.html"]
    assert run(["certificate", "verify", f"{place}/certificate.json", "--key", "ledger.db.key.pub"]) == 0
    assert run(["ledger", "verify", "--certificate", f"{place}/certificate.json"]) == 0
    assert run(["ledger", "verify", "--certificate", f"{place}/nothing.json"]) == 3
    assert run(["audit", place, "-p", "policy.yaml", "--against", "sqlite:///ledger.db"]) == 0
    near = sf.release("hospital.csv", "policy.yaml", ledger="sqlite:///other.db", into="near")
    local = sf.audit(near.folder / "data.csv", "policy.yaml")
    assert [str(v) for v in sf.audit(f"{place}/data.csv", "policy.yaml").verdicts] == [
        str(v) for v in local.verdicts
    ]
    assert run(words) == 2, "what is there is not replaced"


def test_versions_for_recipients_in_parquet(place):
    with Path("policy.yaml").open("a", encoding="utf-8") as file:
        file.write("\nrecipients:\n  tolerance: 5%\n")
    event = released(place, to=["registry", "lab"], format="parquet")
    assert str(event.folder) == place
    for receipt in event.receipts:
        assert sf.audit(str(receipt.folder), "policy.yaml").holds
    with pytest.raises(BadData, match="no manifest"):
        sf.audit(place, "policy.yaml")


def test_a_release_that_was_changed_is_not_read(place, capsys):
    released(place)
    store = Store(Address.of(place))
    content = store.get("data.csv")
    store.remove(["data.csv"])
    store.put("data.csv", content.replace(b"\n", b"\r", 1))
    with pytest.raises(BadData, match=r"not whole: data\.csv was changed"):
        sf.audit(place, "policy.yaml")
    assert run(["certificate", "verify", f"{place}/certificate.json"]) == 1
    assert "data.csv was changed" in capsys.readouterr().out
    store.remove(["data.csv"])
    store.put("data.csv", content + b"x")
    with pytest.raises(BadData, match="another size"):
        sf.audit(place, "policy.yaml")
    store.remove(["manifest.json"])
    with pytest.raises(BadData, match="no manifest"):
        sf.audit(place, "policy.yaml")
    assert run(["certificate", "verify", f"{place}/certificate.json"]) == 1
    assert "the manifest is missing" in capsys.readouterr().out


def test_a_file_that_the_manifest_does_not_name_is_no_part(place, capsys):
    released(place)
    proof = ["certificate", "verify", f"{place}/certificate.json", "--key", "ledger.db.key.pub"]
    assert run(proof) == 0
    Store(Address.of(place)).put("more.csv", b"not,published\n")
    assert sf.audit(place, "policy.yaml").holds
    assert run(proof) == 1
    assert "more.csv was not published with it" in capsys.readouterr().out


def test_what_does_not_go_to_a_store_says_so(place):
    with pytest.raises(UsageError, match="not written to a store"):
        protect_file("hospital.csv", "policy.yaml", f"{place}/safe.csv")
    with pytest.raises(UsageError, match="not read from a store"):
        sf.protect(f"{place}/data.csv", "policy.yaml")


def test_the_library_is_an_extra(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoreUnavailable, match="not installed") as refused:
        released(place)
    assert "sfumato[stores]" in refused.value.remedy


def test_the_doctor_looks_at_a_store(place, monkeypatch):
    def found(address):
        return next(part for part in doctor(store=address).findings if part.part == "store")

    assert found(place).state == "fine"
    assert found("s3://nobodys/out").state == "missing"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert found(place).found == "the store cannot be reached"
