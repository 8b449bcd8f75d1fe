"""Make the parts of the guide that come from the code: `python -m guide [--check]`.

Without an option every marked block of the pages below `docs` is written anew. `--check` writes nothing,
names the pages that are not what the code says, and exits 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from guide.blocks import ROOT, filled, pages


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m guide", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say which pages are stale")
    check = parser.parse_args(arguments).check
    stale = []
    for path in pages():
        before = path.read_text(encoding="utf-8")
        after = filled(before)
        if after == before:
            continue
        stale.append(path)
        print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(after, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
