"""`sfumato release`, `sfumato history`: publish a table, list the releases."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli.guide_page import complete_chain, complete_recipient
from sfumato.cli.options import (
    AsJson,
    Chain,
    Data,
    Engine,
    KeyFile,
    LedgerUrl,
    MemoryLimit,
    OneChain,
    OpeningKey,
    PolicyFile,
    ReusePlan,
    ShowValues,
    SpillFolder,
    option,
    reads_data,
    table_read_by,
    valued,
)
from sfumato.cli.terminal import document, print_note, print_result, progress_bar, warn
from sfumato.table.data_file import NO_FORM, SourceForm, in_words, written_formats

Overrides = Annotated[list[Path] | None, valued("--override", "FILE", "A signed override; may be repeated.")]
To = Annotated[
    list[str] | None,
    valued(
        "--to",
        "NAME",
        "A recipient; several, each with --to, get a version each.",
        complete=complete_recipient,
    ),
]
Format = Annotated[
    str | None, option("--format", f"{in_words(list(written_formats()))}; by default as the data is.")
]
IgnoreChains = Annotated[
    list[str] | None,
    valued(
        "--ignore-chain",
        "CHAIN",
        "Release although CHAIN has the same people; nothing is promised of both together.",
    ),
]


@reads_data
def release(  # noqa: PLR0917  # Typer reads the options from here
    data: Data,
    policy: PolicyFile,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    into: Annotated[
        str | None, valued("--into", "FOLDER", "The release: a new folder, or s3://bucket/folder.")
    ] = None,
    to: To = None,
    chain: Chain = "main",
    format: Format = None,
    override: Overrides = None,
    ignore_chains: IgnoreChains = None,
    key: KeyFile = None,
    dry_run: Annotated[bool, option("--dry-run", "Only plan and compare; write nothing.")] = False,
    reuse_plan: ReusePlan = None,
    engine: Engine = None,
    memory: MemoryLimit = None,
    spill: SpillFolder = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,  # noqa: ARG001  # the error handler looks for it
    form: SourceForm = NO_FORM,
) -> None:
    """Publish a safe table and enter it in the ledger: both, or neither.

    With several recipients, FOLDER holds a folder for each; --dry-run says how many can be served.
    Exits 4 if somebody else released in the meantime (try again), 5 if earlier releases forbid it: also
    where the policy promises less than that of the chain's first release.

    Example:  sfumato release patients.csv -p policy.yaml --into 2026-11
    """
    from sfumato.releases.ledger.database import LedgerDatabase
    from sfumato.system.memory import Memory
    from sfumato.workflows.release import release as release_

    if not dry_run and LedgerDatabase(ledger).on_a_shared_drive:
        print_note(
            "the ledger is on a network drive, whose locks cannot be relied on: PostgreSQL is made for that"
        )
    with progress_bar() as progress:
        receipt = release_(
            table_read_by(engine, data, form),
            policy,
            ledger=ledger,
            key=key,
            overrides=override or (),
            ignore_chains=ignore_chains or (),
            into=into,
            to=to,
            chain=chain,
            format=format,
            dry_run=dry_run,
            reuse_plan=reuse_plan,
            memory=Memory.of(memory, spill=spill),
            warn=warn,
            progress=progress,
        )
    if as_json:
        document(receipt.as_dict())
        return
    print_result(receipt)
    print_note(f"published {into}" if receipt.published else "nothing was written")


def history(
    ledger: LedgerUrl = "sqlite:///ledger.db",
    chain: OneChain = None,
    key: OpeningKey = None,
    as_json: AsJson = False,
) -> None:
    """List the releases: rows, k, the k that is left beside the other releases, loss.

    Every entry is followed to the signed end of the ledger. What releases left for later checks is not read:
    `sfumato ledger verify` tells whether that was changed, too.

    Example:  sfumato history --ledger sqlite:///ledger.db
    """
    from sfumato.releases.ledger.erasure import erased_people, withdrawals
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.receipt import Receipt, history_card

    opened = Ledger(ledger, key=key, readonly=True)
    records, withdrawn = opened.history(chain, memory=False), withdrawals(opened)
    erased = erased_people(opened)
    if as_json:
        events = [{"withdrawn": withdrawn.get(r.release), "erased": erased.get(r.number)} for r in records]
        more = [{name: mark for name, mark in marks.items() if mark} for marks in events]
        listed = [{**Receipt(r).as_dict(), "at": r.at, **m} for r, m in zip(records, more, strict=True)]
        document({"releases": listed})
    else:
        print_result(history_card(records, withdrawn, erased))


# `sfumato override`: a second person allows a policy that promises less.


def override(
    policy: PolicyFile,
    reason: Annotated[str, option("--reason", "Why it is allowed.")],
    by: Annotated[str, valued("--by", "NAME", "Who takes the responsibility.")],
    until: Annotated[str, valued("--until", "DAY", "The last day it holds, such as 2026-12-31.")],
    key: Annotated[Path, valued("--key", "FILE", "Your own signing key; made if it is not there yet.")],
    out: Annotated[Path, valued("--out", "FILE", "The file to write; it must not exist yet.", short="-o")],
    weaker: Annotated[
        bool, option("--weaker", "What is allowed: the policy may promise less than the first of its chain.")
    ] = False,
    chain: Annotated[
        str, option("--chain", "The series of releases it is for.", complete=complete_chain)
    ] = "main",
    as_json: AsJson = False,
) -> None:
    """Sign that a chain may go on by a policy that promises less than its first one did.

    The first policy of the chain lists the public keys of those who may sign, under recipients.overriders;
    the ledger's own key will not do. Whoever releases names the file with --override, and the ledger records
    it.

    Example:  sfumato override --weaker -p policy.yaml --reason flood --by "A. Berg" --until 2026-12-31
    --key berg.key -o weaker.json
    """
    from sfumato.system.errors import UsageError
    from sfumato.workflows.release import sign_weaker

    if not weaker:
        raise UsageError(
            "an override is for a policy that promises less: nobody has a smaller k beside others any more",
            remedy="Say --weaker; or give a recipient their own chain, with a policy of its own.",
        )
    signed = sign_weaker(policy, reason=reason, by=by, until=until, key=key, out=out, chain=chain)
    if as_json:
        document(signed.as_dict())
    print_note(f"wrote {out}; it counts if the first policy of the chain lists the key {signed.public_key}")
