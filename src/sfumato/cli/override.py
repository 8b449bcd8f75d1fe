"""`sfumato override`: a second person lets a recipient have a smaller k."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, PolicyFile
from sfumato.cli.terminal import document, talk


def override(
    policy: PolicyFile,
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="The recipient.")],
    k: Annotated[int, typer.Option("--k", min=1, help="The k that is enough for them.")],
    reason: Annotated[str, typer.Option("--reason", help="Why.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who takes the responsibility.")],
    until: Annotated[str, typer.Option("--until", metavar="DAY", help="The last day, such as 2026-12-31.")],
    key: Annotated[
        Path,
        typer.Option("--key", metavar="FILE", help="Your own signing key; made if it is not there yet."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="A new file.")],
    chain: Annotated[str, typer.Option("--chain", help="The series of releases it is for.")] = "main",
    as_json: AsJson = False,
) -> None:
    """Sign that one recipient may have a smaller k than the policy promises.

    The policy lists the public keys of those who may, under recipients.overriders; the key must not be that
    of the ledger. Whoever releases names the file with --override; it is recorded.

    Example:  sfumato override -p policy.yaml --to rescue --k 2 --reason flood --by "A. Berg"
    --until 2026-12-31 --key berg.key -o rescue.json
    """
    from sfumato.core.errors import WrongCall
    from sfumato.policy.policy import Policy
    from sfumato.releases.ledger.keys import Key
    from sfumato.releases.override import Override

    if out.exists():
        raise WrongCall("the output exists already", where=out.name, remedy="Name another file.")
    meant = Policy.load(policy)
    said = Override(meant.digest, chain, to, k, reason, by, until)
    signer = Key.load(key) if key.exists() else Key.make(key)
    signed = said.sign(signer)
    out.write_bytes(signed.as_bytes())
    if as_json:
        document(signed.as_dict())
    listed = meant.recipients is not None and signer.public in meant.recipients.overriders
    talk(f"wrote {out}" if listed else f"wrote {out}; the policy does not list the key {signer.public} yet")
