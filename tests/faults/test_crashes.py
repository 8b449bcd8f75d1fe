"""A release is in the ledger and complete, or in neither, whenever the process dies."""

from __future__ import annotations

import errno
import itertools
import os

import pytest

from faults.made_up import CANARY, check_all, release, visible
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.staging import STEPS
from sfumato.system.errors import SfumatoError

pytestmark = pytest.mark.slow

COMMIT = STEPS.index("committed")


def test_killed_at_every_step(stage, tmp_path):
    told = stage("steps")
    assert told == {step: int(i >= COMMIT) for i, step in enumerate(STEPS)}
    left = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert left == [], "what only the judge may see is gone"


def test_a_release_in_three_versions_is_there_in_all_or_in_none(stage, tmp_path):
    told = stage("versions")
    late = STEPS[COMMIT:]
    assert told == {passed: 3 * (passed.split()[0] in late) for passed in told}
    assert {passed.split()[0] for passed in told} == set(STEPS)
    assert len(told) == len(STEPS) + 6
    left = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert left == [], "what only the judge may see is gone"


def test_killed_at_random_moments(stage, times):
    count = times(10, 100)
    told = stage("moments", count)
    assert told["killed"] == count
    assert told["of these published"] < count


def test_interrupted_at_every_step(stage):
    told = stage("signals")
    entered = STEPS.index("entered")
    assert told == {
        f"{name} {step}": int(i >= entered) for name in ("SIGINT", "SIGTERM") for i, step in enumerate(STEPS)
    }


CALLS = ("fsync", "rename", "replace", "link", "mkdir", "chmod", "open", "unlink")


@pytest.mark.parametrize("call", CALLS)
def test_every_call_to_the_system_may_fail(tmp_path, monkeypatch, call):
    """Fail the first, the second, ... until a release comes through untouched; look at it all each time."""
    url, out = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "out"
    out.mkdir()
    real, codes = getattr(os, call), []
    Ledger(url).close()
    for number in itertools.count(1):
        before, calls = len(visible(out)), itertools.count(1)

        def failing(*arguments, _calls=calls, _number=number, **options):
            if next(_calls) == _number:
                raise OSError(errno.EIO, "made up")
            return real(*arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing)
            try:
                release(Ledger(url), out / f"r{number}")
                codes.append(0)
            except (SfumatoError, OSError) as error:
                codes.append(getattr(error, "exit_code", 3))
        assert check_all(url, None, out) >= before + (codes[-1] == 0)
        if next(calls) <= number:
            break
    assert codes[-1] == 0
    assert number < 60
