"""The error of whoever reads a ledger without its key."""

from __future__ import annotations

from sfumato.core.errors import BadLedger

REMEDY = (
    "Put it beside the ledger (FILE.key), or name it in the variable SFUMATO_LEDGER_KEY, or with --key where"
    " the command has that. Without it `sfumato ledger verify` still checks hashes and signatures."
)


class EncryptedLedger(BadLedger):
    """What the ledger keeps is encrypted, and its key is not at hand."""

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message, where=where, remedy=remedy or REMEDY)
