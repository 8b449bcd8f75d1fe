"""A reference: what of the original table the owner keeps, so that what was published can be judged later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadData
from sfumato.core.prior import KeptPrior, Prior, share_of, share_text
from sfumato.core.promise import Promises
from sfumato.policy.policy import Policy
from sfumato.system.address import Address, is_address

SUFFIX = ".reference.json"


@dataclass(frozen=True)
class Reference:
    """The priors that a plan took from the original table, each with its digest.

    They are not published: exact shares of a small table tell about its rows.
    """

    kept: tuple[KeptPrior, ...]

    @classmethod
    def of(cls, policy: Policy) -> Reference | None:
        """What a plan's policy holds of the original table, if anything."""
        found = [kept for p in policy.promises for kept in p.kept_of_original]
        return cls(tuple(dict.fromkeys(found))) if found else None

    def bind(self, policy: Policy) -> Policy:
        """The policy with these priors in place of the rules that would make them."""
        return replace(policy, promises=Promises(tuple(p.given_kept(self.kept) for p in policy.promises)))

    @property
    def names(self) -> list[dict[str, str]]:
        """What is kept, without the shares."""
        return [kept.names for kept in self.kept]

    def lines(self) -> list[str]:
        """The same in words."""
        return [f"prior of {k.of} by {k.rule}, digest {k.prior.digest[:16]}…" for k in self.kept]

    def to_json(self) -> str:
        """The reference as a file."""
        priors = [
            {**kept.names, "shares": {label: share_text(s) for label, s in kept.prior.shares}}
            for kept in self.kept
        ]
        return json.dumps({"sfumato": 1, "priors": priors}, indent=1) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Reference:
        """Read a file; shares that do not have the digest beside them are refused."""
        where = Path(path)
        try:
            entries = json.loads(where.read_bytes())["priors"]
            found = [_kept(entry) for entry in entries]
        except FileNotFoundError:
            raise BadData("the reference is not there", where=str(path)) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
            raise BadData(
                "this is no reference that can be read",
                where=str(path),
                remedy=f"It is what `sfumato protect` wrote beside the safe file, ending in {SUFFIX}.",
            ) from None
        if any(kept.prior.digest != entry["digest"] for kept, entry in zip(found, entries, strict=True)):
            raise BadData("the reference was changed: its digest is another one", where=str(path))
        return cls(tuple(found))


def _kept(entry: Mapping[str, Any]) -> KeptPrior:
    shares = {str(label): share_of(str(share)) for label, share in entry["shares"].items()}
    of, rule, knowledge = (str(entry[key]) for key in ("of", "rule", "knowledge"))
    return KeptPrior(of, rule, knowledge, Prior.of(shares, rule=rule))


def places(data: object) -> Sequence[Path]:
    """Where the reference of a published file may be: beside it, or beside the folder of its release, which
    may hold a folder for each recipient."""
    if not isinstance(data, str | Path | Address):
        return ()
    path = Address.of(data) if is_address(data) else Path(data).absolute()  # type: ignore[arg-type]
    return kept_at(path), kept_at(path.parent), kept_at(path.parent.parent)


def kept_at(published: Path | Address) -> Path:
    """Where the reference of a published file or folder is kept.

    It is not for those who read what is in a store: there, it is in the folder that the program runs in.

    >>> kept_at(Address.of("s3://bucket/releases/2026-11")).name
    's3-bucket-releases-2026-11.reference.json'
    """
    if isinstance(published, Address):
        return Path(published.flat + SUFFIX)
    return published.with_name(published.name + SUFFIX)


def referred(policy: Policy, data: object, reference: Reference | str | Path | None = None) -> Policy:
    """The policy with the priors of the reference that is given, or that stands beside the published file."""
    if not any(promise.needs_original for promise in policy.promises):
        return policy
    if reference is None:
        reference = next((place for place in places(data) if place.is_file()), None)
    if isinstance(reference, str | Path):
        reference = Reference.load(reference)
    return policy if reference is None else reference.bind(policy)
