"""What a wheel holds beside the source: the pages of the guide, and machine code.

Pages are what `sfumato help` shows. Every kernel is compiled while the package is built.

A wheel gets code that runs on any processor of its kind, an editable installation code for this very machine.
Where that fails, or SFUMATO_WITHOUT_MACHINE_CODE is set, the package has none and compiles when called.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GUIDE = ("tutorials", "how-to", "reference", "explanation", "limitations.md")
PREBUILT = "src/sfumato/kernels/prebuilt"
SECONDS = 1800


class PackageHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's own parameter
    """Adds the guide to a wheel, compiles the kernels, and adds their machine code."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable":
            docs = Path(self.root, "docs")
            for page in sorted(docs.rglob("*.md")):
                place = page.relative_to(docs).as_posix()
                if place.startswith(GUIDE):
                    build_data["force_include"][str(page)] = f"sfumato/cli/guide_pages/{place}"
        if self.target_name != "wheel" or os.environ.get("SFUMATO_WITHOUT_MACHINE_CODE"):
            return
        source = Path(self.root, "src")
        path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-P", "-m", "sfumato.kernels.prebuilt"]
        if version != "editable":
            for old in Path(self.root, PREBUILT).glob("*.nb[ic]"):
                old.unlink()  # code for this very processor does not belong into a wheel
            command.append("--portable")
        try:
            environment = {**os.environ, "PYTHONPATH": path}
            subprocess.run(command, check=True, env=environment, timeout=SECONDS)  # noqa: S603  # this Python
        except (OSError, subprocess.SubprocessError) as error:
            self.app.display_warning(f"no machine code: {type(error).__name__}; it is made at the first call")
            return
        if version != "editable":
            build_data["artifacts"].append(f"{PREBUILT}/*.nb?")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
