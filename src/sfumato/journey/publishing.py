"""Publishing: to a file, or to a folder and the ledger."""
# ruff: noqa: PLC0415  # databases wait until something is released

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.declare.policy import Policy
from sfumato.engine import open_source
from sfumato.journey.chain import beside_history, imprints, judged_beside, looks_back, memory_of
from sfumato.journey.meaning import AnyImprint, AnyPolicy, imprints_of, policy_of
from sfumato.journey.protecting import earlier_ones, protect
from sfumato.protect.plan import Plan
from sfumato.release.publish import check_target, publish
from sfumato.release.recheck import recheck
from sfumato.terms.errors import BrokenPromise, WrongCall
from sfumato.terms.private import private_folder
from sfumato.terms.progress import Progress, silent
from sfumato.terms.promise import Promises
from sfumato.terms.verdict import Verdict

if TYPE_CHECKING:
    from sfumato.release.issue import Prepared
    from sfumato.release.ledger.ledger import Ledger
    from sfumato.release.ledger.record import Check, Record
    from sfumato.release.receipt import Receipt


def protect_file(
    data: Any,
    policy: AnyPolicy,
    out: str | Path,
    *,
    earlier: Sequence[AnyImprint] = (),
    against: Ledger | str | None = None,
    chain: str = "main",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[Plan, tuple[Verdict, ...]]:
    """Protect, and publish to a CSV or Parquet file; the plan, and the verdicts on the bytes of the file.

    The file appears under its name only after a second implementation has read it and agreed. Where the
    policy counts people and does not publish who they are, that judge also reads a witness: the same rows
    with a number for each person, in a private folder that is gone afterwards. `earlier`, or `against` and
    `chain`, as for `protect`; a ledger learns nothing of the file, only `release` enters it.
    """
    target, told, meant = Path(out), progress or silent, policy_of(policy)
    check_target(target, source=Path(data) if isinstance(data, str | Path) else None, overwrite=overwrite)
    known = imprints_of(earlier_ones(earlier, against, chain))
    plan = protect(data, meant, earlier=known, progress=told)

    def write(staged: Path) -> None:
        open_source(data).write(plan.recoding, staged, drop=meant.dropped, progress=told)

    def judge(staged: Path) -> tuple[Verdict, ...]:
        shared = target.parent if _is_spark(data) else None
        with private_folder(shared, hidden=shared is not None) as private:
            verdicts = _judged(staged, data, plan, meant, private=private, progress=told)
        if known:
            judged_beside([staged], plan.imprint, known, meant)
        return verdicts

    return plan, publish(target, write, judge, overwrite=overwrite)


def _judged(
    staged: Path, data: Any, plan: Plan, policy: Policy, *, private: Path, progress: Progress
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes; `private` is a folder for the witness."""
    progress("recheck", 0)
    if policy.person is None or policy.person in policy.published:
        return agreed(recheck(staged, _with_priors(policy, plan)))
    witness = private / f"witness{staged.suffix}"
    gone = tuple(name for name in policy.dropped if name != policy.person)
    open_source(data).write(plan.recoding, witness, drop=gone, numbered=(policy.person,), progress=progress)
    return agreed(recheck(staged, _with_priors(policy, plan), witness=witness))


def _with_priors(meant: Policy, plan: Plan) -> Policy:
    """The policy with the priors that the plan took from the original table; nothing else is the plan's."""
    pairs = list(zip(meant.promises, plan.policy.promises, strict=False))
    if not any(getattr(ours, "unbound", False) for ours, _ in pairs):
        return meant
    made = [plans if getattr(ours, "unbound", False) else ours for ours, plans in pairs]
    return replace(meant, promises=Promises(tuple(made)))


def release(
    data: Any,
    policy: AnyPolicy,
    *,
    ledger: Ledger | str,
    into: str | Path | None = None,
    to: str | Sequence[str] | None = None,
    chain: str = "main",
    format: str | None = None,
    checks: Sequence[Check] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Receipt:
    """Publish a table to a new folder and enter it in the ledger: both, or neither.

    `chain` names the series of releases about the same people that this one continues: it is planned and
    checked beside all of them, from what the ledger remembers (more `checks` may be given). The folder holds
    the table, a manifest and a signed certificate; it appears whole, after the bytes were read again and
    judged. With `dry_run` nothing is written, and `into` is not needed.
    """
    from sfumato.release.issue import issue_all, rehearse
    from sfumato.release.ledger.ledger import Ledger
    from sfumato.release.ledger.record import remembered

    meant, told = policy_of(policy), progress or silent
    recipient = recipient_of(to)
    if not chain:
        raise WrongCall("a chain needs a name")

    checks = (beside_history(meant), *checks)

    def prepare(history: Sequence[Record]) -> list[Prepared]:
        earlier = imprints(history) if looks_back(meant) else ()
        plan = protect(data, meant, earlier=earlier, progress=told)
        made = _prepared(plan, data, meant, remembered(memory_of(plan)), progress=told)
        return [replace(made, recipient=recipient)]

    if dry_run:
        return rehearse(_history(ledger, chain), prepare, chain=chain, checks=checks)[0]
    if into is None:
        raise WrongCall("no target named", remedy="Say into which new folder.")
    parquet = _is_spark(data) or str(data).lower().endswith((".parquet", ".pq"))
    kind = format or ("parquet" if parquet else "csv")
    if kind not in ("csv", "parquet"):
        raise WrongCall("a release is a CSV or a Parquet file", remedy="Say csv or parquet.")
    opened = Ledger(ledger) if isinstance(ledger, str) else ledger
    return issue_all(opened, prepare, into=into, name=f"data.{kind}", chain=chain, checks=checks)[0]


def _is_spark(data: Any) -> bool:
    """Whether other machines may have to write the table, and only know how to write Parquet."""
    return getattr(data, "kind", "") == "spark" or type(data).__module__.startswith("pyspark.")


def recipient_of(to: str | Sequence[str] | None) -> str | None:
    """The one recipient that was named."""
    names = [to] if isinstance(to, str) else list(to or ())
    if len(names) > 1:
        raise WrongCall(
            "one release goes to one recipient",
            remedy="Versions for several recipients are not there yet: release to one name.",
        )
    return names[0] if names else None


def _history(ledger: Ledger | str, chain: str) -> tuple[Record, ...]:
    """The earlier releases; of a ledger that is not there yet, none."""
    from sfumato.release.ledger.database import Database
    from sfumato.release.ledger.ledger import Ledger

    if isinstance(ledger, Ledger):
        return ledger.history(chain)
    return Ledger(ledger, readonly=True).history(chain) if Database(ledger).exists else ()


def _prepared(plan: Plan, data: Any, policy: Policy, memory: bytes, *, progress: Progress) -> Prepared:
    """What the ledger is told of a plan: numbers of nodes, digests and counts, never a value."""
    from sfumato.release.issue import Prepared

    recoding, cuts = plan.recoding, plan.recoding.cuts
    return Prepared(
        policy=policy.digest,
        write=lambda path: open_source(data).write(recoding, path, drop=policy.dropped, progress=progress),
        judge=lambda path, private: _judged(path, data, plan, policy, private=private, progress=progress),
        verdicts=plan.verdicts,
        taxonomies={column.name: column.taxonomy.digest for column in recoding.table.keys},
        cuts=None if cuts is None else {name: cut.nodes.tolist() for name, cut in cuts.items()},
        figures={
            "rows": plan.rows - plan.suppressed,
            "suppressed": plan.suppressed,
            "classes": plan.classes,
            "k": plan.smallest,
            "loss": plan.loss,
        },
        memory=memory,
        versions={"sfumato": version("sfumato")},
    )


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts
