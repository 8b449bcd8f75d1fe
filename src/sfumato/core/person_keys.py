"""Keys of people: which texts are other writings of one key.

Two texts are one key where they are equal once composed (NFC) and without blanks around them. Case and
leading zeros tell keys apart: random keys use both.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from sfumato.core.taxonomy import Label


def plain_key(key: str) -> str:
    """Returns the key composed, without blanks around it.

    >>> plain_key(" b3\\t"), plain_key("B3"), plain_key("e\\u0301") == "\\u00e9"
    ('b3', 'B3', True)
    """
    return unicodedata.normalize("NFC", key).strip()


def keys_written_twice(keys: Sequence[Label]) -> int:
    """Returns how many of these different texts are further writings of another one.

    >>> keys_written_twice(["1", " 1", "1 ", "2 ", "01"])
    2
    """
    written = ((key, plain_key(key)) for key in keys if key is not None)
    rewritten = [plain for key, plain in written if plain != key]
    if not rewritten:
        return 0
    plain = set(keys)
    return sum(count - (key not in plain) for key, count in Counter(rewritten).items())
