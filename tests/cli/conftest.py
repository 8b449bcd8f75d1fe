"""The same small hospital, and the program `sfumato` at hand."""

from workflows.conftest import clinic, hospital, sfumato

__all__ = ["clinic", "hospital", "sfumato"]
