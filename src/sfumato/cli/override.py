"""`sfumato override`: a second person lets a recipient have a smaller k."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, PolicyFile
from sfumato.cli.terminal import document, talk


def override(
    policy: PolicyFile,
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="The recipient.")],
    k: Annotated[int, typer.Option("--k", min=1, help="The smaller k that they may have.")],
    reason: Annotated[str, typer.Option("--reason", help="Why they may have it.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who takes the responsibility.")],
    until: Annotated[
        str, typer.Option("--until", metavar="DAY", help="The last day it holds, such as 2026-12-31.")
    ],
    key: Annotated[
        Path,
        typer.Option("--key", metavar="FILE", help="Your own signing key; made if it is not there yet."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; it must not exist yet.")
    ],
    chain: Annotated[str, typer.Option("--chain", help="The series of releases it is for.")] = "main",
    as_json: AsJson = False,
) -> None:
    """Sign that one recipient may have a smaller k than the policy promises.

    The policy lists the public keys of those who may sign, under recipients.overriders; the ledger's own key
    will not do. Whoever releases names the file with --override, and the ledger records it.

    Example:  sfumato override -p policy.yaml --to rescue --k 2 --reason flood --by "A. Berg"
    --until 2026-12-31 --key berg.key -o rescue.json
    """
    from sfumato.journey.override import sign_override

    signed = sign_override(
        policy, to=to, k=k, reason=reason, by=by, until=until, key=key, out=out, chain=chain
    )
    if as_json:
        document(signed.override.as_dict())
    unlisted = f"; the policy does not list the key {signed.override.public_key} yet"
    talk(f"wrote {out}{'' if signed.is_listed else unlisted}")
