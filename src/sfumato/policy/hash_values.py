"""Hash values in a column: pseudonyms that anybody computes who knows, or counts up, what was hashed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sfumato.core.errors import BadPolicy
from sfumato.core.problem import short
from sfumato.policy.column_evidence import ColumnEvidence, TableEvidence
from sfumato.policy.content import PolicyContent

DIGITS = frozenset({32, 40, 48, 56, 64, 96, 128})
"""How many hexadecimal digits hash values have: MD5, SHA-1, Tiger, and SHA-2 and SHA-3 of all sizes."""
FEW_HASHES = 5
"""Different hash values of a column that holds them; fewer prove nothing."""
_HASH = re.compile(r"(?:(?:md5|sha-?\d+)[:$-])?([0-9a-f]+|[0-9A-F]+)")


def hash_digits(texts: Iterable[str]) -> int:
    """Returns the number of hexadecimal digits that all cells have, if these look like hash values; else 0.

    >>> from hashlib import sha256
    >>> hash_digits(sha256(str(n).encode()).hexdigest() for n in range(9)), hash_digits(["5d41402a"] * 9)
    (64, 0)
    """
    lengths, different, letters = set[int](), set[str](), False
    for text in texts:
        found = _HASH.fullmatch(text.strip())
        if found is None or len(found[1]) not in DIGITS:
            return 0
        lengths.add(len(found[1]))
        different.add(found[1])
        letters |= not found[1].isdecimal()
    return lengths.pop() if len(lengths) == 1 and len(different) >= FEW_HASHES and letters else 0


def refuse_published_hashes(policy: PolicyContent, survey: TableEvidence) -> None:
    """Raises `BadPolicy` where a column that is published holds hash values, with a secret key or without.

    Which of both cannot be told from the values, and a keyed one still joins all tables that have it.
    """
    for name in policy.published:
        column = survey.columns.get(name)
        if column is not None and (digits := _digits(column)):
            raise BadPolicy(
                f"column {short(name)} holds hash values of {digits} digits and is "
                f"{policy.columns[name].role}: whoever knows what was hashed, or tries all of it, finds the "
                "person again.",
                where="columns",
                remedy="Give it the role identifier.",
            )


def _digits(column: ColumnEvidence) -> int:
    if column.kind != "text" or not column.complete:
        return 0
    return hash_digits(text for text in column.values if text is not None)
