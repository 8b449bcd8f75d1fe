"""Demo: made-up people to try everything on."""

from sfumato.demo.folder import policy, write
from sfumato.demo.hospital import hospital

__all__ = ["hospital", "policy", "write"]
