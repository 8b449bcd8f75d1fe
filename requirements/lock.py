"""Writes the versions that development and CI use, and hashes of their files; no index is named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ASK = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", ".[dev]"]
VERSIONS = "# Versions for every Python: pip install -c requirements/versions.txt -e '.[dev]'\n"
HASHES = (
    "# The same for Python 3.11 on Linux (x86_64), each file by its hash:\n"
    "# pip install --require-hashes -r requirements/python311.txt\n"
)


def main() -> None:
    """Ask for the newest versions that fit together, and write both files."""
    told = subprocess.run(  # noqa: S603  # the words stand above
        [sys.executable, "-m", "pip", *ASK], cwd=HERE.parent, capture_output=True, check=True
    )
    chosen = sorted(filter(None, map(_line, json.loads(told.stdout)["install"])))
    versions = "".join(f"{name}=={version}\n" for name, version, _ in chosen)
    hashes = "".join(f"{name}=={version} \\\n    --hash=sha256:{code}\n" for name, version, code in chosen)
    (HERE / "versions.txt").write_text(VERSIONS + versions, encoding="utf-8")
    (HERE / "python311.txt").write_text(HASHES + hashes, encoding="utf-8")


def _line(package: dict) -> tuple[str, str, str] | None:
    name = re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()
    if name == "sfumato":
        return None
    return name, package["metadata"]["version"], package["download_info"]["archive_info"]["hashes"]["sha256"]


if __name__ == "__main__":
    main()
