"""Pages as PDF, by WeasyPrint: the same HTML, laid out for paper, with nothing fetched from anywhere."""

from __future__ import annotations

from typing import Any, NoReturn

from sfumato.core.errors import WrongCall

NEEDED = "python -m pip install 'sfumato[report]'"
LIBRARIES = "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
"""What WeasyPrint needs of a Debian or Ubuntu system; docs/report.md says it for others."""


def pdf_of(html: str) -> bytes:
    """Returns the page as PDF; raises `WrongCall` where WeasyPrint, or Pango below it, is not installed."""
    weasyprint = _weasyprint()
    document: bytes = weasyprint.HTML(string=html, url_fetcher=_fetch_nothing).write_pdf()
    return document


def check_pdf() -> None:
    """Raises `WrongCall` where no PDF can be made on this machine."""
    _weasyprint()


def _weasyprint() -> Any:  # an optional package: there is no type to name where it is absent
    try:
        import weasyprint  # noqa: PLC0415  # optional, and heavy
    except ImportError:
        raise WrongCall(
            "a PDF needs one more package: WeasyPrint",
            remedy=f"Install it: {NEEDED}. Or leave the PDF out, and print the HTML from a browser.",
        ) from None
    except OSError:  # the package is there, a library of the system is not
        raise WrongCall(
            "a PDF needs Pango, a library of the system that WeasyPrint sets text with",
            remedy=f"On Debian and Ubuntu: {LIBRARIES}. Or leave the PDF out.",
        ) from None
    return weasyprint


def _fetch_nothing(*_: object, **__: object) -> NoReturn:
    raise ValueError("a report fetches nothing")
