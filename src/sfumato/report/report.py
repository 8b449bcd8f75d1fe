"""Reports: a page for a data protection officer, as HTML and as PDF."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from sfumato.core.errors import WrongCall
from sfumato.show.pdf import check_pdf, pdf_of
from sfumato.system.disk import NO_LINK, to_disk

Audience = Literal["internal", "public"]
Criteria = Literal["iso27559", "wp29"]


@dataclass(frozen=True)
class Report:
    """A finished report. `html` is the whole page; it loads nothing, and runs no script.

    An internal one holds figures of the original table and is for its owner: its files can be read by nobody
    else. A public one holds what the published table shows.
    """

    html: str
    audience: Audience
    subject: str
    fingerprint: str

    def pdf(self) -> bytes:
        """Returns the report as PDF; raises `WrongCall` where that cannot be made on this machine."""
        return pdf_of(self.html)

    def save(self, path: str | Path, *, overwrite: bool = False) -> tuple[Path, ...]:
        """Writes the report; returns the files.

        The ending says what is written: `.html`, `.pdf`, or both where there is none of these.
        """
        target = Path(path)
        if target.suffix in (".html", ".pdf"):
            wanted = [target]
        else:
            wanted = [target.with_name(f"{target.name}.html"), target.with_name(f"{target.name}.pdf")]
        for file in wanted:
            _check(file, overwrite=overwrite)
        if any(file.suffix == ".pdf" for file in wanted):
            check_pdf()
        contents = [self.pdf() if file.suffix == ".pdf" else self.html.encode() for file in wanted]
        for file, content in zip(wanted, contents, strict=True):
            self._write(file, content)
        return tuple(wanted)

    def _write(self, file: Path, content: bytes) -> None:
        """Writes one file aside, and names it when it is whole."""
        staged = file.with_name(f".{file.name}.{secrets.token_hex(4)}.staged")
        mode = 0o600 if self.audience == "internal" else 0o666
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            staged.replace(file)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise
        to_disk(file.parent)

    def _repr_html_(self) -> str:
        """Returns the page in a frame of its own, so that its style and a notebook's stay apart."""
        style = "width:100%;height:50rem;border:0"
        return f'<iframe sandbox srcdoc="{escape(self.html)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"Report({self.audience}, {self.fingerprint[:16]})"


def _check(file: Path, *, overwrite: bool) -> None:
    """Raises for a file that could not be written."""
    if not file.parent.is_dir():
        raise WrongCall("the folder of the report does not exist", remedy="Make it first.")
    if file.is_dir():
        raise WrongCall("the report would replace a folder", remedy="Name a file.")
    if os.path.lexists(file) and not overwrite:
        raise WrongCall(
            "the report exists already", where=file.name, remedy="Say --overwrite, or name another."
        )
