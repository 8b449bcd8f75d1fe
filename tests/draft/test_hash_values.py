"""Pseudonyms by a plain hash: found again by whoever tries all ids, so never published."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.draft.roles_from_content import hash_digits
from sfumato.system.errors import BadPolicy

IDS = [f"{(number * 7919) % 10_000:04d}" for number in range(40)]
ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s")


def hashed(text, algorithm="sha256", *, key=""):
    return hashlib.new(algorithm, (key + text).encode()).hexdigest()


def words(role):
    return {
        "columns": {"zip": {"role": "quasi"}, "who": {"role": role}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"who": True},
    }


def test_a_dictionary_finds_everybody_behind_a_plain_hash():
    """What would be published, and what somebody makes of it who tries all ids of four digits."""
    pseudonyms = [hashed(one) for one in IDS]
    dictionary = {hashed(f"{number:04d}"): f"{number:04d}" for number in range(10_000)}
    assert [dictionary[one] for one in pseudonyms] == IDS
    assert hash_digits(pseudonyms) == 64


@pytest.mark.parametrize("role", ["insensitive", "quasi", "sensitive"])
@pytest.mark.parametrize("key", ["", "pepper"])
def test_hash_values_are_never_published(tmp_path, role, key):
    """Whether a key was used cannot be told; either way the column joins tables."""
    data = pl.DataFrame({"zip": ["1", "2"] * 20, "who": [hashed(one, key=key) for one in IDS]})
    for run_it in (
        lambda: sf.protect(data, words(role)),
        lambda: sf.release(data, words(role), ledger=f"sqlite:///{tmp_path}/n.db", into=tmp_path / "n"),
    ):
        with pytest.raises(BadPolicy, match="column who holds hash values of 64 digits") as refused:
            run_it()
        assert not any(one in str(refused.value) for one in data["who"])
    assert sf.protect(data, words("identifier")).apply(data).columns == ["zip"]


def test_a_draft_takes_them_for_identifiers():
    data = pl.DataFrame({"zip": ["1", "2"] * 20, "code": [hashed(IDS[i % 8], "md5") for i in range(40)]})
    assert str(sf.declare(data).columns["code"].role) == "identifier"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("write", [str, str.upper, "sha256:{}".format])
def test_every_usual_hash_is_known(algorithm, write):
    texts = [write(hashed(one, algorithm)) for one in IDS]
    assert hash_digits(texts) == len(hashed("", algorithm))


@given(st.lists(st.text(alphabet="0123456789abcdefgh-", max_size=40), max_size=12))
def test_codes_are_no_hash_values(texts):
    """Nothing is, unless every cell is hexadecimal and of one of the lengths."""
    expected = {len(text) for text in texts if set(text) <= set("0123456789abcdef")}
    alike = len(set(map(len, texts))) == 1 and len(expected) == 1 and expected <= {32, 40}
    assert bool(hash_digits(texts)) <= alike


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [hashed("a")] * 40,
        [hashed(one)[:10] for one in IDS],
        ["0" * 28 + one for one in IDS],
        [*(hashed(one) for one in IDS), "unknown"],
        [hashed(one, "md5" if number % 2 else "sha1") for number, one in enumerate(IDS)],
    ],
    ids=["none", "one", "short", "numbers", "words among them", "two lengths"],
)
def test_what_proves_nothing(texts):
    assert hash_digits(texts) == 0
