"""The vault: what a ledger keeps of people and labels, encrypted in its database and in plain in memory.

Encrypted are, of every release: what is kept in its entry, what it remembers, the marks of its people and the
salt of the digest of its table. The secrets are in the database, each wrapped for the ledger's signing key,
which lies outside of it: whoever holds the key file can open everything, whoever holds the database alone
nothing. A change of keys wraps them for the new key, and begins a new secret for what is entered afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from sqlalchemy import Connection, func, insert, select, update

from sfumato.releases.ledger.keys import (
    KEPT_MARK,
    EncryptedLedger,
    Key,
    ReadingKey,
    Secret,
    Unopened,
    enclosed,
    enclosed_text,
    is_signed,
    is_wrapped_by,
    load_key,
    opened,
    secret_number,
    text_cell,
)
from sfumato.releases.ledger.records import RELEASE, UNREADABLE_KEPT, UNREADABLE_MEMORY
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE, SECRETS
from sfumato.system.errors import BadLedger
from sfumato.system.json_object import JsonMapping, JsonObject

VAULT = "sfumato_vault"
"""The option of a connection that holds the vault of its ledger."""

GONE = "the secrets that the ledger is encrypted under are gone, or were changed"
OLDER = "this reading key is older than the last change of keys: it does not open everything"
AGAIN = "Ask the owner for a new one (`sfumato ledger reading-key`)."
RESTORE = "Run `sfumato ledger verify`; restore a backup."


class Vault:
    """The secrets of one ledger, opened with the key in a file when something encrypted is first met."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._key: Key | None = None
        self._secrets: dict[int, Secret] = {}
        self._later: frozenset[int] = frozenset()

    def __repr__(self) -> str:
        return f"Vault({len(self._secrets)} secrets open)"

    # -- cells --------------------------------------------------------------------------------------------

    def opened(self, connection: Connection, cell: bytes, place: str) -> bytes:
        """Returns a cell in plain; raises `Unopened` if it was changed, `EncryptedLedger` without the key."""
        if not cell:
            return cell
        if (number := secret_number(cell)) not in self._secrets:
            self.unlock(connection)
        if number in self._later:
            raise EncryptedLedger(OLDER, where=self._name, remedy=AGAIN)
        return opened(cell, place, self._secrets)

    def opened_text(self, connection: Connection, text: str, place: str) -> str:
        """Returns a text in plain; raises as `opened` does."""
        if not text.startswith(KEPT_MARK):
            return text
        cell, bound = text_cell(text, place)
        return self.opened(connection, cell, bound).decode()

    def enclosed(self, connection: Connection, cell: bytes, place: str) -> bytes:
        """Returns a cell as it is stored; an empty one tells nothing, and stays empty."""
        return enclosed(cell, place, *self._newest(connection)) if cell else cell

    def enclosed_text(self, connection: Connection, text: str, place: str) -> str:
        """Returns a text as it is stored."""
        return enclosed_text(text, place, *self._newest(connection))

    # -- secrets ------------------------------------------------------------------------------------------

    def begin(self, connection: Connection, key: Key) -> None:
        """Makes the first secret of a ledger."""
        self._enter(connection, Secret.new(1), key)
        self.forget()

    def pass_on(self, connection: Connection, new: Key) -> None:
        """Wraps all secrets for a new key, and makes one more for what is entered from now on."""
        self.unlock(connection)
        for number, secret in self._secrets.items():
            wrapped = secret.wrapped(new)
            connection.execute(update(SECRETS).where(SECRETS.c.number == number).values(wrapped=wrapped))
        self._enter(connection, Secret.new(max(self._secrets, default=0) + 1), new)

    def forget(self) -> None:
        """Forgets what was opened: the key has changed."""
        self._key, self._secrets, self._later = None, {}, frozenset()

    def why_closed(self, connection: Connection) -> EncryptedLedger | None:
        """Returns why what is encrypted cannot be opened; `None` if it can."""
        try:
            self.unlock(connection)
        except EncryptedLedger as error:
            return error
        return EncryptedLedger(OLDER, where=self._name, remedy=AGAIN) if self._later else None

    def unlock(self, connection: Connection) -> None:
        """Opens all secrets; raises `EncryptedLedger` without the key of the ledger."""
        stored = dict(_wrapped(connection))
        if not stored:
            raise BadLedger(GONE, remedy=RESTORE)
        for key in self.keys():
            try:
                if isinstance(key, ReadingKey):
                    self._secrets = key.secrets_of(stored)
                else:
                    self._secrets = {n: Secret.unwrapped(n, cell, key) for n, cell in stored.items()}
                    self._key = key
            except Unopened:
                continue
            self._later = frozenset(stored) - frozenset(self._secrets)
            return
        raise EncryptedLedger(
            "this is not the key that what the ledger keeps is encrypted for", where=self._name
        )

    def reading_key(self, connection: Connection) -> ReadingKey:
        """Returns the key that opens everything that is encrypted, and signs nothing."""
        self.unlock(connection)
        return ReadingKey(tuple(self._secrets.values()))

    def keys(self) -> list[Key | ReadingKey]:
        """Returns the keys at hand: that in the file, and its successor where a change was cut off.

        Raises `EncryptedLedger` where there is none.
        """
        if self.path is None or not self.path.exists():
            raise EncryptedLedger(
                "what the ledger keeps is encrypted, and its key is not here", where=self._name
            )
        files = [self.path, self.path.with_name(f"{self.path.name}.new")]
        try:
            return [load_key(path) for path in files if path.exists()]
        except BadLedger as error:
            raise EncryptedLedger(error.message, where=error.where, remedy=error.remedy) from None
        except OSError as error:
            why = f"the key of the ledger cannot be read ({error.strerror})"
            raise EncryptedLedger(why, where=self._name) from None

    @property
    def _name(self) -> str:
        return "" if self.path is None else self.path.name

    def _newest(self, connection: Connection) -> tuple[Secret, Key]:
        """Returns the secret that cells are encrypted under now, and the key that signs them."""
        number = connection.execute(select(func.max(SECRETS.c.number))).scalar()
        if number not in self._secrets:
            self.unlock(connection)
        if self._key is None or number not in self._secrets:
            raise BadLedger(GONE, remedy=RESTORE)
        return self._secrets[number], self._key

    def _enter(self, connection: Connection, secret: Secret, key: Key) -> None:
        connection.execute(insert(SECRETS).values(number=secret.number, wrapped=secret.wrapped(key)))


def vault_of(connection: Connection) -> Vault:
    """Returns the vault of the ledger that a connection reads."""
    vault = connection.get_execution_options().get(VAULT)
    if not isinstance(vault, Vault):
        raise AssertionError
    return vault


def unsigned_secrets(connection: Connection, public: str) -> bool:
    """Whether a secret is missing, or is not as the holder of the key in force wrapped it."""
    stored = dict(_wrapped(connection))
    whole = bool(stored) and sorted(stored) == list(range(1, len(stored) + 1))
    return not whole or not all(is_wrapped_by(number, cell, public) for number, cell in stored.items())


def opened_entry(connection: Connection, row: JsonMapping) -> JsonObject:
    """Returns a row of entries in plain.

    What was changed becomes what nothing that is sealed looks like. Without the key it stays encrypted.
    """
    number, cells = row["number"], dict(row)
    try:
        if isinstance(row["kept"], str):
            cells["kept"] = opened_kept(connection, number, row["kept"])
        if isinstance(row["memory"], bytes | memoryview):
            cells["memory"] = vault_of(connection).opened(
                connection, bytes(row["memory"]), f"memory {number}"
            )
    except Unopened:
        cells["memory"] = UNREADABLE_MEMORY
    except EncryptedLedger:
        return dict(row)
    return cells


def opened_kept(connection: Connection, number: int, text: str) -> str:
    """Returns what an entry keeps in plain; raises `EncryptedLedger` without the key."""
    try:
        return vault_of(connection).opened_text(connection, text, f"kept {number}")
    except (Unopened, AttributeError):  # bytes in a column of texts
        return UNREADABLE_KEPT


def stored_entry(connection: Connection, row: JsonMapping) -> JsonObject:
    """Returns a row of entries as it is stored; notices keep nothing that tells of people."""
    if row["kind"] != RELEASE:
        return dict(row)
    enclosed = vault_of(connection).enclosed_text(connection, row["kept"], f"kept {row['number']}")
    return {**row, "kept": enclosed, "memory": stored_memory(connection, row["number"], row["memory"])}


def stored_memory(connection: Connection, number: int, memory: bytes) -> bytes:
    """Returns what an entry remembers as it is stored."""
    return vault_of(connection).enclosed(connection, memory, f"memory {number}")


def opened_marks(connection: Connection, number: int, cell: object) -> bytes:
    """Returns marks of people, or the salt of a table, in plain; raises `EncryptedLedger` without the key.

    What was changed becomes what nothing that is sealed looks like.
    """
    if not isinstance(cell, bytes | memoryview):
        return b""
    try:
        return vault_of(connection).opened(connection, bytes(cell), f"people {number}")
    except Unopened:
        return UNREADABLE_MEMORY


def stored_marks(connection: Connection, number: int, marks: bytes) -> bytes:
    """Returns marks of people, or the salt of a table, as they are stored."""
    return vault_of(connection).enclosed(connection, marks, f"people {number}")


def unsigned_entries(connection: Connection, keys: Collection[str]) -> Iterator[int]:
    """Yields the numbers of releases that keep or remember what none of these keys signed; none is opened."""
    of_releases = select(ENTRIES).where(ENTRIES.c.kind == RELEASE).order_by(ENTRIES.c.number)
    for row in connection.execute(of_releases).mappings():
        if not _are_enclosed(dict(row), keys):
            yield row["number"]


def _are_enclosed(row: JsonMapping, keys: Collection[str]) -> bool:
    memory = row["memory"]
    if not isinstance(memory, bytes | memoryview):
        return False
    try:
        cell, bound = text_cell(str(row["kept"]), f"kept {row['number']}")
    except Unopened:
        return False
    remembers = not memory or is_signed(bytes(memory), f"memory {row['number']}", keys)
    return remembers and is_signed(cell, bound, keys)


def unsigned_marks(connection: Connection, keys: Collection[str]) -> Iterator[int]:
    """Yields the entries whose marks of people, or salt, none of these keys signed; none is opened."""
    for row in connection.execute(select(PEOPLE).order_by(PEOPLE.c.number)):
        cell = bytes(row.marks) if isinstance(row.marks, bytes | memoryview) else b""
        if not is_signed(cell, f"people {row.number}", keys):
            yield abs(row.number)


def _wrapped(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """Yields the secrets as the database holds them."""
    for row in connection.execute(select(SECRETS).order_by(SECRETS.c.number)):
        cell = row.wrapped
        yield row.number, bytes(cell) if isinstance(cell, bytes | memoryview) else b""
