"""The names of recipients, and the folders of their versions."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.errors import WrongCall
from sfumato.releases.names import checked_name, look_of

FORBIDDEN = frozenset('/\\:*?"<>|')
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))]
)
"""Names that some systems take for devices."""
MOST_NAME_BYTES = 100


def recipients_of(to: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the recipients that were named, in their one spelling; raises where one is named twice.

    >>> recipients_of(["registry", "Ärzte"]), recipients_of(None)
    (('registry', 'Ärzte'), ())
    """
    given = (to,) if isinstance(to, str) else tuple(to or ())
    names = tuple(checked_name(name, "recipient") for name in given)
    if len(set(names)) < len(names):
        raise WrongCall("a recipient is named twice", remedy="Everybody gets one version: name each once.")
    return names


def folders_of(names: Sequence[str]) -> dict[str, str]:
    """Returns the folder of every recipient's version, which has their name; a single recipient has none.

    Raises where a name is no safe folder name on every system.

    >>> folders_of(["registry", "lab"]), folders_of(["../lab"])
    ({'registry': 'registry', 'lab': 'lab'}, {'../lab': ''})
    """
    if len(names) == 1:
        return {names[0]: ""}
    seen: dict[str, str] = {}
    for name in names:
        if why := _folder_name_fault(name):
            raise WrongCall(
                f"a recipient's version is a folder of that name, and a name cannot {why}",
                remedy="Name the recipient in letters and digits.",
            )
        folded = look_of(name)
        if folded in seen:
            raise WrongCall(
                "two recipients have names that some systems do not tell apart",
                remedy="Names must differ in more than case.",
            )
        seen[folded] = name
    return {name: name for name in names}


def _folder_name_fault(name: str) -> str:
    """Returns why a name cannot be that of a folder; nothing if it can."""
    if set(name) & FORBIDDEN or not name.isprintable():
        return "hold a separator or an invisible character"
    if name[0] in ". " or name[-1] in ". ":
        return "begin or end with a dot or a blank"
    if name.partition(".")[0].casefold() in RESERVED:
        return "be that of a device"
    return f"have more than {MOST_NAME_BYTES} bytes" if len(name.encode()) > MOST_NAME_BYTES else ""
