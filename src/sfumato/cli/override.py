"""`sfumato override`: a second person allows a smaller k, or a policy that promises less."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.completion import complete_chain, complete_recipient
from sfumato.cli.options import AsJson, PolicyFile
from sfumato.cli.terminal import document, talk


def override(
    policy: PolicyFile,
    reason: Annotated[str, typer.Option("--reason", help="Why it is allowed.")],
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
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="NAME", help="The recipient.", autocompletion=complete_recipient),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="The smaller k that they may have.")] = None,
    weaker: Annotated[
        bool,
        typer.Option(
            "--weaker", help="In place of --to and --k: the policy may promise less than the first."
        ),
    ] = False,
    chain: Annotated[
        str,
        typer.Option("--chain", help="The series of releases it is for.", autocompletion=complete_chain),
    ] = "main",
    as_json: AsJson = False,
) -> None:
    """Sign that one recipient may have a smaller k than the policy promises.

    The policy lists the public keys of those who may sign, under recipients.overriders; the ledger's own key
    will not do. Whoever releases names the file with --override, and the ledger records it.

    With --weaker: sign that the chain may go on by this policy, although it promises less than the policy of
    its first release, which lists those who may sign.

    Example:  sfumato override -p policy.yaml --to rescue --k 2 --reason flood --by "A. Berg"
    --until 2026-12-31 --key berg.key -o rescue.json
    """
    from sfumato.core.errors import WrongCall
    from sfumato.journey.override import sign_override, sign_weaker

    if weaker and to is None and k is None:
        signed = sign_weaker(policy, reason=reason, by=by, until=until, key=key, out=out, chain=chain)
        unlisted = f"; it counts if the first policy of the chain lists the key {signed.override.public_key}"
    elif not weaker and to is not None and k is not None:
        signed = sign_override(
            policy, to=to, k=k, reason=reason, by=by, until=until, key=key, out=out, chain=chain
        )
        unlisted = (
            f"; the policy does not list the key {signed.override.public_key} yet. Add it under"
            " recipients.overriders, then sign again: this file is for the policy as it is now"
        )
    else:
        raise WrongCall(
            "an override is for a recipient with a smaller k, or for a weaker policy",
            remedy="Name --to and --k, or --weaker alone.",
        )
    if as_json:
        document(signed.override.as_dict())
    talk(f"wrote {out}{'' if signed.is_listed and not weaker else unlisted}")
