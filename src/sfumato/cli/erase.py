"""`sfumato erase`: take people out of what the ledger keeps."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.completion import complete_policy
from sfumato.cli.options import AsJson, Chain, KeyFile, LedgerUrl
from sfumato.cli.terminal import tell
from sfumato.core.errors import BadData, WrongCall

STANDARD_INPUT = "-"


def erase(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="The table, their rows still in it; needed where batches tell."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", "-p", metavar="POLICY", help="Its policy file.", autocompletion=complete_policy
        ),
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option("--person", metavar="KEY", help="The key of somebody; may be repeated."),
    ] = None,
    person_file: Annotated[
        str | None,
        typer.Option(
            "--person-file", metavar="FILE", help="Keys, one in a line; - reads standard input instead."
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", help="The column of keys, where the policy does not say it."
        ),
    ] = None,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    chain: Chain = "main",
    key: KeyFile = None,
    yes: Annotated[bool, typer.Option("--yes", help="Erase; without it nothing is done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take people out of everything that the ledger keeps, and say what is left to delete.

    Marks of theirs go from all entries and all chains. What was published stays published, and later releases
    are held against it as it is. The ledger stays whole: a sealed entry says that people were erased, and
    names nobody. It cannot be undone; without --yes nothing is done, and the exit code is 2. A key given with
    --person may stay in the history of the shell: --person-file avoids that.

    Example:  sfumato erase people.csv -p policy.yaml --person-file - --yes
    """
    from sfumato.journey.erase import erase as erase_

    people = [*(person or []), *_keys_in(person_file)]
    if not yes:
        raise WrongCall(
            "an erasure cannot be undone: marks are deleted, and who was erased is not known again",
            remedy="Say --yes to do it.",
        )
    found = erase_(people, ledger=ledger, data=data, policy=policy, column=column, chain=chain, key=key)
    tell(found, as_json=as_json)


def _keys_in(file: str | None) -> list[str]:
    """Returns the keys in a file or in standard input, one in a line; empty lines are left out."""
    from sfumato.system.disk import LARGEST_LIST, read_document

    if file is None:
        return []
    try:
        content = (
            _standard_input() if file == STANDARD_INPUT else read_document(Path(file), most=LARGEST_LIST)
        )
        lines = content.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise BadData(f"the keys cannot be read ({error.strerror})", where="--person-file") from None
    except UnicodeDecodeError:
        raise BadData("the keys are not written in UTF-8", where="--person-file") from None
    return [line for line in lines if line]


def _standard_input() -> bytes:
    from sfumato.system.disk import LARGEST_LIST

    content = sys.stdin.buffer.read(LARGEST_LIST + 1)
    if len(content) > LARGEST_LIST:
        raise BadData(f"there are more than {LARGEST_LIST} bytes of keys", where="--person-file")
    return content
