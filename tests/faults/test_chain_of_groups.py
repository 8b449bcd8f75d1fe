"""A chain of groups goes on after everything that may happen to a release: its base is there, and is one."""

import pytest

from sfumato.releases.staging import STEPS

pytestmark = pytest.mark.slow
SCRIPT = "groups_stage.py"


def test_killed_at_every_step(stage):
    told = stage("steps", script=SCRIPT)
    assert told == {step: int(i >= STEPS.index("committed")) for i, step in enumerate(STEPS)}


def test_no_room_for_the_base(stage):
    told = stage("small_files", script=SCRIPT)
    assert set(told.values()) == {0, 3}


def test_writers_at_once(stage, times):
    rounds = times(1, 5)
    assert stage("writers", rounds, script=SCRIPT) == 1 + 4 * rounds


@pytest.mark.usefixtures("cluster")
def test_a_ledger_in_postgresql(stage, cluster):
    url = cluster.database("groups")
    assert stage("writers", 1, script=SCRIPT, url=url) == 5
