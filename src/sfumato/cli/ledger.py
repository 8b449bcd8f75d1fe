"""`sfumato ledger`: verify, back up and recover the ledger."""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.guide_page import complete_recipient
from sfumato.cli.options import (
    AsJson,
    Chain,
    KeyFile,
    LedgerUrl,
    OneChain,
    OpeningKey,
    PolicyFile,
    PublicKey,
    argument,
    option,
    valued,
)
from sfumato.cli.streams import carry_interruptions
from sfumato.cli.terminal import document, print_note, print_or_json, print_result
from sfumato.system.errors import UsageError

# `sfumato ledger`, the life of a ledger: withdrawals, retired chains, keys, anchors, what is missing.


DEFAULT = "sqlite:///ledger.db"
Certificates = Annotated[
    list[str] | None,
    valued("--certificate", "FILE", "A certificate whose release must be in the ledger; may be repeated."),
]
Anchors = Annotated[
    list[Path] | None, valued("--anchor", "FILE", "An anchor of the ledger; may be repeated.")
]
NewFile = Annotated[Path | None, valued("--out", "FILE", "A new file for it.", short="-o")]


def withdraw(
    release: Annotated[str, argument("RELEASE", "Its number in the chain, or its id (`history --json`).")],
    reason: Annotated[str, valued("--reason", "TEXT", "Why; recipients will read it.")],
    chain: Chain = "main",
    url: LedgerUrl = DEFAULT,
    key: KeyFile = None,
    out: NewFile = None,
    as_json: AsJson = False,
) -> None:
    """Record that a release is called back, and tell what remains dangerous.

    Nothing is undone: whoever has the files keeps them, and later releases are held against this one as
    before. The notice in --out is for its recipients (`sfumato certificate verify --withdrawal`). The same
    call again enters nothing more, and writes the notice to a new --out.

    Example:  sfumato ledger withdraw 3 --reason "two people asked to be left out" -o withdrawn.json
    """
    from sfumato.releases.certificate import certificate
    from sfumato.releases.files import check_target, write_new
    from sfumato.releases.ledger.erasure import withdraw as withdraw_
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.system.json_object import document_bytes

    if out is not None:
        check_target(out)
    withdrawal = withdraw_(Ledger(url, key=key), release, reason=reason, chain=chain)
    print_or_json(withdrawal, as_json=as_json)
    if out is not None:
        write_new(out, document_bytes(certificate(withdrawal.entry)))
        print_note(f"wrote {out}")


def retire(
    chain: Annotated[str, argument("CHAIN", "The series of releases that ends.")],
    url: LedgerUrl = DEFAULT,
    key: KeyFile = None,
    yes: Annotated[bool, option("--yes", "Delete; without it only say what would be.")] = False,
    as_json: AsJson = False,
) -> None:
    """Close a chain for good, and delete what the ledger remembers of it for later checks.

    Entries, history and certificates stay. What is lost by it is said; it cannot be brought back. Without
    --yes nothing is deleted, and the exit code is 2.

    Example:  sfumato ledger retire survey-2019 --yes
    """
    from sfumato.releases.ledger.erasure import LOST_BY_IT
    from sfumato.releases.ledger.erasure import retire as retire_
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.system.errors import UsageError

    if not yes:
        raise UsageError(
            f"retiring a chain cannot be undone: {'; '.join(LOST_BY_IT)}", remedy="Say --yes to do it."
        )
    print_or_json(retire_(Ledger(url, key=key), chain), as_json=as_json)


def anchor(url: LedgerUrl = DEFAULT, out: NewFile = None) -> None:
    """Print where the ledger ends, signed, to be kept elsewhere. Only reads; needs no private key.

    With an anchor, `verify`, `missing` and `restore` notice a ledger that was put back to an earlier day.

    Example:  sfumato ledger anchor -o anchor-2026-11.json
    """
    from sfumato.releases.files import write_new
    from sfumato.releases.ledger.backup import anchor as anchor_
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.system.json_object import document_bytes

    anchored = anchor_(Ledger(url, readonly=True)).as_dict()
    if out is None:
        document(anchored)
        return
    write_new(out, document_bytes(anchored))
    print_note(f"wrote {out}; keep it away from the ledger")


def missing(
    url: LedgerUrl = DEFAULT,
    certificate: Certificates = None,
    anchor: Anchors = None,
    key: Annotated[
        Path | None, valued("--key", "FILE", "The key beside which the last entry seen was noted.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which entries a ledger, or a backup of one, lacks of those that are known from elsewhere.

    Only reads. Known are those of certificates, of anchors, and the last one noted beside the key. Exits 1 if
    something is missing.

    Example:  sfumato ledger missing --ledger sqlite:///backup.db --certificate 2026-11/certificate.json
    """
    from sfumato.releases.downloads import certificate_at
    from sfumato.releases.ledger.backup import missing_in, read_anchor
    from sfumato.releases.ledger.ledger import Ledger

    opened = Ledger(url, readonly=True)
    gaps = missing_in(
        opened,
        key or opened.key_path,
        certificates=[certificate_at(place) for place in certificate or []],
        anchors=[read_anchor(path) for path in anchor or []],
    )
    print_or_json(gaps, as_json=as_json)
    raise typer.Exit(1 if gaps else 0)


def reading_key(
    out: Annotated[Path, valued("--out", "FILE", "A new file for it.", short="-o")],
    url: LedgerUrl = DEFAULT,
    key: KeyFile = None,
) -> None:
    """Write a key that opens what the ledger keeps encrypted, and signs nothing: for auditors.

    Whoever has it and the database can verify everything, audit beside earlier releases, trace leaks, and
    try a dictionary of names on the marks of people. It is named as the signing key is: beside the ledger,
    with --key, or in the variable SFUMATO_LEDGER_KEY. A change of keys needs a new one.

    Example:  sfumato ledger reading-key -o auditor.key
    """
    from sfumato.releases.ledger.encryption import reading_key as reading_key_
    from sfumato.releases.ledger.ledger import Ledger

    reading_key_(Ledger(url, key=key).database).write(out)
    print_note(f"wrote {out}; whoever has it can open what the ledger keeps")


def keys(url: LedgerUrl = DEFAULT) -> None:
    """Print every public key that the ledger had, with the entries each of them signed. Only reads.

    Readers who have this file can check certificates of any time (`sfumato certificate verify --key`).

    Example:  sfumato ledger keys > publisher.pub
    """
    from sfumato.releases.ledger.keys import as_text
    from sfumato.releases.ledger.ledger import Ledger

    print_result(as_text(Ledger(url, readonly=True).dated_keys).rstrip("\n"))


ledger = typer.Typer(
    help="Verify, back up and recover the ledger of releases, and look after it.", rich_markup_mode=None
)

for command in (withdraw, retire, missing, anchor, keys, reading_key):
    ledger.command()(carry_interruptions(command))


@ledger.command()
@carry_interruptions
def verify(
    url: LedgerUrl = DEFAULT,
    certificate: Certificates = None,
    anchor: Anchors = None,
    key: PublicKey = None,
    as_json: AsJson = False,
) -> None:
    """Read every entry and check that nothing was changed, cut off or put back.

    Only reads. Exits 1 and names the first bad entry if something is wrong, or the releases that promise
    less than the first one of their chain and that nobody signed for. Without the private key (beside the
    ledger, or in the variable SFUMATO_LEDGER_KEY) what is encrypted is not opened, which is said.

    Example:  sfumato ledger verify --certificate 2026-11/certificate.json --key ledger.db.key.pub
    """
    from sfumato.releases.downloads import certificate_at
    from sfumato.releases.ledger.backup import read_anchor
    from sfumato.releases.ledger.keys import public_keys
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.workflows.chain_check import ledger_baselines

    opened = Ledger(url, readonly=True)
    publishers = None if key is None else [dated.public for dated in public_keys(key)]
    certificates = [certificate_at(place) for place in certificate or []]
    anchors = [read_anchor(path).head for path in anchor or []]
    verification = opened.verify(certificates=certificates, anchors=anchors, key=publishers)
    readable = verification.holds and not verification.closed
    baselines = ledger_baselines(opened, attack=False) if readable else None
    weaker = () if baselines is None else baselines.weaker
    if as_json:
        document({**verification.as_dict(), "weaker": [release.as_dict() for release in weaker]})
    else:
        print_result(verification.card())
        for release in weaker:
            print_result(str(release))
    raise typer.Exit(0 if verification.holds and (baselines is None or baselines.holds) else 1)


@ledger.command()
@carry_interruptions
def floor(
    url: LedgerUrl = DEFAULT, chain: OneChain = None, key: OpeningKey = None, as_json: AsJson = False
) -> None:
    """Show what each chain promised first, and attack the releases that promise less.

    Only reads. Exits 1 if a release fell below the floor of its chain
    and nobody who may signed for it, or if two recipients together hold more than was promised.

    Example:  sfumato ledger floor --chain main
    """
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.workflows.chain_check import ledger_baselines

    baselines = ledger_baselines(Ledger(url, key=key, readonly=True), chain)
    print_or_json(baselines, as_json=as_json)
    raise typer.Exit(0 if baselines.holds else 1)


@ledger.command("import")
@carry_interruptions
def import_(
    version: Annotated[str, argument("VERSION", "What the recipient was handed.")],
    original: Annotated[str, valued("--original", "DATA", "The table it was made from.")],
    policy: PolicyFile,
    to: Annotated[str, valued("--to", "NAME", "The recipient who holds it.", complete=complete_recipient)],
    url: LedgerUrl = DEFAULT,
    chain: Chain = "main",
    lacking: Annotated[
        bool, option("--lacking-rows", "Rows of the original were left out when it was handed out.")
    ] = False,
    key: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Enter a version that was handed out without the ledger, so that leaks can be traced to it.

    It is entered as imported, not judged: nothing is promised of it, and it is no floor for later releases.
    It counts where recipients put versions together. Nothing is published. Exits 3 if the version is not the
    original at one cut per column, or lacks rows of it without --lacking-rows. One that lacks rows is traced,
    and stands in the way of promises about versions that are put together.

    Example:  sfumato ledger import police.csv --original people.csv -p policy.yaml --to police
    """
    from sfumato.workflows.import_version import import_version

    receipt = import_version(
        version, policy, original=original, to=to, ledger=url, chain=chain, lacking=lacking, key=key
    )
    print_or_json(receipt, as_json=as_json)


@ledger.command()
@carry_interruptions
def recover(
    url: LedgerUrl = DEFAULT,
    key: KeyFile = None,
    host: Annotated[
        str | None, valued("--host", "NAME", "Also what this machine, which is gone, left half-done.")
    ] = None,
    release: Annotated[
        str | None, valued("--release", "ID", "Only this one, with --into or --forget.")
    ] = None,
    into: Annotated[Path | None, valued("--into", "FOLDER", "Put a blocked release here instead.")] = None,
    forget: Annotated[
        bool, option("--forget", "Look no more for a lost release; it stays in the ledger.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Finish or roll back what a crash left half-done on this machine.

    A release does this too before it begins. Doing it twice does no harm. A release that is blocked, because
    something else took its folder, stands in no other's way: move what is there and recover again, or name
    another folder with --into. Exits 1 if files are lost, 4 if a release is blocked or a store cannot be
    reached.

    Example:  sfumato ledger recover
    Example:  sfumato ledger recover --release 0a1b2c --into 2026-11-again
    """
    from sfumato.releases import issue as recovery
    from sfumato.releases.ledger.ledger import Ledger

    if (release is None) is (into is not None or forget) or (into is not None and forget):
        raise UsageError("--release goes with either --into or --forget")
    opened = Ledger(url, key=key)
    if release is None:
        recovered = recovery.recover(opened, host=host)
    elif into is None:
        recovered = (recovery.forget(opened, release),)
    else:
        recovered = (recovery.recover_into(opened, release, into),)
    if as_json:
        document({"releases": [vars(attempt) for attempt in recovered]})
    else:
        for attempt in recovered:
            place = f"  on {attempt.host}" if attempt.host else ""
            why = f": {attempt.why}" if attempt.why else ""
            print_result(f"{attempt.release}  {attempt.outcome}{why}  {attempt.target}{place}")
        print_result("nothing is under way" if not recovered else f"looked after {len(recovered)}")
    outcomes = {attempt.outcome for attempt in recovered}
    raise typer.Exit(1 if "lost" in outcomes else 4 if outcomes & {"out of reach", "blocked"} else 0)


@ledger.command()
@carry_interruptions
def backup(
    file: Annotated[Path, argument("FILE", "A new SQLite file.")],
    url: LedgerUrl = DEFAULT,
    key: OpeningKey = None,
) -> None:
    """Copy the ledger as it is at one moment, after verifying it. The key is not copied.

    What is encrypted stays so in the copy.

    Example:  sfumato ledger backup ledger-2026-11.db
    """
    from sfumato.releases.ledger.backup import backup as backup_
    from sfumato.releases.ledger.ledger import Ledger

    backup_(Ledger(url, key=key, readonly=True), file)
    print_note(f"wrote {file}; keep the key somewhere else")


@ledger.command()
@carry_interruptions
def restore(
    file: Annotated[Path, argument("FILE", "A backup.")],
    url: LedgerUrl = DEFAULT,
    certificate: Certificates = None,
    anchor: Anchors = None,
    key: KeyFile = None,
    accept_loss: Annotated[
        bool, option("--accept-loss", "Restore although entries are missing, and close their chains.")
    ] = False,
) -> None:
    """Fill an empty database from a backup; also the way from SQLite to PostgreSQL.

    Refused if the backup is damaged, or misses entries that certificates, anchors or the note beside the key
    know of. With --accept-loss the ledger says from then on what it lost: chains that lost a release are
    closed, and so is the whole ledger where nobody has the certificates of what is missing.

    Example:  sfumato ledger restore ledger-2026-11.db --ledger postgresql://host/ledger --key ledger.db.key
    """
    from sfumato.releases.downloads import certificate_at
    from sfumato.releases.ledger.backup import read_anchor
    from sfumato.releases.ledger.backup import restore as restore_

    restored = restore_(
        file,
        url,
        key=key,
        certificates=[certificate_at(place) for place in certificate or []],
        anchors=[read_anchor(path) for path in anchor or []],
        accept_loss=accept_loss,
    )
    verification = restored.verify()
    for remark in verification.remarks:
        print_note(remark)
    if verification.lost:
        print_note("who was erased after this backup was made is in it again: erase them again")
    print_note("restored")


@ledger.command()
@carry_interruptions
def rotate(url: LedgerUrl = DEFAULT, key: KeyFile = None) -> None:
    """Change to a new signing key; the old one signs the change.

    The file of public keys (FILE.pub) then holds both, with the entries that each signed: give it to readers
    again. Old certificates verify with it as before.

    Example:  sfumato ledger rotate
    """
    from sfumato.releases.ledger.ledger import Ledger

    print_result(Ledger(url, key=key).rotate())


# `sfumato certificate`: is this what was published?


certificate = typer.Typer(help="Check the certificate of a release.", rich_markup_mode=None)


@certificate.callback()
def _certificate() -> None:
    """Check the certificate of a release."""


@certificate.command("verify")
@carry_interruptions
def verify_certificate(
    file: Annotated[str, argument("CERTIFICATE", "certificate.json of a release.")],
    key: PublicKey = None,
    withdrawal: Annotated[
        list[Path] | None, valued("--withdrawal", "FILE", "A notice of withdrawal; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that the files beside a certificate are those that were published, and who signed it.

    Needs nothing but the published folder and the publisher's public key. What is in a store
    (s3://bucket/2026-11/certificate.json) is fetched first. Exits 1 if anything was changed, if a file is
    beside it that was not published with it, if it was withdrawn by one of the notices, or if no key is
    given: then anybody may have made it. A file of several public keys, as `sfumato ledger keys` writes it,
    also holds those of former times.

    Example:  sfumato certificate verify 2026-11/certificate.json --key ledger.db.key.pub
    """
    from sfumato.releases.certificate import examine, read_notice
    from sfumato.releases.downloads import local_copy
    from sfumato.releases.ledger.keys import public_keys

    keys, notices = None if key is None else public_keys(key), list(map(read_notice, withdrawal or []))
    with local_copy(file, whole=False) as path:
        examination = examine(path, key=keys, notices=notices)
    print_or_json(examination, as_json=as_json)
    raise typer.Exit(0 if examination.holds is True else 1)
