"""Bounds that writers cut short, against a comparison of every claim with every value."""

from hypothesis import given
from hypothesis import strategies as st

from sfumato.judge.file_bytes.parquet_surplus import of_lower_bound, of_upper_bound, shortened

TEXTS = st.text("ab\u00e9\u00ea\ue000\x00", max_size=3).map(str.encode)
BYTES = st.one_of(TEXTS, st.binary(max_size=3))


def is_begun(value, claim):
    """Whether a lower bound is a value cut short."""
    return value.startswith(claim)


def is_ended(value, claim):
    """Whether an upper bound is a value cut short, its last byte or letter one higher."""
    if not claim:
        return False
    if value.startswith(claim[:-1] + bytes([max(claim[-1] - 1, 0)])):
        return True
    try:
        cut = claim.decode()
        before = (cut[:-1] + chr(max(ord(cut[-1]) - 1, 0))).encode()
    except UnicodeError:
        return False
    return value.startswith(before)


@given(claims=st.sets(BYTES, max_size=8), values=st.sets(BYTES, max_size=8))
def test_bounds_cut_short_are_found(claims, values):
    for beginnings, is_bound in ((of_lower_bound, is_begun), (of_upper_bound, is_ended)):
        wanted = {claim for claim in claims if any(is_bound(value, claim) for value in values)}
        assert shortened(claims, values, beginnings) == wanted


def test_an_upper_bound_may_end_in_a_higher_byte_or_letter():
    values = {b"abcdef", "\u00e9t\u00e9".encode()}
    assert shortened({b"abd", b"abc", b"ac"}, values, of_upper_bound) == {b"abd", b"ac"}
    assert shortened({"\u00ea".encode(), "\u00e9".encode()}, values, of_upper_bound) == {"\u00ea".encode()}
    assert shortened({b"abc", b"b"}, values, of_lower_bound) == {b"abc"}
