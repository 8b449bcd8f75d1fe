"""Publishing: to a file, or to a folder and the ledger."""
# ruff: noqa: PLC0415  # databases wait until something is released

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.core.verdict import Verdict
from sfumato.engine import open_source
from sfumato.journey.arguments import (
    AnyImprint,
    AnyMemory,
    AnyPolicy,
    imprints_of,
    limit_of,
    policy_of,
    within,
)
from sfumato.journey.chain import judged_beside
from sfumato.journey.delivery import Handing, checked_overrides
from sfumato.journey.judgement import judged
from sfumato.journey.protect import counted, earlier_ones, protect
from sfumato.journey.recipient_versions import Handout, with_recipients
from sfumato.policy.reference import kept_at
from sfumato.protection.plan import Plan
from sfumato.protection.recipients.capacity import Capacity
from sfumato.releases.output_file import check_target, publish
from sfumato.releases.private_file import kept_on_success
from sfumato.releases.recipients import folders_of, recipients_of
from sfumato.system.address import Address, is_address
from sfumato.system.memory import Memory
from sfumato.system.private_folder import private_folder

if TYPE_CHECKING:
    from sfumato.releases.event import Event
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.record import HistoryCheck, Record
    from sfumato.releases.override import Override
    from sfumato.releases.receipt import Receipt


def protect_file(
    data: Any,
    policy: AnyPolicy,
    out: str | Path,
    *,
    earlier: Sequence[AnyImprint] = (),
    against: Ledger | str | None = None,
    chain: str = "main",
    overwrite: bool = False,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> tuple[Plan, tuple[Verdict, ...]]:
    """Protect, and publish to a CSV or Parquet file; the plan, and the verdicts on the bytes of the file.

    The file appears under its name only after a second implementation has read it and agreed. Where the
    policy counts people and does not publish who they are, that judge also reads a witness: the same rows
    with a number for each person, in a private folder that is gone afterwards. `earlier`, or `against` and
    `chain`, as for `protect`; a ledger learns nothing of the file, only `release` enters it. `memory` is how
    much may be used, such as "4GB"; what has no room waits on disk meanwhile. What later judges need of the
    original table (`plan.reference`) is kept beside the file, for its owner.
    """
    if is_address(out):
        Address.of(str(out))
        raise WrongCall("a file is not written to a store", remedy="`release` publishes there.")
    target, told, meant = Path(out), progress or silent, policy_of(policy)
    check_target(target, source=Path(data) if isinstance(data, str | Path) else None, overwrite=overwrite)
    known = imprints_of(earlier_ones(earlier, against, chain))
    data = within(data, memory)
    plan = protect(data, meant, earlier=known, progress=told)

    def write(staged: Path) -> None:
        open_source(data).write(plan.recoding, staged, drop=meant.dropped, progress=told)

    def judge(staged: Path) -> tuple[Verdict, ...]:
        shared = target.parent if _is_spark(data) else None
        with private_folder(shared or limit_of(data).spill, hidden=shared is not None) as private:
            verdicts = judged(staged, data, plan, meant, private=private, progress=told)
        if found := judged_beside([staged], plan.imprint, known, meant) if known else None:
            again = {verdict.promise: verdict for verdict in found.verdicts}
            return tuple(again.get(verdict.promise, verdict) for verdict in verdicts)
        return verdicts

    with kept_on_success(kept_at(target)) as stage:
        if plan.reference is not None:
            stage(plan.reference.to_json())
        return plan, publish(target, write, judge, overwrite=overwrite)


def release(
    data: Any,
    policy: AnyPolicy,
    *,
    ledger: Ledger | str,
    into: str | Path | Address | None = None,
    to: str | Sequence[str] | None = None,
    chain: str = "main",
    format: str | None = None,
    checks: Sequence[HistoryCheck] = (),
    overrides: Sequence[Override | str | Path] = (),
    dry_run: bool = False,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Receipt | Event:
    """Publish a table to a new folder and enter it in the ledger: both, or neither.

    `chain` names the series of releases about the same people that this one continues: it is planned and
    checked beside all of them, from what the ledger remembers (more `checks` may be given). The folder holds
    the table, a manifest and a signed certificate; it appears whole, after the bytes were read again and
    judged. With `dry_run` nothing is written, and `into` is not needed. What later judges need of the
    original table is kept beside the folder, for its owner.

    `into` may be an address in an object store, such as `s3://bucket/releases/2026-11`. The table is written
    and judged on this machine first (in the spill folder of `memory`, else the temporary one), then uploaded,
    and visible when its manifest is there. Spark's workers have to share that folder.

    `to` names who receives it. Several recipients get a version each, as the policy's `recipients` say, in
    folders of their names; the result then is an `Event`. `overrides` let some have a smaller k. `memory` is
    how much may be used, such as "4GB".
    """
    from sfumato.releases.event import Event
    from sfumato.releases.issue import issue_all, rehearse

    names, meant = recipients_of(to), policy_of(policy)
    places = folders_of(names)
    if not chain:
        raise WrongCall("a chain needs a name")
    if into is None and not dry_run:
        raise WrongCall("no target named", remedy="Say into which new folder.")
    place, aside = _place_of(into, data, memory)
    parquet = _is_spark(data) or str(data).lower().endswith((".parquet", ".pq"))
    kind = format or ("parquet" if parquet else "csv")
    if kind not in ("csv", "parquet"):
        raise WrongCall("a release is a CSV or a Parquet file", remedy="Say csv or parquet.")
    opened = _opened(ledger, place) if isinstance(ledger, str) and not dry_run else ledger
    allowed = checked_overrides(overrides, meant, names, opened, chain=chain)
    handing = Handing(within(data, memory), meant, places, allowed, chain=chain, progress=progress or silent)
    every = (handing.check, *checks)
    if dry_run:
        receipts = rehearse(_history(opened, chain), handing.prepare, chain=chain, checks=every)
        capacity = None if handing.handout is None else handing.handout.capacity().as_dict()
        return receipts[0] if len(names) < 2 else Event(receipts, capacity)
    if isinstance(opened, str) or place is None:
        raise AssertionError
    with kept_on_success(kept_at(place)) as stage:
        handing.keep = stage
        receipts = issue_all(
            opened,
            handing.prepare,
            into=place,
            name=f"data.{kind}",
            chain=chain,
            checks=every,
            aside=aside,
            progress=progress or silent,
        )
    return receipts[0] if len(names) < 2 else Event(receipts)


def _opened(ledger: str, place: Path | Address | None) -> Ledger:
    """The ledger, made if it is not there and the release can go to its place."""
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.targets.target import check_first

    if place is not None:
        check_first(place, ledger)
    return Ledger(ledger)


def _place_of(
    into: str | Path | Address | None, data: Any, memory: AnyMemory
) -> tuple[Path | Address | None, Path | None]:
    """What the release is to become, and where it is staged if that is in a store."""
    aside = Memory.of(memory).spill or limit_of(data).spill
    if into is None or not is_address(into):
        return None if into is None else Path(str(into)), aside
    if _is_spark(data) and aside is None:
        raise WrongCall(
            "what Spark writes is judged before it is uploaded to a store",
            remedy="Name a folder for it that driver and workers share, with --spill.",
        )
    return Address.of(str(into)), aside


def _is_spark(data: Any) -> bool:
    """Whether other machines may have to write the table, and only know how to write Parquet."""
    return getattr(data, "kind", "") == "spark" or type(data).__module__.startswith("pyspark.")


def capacity(data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Capacity:
    """How many recipients a policy serves with a version each, at its quality and at a little less."""
    told, meant = progress or silent, with_recipients(policy_of(policy))
    table = counted(data, meant, progress=told)
    return Handout(table, meant, (), chain="", progress=told).capacity()


def _history(ledger: Ledger | str, chain: str) -> tuple[Record, ...]:
    """The earlier releases; of a ledger that is not there yet, none."""
    from sfumato.releases.ledger.database import Database
    from sfumato.releases.ledger.ledger import Ledger

    if isinstance(ledger, Ledger):
        return ledger.history(chain)
    return Ledger(ledger, readonly=True).history(chain) if Database(ledger).exists else ()
