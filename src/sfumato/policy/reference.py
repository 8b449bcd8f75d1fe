"""References: what the owner keeps of the original table, so that a published one can be judged later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.models.contract import KeptPrior, Prior, Promises, TermPromise, share_of, share_text
from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.files import HierarchyFile
from sfumato.policy.taxonomies.ready.catalogue import ReadyTaxonomy
from sfumato.system.address import Address, is_address, is_database
from sfumato.system.disk import read_document
from sfumato.system.errors import BadData
from sfumato.system.json_object import JsonMapping, JsonObject, read_json

SUFFIX = ".reference.json"


@dataclass(frozen=True)
class Reference:
    """The priors that a plan took from the original table, each with its digest.

    They are not published: exact shares of a small table tell about its rows.
    """

    kept: tuple[KeptPrior, ...]

    @classmethod
    def of(cls, policy: Policy) -> Reference | None:
        """Returns what a plan's policy holds of the original table; `None` if it is nothing."""
        priors = [prior for p in policy.promises.of_terms for prior in p.kept_of_original]
        return cls(tuple(dict.fromkeys(priors))) if priors else None

    def bind(self, policy: Policy) -> Policy:
        """Returns the policy with these priors in place of the rules that would make them."""
        bound = (p.given_kept(self.kept) if isinstance(p, TermPromise) else p for p in policy.promises)
        return replace(policy, promises=Promises(tuple(bound)))

    @property
    def names(self) -> list[dict[str, str]]:
        """What is kept, without the shares."""
        return [prior.names for prior in self.kept]

    def lines(self) -> list[str]:
        """Returns the same in words."""
        return [f"prior of {k.of} by {k.rule}, digest {k.prior.digest[:16]}…" for k in self.kept]

    def to_json(self) -> str:
        """Returns the content of the reference file."""
        priors = [
            {**entry.names, "shares": {label: share_text(s) for label, s in entry.prior.shares}}
            for entry in self.kept
        ]
        return json.dumps({"sfumato": 1, "priors": priors}, indent=1) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Reference:
        """Reads a file; refuses shares that do not have the digest beside them."""
        try:
            entries = read_json(read_document(Path(path)))["priors"]
            priors = [_kept_prior(entry) for entry in entries]
            unchanged = all(
                prior.prior.digest == entry["digest"] for prior, entry in zip(priors, entries, strict=True)
            )
        except FileNotFoundError:
            raise BadData("the reference is not there", where=str(path)) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
            raise BadData(
                "this is no reference that can be read",
                where=str(path),
                remedy=f"It is what `sfumato protect` wrote beside the safe file, ending in {SUFFIX}.",
            ) from None
        if not unchanged:
            raise BadData("the reference was changed: its digest is another one", where=str(path))
        return cls(tuple(priors))


def _kept_prior(entry: JsonMapping) -> KeptPrior:
    shares = {str(label): share_of(str(share)) for label, share in entry["shares"].items()}
    of, rule, knowledge = (str(entry[key]) for key in ("of", "rule", "knowledge"))
    return KeptPrior(of, rule, knowledge, Prior.of(shares, rule=rule))


def possible_paths(data: object) -> Sequence[Path]:
    """Returns where the reference of a published file may be: beside it, or beside the folder of its release.

    That folder may hold a folder for each recipient.
    """
    path: Path | Address
    if isinstance(data, str) and is_database(data):
        return ()
    if is_address(data):
        path = Address.of(data)
    elif isinstance(data, str | PathLike):
        path = Path(data).absolute()
    else:
        return ()
    return reference_path(path), reference_path(path.parent), reference_path(path.parent.parent)


def reference_path(published: Path | Address) -> Path:
    """Returns the path of the reference of a published file or folder.

    It is not for those who read what is in a store: there, it is in the folder that the program runs in.

    >>> reference_path(Address.of("s3://bucket/releases/2026-11")).name
    's3-bucket-releases-2026-11.reference.json'
    """
    if isinstance(published, Address):
        return Path(published.flat + SUFFIX)
    return published.with_name(published.name + SUFFIX)


def with_reference(policy: Policy, data: object, reference: Reference | str | Path | None = None) -> Policy:
    """Returns the policy with the priors of a reference, given or found beside the published file."""
    if not any(promise.needs_original for promise in policy.promises.of_terms):
        return policy
    if reference is None:
        reference = next((path for path in possible_paths(data) if path.is_file()), None)
    if isinstance(reference, str | Path):
        reference = Reference.load(reference)
    return policy if reference is None else reference.bind(policy)


# The policy as plain data: all that the second judge is told of it.


def judge_data(policy: Policy) -> dict[str, Any]:
    """Returns texts, numbers, truths, fractions and bytes, and lists, tuples and mappings of them.

    `columns`    name → `role`, `taxonomy` (as a policy writes it, with the `notation` of its intervals, and
                 `root: own` where its single group is the root; or `None`), `options` (what else is said of
                 a column of its role), `start` and `at_most` (the finest and the coarsest level that is
                 published; `None`: up to the root), `ranges` (whether an ordered column is published in
                 ranges only), `spelling` (`folded` or `exact`), `digits` (how many a number has at most
                 behind the point; `None`: any), and for a hierarchy file or a ready list its `content` and
                 `digest`; a ready taxonomy also has `kind`, `mark`, `shape` and `ordered`
    `promises`   what each promise tells its judge (`Promise.judge_data`)
    `person`     the column that tells people apart, or `None`
    `together`   groups of key columns that are published at the same level
    `missing`    what an empty cell of a key column means
    `formulas`   whether a CSV file may hold cells that a spreadsheet would run: `refuse` or `keep`
    """
    return {
        "columns": {
            name: judge_column(rule) | {"ranges": policy.publishes_ranges and rule.role.is_key}
            for name, rule in policy.columns.items()
        },
        "promises": [promise.judge_data() for promise in policy.promises],
        "person": policy.person,
        "together": [list(group) for group in policy.protect.together],
        "missing": policy.missing.value,
        "formulas": policy.formulas.value,
    }


def judge_words(policy: Policy) -> JsonObject:
    """Returns the same as JSON, to be kept: fractions and bytes are objects of one key."""
    words: JsonObject = json.loads(json.dumps(judge_data(policy), default=_kept_word))
    return words


def judge_data_of(words: JsonMapping) -> dict[str, Any]:
    """Returns the plain data that `judge_words` wrote."""
    data: dict[str, Any] = json.loads(json.dumps(words), object_hook=_read_word)
    return data


def _kept_word(value: object) -> JsonObject:
    if isinstance(value, Fraction):
        return {"\x1ffraction": str(value)}
    if isinstance(value, bytes):
        return {"\x1fbytes": value.hex()}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _read_word(words: dict[str, Any]) -> object:
    match words:
        case {"\x1ffraction": str(text)}:
            return Fraction(text)
        case {"\x1fbytes": str(text)}:
            return bytes.fromhex(text)
    return words


def judge_column(rule: ColumnRule) -> dict[str, Any]:
    """Returns what the judge is told of one column."""
    taxonomy = rule.taxonomy
    words: dict[str, Any] = {
        "role": rule.role.value,
        "taxonomy": None if taxonomy is None else dict(taxonomy.spec),
        "options": {} if rule.options is None else rule.options.words(),
        "spelling": rule.spelling.value if not rule.role.is_key or rule.one_spelling else "exact",
        "digits": rule.digits,
        "start": rule.finest,
        "at_most": rule.controls.ceiling,
    }
    if isinstance(taxonomy, ReadyTaxonomy):
        words["taxonomy"] |= taxonomy.words_for_judge
    if isinstance(taxonomy, HierarchyFile | ReadyTaxonomy):
        words |= {"content": taxonomy.content, "digest": taxonomy.digest}
    return words
