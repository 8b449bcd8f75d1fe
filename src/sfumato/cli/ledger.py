"""`sfumato ledger`: verify, back up and recover the ledger."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.completion import complete_recipient
from sfumato.cli.interruptions import carry_interruptions
from sfumato.cli.ledger_life import (
    Anchors,
    Certificates,
    anchor,
    keys,
    missing,
    reading_key,
    retire,
    withdraw,
)
from sfumato.cli.options import (
    AsJson,
    Chain,
    KeyFile,
    LedgerUrl,
    OneChain,
    OpeningKey,
    PolicyFile,
    PublicKey,
)
from sfumato.cli.terminal import document, say, talk
from sfumato.core.errors import WrongCall

ledger = typer.Typer(
    help="Verify, back up and recover the ledger of releases, and look after it.", rich_markup_mode=None
)

DEFAULT = "sqlite:///ledger.db"
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
    from sfumato.journey.floors import ledger_floors
    from sfumato.releases.download import certificate_at
    from sfumato.releases.ledger.anchors import read_anchor
    from sfumato.releases.ledger.keys import public_keys
    from sfumato.releases.ledger.ledger import Ledger

    opened = Ledger(url, readonly=True)
    publishers = None if key is None else [dated.public for dated in public_keys(key)]
    certificates = [certificate_at(place) for place in certificate or []]
    anchors = [read_anchor(path).head for path in anchor or []]
    verification = opened.verify(certificates=certificates, anchors=anchors, key=publishers)
    readable = verification.holds and not verification.closed
    floors = ledger_floors(opened, attack=False) if readable else None
    weaker = () if floors is None else floors.weaker
    if as_json:
        document({**verification.as_dict(), "weaker": [release.as_dict() for release in weaker]})
    else:
        say(verification.card())
        for release in weaker:
            say(str(release))
    raise typer.Exit(0 if verification.holds and (floors is None or floors.holds) else 1)


@ledger.command()
@carry_interruptions
def floor(
    url: LedgerUrl = DEFAULT,
    chain: OneChain = None,
    key: OpeningKey = None,
    as_json: AsJson = False,
) -> None:
    """Show what each chain promised first, and attack the releases that promise less.

    Only reads. Exits 1 if a release fell below the floor of its chain
    and nobody who may signed for it, or if two recipients together hold more than was promised.

    Example:  sfumato ledger floor --chain main
    """
    from sfumato.journey.floors import ledger_floors
    from sfumato.releases.ledger.ledger import Ledger

    floors = ledger_floors(Ledger(url, key=key, readonly=True), chain)
    if as_json:
        document(floors.as_dict())
    else:
        say(floors.card())
    raise typer.Exit(0 if floors.holds else 1)


@ledger.command("import")
@carry_interruptions
def import_(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="What the recipient was handed.")],
    original: Annotated[str, typer.Option("--original", metavar="DATA", help="The table it was made from.")],
    policy: PolicyFile,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="NAME",
            help="The recipient who holds it.",
            autocompletion=complete_recipient,
        ),
    ],
    url: LedgerUrl = DEFAULT,
    chain: Chain = "main",
    lacking: Annotated[
        bool,
        typer.Option("--lacking-rows", help="Rows of the original were left out when it was handed out."),
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
    from sfumato.journey.import_version import import_version

    receipt = import_version(
        version, policy, original=original, to=to, ledger=url, chain=chain, lacking=lacking, key=key
    )
    if as_json:
        document(receipt.as_dict())
    else:
        say(str(receipt))


@ledger.command()
@carry_interruptions
def recover(
    url: LedgerUrl = DEFAULT,
    key: KeyFile = None,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="NAME", help="Also what this machine, which is gone, left half-done."),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option("--release", metavar="ID", help="Only this one, with --into or --forget."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FOLDER", help="Put a blocked release here instead."),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Look no more for a lost release; it stays in the ledger.")
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
    from sfumato.releases import recovery
    from sfumato.releases.ledger.ledger import Ledger

    if (release is None) is (into is not None or forget) or (into is not None and forget):
        raise WrongCall("--release goes with either --into or --forget")
    opened = Ledger(url, key=key)
    if release is None:
        recovered = recovery.recover(opened, host=host)
    elif into is None:
        recovered = (recovery.forget(opened, release),)
    else:
        recovered = (recovery.recover_into(opened, release, into),)
    if as_json:
        document({"releases": [vars(one) for one in recovered]})
    else:
        for one in recovered:
            place = f"  on {one.host}" if one.host else ""
            why = f": {one.why}" if one.why else ""
            say(f"{one.release}  {one.outcome}{why}  {one.target}{place}")
        say("nothing is under way" if not recovered else f"looked after {len(recovered)}")
    outcomes = {one.outcome for one in recovered}
    raise typer.Exit(1 if "lost" in outcomes else 4 if outcomes & {"out of reach", "blocked"} else 0)


@ledger.command()
@carry_interruptions
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new SQLite file.")],
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
    talk(f"wrote {file}; keep the key somewhere else")


@ledger.command()
@carry_interruptions
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    url: LedgerUrl = DEFAULT,
    certificate: Certificates = None,
    anchor: Anchors = None,
    key: KeyFile = None,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Restore although entries are missing, and close their chains."),
    ] = False,
) -> None:
    """Fill an empty database from a backup; also the way from SQLite to PostgreSQL.

    Refused if the backup is damaged, or misses entries that certificates, anchors or the note beside the key
    know of. With --accept-loss the ledger says from then on what it lost: chains that lost a release are
    closed, and so is the whole ledger where nobody has the certificates of what is missing.

    Example:  sfumato ledger restore ledger-2026-11.db --ledger postgresql://host/ledger --key ledger.db.key
    """
    from sfumato.releases.download import certificate_at
    from sfumato.releases.ledger.anchors import read_anchor
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
        talk(remark)
    if verification.lost:
        talk("who was erased after this backup was made is in it again: erase them again")
    talk("restored")


@ledger.command()
@carry_interruptions
def rotate(url: LedgerUrl = DEFAULT, key: KeyFile = None) -> None:
    """Change to a new signing key; the old one signs the change.

    The file of public keys (FILE.pub) then holds both, with the entries that each signed: give it to readers
    again. Old certificates verify with it as before.

    Example:  sfumato ledger rotate
    """
    from sfumato.releases.ledger.ledger import Ledger

    say(Ledger(url, key=key).rotate())
