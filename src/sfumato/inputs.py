"""The table that a caller hands in: opened once, at the door of a verb."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.data_file import NO_FORM
from sfumato.engine import AnyTable, Source, open_source
from sfumato.engine.source import with_digits
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    from sfumato.policy.content import PolicyContent

AnyMemory = Memory | str | int | None
"""How much memory may be used: "4GB", a number of bytes, `Memory.of("4GB", spill=...)`, or no limit."""


def open_table(data: AnyTable, memory: AnyMemory = None, policy: PolicyContent | None = None) -> Source:
    """Returns the table as a source, held to a limit of memory if one is given.

    What the policy says under `source` holds for what the caller does not say.
    """
    expected = NO_FORM if policy is None else policy.form_of_data
    return open_source(data, memory=None if memory is None else Memory.of(memory), expected=expected)


def open_original(data: AnyTable, memory: AnyMemory = None, policy: PolicyContent | None = None) -> Source:
    """Returns the table that a policy is applied to, its numbers with the digits that are published.

    A published table is opened with `open_table`: whoever judges it has to see what stands in it.
    """
    return with_digits(open_table(data, memory, policy), {} if policy is None else policy.digits)


def file_of(data: AnyTable) -> Path | None:
    """Returns the file that a caller named as the table; nothing where they handed in something else."""
    return Path(data) if isinstance(data, str | PathLike) else None
