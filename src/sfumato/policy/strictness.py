"""Strictness: whether a later policy of a chain promises no less than the first one did, part by part.

A statement is what a policy promises as plain data, without a value: the strengths of its promises, the role
and the tree of every column, who is told apart, and what recipients are promised. The ledger seals it.
Controls of a column (`column_controls`) are no promises: they choose among tables that all keep what is
promised, so a policy that drops or changes them is as strict as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from sfumato.models.freeform.inference import is_written_down
from sfumato.policy import columns as column_controls
from sfumato.policy.content import ColumnRule, PolicyContent
from sfumato.policy.recipients import RecipientRule
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.verdict import PromiseStrength, fingerprint, missing_strengths
from sfumato.table.arrays import packed, unpacked
from sfumato.table.keyed_hashes import tree_marks
from sfumato.table.microdata import Role

VERSION = 1
RANKS: Mapping[str, Sequence[str]] = {
    "spelling": ("exact", "folded"),
}
"""Words of a policy from the weakest to the strictest; any other word has to stay as it is."""

WEAKEST = {name: words[0] for name, words in RANKS.items()}
STRICTEST = {name: words[-1] for name, words in RANKS.items()}


class Comparison(StrEnum):
    """How one part of a policy compares with the same part of an earlier one."""

    AS_STRICT = "at least as strict"
    WEAKER = "weaker"
    INCOMPARABLE = "cannot be compared"


@dataclass(frozen=True)
class ComparedPart:
    """One part of a policy: its place, how it compares, and both sides in words. No cell values.

    A part that is `lasting` cannot be weakened by an override either.
    """

    place: str
    comparison: Comparison
    before: str
    now: str
    lasting: bool = False

    @property
    def kept(self) -> bool:
        return self.comparison is Comparison.AS_STRICT

    def __str__(self) -> str:
        return f"{self.place}: {self.before}, now {self.now}"


def statement_of(policy: PolicyContent) -> JsonObject:
    """Returns what the policy promises, as JSON without a value: what later policies are compared with."""
    words = policy.to_dict()
    columns: dict[str, JsonMapping] = words["columns"]  # type: ignore[assignment]  # as `to_dict` writes it
    return {
        "sfumato-statement": VERSION,
        "policy": policy.digest,
        "promises": [
            [strength.as_dict() for strength in promise.strengths()] for promise in policy.promises.stated
        ],
        "columns": {name: _column(rule, columns[name]) for name, rule in policy.columns.items()},
        "person": None if policy.person is None else {"column": policy.person},
        "recipients": _recipients(policy.recipients),
    }


def weaker_parts(stated: JsonMapping, baseline: JsonMapping) -> list[ComparedPart]:
    """Returns the parts of a statement that are not at least as strict as those of the baseline."""
    return [part for part in compared(stated, baseline) if not part.kept]


def compared(stated: JsonMapping, baseline: JsonMapping) -> Iterator[ComparedPart]:
    """Yields every part of the baseline beside the same part of a later statement."""
    if stated["policy"] == baseline["policy"]:
        yield ComparedPart("policy", Comparison.AS_STRICT, "this one", "the same")
        return
    yield from _compared_promises(stated["promises"], baseline["promises"])
    yield from _compared_columns(stated["columns"], baseline["columns"])
    yield from _compared_person(stated["person"], baseline["person"])
    yield from _compared_recipients(stated["recipients"], baseline["recipients"])


# -- what a policy says ----------------------------------------------------------------------------------


def _column(rule: ColumnRule, words: JsonMapping) -> JsonObject:
    stated_keys = ("role", "taxonomy", "start", "spelling", "digits", *column_controls.SCHEMA)
    others = {key: word for key, word in words.items() if key not in stated_keys}
    stated: JsonObject = {"role": rule.role.value, "tree": _tree(rule), "start": rule.start}
    if rule.role is Role.SENSITIVE:
        stated["spelling"] = words.get("spelling", STRICTEST["spelling"])
    elif rule.one_spelling:
        stated["spelling"] = STRICTEST["spelling"]
    if rule.digits is not None:
        stated["digits"] = rule.digits
    if others:
        stated["options"] = {key: fingerprint(word) for key, word in others.items()}
    return stated


def _tree(rule: ColumnRule) -> JsonObject:
    """Returns a tree by digest; of one that is written down, also the marks of its nodes: it may grow."""
    taxonomy = rule.taxonomy or Flat()
    spec = {key: word for key, word in taxonomy.spec.items() if key != "file"}
    tree: JsonObject = {"digest": fingerprint([spec, taxonomy.digest])}
    if rule.role is Role.QUASI and is_written_down(taxonomy):
        built = taxonomy.build([])
        marks = tree_marks(built)
        tree["form"] = fingerprint(bool(taxonomy.ordered))
        tree["nodes"], tree["leaves"] = packed(np.sort(marks)), packed(np.sort(marks[built.leaves]))
    return tree


def _recipients(rule: RecipientRule | None) -> JsonObject:
    rule = rule or RecipientRule()
    return {
        "frame-proof": rule.frame_proof,
        "overriders": sorted(rule.overriders),
    }


# -- how two compare -------------------------------------------------------------------------------------


def _compared_promises(later: Sequence[object], baseline: Sequence[object]) -> Iterator[ComparedPart]:
    stated = _strengths(later)
    for strengths in _strengths(baseline):
        wanted, lacking = strengths[0], missing_strengths(stated, [strengths])
        if not lacking:
            yield ComparedPart("promises", Comparison.AS_STRICT, wanted.sentence, "no less")
            continue
        ((_, near),) = lacking
        kind = Comparison.WEAKER if near else Comparison.INCOMPARABLE
        now = "; ".join(strength.sentence for strength in near) or "nothing of the kind"
        if now == wanted.sentence:
            now += ", with other parameters"
        yield ComparedPart("promises", kind, wanted.sentence, now)


def _compared_columns(later: JsonMapping, baseline: JsonMapping) -> Iterator[ComparedPart]:
    """Yields every column; one that the first policy did not know may not be published."""
    hidden = {"role": Role.IDENTIFIER.value}
    for name in dict.fromkeys([*baseline, *later]):
        before, now = baseline.get(name, hidden), later.get(name, hidden)
        place = f"columns.{name}"
        if now["role"] == Role.IDENTIFIER:
            yield ComparedPart(place, Comparison.AS_STRICT, before["role"], "not published")
        elif before["role"] != now["role"]:
            role = before["role"] if name in baseline else "not there"
            yield ComparedPart(f"{place}.role", Comparison.WEAKER, role, now["role"])
        else:
            yield from _compared_column(place, now, before)


def _compared_column(place: str, now: JsonMapping, before: JsonMapping) -> Iterator[ComparedPart]:
    """Yields the parts of a column that has the same role."""
    same_tree = _has_grown(now["tree"], before["tree"])
    word = Comparison.AS_STRICT if same_tree else Comparison.INCOMPARABLE
    yield ComparedPart(
        f"{place}.taxonomy", word, "the first tree", "no other" if same_tree else "another one"
    )
    deeper = Comparison.AS_STRICT if now["start"] >= before["start"] else Comparison.WEAKER
    yield ComparedPart(f"{place}.start", deeper, str(before["start"]), str(now["start"]))
    if "spelling" in before:
        yield _ranked(
            f"{place}.spelling", "spelling", now.get("spelling", WEAKEST["spelling"]), before["spelling"]
        )
    if now.get("digits") != before.get("digits"):
        old, new = (f"digits: {side.get('digits', 'all')}" for side in (before, now))
        yield ComparedPart(f"{place}.digits", Comparison.INCOMPARABLE, old, new, lasting=True)
    if now.get("options", {}) != before.get("options", {}):
        yield ComparedPart(f"{place}", Comparison.INCOMPARABLE, "what was said of it", "something else")


def _has_grown(now: JsonMapping, before: JsonMapping) -> bool:
    """Whether a tree is the same, or has grown below its nodes: all are there, and values stay values."""
    if now["digest"] == before["digest"]:
        return True
    if "nodes" not in now or "nodes" not in before or now["form"] != before["form"]:
        return False
    return all(bool(np.isin(_marks(before[part]), _marks(now[part])).all()) for part in ("nodes", "leaves"))


def _marks(text: str) -> NDArray[np.uint64]:
    return unpacked(text, np.uint64)


def _compared_person(later: JsonMapping | None, baseline: JsonMapping | None) -> Iterator[ComparedPart]:
    before, now = (None if side is None else side["column"] for side in (baseline, later))
    word = Comparison.AS_STRICT if before == now else Comparison.INCOMPARABLE
    yield ComparedPart("person", word, str(before or "rows"), str(now or "rows"))


def _compared_recipients(later: JsonMapping, baseline: JsonMapping) -> Iterator[ComparedPart]:
    place = "recipients"
    before, now = int(baseline["frame-proof"]), int(later["frame-proof"])
    framing = Comparison.AS_STRICT if now >= before else Comparison.WEAKER
    yield ComparedPart(f"{place}.frame-proof", framing, str(before), str(now))
    more = set(later["overriders"]) - set(baseline["overriders"])
    who = Comparison.WEAKER if more else Comparison.AS_STRICT
    yield ComparedPart(f"{place}.overriders", who, f"{len(baseline['overriders'])} keys", f"{len(more)} more")


def _ranked(place: str, key: str, now: str, before: str) -> ComparedPart:
    """Returns how two words compare; words that are not known have to be equal."""
    ranks = RANKS[key]
    if now == before:
        word = Comparison.AS_STRICT
    elif now not in ranks or before not in ranks:
        word = Comparison.INCOMPARABLE
    else:
        word = Comparison.AS_STRICT if ranks.index(now) > ranks.index(before) else Comparison.WEAKER
    return ComparedPart(place, word, str(before), str(now))


def _strengths(promises: Sequence[object]) -> list[list[PromiseStrength]]:
    return [[PromiseStrength.from_dict(words) for words in strengths] for strengths in promises]  # type: ignore[attr-defined]
