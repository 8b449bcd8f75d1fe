"""The signing key of a ledger: one file, readable by its owner alone, and its public half beside it."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rfc8785
from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.system.disk import LARGEST_NOTE, read_document, replace_file
from sfumato.system.errors import BadLedger, UsageError
from sfumato.system.json_object import JsonMapping, read_json

NOT_A_KEY = (ValueError, TypeError, UnsupportedAlgorithm)

PUBLIC_BLOCK = re.compile(
    rb"(?:entries (?P<first>[0-9]{1,12})-(?P<last>[0-9]{0,12})\s+)?"
    rb"(?P<pem>-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----)",
    re.DOTALL,
)
"""A public key in a file of several, below the numbers of the entries that it signed, if they are told."""


def read_private(path: Path) -> bytes:
    """Returns what a file of secrets holds; refuses one that others can read."""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise BadLedger("others can read the key", where=path.name, remedy=f"chmod 600 {path.name}")
        return read_document(path, most=LARGEST_NOTE)
    except FileNotFoundError:
        raise BadLedger(
            "the key of the ledger is not there", where=path.name, remedy="Name it with --key."
        ) from None


@dataclass(frozen=True)
class Key:
    """An Ed25519 key; `public` is its public half in hexadecimal."""

    public: str
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> Key:
        """Reads a private key; refuses a file that others can read."""
        try:
            private = serialization.load_pem_private_key(read_private(path), password=None)
        except NOT_A_KEY:
            raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise BadLedger("this is no Ed25519 key", where=path.name)
        return cls(private.public_key().public_bytes_raw().hex(), private)

    @classmethod
    def make(cls, path: Path) -> Key:
        """Makes a new key in a new file; where somebody else made one meanwhile, returns that one."""
        private = Ed25519PrivateKey.generate()
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with contextlib.suppress(FileExistsError):
            replace_file(path, pem, mode=0o600, new=True)
        key = cls.load(path)
        key.publish(path.with_name(f"{path.name}.pub"))
        return key

    def publish(self, path: Path) -> None:
        """Writes the public half."""
        path.write_bytes(_pem(self.public))

    def sign(self, message: bytes) -> str:
        """Returns the signature, in hexadecimal."""
        return self._private.sign(message).hex()

    def derived(self, purpose: bytes) -> bytes:
        """Returns 256 secret bits for one purpose, the same for the same key; they tell nothing of it."""
        hkdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose)
        return hkdf.derive(self._private.private_bytes_raw())


@dataclass(frozen=True)
class DatedKey:
    """A public key, and the numbers of the first and the last entry that it may have signed.

    The key in force has no last one yet.
    """

    public: str
    first: int = 1
    last: int | None = None

    def may_have_signed(self, number: int) -> bool:
        """Whether the key was in force when an entry with this number was made."""
        return self.first <= number and (self.last is None or number <= self.last)


def as_text(keys: Sequence[DatedKey]) -> str:
    """Returns public keys as one file for readers, in the order given; a single one is plain PEM."""
    if len(keys) == 1:
        return _pem(keys[0].public).decode()
    return "\n".join(
        f"entries {key.first}-{'' if key.last is None else key.last}\n{_pem(key.public).decode()}"
        for key in keys
    )


def public_keys(path: Path) -> tuple[DatedKey, ...]:
    """Returns the public keys in a file of either half, as they stand there: the one in force first."""
    try:
        content = read_document(path, most=LARGEST_NOTE)
    except OSError:
        raise BadLedger(
            "the key cannot be read",
            where=path.name,
            remedy="Name the public half: it lies beside the ledger, and ends in .key.pub.",
        ) from None
    if b"PRIVATE" in content:
        return (DatedKey(Key.load(path).public),)
    blocks = list(PUBLIC_BLOCK.finditer(content))
    if not blocks:
        raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.")
    return tuple(_dated(block, path) for block in blocks)


def public_key(path: Path) -> str:
    """Returns the public half in a file of either half, in hexadecimal; of several the one in force."""
    return public_keys(path)[0].public


def _dated(block: re.Match[bytes], path: Path) -> DatedKey:
    try:
        public = serialization.load_pem_public_key(block["pem"])
    except NOT_A_KEY:
        raise BadLedger("this is no key", where=path.name, remedy="Name an Ed25519 key.") from None
    if not isinstance(public, Ed25519PublicKey):
        raise BadLedger("this is no Ed25519 key", where=path.name)
    first, last = int(block["first"] or 1), int(block["last"]) if block["last"] else None
    return DatedKey(public.public_bytes_raw().hex(), first, last)


def _pem(public: str) -> bytes:
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


# Hashes and signatures: an entry that was changed no longer matches them.

HEXADECIMAL = re.compile("[0-9a-f]+")

NOTHING = "0" * 64
"""The hash before the first entry."""


def canonical(content: JsonMapping) -> str:
    """Returns the canonical form of a JSON object (RFC 8785).

    >>> canonical({"b": 1, "a": [True, None, "ü"]})
    '{"a":[true,null,"ü"],"b":1}'
    """
    return rfc8785.dumps(dict(content)).decode()


def digest(content: str | bytes) -> str:
    """Returns SHA-256 in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def entry_message(sealed: str) -> bytes:
    """Returns what is signed of an entry: its hash."""
    return f"sfumato entry {sealed}".encode()


def head_message(number: int, sealed: str) -> bytes:
    """Returns what is signed of the head: where the ledger ends."""
    return f"sfumato head {number} {sealed}".encode()


def signed(message: bytes, signature: str, public: str) -> bool:
    """Whether the holder of the key signed the message (Ed25519).

    Signature and key have one spelling: capitals or blanks, which mean the same bytes, are a change. So are
    bytes, which a cell of a database may hold instead of a text.
    """
    if not HEXADECIMAL.fullmatch(str(signature)) or not HEXADECIMAL.fullmatch(str(public)):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


# Envelopes: cells of a ledger, encrypted, so that its database alone tells nothing of people.
#
# An envelope begins with a mark that tells its format, and holds: the number of the secret it is encrypted
# under, a signature, a nonce, and the cell in AES-256-GCM. The cell is padded, so that its length says
# little. The place of a cell is bound to it: one that was moved cannot be opened. The signature is of the
# ledger's key, so that those who cannot open an envelope see that it was not replaced.

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
        sealed = self.check + nonce + content
        return bytes.fromhex(key.sign(_wrapped_place(self.number) + sealed)) + sealed

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
    text_digest = digest(text)
    cell = enclosed(text.encode(), f"{place} {text_digest}", secret, key)
    return f"{KEPT_MARK}{text_digest}:{base64.b64encode(cell).decode('ascii')}"


def shown_digest(text: str) -> str | None:
    """Returns the digest that the envelope of a text shows; `None` where it is no envelope."""
    match = KEPT.fullmatch(text)
    return None if match is None else match[1]


def text_cell(text: str, place: str) -> tuple[bytes, str]:
    """Returns the envelope in that of a text, and the place it is bound to; raises `Unopened` if damaged."""
    if (match := KEPT.fullmatch(text)) is None:
        raise Unopened
    try:
        return base64.b64decode(match[2], validate=True), f"{place} {match[1]}"
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


# The error of whoever reads a ledger without its key.

REMEDY = (
    "Put it beside the ledger (FILE.key), or name it in the variable SFUMATO_LEDGER_KEY, or with --key where"
    " the command has that. Without it `sfumato ledger verify` still checks hashes and signatures."
)


class EncryptedLedger(BadLedger):
    """What the ledger keeps is encrypted, and its key is not at hand."""

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message, where=where, remedy=remedy or REMEDY)


# The reading key of a ledger: opens what is encrypted in it, and signs nothing. For auditors.

FORMAT = "sfumato_reading_key"
VERSION = 1


@dataclass(frozen=True)
class ReadingKey:
    """The secrets of a ledger up to now; those that later changes of keys begin are not among them."""

    secrets: tuple[Secret, ...] = field(repr=False)

    def secrets_of(self, wrapped: Mapping[int, bytes]) -> dict[int, Secret]:
        """Returns the secrets by number, as far as the ledger has them (wrapped).

        Raises `Unopened` where they are those of another ledger.
        """
        if any(wrapped_check(wrapped.get(secret.number, b"")) != secret.check for secret in self.secrets):
            raise Unopened
        return {secret.number: secret for secret in self.secrets}

    def write(self, path: Path) -> None:
        """Writes the key to a new file that only its owner can read."""
        secrets = {str(secret.number): secret.value.hex() for secret in self.secrets}
        try:
            content = json.dumps({FORMAT: VERSION, "secrets": secrets}, indent=1)
            replace_file(path, f"{content}\n".encode(), mode=0o600, new=True)
        except FileExistsError:
            raise UsageError(
                "the output exists already", where=path.name, remedy="Name another file."
            ) from None

    @classmethod
    def of(cls, content: bytes, name: str) -> ReadingKey:
        """Reads the content of such a file, of this name."""
        try:
            words = read_json(content)
            if words[FORMAT] != VERSION:
                raise ValueError
            secrets = [Secret(int(n), binascii.unhexlify(value)) for n, value in words["secrets"].items()]
            if not secrets or any(len(secret.value) != SECRET_BYTES for secret in secrets):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadLedger("this is no key", where=name, remedy="Name an Ed25519 key.") from None
        return cls(tuple(secrets))


def load_key(path: Path) -> Key | ReadingKey:
    """Reads a signing key or a reading key; refuses a file that others can read."""
    content = read_private(path)
    return ReadingKey.of(content, path.name) if content.lstrip().startswith(b"{") else Key.load(path)
