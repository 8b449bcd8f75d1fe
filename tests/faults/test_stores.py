"""Stores that fail, refuse, garble and are shared: nothing half-published, nothing of others touched."""

from __future__ import annotations

import itertools

import pytest
from typer.testing import CliRunner

from buckets import SECRET
from faults.made_up import NAMES, issue, planned, release, release_to_three
from faults.made_up_in_stores import FILES, certificates, check_store, objects
from sfumato.cli.main import app, run
from sfumato.releases import staging
from sfumato.releases import targets as store
from sfumato.releases.issue import recover
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.targets import Store
from sfumato.system.address import Address
from sfumato.system.errors import (
    BadData,
    LedgerConflict,
    SfumatoError,
    StoreUnavailable,
    Unfinished,
    UsageError,
)

pytestmark = pytest.mark.slow


class Place:
    """A bucket, a ledger, and a folder to stage in."""

    def __init__(self, buckets, home):
        self.buckets, self.out = buckets, buckets.new()
        self.url, self.aside = f"sqlite:///{home}/ledger.db", home / "aside"
        self.aside.mkdir()

    def release(self, name="one", **options):
        return release(Ledger(self.url), f"{self.out}/{name}", aside=self.aside, **options)

    def store(self, name="one"):
        return Store(Address.of(f"{self.out}/{name}"))

    def check(self):
        self.buckets.heal()
        return check_store(self.url, None, self.out, self.aside)

    def outcomes(self):
        return [found.outcome for found in recover(Ledger(self.url))]


@pytest.fixture
def place(buckets, tmp_path):
    return Place(buckets, tmp_path)


def at(step, work):
    """Do `work` at a step."""
    return lambda passed: work() if passed == step else None


def test_a_release_is_there_with_its_manifest_and_nothing_else(place):
    receipt = place.release()
    assert str(receipt.folder) == f"{place.out}/one"
    assert str(receipt.certificate) == f"{place.out}/one/certificate.json"
    assert receipt.as_dict()["folder"] == f"{place.out}/one"
    assert objects(place.out) == [f"one/{name}" for name in FILES]
    assert list(place.aside.iterdir()) == []
    assert place.check() == 1


def test_the_manifest_is_the_last_object(place):
    seen = {}
    place.release(at=lambda step: seen.setdefault(step, objects(place.out)))
    assert seen["compared"] == []
    assert seen["noted"] == ["one/_staged.json"]
    assert seen["ready"] == seen["committed"] == ["one/_staged.json", "one/data.csv"]
    assert seen["certified"] == ["one/_staged.json", "one/certificate.json", "one/data.csv"]
    assert "one/manifest.json" in seen["visible"]


def test_versions_for_three(place):
    event = release_to_three(Ledger(place.url), f"{place.out}/one", aside=place.aside)
    assert [str(receipt.folder) for receipt in event] == [f"{place.out}/one/{name}" for name in NAMES]
    assert place.check() == 3


def test_every_request_may_fail(place):
    """Fail the first, the second, ... until a release comes through untouched; look at it all each time."""
    entered = 0
    for number in itertools.count(1):
        place.buckets.harm("fail", first=number, last=number)
        try:
            place.release(f"r{number}/x", chain=f"c{number}")
            code = 0
        except SfumatoError as error:
            code = error.exit_code
        count = place.buckets.heal()
        out = f"{place.out}/r{number}"
        whole = len(certificates(out))
        recover(Ledger(place.url))
        assert recover(Ledger(place.url)) == ()
        now = len(Ledger(place.url).history())
        assert len(certificates(out)) == now - entered >= whole
        assert code in (0, 3, 4)
        assert (code == 0) <= (now > entered), (number, code)
        assert objects(out) == ([f"x/{name}" for name in FILES] if now > entered else [])
        entered = now
        if count < number:
            break
    assert code == 0
    assert 10 < number < 40
    assert place.check() == entered


def test_an_answer_that_was_lost_is_no_conflict(place, monkeypatch):
    monkeypatch.setattr(store, "RETRIES", 3)
    for number in (2, 3, 4, 9, 10):
        place.buckets.harm("lose", first=number, last=number)
        place.release(f"r{number}", chain=f"c{number}")
    assert place.check() == 5


def test_a_store_that_can_only_be_read(place):
    place.buckets.harm("deny", only=["PUT", "POST", "DELETE"])
    with pytest.raises(StoreUnavailable, match="does not let us") as refused:
        place.release()
    assert refused.value.exit_code == 3
    assert place.check() == 0
    assert list(place.aside.iterdir()) == []


def test_a_store_that_cannot_be_reached_is_said_before_anything_is_planned(place, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    planned = []
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        place.release(at=planned.append)
    assert planned == []


@pytest.mark.usefixtures("buckets")
def test_a_bucket_that_is_not_there(tmp_path):
    with pytest.raises(StoreUnavailable, match="not there"):
        release(Ledger(f"sqlite:///{tmp_path}/ledger.db"), "s3://nobodys/one", aside=tmp_path)


@pytest.mark.parametrize("step", ["noted", "uploaded", "ready"])
def test_a_store_that_goes_away_before_the_commit(place, step):
    """At the latest step the ledger could go on without it: then the release counts, and waits."""
    with pytest.raises(SfumatoError) as refused:
        place.release(at=at(step, lambda: place.buckets.harm("fail")))
    counts = step == "ready"
    assert isinstance(refused.value, Unfinished if counts else StoreUnavailable)
    assert place.outcomes() == ["out of reach"]
    assert place.check() == int(counts)
    assert place.outcomes() == []


def test_a_store_that_goes_away_after_the_commit(place):
    with pytest.raises(Unfinished, match="cannot be made visible") as refused:
        place.release(at=at("committed", lambda: place.buckets.harm("fail")))
    assert refused.value.exit_code == 4
    assert run(["ledger", "recover", "--ledger", place.url]) == 4
    place.buckets.heal()
    assert certificates(place.out) == []
    assert run(["ledger", "recover", "--ledger", place.url]) == 0
    assert place.check() == 1


def test_a_store_out_of_reach_is_not_in_the_way_of_other_releases(place, tmp_path):
    with pytest.raises(StoreUnavailable):
        place.release(at=at("uploaded", lambda: place.buckets.harm("fail")))
    release(Ledger(place.url), tmp_path / "elsewhere", chain="other")
    place.buckets.heal()
    assert place.outcomes() == ["rolled back"]
    assert objects(place.out) == []


def test_bytes_that_come_back_changed_are_refused(place):
    with pytest.raises(BadData, match="does not give back"):
        place.release(at=at("uploaded", lambda: place.buckets.harm("garble", first=2)))
    assert place.check() == 0


def test_a_store_that_looks_at_no_conditions_is_refused(place):
    place.buckets.harm("forget")
    with pytest.raises(StoreUnavailable, match="overwritten"):
        place.release()
    assert place.check() == 0


def test_what_is_there_is_never_replaced(place):
    place.release()
    before = certificates(place.out)
    with pytest.raises(UsageError, match="exists already"):
        place.release(chain="other")
    assert certificates(place.out) == before
    place.store("two").put("notes.txt", b"mine")
    with pytest.raises(UsageError, match="exists already"):
        place.release("two")
    assert place.store("two").get("notes.txt") == b"mine"


@pytest.mark.parametrize(("step", "name"), [("noted", "data.csv"), ("noted", "x"), ("uploaded", "x")])
def test_what_somebody_else_puts_there_meanwhile_is_left_alone(place, step, name):
    with pytest.raises(UsageError, match="taken"):
        place.release(at=at(step, lambda: place.store().put(name, b"mine")))
    assert objects(place.out) == [f"one/{name}"]
    assert place.store().get(name) == b"mine"
    assert place.outcomes() == []


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json"])
def test_a_name_that_is_taken_after_the_commit_is_not_overwritten(place, name):
    with pytest.raises(Unfinished, match="something else is in its place"):
        place.release(at=at("committed", lambda: place.store().put(name, b"mine")))
    assert place.store().get(name) == b"mine"
    place.store().remove([name])
    assert place.outcomes() == ["finished"]
    assert place.check() == 1


def test_who_comes_second_is_told_that_a_release_is_under_way(place):
    def second():
        with pytest.raises(LedgerConflict, match="under way"):
            release(Ledger(f"{place.url}.2"), f"{place.out}/one", chain="other", aside=place.aside)

    place.release(at=at("noted", second))
    assert place.check() == 1


def test_what_another_machine_entered_is_finished_and_what_it_did_not_is_left(place, monkeypatch):
    """A job on a machine that is gone for good: its name will not come back."""

    def away():
        place.buckets.harm("fail")
        raise KeyboardInterrupt

    monkeypatch.setattr(staging, "host", lambda _: "first")
    with pytest.raises(KeyboardInterrupt):
        place.release("two", at=at("uploaded", away))
    monkeypatch.setattr(staging, "host", lambda _: "third")
    place.buckets.heal()
    with pytest.raises(Unfinished):
        place.release(at=at("committed", lambda: place.buckets.harm("fail")))
    place.buckets.heal()
    monkeypatch.setattr(staging, "host", lambda _: "second")
    assert sorted(place.outcomes()) == ["finished", "under way"]
    assert place.outcomes() == ["under way"]
    assert "two/data.csv" in objects(place.out)
    told = CliRunner().invoke(app, ["ledger", "recover", "--ledger", place.url])
    assert "under way" in told.stdout and "on first" in told.stdout
    told = CliRunner().invoke(app, ["ledger", "recover", "--ledger", place.url, "--host", "first"])
    assert told.exit_code == 0 and "rolled back" in told.stdout
    assert place.outcomes() == [] and place.check() == 1


def test_a_large_file_goes_in_parts(place, monkeypatch):
    monkeypatch.setattr(store, "REQUEST_BYTES", 5 << 20)
    issue(
        Ledger(place.url),
        planned(rows=1_200_000),
        into=f"{place.out}/one",
        chain="main",
        aside=place.aside,
    )
    assert place.check() == 1


@pytest.mark.parametrize(
    "given",
    [
        f"s3://me:{SECRET}@bucket/one",
        f"s3://{SECRET}@bucket/one",
        f"s3://bucket/one?secret_key={SECRET}",
        f"s3://bucket/one#{SECRET}",
        f"abfss://box:{SECRET}@account.dfs.core.windows.net/one",
        f"ftp://me:{SECRET}@host/one",
        f"s3://{SECRET}",
    ],
)
def test_an_address_with_a_credential_is_refused_and_not_repeated(given, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/ledger.db"
    (tmp_path / "p.yaml").write_text("columns: {}", encoding="utf-8")
    (tmp_path / "d.csv").write_text("a\n1\n", encoding="utf-8")
    for words in (
        ["release", "d.csv", "-p", "p.yaml", "--into", given, "--ledger", url],
        ["audit", given, "-p", "p.yaml"],
        ["protect", given, "-p", "p.yaml", "-o", "safe.csv"],
        ["certificate", "verify", given],
        ["policy", "check", "p.yaml", given],
        ["discover", given],
        ["trace", given, "--ledger", url],
        ["doctor", "--store", given],
    ):
        assert run(words) in (2, 3)
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_failure_tells_nothing_of_the_keys(place):
    with pytest.raises(Unfinished) as refused:
        place.release(at=at("committed", lambda: place.buckets.harm("deny")))
    chain = [refused.value, refused.value.__cause__]
    assert SECRET not in repr(chain) and "publisher" not in repr(chain)
    assert place.check() == 1
    for path in place.aside.parent.iterdir():
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
