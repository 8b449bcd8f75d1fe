"""Words of other tools, and what a policy says instead: hints for people who come from elsewhere."""

from __future__ import annotations

import re

ARX, ANJANA, SDCMICRO = "ARX", "anjana and pyCANON", "sdcMicro"

_PROMISE = "promises: [{{{}}}]"
WORDS: dict[str, tuple[str, str]] = {
    "kanonymity": (ARX, _PROMISE.format("k-anonymity: {k: 5}")),
    "distinctldiversity": (ARX, _PROMISE.format("l-diversity: {of: COLUMN, l: 2, kind: distinct}")),
    "entropyldiversity": (ARX, _PROMISE.format("l-diversity: {of: COLUMN, l: 2, kind: entropy}")),
    "recursivecldiversity": (ARX, _PROMISE.format("l-diversity: {of: COLUMN, l: 2, c: 3, kind: recursive}")),
    "suppressionlimit": (ARX, "protect: {suppress: 5%}"),
    "maxsup": (ARX, "protect: {suppress: 5%}"),
    "maxoutliers": (ARX, "protect: {suppress: 5%}"),
    "hierarchy": (ARX, "taxonomy: {file: FILE} below the column"),
    "hierarchies": (ANJANA, "taxonomy: {file: FILE} below each column"),
    "generalization": (ARX, "taxonomy: {file: FILE} below the column"),
    "attributeweight": (ARX, "weight: 2 below the column"),
    "qualitymodel": (ARX, "protect: {loss: loss}"),
    "identifying": (ARX, "role: identifier"),
    "quasiidentifying": (ARX, "role: quasi"),
    "quasiidentifier": (ARX, "role: quasi"),
    "quasiident": (ANJANA, "role: quasi below each column"),
    "ident": (ANJANA, "role: identifier below each column"),
    "sensatt": (ANJANA, "role: sensitive below the column"),
    "ldiv": (ANJANA, _PROMISE.format("l-diversity: {of: COLUMN, l: 2}")),
    "supplevel": (ANJANA, "protect: {suppress: 5%}, where anjana writes 5"),
    "keyvars": (SDCMICRO, "role: quasi below each column"),
    "numvars": (SDCMICRO, "role: quasi and taxonomy: {intervals: [10]} below each column"),
    "sensiblevar": (SDCMICRO, "role: sensitive below the column"),
    "ghostvars": (SDCMICRO, "protect: {together: [[ONE, OTHER]]}"),
    "hhid": (SDCMICRO, "person: COLUMN"),
    "householdid": (SDCMICRO, "person: COLUMN"),
}
"""By the word without case and marks: the tool that uses it, and what to write."""


def said_elsewhere(word: object) -> str:
    """Returns what a policy says where another tool says this word; empty for any other word.

    >>> said_elsewhere("keyVars")
    'That is a word of sdcMicro; write role: quasi below each column.'
    """
    tool, instead = WORDS.get(re.sub(r"[^a-z]", "", str(word).lower()), ("", ""))
    return f"That is a word of {tool}; write {instead}." if tool else ""
