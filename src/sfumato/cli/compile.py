"""`sfumato compile`: machine code for everything, before anybody waits for it."""
# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson
from sfumato.cli.terminal import document, say, talk


def compile_(
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, metavar="N", help="So many processes; by default one per processor."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile all loops for this machine, so that no first call has to wait.

    For containers, CI, and after numba or a loop was changed; a wheel brings its machine code along. What
    is compiled already is left as it is. All of it takes a minute or two of one processor.

    Example:  sfumato compile
    """
    from sfumato.kernels.prebuilt import build, can_write_package

    into_package = can_write_package()
    ready = compiled = 0
    failed: list[str] = []
    for one in build(jobs=jobs, into_package=into_package):
        ready, compiled = ready + one.ready, compiled + one.compiled
        failed.extend(one.failed)
        if one.compiled:
            talk(f"compiled {one.module}")
    where = "in the package" if into_package else "in numba's cache"
    if as_json:
        document({"ready": ready, "compiled": compiled, "failed": failed, "kept": where})
    else:
        say(f"{ready} functions are ready {where}, {compiled} of them compiled now.")
    for name in failed:
        talk(f"{name} is compiled at its first call: its recorded signature no longer fits")
