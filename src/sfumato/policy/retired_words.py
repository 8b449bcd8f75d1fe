"""Words that a policy no longer has, with the reason and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.problem import Place

RETIRED_WORDS: Mapping[Place, tuple[str, str]] = {
    ("sfumato",): (
        "is no longer a key: there is one form of policies.",
        "Leave the line out; look at what `protect` then searches for with `sfumato policy check`.",
    ),
    ("known-search",): (
        "is no longer a key: what adversaries learn from the search can be decided on tiny tables alone.",
        "Leave it out, and attack a table with `sfumato attack minimality` or `sfumato attack downcoding`.",
    ),
    ("protect", "stricter"): (
        "is no longer a key: it was shown to help on tiny tables alone.",
        "Leave it out; to keep more than is needed, promise more, as in `l: 3` for `l: 2`.",
    ),
}
"""By the place of the word: why it is gone, and the remedy."""
