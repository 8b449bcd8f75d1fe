"""The tables of a ledger.

entries   one row per release or change of key; never changed or deleted; each names the one before;
          `kept` and `memory` of a release are encrypted (`keys.py`)
people    the marks of the people in the table of an entry, whose digest the entry holds; where it has any;
          under the same number, negative, the salt of the digest of that table; all encrypted
secrets   what the cells that tell of people are encrypted under, wrapped for the ledger's signing key
head      one row: the number and the hash of the last entry, signed
staged    releases under way: where their folders are, so that a crash can be cleaned up after; each signed
format    one row: the version of these tables
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = 1
"""The version of the tables; those of another one are refused."""

METADATA = MetaData()

ENTRIES = Table(
    "entries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("release", String(32), nullable=False, unique=True),
    Column("chain", Text, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("body", Text, nullable=False),
    Column("kept", Text, nullable=False),
    Column("memory", LargeBinary, nullable=False),
    Column("signer", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("signature", String(128), nullable=False),
    UniqueConstraint("chain", "sequence", name="entries_chain_sequence"),
)

PEOPLE = Table(
    "people",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("marks", LargeBinary, nullable=False),
)

SECRETS = Table(
    "secrets",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("wrapped", LargeBinary, nullable=False),
)

HEAD = Table(
    "head",
    METADATA,
    Column("one", Integer, CheckConstraint("one = 1"), primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("signature", String(128), nullable=False),
)

STAGED = Table(
    "staged",
    METADATA,
    Column("release", String(32), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("host", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("seal", String(128), nullable=False),
)

FORMAT = Table("format", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))
