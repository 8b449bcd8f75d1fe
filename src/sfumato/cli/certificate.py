"""`sfumato certificate`: is this what was published?"""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.interruptions import carry_interruptions
from sfumato.cli.options import AsJson, PublicKey
from sfumato.cli.terminal import document, say

certificate = typer.Typer(help="Check the certificate of a release.", rich_markup_mode=None)


@certificate.callback()
def _certificate() -> None:
    """Check the certificate of a release."""


@certificate.command()
@carry_interruptions
def verify(
    file: Annotated[str, typer.Argument(metavar="CERTIFICATE", help="certificate.json of a release.")],
    key: PublicKey = None,
    withdrawal: Annotated[
        list[Path] | None,
        typer.Option("--withdrawal", metavar="FILE", help="A notice of withdrawal; may be repeated."),
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
    from sfumato.releases.download import local_copy
    from sfumato.releases.ledger.keys import public_keys

    keys, notices = None if key is None else public_keys(key), list(map(read_notice, withdrawal or []))
    with local_copy(file, whole=False) as path:
        examination = examine(path, key=keys, notices=notices)
    if as_json:
        document(examination.as_dict())
    else:
        say(examination.card())
    raise typer.Exit(0 if examination.holds is True else 1)
