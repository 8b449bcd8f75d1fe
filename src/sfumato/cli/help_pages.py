"""The page of the guide that helps with an error, by the kind of the error."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.errors import (
    BadData,
    BadInput,
    BadLedger,
    BadPolicy,
    BadTaxonomy,
    BrokenPromise,
    Infeasible,
    LedgerConflict,
    NotEnoughMemory,
    OutOfReach,
    RefusedByHistory,
    SfumatoError,
    Unfinished,
    WrongCall,
)

HELP_PAGES: Mapping[type[SfumatoError], str] = {
    WrongCall: "docs/reference/commands.md",
    BadInput: "docs/reference/errors.md",
    BadData: "docs/how-to/files.md",
    BadTaxonomy: "docs/how-to/hierarchies.md",
    BadPolicy: "docs/reference/policy.md",
    BadLedger: "docs/how-to/ledger.md",
    NotEnoughMemory: "docs/how-to/scale.md",
    OutOfReach: "docs/how-to/scale.md",
    BrokenPromise: "docs/how-to/audit_a_file.md",
    Infeasible: "docs/how-to/choose_promises.md",
    LedgerConflict: "docs/how-to/ledger.md",
    Unfinished: "docs/how-to/backup.md",
    RefusedByHistory: "docs/explanation/continuous.md",
    SfumatoError: "docs/reference/errors.md",
}
"""Pages by kind; of a kind that is not listed, the page of the kind that it is one of."""


def help_page(error: SfumatoError) -> str | None:
    """Returns the page that helps with an error; none where somebody stopped the program themselves.

    >>> from sfumato.core.errors import NotACut
    >>> help_page(NotACut("two nodes overlap"))
    'docs/how-to/hierarchies.md'
    """
    if error.exit_code == 130:
        return None
    return next(HELP_PAGES[kind] for kind in type(error).__mro__ if kind in HELP_PAGES)
