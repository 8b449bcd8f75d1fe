"""`sfumato studio`: the same verbs as pages in a browser."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import argument, option
from sfumato.cli.terminal import print_note, print_result
from sfumato.system.errors import UsageError


def studio(
    folder: Annotated[Path, argument("FOLDER", "The folder with the tables and the policy.")] = Path(),
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; by default a free one.")
    ] = 0,
    browser: Annotated[
        bool, option("--browser/--no-browser", "Open the browser, or print the address alone.")
    ] = True,
) -> None:
    """Work in the browser: from a file to a safe release, page by page.

    Only this computer can open it, by the address that is printed, once. Nothing is sent anywhere.

    Example:  sfumato studio demo-out
    """
    try:
        from sfumato.studio.app import run
    except ImportError as missing:
        if (missing.name or "").startswith("sfumato"):
            raise
        raise UsageError(
            f"the studio needs the library {missing.name}, which is not installed",
            remedy="Run `pip install 'sfumato[studio]'`.",
        ) from None

    def tell(address: str) -> None:
        print_note("the studio is open on this computer alone; Ctrl-C ends it.")
        print_note(f"{'If no browser shows it, this' if browser else 'This'} address opens it, once:")
        print_result(address)

    run(folder, port=port, browser=browser, tell=tell, warn=print_note)
    with suppress(OSError):  # the terminal may have been closed
        print_note("the studio is closed, and what was dropped into it is wiped")
