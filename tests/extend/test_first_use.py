"""What is loaded when it is first asked for is there as a whole, also where several threads ask at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

THREADS = 20
AT_ONCE = """
import sys
from threading import Barrier, Thread
from time import sleep

{before}
sys.setswitchinterval(1e-5)
together, troubles = Barrier({threads}), []


def ask(number):
    together.wait()
    sleep(number // 2 / 500)  # two at once, the next two while they load
    try:
        {asked}
    except BaseException as trouble:
        troubles.append(repr(trouble))


threads = [Thread(target=ask, args=(number,)) for number in range({threads})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("; ".join(troubles[:3]) or None)
"""

PROMISE = ("from sfumato.models.registry import make", 'make("k-anonymity", {"k": 3})')
SECOND_JUDGE = (
    "from sfumato.verify.policy_data import PromiseData\nfrom sfumato.verify.registry import judge_of",
    'judge_of(PromiseData({"promise": "t-closeness", "sentence": ""}))',
)
ATTACK = ("from sfumato.models.attack_contract import known", 'assert "skewness" in known()')


@pytest.mark.parametrize(
    ("before", "asked"), [PROMISE, SECOND_JUDGE, ATTACK], ids=["promise", "second judge", "attack"]
)
def test_a_registry_is_full_for_every_thread_that_asks_first(before, asked):
    text = AT_ONCE.format(before=before, asked=asked, threads=THREADS)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
