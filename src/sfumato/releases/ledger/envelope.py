"""Envelopes: cells of a ledger, encrypted, so that its database alone tells nothing of people.

An envelope begins with a mark that tells its format,
and holds: the number of the secret it is encrypted under, a signature, a nonce, and the cell in AES-256-GCM.
The cell is padded, so that its length says little. The place of a cell is bound to it: one that was moved
cannot be opened. The signature is of the ledger's key, so that those who cannot open an envelope see that it
was not replaced.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.seals import digest, signed

MARK = b"sfumato-cipher\x00\x01"
"""How an envelope begins; the last byte is the version of its format."""

KEPT_MARK = "sfumato-cipher:1:"
"""How an envelope begins in a column of texts; the text's digest follows, which the entry's hash seals."""

KEPT = re.compile(KEPT_MARK + "([0-9a-f]{64}):([A-Za-z0-9+/=]+)")

SECRET_BYTES = 32
NUMBER_BYTES = 4
SIGNATURE_BYTES = 64
NONCE_BYTES = 12
LENGTH_BYTES = 8
CHECK_BYTES = 16
HEADER_BYTES = len(MARK) + NUMBER_BYTES + SIGNATURE_BYTES + NONCE_BYTES
WRAPPING = b"sfumato ledger: secrets of what is kept"
"""What the key that wraps secrets is derived for."""


class Unopened(ValueError):
    """An envelope that was changed, moved, or encrypted under another secret."""


@dataclass(frozen=True)
class Secret:
    """What cells are encrypted under: 256 random bits, and a number by which envelopes name it."""

    number: int
    value: bytes

    @classmethod
    def new(cls, number: int) -> Secret:
        return cls(number, os.urandom(SECRET_BYTES))

    def __repr__(self) -> str:
        return f"Secret({self.number})"

    @property
    def check(self) -> bytes:
        """What the secret is known by; it tells nothing of it."""
        return hashlib.sha256(b"sfumato secret" + self.value).digest()[:CHECK_BYTES]

    def wrapped(self, key: Key) -> bytes:
        """Returns the secret as the database may hold it, signed: it takes the private key to use it."""
        nonce = os.urandom(NONCE_BYTES)
        content = AESGCM(key.derived(WRAPPING)).encrypt(nonce, self.value, _wrapped_place(self.number))
        rest = self.check + nonce + content
        return bytes.fromhex(key.sign(_wrapped_place(self.number) + rest)) + rest

    @classmethod
    def unwrapped(cls, number: int, wrapped: bytes, key: Key) -> Secret:
        """Returns a secret that was wrapped for this key; raises `Unopened` where it was not."""
        begin = SIGNATURE_BYTES + CHECK_BYTES
        nonce, content = wrapped[begin : begin + NONCE_BYTES], wrapped[begin + NONCE_BYTES :]
        try:
            return cls(number, AESGCM(key.derived(WRAPPING)).decrypt(nonce, content, _wrapped_place(number)))
        except (InvalidTag, ValueError):
            raise Unopened from None


def wrapped_check(wrapped: bytes) -> bytes:
    """Returns what the secret that is wrapped is known by."""
    return wrapped[SIGNATURE_BYTES : SIGNATURE_BYTES + CHECK_BYTES]


def is_wrapped_by(number: int, wrapped: bytes, public: str) -> bool:
    """Whether the holder of a key wrapped a secret; it is not opened."""
    message = _wrapped_place(number) + wrapped[SIGNATURE_BYTES:]
    return signed(message, wrapped[:SIGNATURE_BYTES].hex(), public)


def is_envelope(cell: bytes) -> bool:
    """Whether a cell is encrypted."""
    return cell.startswith(MARK)


def enclosed(plain: bytes, place: str, secret: Secret, key: Key) -> bytes:
    """Returns the envelope of a cell at a place of the database."""
    number, nonce = secret.number.to_bytes(NUMBER_BYTES, "big"), os.urandom(NONCE_BYTES)
    content = AESGCM(secret.value).encrypt(nonce, _padded(plain), _bound(place, number))
    signature = bytes.fromhex(key.sign(_message(place, number, nonce, content)))
    return b"".join((MARK, number, signature, nonce, content))


def secret_number(cell: bytes) -> int:
    """Returns the number of the secret that an envelope is encrypted under."""
    return int.from_bytes(cell[len(MARK) : len(MARK) + NUMBER_BYTES], "big")


def opened(cell: bytes, place: str, secrets: Mapping[int, Secret]) -> bytes:
    """Returns the cell in an envelope; raises `Unopened` where it was changed, or is of another place."""
    number, _, nonce, content = _parts(cell)
    secret = secrets.get(int.from_bytes(number, "big"))
    if secret is None:
        raise Unopened
    try:
        plain = AESGCM(secret.value).decrypt(nonce, content, _bound(place, number))
    except (InvalidTag, ValueError):
        raise Unopened from None
    return plain[LENGTH_BYTES : LENGTH_BYTES + int.from_bytes(plain[:LENGTH_BYTES], "big")]


def is_signed(cell: bytes, place: str, keys: Collection[str]) -> bool:
    """Whether the holder of one of these keys made the envelope for this place; it is not opened."""
    try:
        number, signature, nonce, content = _parts(cell)
    except Unopened:
        return False
    message = _message(place, number, nonce, content)
    return any(signed(message, signature.hex(), key) for key in keys)


def enclosed_text(text: str, place: str, secret: Secret, key: Key) -> str:
    """Returns the envelope of a text, which shows the text's digest."""
    told = digest(text)
    cell = enclosed(text.encode(), f"{place} {told}", secret, key)
    return f"{KEPT_MARK}{told}:{base64.b64encode(cell).decode('ascii')}"


def shown_digest(text: str) -> str | None:
    """Returns the digest that the envelope of a text shows; `None` where it is no envelope."""
    found = KEPT.fullmatch(text)
    return None if found is None else found[1]


def text_cell(text: str, place: str) -> tuple[bytes, str]:
    """Returns the envelope in that of a text, and the place it is bound to; raises `Unopened` if damaged."""
    if (found := KEPT.fullmatch(text)) is None:
        raise Unopened
    try:
        return base64.b64decode(found[2], validate=True), f"{place} {found[1]}"
    except binascii.Error:
        raise Unopened from None


def padded_size(size: int) -> int:
    """Returns the size that so many bytes are padded to: at most 12 % more, and one of few (PADMÉ).

    >>> [padded_size(size) for size in (0, 1, 100, 1000, 1_000_000)]
    [64, 64, 104, 1024, 1015808]
    """
    least = max(size, 64)
    exponent = least.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())
    return -(-least // step) * step


def _padded(plain: bytes) -> bytes:
    length = LENGTH_BYTES + len(plain)
    return len(plain).to_bytes(LENGTH_BYTES, "big") + plain + bytes(padded_size(length) - length)


def _parts(cell: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    if len(cell) < HEADER_BYTES or not is_envelope(cell):
        raise Unopened
    number_end = len(MARK) + NUMBER_BYTES
    nonce_begin = number_end + SIGNATURE_BYTES
    number, signature = cell[len(MARK) : number_end], cell[number_end:nonce_begin]
    return number, signature, cell[nonce_begin:HEADER_BYTES], cell[HEADER_BYTES:]


def _bound(place: str, number: bytes) -> bytes:
    return MARK + number + place.encode("utf-8", "surrogatepass")


def _message(place: str, number: bytes, nonce: bytes, content: bytes) -> bytes:
    """What is signed of an envelope: a digest of all of it, and its place."""
    hashed = hashlib.sha256(content).hexdigest()
    return b" ".join((b"sfumato cipher", _bound(place, number), nonce, hashed.encode()))


def _wrapped_place(number: int) -> bytes:
    return f"sfumato secret {number} ".encode()
