"""Releases under way are sealed, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from sfumato.core.errors import BadLedger

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the seal; what is under way without one is finished first, by the version that began it."""
    if op.get_bind().execute(sa.text("SELECT count(*) FROM staged")).scalar():
        raise BadLedger(
            "releases of an older version are under way",
            remedy="Run `sfumato ledger recover` with that version first.",
        )
    op.drop_table("staged")
    op.create_table(
        "staged",
        sa.Column("release", sa.String(32), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("seal", sa.String(128), nullable=False),
    )


def downgrade() -> None:
    """A ledger is never taken apart."""
    raise NotImplementedError("a ledger is never taken apart")
