"""One leak, two chains of the same people: whoever got another chain's version is not charged for it."""

import polars as pl
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import sfumato as sf
from sfumato.recipients.charging import ERROR

pytestmark = pytest.mark.slow

ONE, TWO = ("alpha", "beta"), ("alpha", "gamma", "delta")


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("house")
    words = sf.demo.policy().to_dict()
    promises = [promise for promise in words["promises"] if "t-closeness" not in promise]
    policy = {
        **words,
        "promises": promises,
        "person": "patient_id",
        "chain": {},
        "recipients": {"by": "marks"},
    }
    write_key(folder / "ledger.db.key")
    people, url = sf.demo.hospital(800, seed=4), f"sqlite:///{folder}/ledger.db"
    sf.release(people, policy, ledger=url, into=folder / "one", to=ONE, chain="one")
    sf.release(people, policy, ledger=url, into=folder / "two", to=TWO, chain="two", ignore_chains=["one"])
    return folder, url


def write_key(path):
    """The same coins in every run: an innocent one is charged in one of a thousand."""
    private = Ed25519PrivateKey.from_private_bytes(b"a key of tests, of thirty-two b.")
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(private.private_bytes(*form))
    path.chmod(0o600)


def copy_of(folder, chain, name, rows=None):
    copy = pl.read_csv(folder / chain / name / "data.csv", infer_schema=False)
    return copy if rows is None else copy.sample(rows, seed=2)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("rows", [None, 150])
def test_a_leak_of_chain_one_charges_nobody_else_in_chain_two(house, name, rows):
    """Coins of two chains are independent, whoever has versions of both: they too are as innocent of two."""
    folder, url = house
    leak = copy_of(folder, "one", name, rows)
    assert sf.trace(leak, ledger=url, chain="one").charged == (name,)
    other = sf.trace(leak, ledger=url, chain="two")
    assert other.charged == () and min(suspect.tail for suspect in other.suspects) > ERROR / len(TWO)
    assert {suspect.recipient for suspect in other.suspects} == set(TWO)
    assert sf.trace(leak, ledger=url).chain == "one"


def test_the_same_leak_that_is_read_otherwise_is_another_trace(house):
    folder, url = house
    leak = copy_of(folder, "two", "gamma", 90)
    first = sf.trace(leak, ledger=url)
    assert (first.chain, first.charged) == ("two", ("gamma",))
    assert sf.trace(leak.sample(90, seed=3, shuffle=True), ledger=url).traces == first.traces
    count = first.traces
    for more in (
        {"chain": "one"},
        {"error": "1/50"},
        {"reported": [leak.head(40)]},
    ):
        count += 1
        told = sf.trace(leak, ledger=url, **more)
        assert told.traces == count
        assert sf.trace(leak, ledger=url, **more).traces == count
    assert f"{count} traces have been made with this ledger" in str(told)
