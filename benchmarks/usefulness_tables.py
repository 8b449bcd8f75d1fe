"""Tables about people that ship inside packages, and what each of their columns is, fixed by hand."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pandas as pd
from ruamel.yaml import YAML

LABELS = Path(__file__).with_name("usefulness_labels.yaml")
ROLES = {"identifier": "identifier", "quasi": "quasi", "sensitive": "sensitive", "neither": "insensitive"}


@dataclass(frozen=True)
class LabelledTable:
    """A table in a package: where it is, what its columns are, what is to be told from what."""

    name: str
    words: Mapping[str, Any]

    @property
    def roles(self) -> dict[str, str]:
        """The role of every column, in the words of a policy."""
        return {column: role for key, role in ROLES.items() for column in self.words.get(key, [])}

    @property
    def model(self) -> str | None:
        return cast("str | None", self.words.get("model"))

    @property
    def regression(self) -> list[str] | None:
        return cast("list[str] | None", self.words.get("regression"))

    def read(self, packages: Path) -> pd.DataFrame | None:
        """Returns the table, every cell as the package has it; nothing where the package is not there."""
        path = packages / self.words["file"]
        if not path.is_file():
            return None
        frame = self._read(path)
        if "index" in self.words:
            frame = frame.rename(columns={frame.columns[0]: self.words["index"]})
        unlabelled = set(frame.columns) ^ set(self.roles)
        if unlabelled:
            raise ValueError(f"{self.name}: labels and columns differ: {sorted(unlabelled)}")
        return frame

    def _read(self, path: Path) -> pd.DataFrame:
        if path.suffix == ".dta":
            return pd.read_stata(path)
        if path.suffix == ".arff":
            return _read_arff(path)
        if "member" in self.words:
            with tarfile.open(path) as archive:
                member = archive.extractfile(self.words["member"])
                assert member is not None
                return pd.read_csv(member)
        names = self.words.get("names")
        frame = pd.read_csv(
            path,
            sep=self.words.get("separator", ","),
            names=names,
            header=None if names else "infer",
            skipinitialspace=True,
        )
        return frame.rename(columns=lambda name: str(name).strip().strip("'"))


def labelled_tables() -> Iterator[LabelledTable]:
    """Yields every table of the labels file."""
    words = YAML(typ="safe").load(LABELS.read_text(encoding="utf-8"))
    for name, about in words.items():
        yield LabelledTable(name, about)


def _read_arff(path: Path) -> pd.DataFrame:
    """Returns a table in the form of Weka: `@attribute` lines, then comma-separated rows; `?` is missing."""
    head, _, body = path.read_text(encoding="utf-8").partition("@data")
    names = [
        line.split()[1].strip("'\"") for line in head.splitlines() if line.lower().startswith("@attribute")
    ]
    return pd.read_csv(
        StringIO(body.strip()), names=names, na_values="?", quotechar="'", skipinitialspace=True
    )
