"""`sfumato ledger`, the life of a ledger: withdrawals, retired chains, keys, anchors, what is missing."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Chain, KeyFile, LedgerUrl
from sfumato.cli.terminal import document, say, talk, tell

DEFAULT = "sqlite:///ledger.db"
Certificates = Annotated[
    list[str] | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="A certificate whose release must be in the ledger; may be repeated.",
    ),
]
Anchors = Annotated[
    list[Path] | None,
    typer.Option("--anchor", metavar="FILE", help="An anchor of the ledger; may be repeated."),
]
NewFile = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="A new file for it.")]


def withdraw(
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Its number in the chain, or its id (`history --json`).")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; recipients will read it.")],
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
    from sfumato.releases import certificate
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.withdrawal import withdraw as withdraw_
    from sfumato.releases.output_file import check_target, write_new

    if out is not None:
        check_target(out)
    withdrawal = withdraw_(Ledger(url, key=key), release, reason=reason, chain=chain)
    tell(withdrawal, as_json=as_json)
    if out is not None:
        write_new(out, certificate.as_bytes(certificate.certificate(withdrawal.entry)))
        talk(f"wrote {out}")


def retire(
    chain: Annotated[str, typer.Argument(metavar="CHAIN", help="The series of releases that ends.")],
    url: LedgerUrl = DEFAULT,
    key: KeyFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it only say what would be.")] = False,
    as_json: AsJson = False,
) -> None:
    """Close a chain for good, and delete what the ledger remembers of it for later checks.

    Entries, history and certificates stay. What is lost by it is said; it cannot be brought back. Without
    --yes nothing is deleted, and the exit code is 2.

    Example:  sfumato ledger retire survey-2019 --yes
    """
    from sfumato.core.errors import WrongCall
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.retirement import LOST_BY_IT
    from sfumato.releases.ledger.retirement import retire as retire_

    if not yes:
        raise WrongCall(
            f"retiring a chain cannot be undone: {'; '.join(LOST_BY_IT)}", remedy="Say --yes to do it."
        )
    tell(retire_(Ledger(url, key=key), chain), as_json=as_json)


def anchor(url: LedgerUrl = DEFAULT, out: NewFile = None) -> None:
    """Print where the ledger ends, signed, to be kept elsewhere. Only reads; needs no private key.

    With an anchor, `verify`, `missing` and `restore` notice a ledger that was put back to an earlier day.

    Example:  sfumato ledger anchor -o anchor-2026-11.json
    """
    from sfumato.releases import certificate
    from sfumato.releases.ledger.anchors import anchor as anchor_
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.output_file import write_new

    made = anchor_(Ledger(url, readonly=True)).as_dict()
    if out is None:
        document(made)
        return
    write_new(out, certificate.as_bytes(made))
    talk(f"wrote {out}; keep it away from the ledger")


def missing(
    url: LedgerUrl = DEFAULT,
    certificate: Certificates = None,
    anchor: Anchors = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The key beside which the last entry seen was noted."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which entries a ledger, or a backup of one, lacks of those that are known from elsewhere.

    Only reads. Known are those of certificates, of anchors, and the last one noted beside the key. Exits 1 if
    something is missing.

    Example:  sfumato ledger missing --ledger sqlite:///backup.db --certificate 2026-11/certificate.json
    """
    from sfumato.releases.download import certificate_at
    from sfumato.releases.ledger.anchors import read_anchor
    from sfumato.releases.ledger.backup import missing_in
    from sfumato.releases.ledger.ledger import Ledger

    opened = Ledger(url, readonly=True)
    found = missing_in(
        opened,
        key or opened.key_path,
        certificates=[certificate_at(place) for place in certificate or []],
        anchors=[read_anchor(path) for path in anchor or []],
    )
    if as_json:
        document(found.as_dict())
    else:
        say(found.card())
    raise typer.Exit(1 if found else 0)


def reading_key(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="A new file for it.")],
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
    talk(f"wrote {out}; whoever has it can open what the ledger keeps")


def keys(url: LedgerUrl = DEFAULT) -> None:
    """Print every public key that the ledger had, with the entries each of them signed. Only reads.

    Readers who have this file can check certificates of any time (`sfumato certificate verify --key`).

    Example:  sfumato ledger keys > publisher.pub
    """
    from sfumato.releases.ledger.keys import as_text
    from sfumato.releases.ledger.ledger import Ledger

    say(as_text(Ledger(url, readonly=True).dated_keys).rstrip("\n"))
