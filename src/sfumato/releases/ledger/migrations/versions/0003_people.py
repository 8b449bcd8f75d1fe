"""The marks of the people in a table, per entry: the same people in another chain are noticed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table. Older entries have no marks; nothing that is sealed changes."""
    op.create_table(
        "people",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("marks", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """A ledger is never taken apart."""
    raise NotImplementedError("a ledger is never taken apart")
