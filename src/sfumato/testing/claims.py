"""Claims that every promise makes of itself: words, limits, and the data for its second judge."""

from __future__ import annotations

from fractions import Fraction

from sfumato.attacks.registry import known
from sfumato.core.limits import AttackLimit
from sfumato.core.promise import Promise
from sfumato.core.verdict import Evidence

PLAIN = (str, int, bool, Fraction, bytes, type(None))
DATA = ("promise", "kind", "sentence", "evidence", "columns", "parameters", "least_people", "least_values")


def check_words(promise: Promise) -> None:
    """Raises `AssertionError` where a promise does not say what everybody may ask of it."""
    by = (promise.by_size, promise.by_values)
    for claim in (promise.monotone, promise.hereditary, promise.cone, *by, promise.relative):
        require(
            isinstance(claim, bool),
            "monotone, hereditary, cone, by_size, by_values and relative are True or False",
        )
    require(bool(promise.name) and isinstance(promise.name, str), "it needs a name, its policy key")
    require(isinstance(promise.evidence, Evidence), "evidence is a member of Evidence")
    for columns in (promise.sensitive, promise.reads, promise.ordered_columns):
        right = isinstance(columns, tuple) and all(isinstance(c, str) for c in columns)
        require(right, "sensitive, reads and ordered_columns are tuples of columns")
    for least in (promise.least_people, promise.least_values):
        require(
            type(least) is int and least >= 0, "least_people and least_values are whole numbers from 0 on"
        )
    text = str(promise)
    require(bool(text) and "\n" not in text and text == str(promise), "str() gives one line, always the same")
    _check_limits(promise)
    _check_data(promise)


def _check_limits(promise: Promise) -> None:
    limits = promise.limits()
    require(all(isinstance(limit, AttackLimit) for limit in limits), "limits() gives limits of attacks")
    require(limits == promise.limits(), "limits() gives the same limits every time")
    strange = [name for name in promise.threats if name not in known()]
    require(not strange, f"threats names what is no attack: {', '.join(strange)}")


def _check_data(promise: Promise) -> None:
    data = promise.judge_data()
    require(set(DATA) <= set(data), f"judge_data says {', '.join(DATA)}")
    require(_is_plain(data), "judge_data holds plain data: texts, numbers, fractions, tuples, dictionaries")
    said = (data["promise"], data["kind"], data["sentence"], data["columns"])
    same = said == (promise.name, promise.kind, str(promise), promise.sensitive)
    require(same and data == promise.judge_data(), "judge_data says what the promise says, always the same")


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(part) for key, part in value.items())
    if isinstance(value, tuple):
        return all(_is_plain(part) for part in value)
    # a model of one's own, which only Python can give, stays the function that it is
    return type(value) in PLAIN or (callable(value) and not type(value).__module__.startswith("sfumato"))


def require(truth: bool, sentence: str) -> None:
    """Raise `AssertionError` with this sentence where it is not so."""
    if not truth:
        raise AssertionError(sentence)
