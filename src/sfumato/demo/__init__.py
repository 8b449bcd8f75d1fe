"""Demo: made-up people to try everything on."""

from sfumato.demo.hospital import hospital, policy, write

__all__ = ["hospital", "policy", "write"]
