"""Changing a ledger behind its back."""

from __future__ import annotations

import sqlite3


def change(path, statement, *values):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, values)
    connection.close()
