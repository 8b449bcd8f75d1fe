"""The secrets that what tells of people is encrypted under, wrapped for the signing key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table. Whoever has the key then encrypts what is there; nothing that is sealed changes."""
    op.create_table(
        "secrets",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("wrapped", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """A ledger is never taken apart."""
    raise NotImplementedError("a ledger is never taken apart")
