"""The first tables: entries, head, staged."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "entries",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("release", sa.String(32), nullable=False, unique=True),
        sa.Column("chain", sa.Text, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("kept", sa.Text, nullable=False),
        sa.Column("memory", sa.LargeBinary, nullable=False),
        sa.Column("signer", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
        sa.UniqueConstraint("chain", "sequence", name="entries_chain_sequence"),
    )
    op.create_table(
        "head",
        sa.Column("one", sa.Integer, sa.CheckConstraint("one = 1"), primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
    )
    op.create_table(
        "staged",
        sa.Column("release", sa.String(32), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Nothing is older than this."""
    raise NotImplementedError("a ledger is never taken apart")
