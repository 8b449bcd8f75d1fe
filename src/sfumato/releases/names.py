"""The names of chains and recipients: one spelling for what people take to be one name."""

from __future__ import annotations

import unicodedata

from sfumato.system.errors import UsageError

INVISIBLE = frozenset(["Cc", "Cf", "Cs", "Co", "Cn"])
"""Categories of characters that nobody sees, or that change how others are seen."""

LONGEST_NAME = 255
"""Names stand in messages and indexes."""


def same_name(name: str) -> str:
    """Returns the one spelling of a name: composed (NFC), trimmed, with single blanks inside.

    >>> same_name(" the \\t council"), same_name("A\\N{COMBINING RING ABOVE}rhus")
    ('the council', 'Århus')
    """
    return " ".join(unicodedata.normalize("NFC", name).split())


def look_of(name: str) -> str:
    """Returns what people see of a name who overlook case and width.

    >>> look_of("Main"), look_of("\N{FULLWIDTH LATIN SMALL LETTER M}ain ")
    ('main', 'main')
    """
    return same_name(unicodedata.normalize("NFKC", same_name(name)).casefold())


def checked_name(name: str, what: str, *, most: int = LONGEST_NAME) -> str:
    """Returns the one spelling of a name that was given.

    Raises `UsageError` where it is empty, longer than `most`, or holds what nobody sees.

    >>> checked_name("main ", "chain")
    'main'
    """
    spelled = same_name(name)
    if not spelled:
        raise UsageError(f"a {what} needs a name")
    if len(spelled) > most:
        raise UsageError(f"the name of a {what} has more than {most} characters")
    if any(unicodedata.category(character) in INVISIBLE for character in spelled):
        raise UsageError(
            f"the name of a {what} holds an invisible character: two such names look like one",
            remedy="Write it in letters, digits, signs and blanks.",
        )
    return spelled
