"""From a table to three recipients, from one of them to the street, and back: release, leak, trace."""

from __future__ import annotations

import csv
import json

import pytest

from sfumato import demo

pytestmark = pytest.mark.slow

NAMES = ("registry", "university", "insurer")


@pytest.fixture(scope="module")
def handed(tmp_path_factory):
    """A hospital, and a folder where its versions will be."""
    folder = tmp_path_factory.mktemp("handed")
    demo.write(folder, 600)
    policy = folder / "policy.yaml"
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text + "recipients: {tolerance: 20%}\n", encoding="utf-8")
    return folder


@pytest.fixture
def released(handed, sfumato):
    """Released once; whoever comes first does it."""
    url = f"sqlite:///{handed}/ledger.db"
    if not (handed / "out").exists():
        to = [word for name in NAMES for word in ("--to", name)]
        data, policy = handed / "hospital.csv", handed / "policy.yaml"
        said = sfumato("release", data, "-p", policy, *to, "--into", handed / "out", "--ledger", url)
        assert said.code == 0, said.err
    return url


def rows(handed, name):
    with (handed / "out" / name / "data.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", NAMES)
def test_a_leak_names_its_source(handed, released, sfumato, tmp_path, name):
    leak = tmp_path / "leak.jsonl"
    leak.write_text("\n".join(json.dumps(row) for row in rows(handed, name)[::7][::-1]), encoding="utf-8")
    found = sfumato("trace", leak, "--ledger", released, "--json").document
    assert found["ours"]
    assert found["rows"]["ours"] == found["rows"]["all"]
    assert found["alone"] == [name] and found["suspects"][0]["recipient"] == name
    assert found["by"] == "patterns" and found["charged"] == [] and found["groups"] >= len(NAMES)
    patterns = found["groups"] - len(NAMES) + 1
    share = f"{len(NAMES)}/{patterns + 1}"
    charged = sfumato("trace", leak, "--ledger", released, "--json", "--error", share).document["charged"]
    assert charged in ([], [name])
    assert found["suspects"][0]["tail"] == pytest.approx(1 / patterns)


def test_a_mixture_of_two_fits_these_two_best(handed, released, sfumato, tmp_path):
    leak = tmp_path / "leak.csv"
    with leak.open("w", encoding="utf-8", newline="") as file:
        mixed = rows(handed, "registry")[:80] + rows(handed, "insurer")[:80]
        writer = csv.DictWriter(file, list(mixed[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(mixed)
    found = sfumato("trace", leak, "--ledger", released, "--json").document
    assert found["alone"] == []
    assert {suspect["recipient"] for suspect in found["suspects"][:2]} == {"registry", "insurer"}


def test_the_original_is_nobodys_version(handed, released, sfumato):
    said = sfumato("trace", handed / "hospital.csv", "--ledger", released)
    assert said.code == 0
    assert said.out.startswith("not ours")


def test_tracing_leaves_the_ledger_as_it_was(released, sfumato):
    assert sfumato("ledger", "verify", "--ledger", released).code == 0
    listed = sfumato("history", "--ledger", released, "--json").document["releases"]
    assert {release["recipient"] for release in listed} == set(NAMES)
