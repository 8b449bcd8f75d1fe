"""Pictures of pages: the sessions and programs of a page draw them, and what they show is compared.

A page at `docs/…/NAME.md` shows pictures from `pictures/NAME/` beside it. Its own commands draw files of the
same names. Two drawings are the same if they say the same: every text and every figure of every mark,
whatever the version of the library that drew them.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from guide.sessions import blocks, run, session

ROOT = Path(__file__).parent.parent
SHOWN = re.compile(r"!\[[^\]]*\]\((pictures/[\w-]+/[\w-]+\.svg)\)")
SAID = re.compile(r'aria-label="([^"]*)"|<text[^>]*>([^<]*)<')


def shown(page: Path) -> list[Path]:
    """Returns the pictures that a page shows."""
    return [page.parent / name for name in SHOWN.findall(page.read_text(encoding="utf-8"))]


def said(picture: str) -> list[str]:
    """Returns every text of a drawing, in order.

    >>> said('<svg><text x="1">born</text><path aria-label="share: 0.5"/></svg>')
    ['born', 'share: 0.5']
    """
    return [label or text for label, text in SAID.findall(picture)]


def drawn(picture: Path, folder: Path) -> Path | None:
    """Returns the drawing of this name that was made anywhere below a folder; `None` where there is none."""
    return next(iter(sorted(folder.rglob(picture.name))), None)


def draw(page: Path, folder: Path) -> None:
    """Runs what a page runs, in a folder."""
    text = page.read_text(encoding="utf-8")
    for typed in session(text):
        run(typed, folder, programs=Path(sys.executable).parent)
    program = "\n".join(block for kind, block in blocks(text) if kind == "python" and ">>>" not in block)
    if program:
        (folder / "program.py").write_text(program, encoding="utf-8")
        run_program = f"{sys.executable} program.py"
        run(session(f"```console\n$ {run_program}\n```\n")[0], folder, programs=Path(sys.executable).parent)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the pictures of pages anew: `python -m guide.pictures [PAGE …]`."""
    chosen = [Path(name) for name in (sys.argv[1:] if arguments is None else arguments)]
    for page in chosen or [path for path in sorted((ROOT / "docs").rglob("*.md")) if shown(path)]:
        with tempfile.TemporaryDirectory(prefix="sfumato-pictures-") as folder:
            draw(page, Path(folder))
            for picture in shown(page):
                made = drawn(picture, Path(folder))
                if made is None:
                    print(f"{page.name} shows {picture.name}, and nothing in it draws that")
                    return 1
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_text(made.read_text(encoding="utf-8"), encoding="utf-8")
                print(f"drew {picture.relative_to(ROOT) if picture.is_relative_to(ROOT) else picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
