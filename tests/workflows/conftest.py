"""A small made-up hospital in a folder, and the program `sfumato` at hand."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from quick_demo import write_quick_demo
from sfumato.cli.main import run


@dataclass(frozen=True)
class Said:
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


@pytest.fixture
def sfumato(capsys):
    """Run the program in this process."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return call


@pytest.fixture(scope="session")
def hospital(tmp_path_factory):
    """hospital.csv, policy.yaml and the hierarchies of 1,500 patients; not to be written to."""
    folder = tmp_path_factory.mktemp("hospital")
    write_quick_demo(folder, 1500)
    return folder


@pytest.fixture
def clinic(tmp_path):
    """A table of twelve and its policy, small enough to break in many ways."""

    def make(table=None, **changes):
        lines = ["name,zip,disease"]
        lines += [f"N{i},0{1 + i % 2}{i % 3},{'flu' if i % 4 else 'cough'}" for i in range(12)]
        policy = {
            "columns": {
                "name": {"role": "identifier"},
                "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
                "disease": {"role": "sensitive"},
            },
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": {"disease": True},
        }
        policy.update(changes)
        (tmp_path / "data.csv").write_text(table or "\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
        return tmp_path

    return make
