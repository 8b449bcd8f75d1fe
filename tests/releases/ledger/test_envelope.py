"""Envelopes: what is put in comes out at its own place alone, and no byte of one can be changed unseen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.releases.ledger.keys import (
    HEADER_BYTES,
    MARK,
    NUMBER_BYTES,
    SIGNATURE_BYTES,
    Key,
    Secret,
    Unopened,
    digest,
    enclosed,
    enclosed_text,
    is_envelope,
    is_signed,
    opened,
    padded_size,
    shown_digest,
    text_cell,
)

SECRETS = {number: Secret.new(number) for number in (1, 2)}
PLACES = st.text(st.characters(codec="utf-8"), max_size=12)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return Key.make(tmp_path_factory.mktemp("keys") / "ledger.key")


@given(plain=st.binary(max_size=200), place=PLACES, other=PLACES, number=st.sampled_from([1, 2]))
def test_a_cell_is_opened_at_its_own_place_alone(key, plain, place, other, number):
    cell = enclosed(plain, place, SECRETS[number], key)
    assert is_envelope(cell)
    assert opened(cell, place, SECRETS) == plain
    assert is_signed(cell, place, ["00" * 32, key.public])
    if other != place:
        with pytest.raises(Unopened):
            opened(cell, other, SECRETS)
        assert not is_signed(cell, other, [key.public])
    with pytest.raises(Unopened):
        opened(cell, place, {number: Secret.new(number)})
    assert len(plain) < 8 or plain not in cell


@given(plain=st.binary(max_size=60), place=PLACES, data=st.data())
def test_no_byte_can_be_changed_unseen(key, plain, place, data):
    cell = enclosed(plain, place, SECRETS[1], key)
    at = data.draw(st.integers(len(MARK), len(cell) - 1))
    changed = cell[:at] + bytes([cell[at] ^ data.draw(st.integers(1, 255))]) + cell[at + 1 :]
    assert not is_signed(changed, place, [key.public])
    begin = len(MARK) + NUMBER_BYTES
    if not begin <= at < begin + SIGNATURE_BYTES:  # who opens a cell needs no signature
        with pytest.raises(Unopened):
            opened(changed, place, SECRETS)
    short = cell[: data.draw(st.integers(0, len(cell) - 1))]
    assert not is_signed(short, place, [key.public])
    with pytest.raises(Unopened):
        opened(short, place, SECRETS)


@given(text=st.text(st.characters(codec="utf-8"), max_size=60), place=PLACES)
def test_a_text_shows_its_digest_and_is_bound_to_it(key, text, place):
    stored = enclosed_text(text, place, SECRETS[1], key)
    assert shown_digest(stored) == digest(text)
    cell, bound = text_cell(stored, place)
    assert opened(cell, bound, SECRETS).decode() == text
    forged = stored.replace(digest(text), digest(text + "x"))
    with pytest.raises(Unopened):
        opened(*text_cell(forged, place), SECRETS)


@given(st.integers(0, 1 << 40))
def test_sizes_are_padded_little_and_to_few(size):
    padded = padded_size(size)
    assert max(size, 64) <= padded
    assert 100 * padded <= 112 * max(size, 64)
    assert padded_size(padded) == padded
    assert padded_size(size + 1) >= padded


def test_few_sizes_are_left_of_many():
    assert len({padded_size(size) for size in range(1, 1 << 17)}) < 200


def test_equal_cells_have_different_envelopes(key):
    one, other = (enclosed(b"marks", "people 1", SECRETS[1], key) for _ in range(2))
    assert one[HEADER_BYTES:] != other[HEADER_BYTES:]
