"""A process that makes releases in further processes, and harms them.

`python stage.py SCENARIO FOLDER URL KEY COUNT` prints one JSON document.
It never opens a table itself, so that forking it is safe.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from multiprocessing import get_context
from pathlib import Path

import duckdb  # noqa: F401  # children that lost their rights may not be able to

from faults.made_up import NAMES, check_all, check_visible, one_side, release, release_to_three, visible
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.staging import STEPS
from sfumato.system.errors import LedgerConflict, RefusedByHistory, SfumatoError

WRONG = 99


class Stage:
    """Where the ledger is, and where releases go."""

    def __init__(self, folder, url, key):
        self.folder, self.url, self.key = Path(folder), url, key
        self.number = 0

    def ledger(self, **options):
        return Ledger(self.url, key=self.key, **options)

    def next(self):
        self.number += 1
        return self.folder / f"r{self.number:04d}"

    def check(self):
        return check_all(self.url, self.key, self.folder)


def child(work):
    """Run `work` in a process of its own; its id."""
    pid = os.fork()
    if pid:
        return pid
    code = WRONG
    try:
        code = work() or 0
    except SfumatoError as error:
        code = error.exit_code
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    except KeyboardInterrupt:
        code = 130
    except OSError:
        code = 3
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(pid):
    """How the process ended: its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def harm(step, number):
    def at(passed):
        if passed == step:
            os.kill(os.getpid(), number)

    return at


def steps(stage, _):
    """kill -9 at every named step."""
    before, told = stage.check(), {}
    for step in STEPS:
        target = stage.next()
        code = ended(
            child(lambda t=target, s=step: release(stage.ledger(), t, at=harm(s, signal.SIGKILL)) and None)
        )
        assert code == -signal.SIGKILL, (step, code)
        after = stage.check()
        assert target.exists() == (after > before)
        told[step], before = after - before, after
    return told


def versions(stage, _):
    """kill -9 at every named step of a release in three versions, at each time that it is passed."""
    before, told = stage.check(), {}
    for step in STEPS:
        each = len(NAMES) if step in ("written", "judged", "compared") else 1
        for time_ in range(each):
            target = stage.next()
            code = ended(child(lambda t=target, s=step, n=time_: _version_killed(stage, t, s, n)))
            assert code == -signal.SIGKILL, (step, time_, code)
            after = stage.check()
            assert target.exists() == (after > before)
            told[f"{step} {time_ + 1}"], before = after - before, after
    return told


def _version_killed(stage, target, step, passed):
    left = [passed]

    def at(here):
        if here == step:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    release_to_three(stage.ledger(), target, at=at)


def signals(stage, _):
    """Ctrl-C and SIGTERM at every named step."""
    before, told = stage.check(), {}

    def stop(*_):
        raise KeyboardInterrupt

    def work(target, step, number):
        signal.signal(number, stop)
        release(stage.ledger(), target, at=harm(step, number))

    for number in (signal.SIGINT, signal.SIGTERM):
        for step in STEPS:
            target = stage.next()
            code = ended(child(lambda t=target, s=step, n=number: work(t, s, n)))
            left = list(stage.folder.glob(".staged-*"))
            assert left == [], (step, "nothing is left, even before recovery")
            after = stage.check()
            assert (code == 0) == (after > before), (step, code)
            assert code in (0, 130)
            told[f"{signal.Signals(number).name} {step}"], before = after - before, after
    return told


def moments(stage, count):
    """kill -9 at random moments, until so many have met a release at work."""
    stage.check()
    begun = time.monotonic()
    assert ended(child(lambda: release(stage.ledger(), stage.folder / "first") and None)) == 0
    usual = time.monotonic() - begun
    chance, before = random.Random(7), stage.check()
    told = {"killed": 0, "of these published": 0, "came too late": 0}
    while told["killed"] < count:
        target = stage.next()
        pid = child(lambda t=target: release(stage.ledger(), t) and None)
        time.sleep(chance.uniform(0, usual * 1.1))
        os.kill(pid, signal.SIGKILL)
        code = ended(pid)
        after = stage.check()
        assert target.exists() == (after > before)
        assert code in (0, -signal.SIGKILL)
        if code:
            told["killed"] += 1
            told["of these published"] += after - before
        else:
            told["came too late"] += 1
            assert after > before
        assert told["came too late"] <= 2 * count + 10
        before = after
    return told


def small_files(stage, _):
    """A limit on the size of files, in the place of a full disk, at many sizes."""
    before, told = stage.check(), {}

    def work(target, limit):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        release(stage.ledger(), target)

    for limit in (1, 100, 500, 1500, 2500, 4000, 6000, 9000, 20_000, 36_000, 60_000, 1 << 20):
        target = stage.next()
        code = ended(child(lambda t=target, n=limit: work(t, n)))
        after = stage.check()
        assert code != WRONG
        assert (code == 0) == (after > before) == target.exists(), (limit, code)
        told[limit], before = code, after
    return told


def full_disk(stage, _):
    """A disk with less and less room; the stage is on it."""
    ballast, before, told = stage.folder / "ballast", stage.check(), {}
    for room in (0, 4096, 8192, 12288, 16384, 20480, 24576, 32768, 65536, 200_000):
        fill_disk(ballast, room)
        target = stage.next()
        code = ended(child(lambda t=target: release(stage.ledger(), t) and None))
        check_visible(stage.folder)
        ballast.unlink()
        after = stage.check()
        assert code != WRONG
        assert (code == 0) <= (after > before), (room, code)
        told[room], before = code, after
    return told


def fill_disk(ballast, room):
    """Fill the disk, then give some of it back."""
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - room))


def read_only(stage, _):
    """The target's folder may not be written to."""
    before = stage.check()

    def work(target):
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        release(stage.ledger(), target)

    if os.getuid() == 0:
        for path in (stage.folder.parent, *stage.folder.parent.glob("ledger.db*")):
            os.chown(path, 65534, 65534)
    closed = stage.folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    code = ended(child(lambda: work(closed / "target")))
    assert list(closed.iterdir()) == []
    closed.rmdir()
    assert stage.check() == before
    return {"code": code}


def writers(stage, count):
    """Four writers at once, two of each side, where only the releases of one side are safe together."""
    with stage.ledger():
        pass
    context = get_context("fork")
    barrier = context.Barrier(4)
    sides = (b"left", b"left", b"right", b"right")
    notes = stage.folder.parent

    def work(who):
        tries, answers = 0, []
        for number in range(count):
            barrier.wait(600)
            time.sleep(random.Random(number * 4 + who).uniform(0, 0.02))
            while True:
                tries += 1
                into = stage.folder / f"{number:04d}-{who}"
                try:
                    release(stage.ledger(), into, chain=f"c{number}", memory=sides[who], checks=[one_side])
                    answers.append("accepted")
                except LedgerConflict:
                    continue
                except RefusedByHistory:
                    answers.append("refused")
                break
        (notes / f"{who}.json").write_text(json.dumps([tries, answers]), encoding="utf-8")

    pids = [child(lambda w=who: work(w)) for who in range(4)]
    assert [ended(pid) for pid in pids] == [0] * 4
    tries, answers = zip(*(json.loads((notes / f"{who}.json").read_text()) for who in range(4)), strict=True)
    for number, answer in enumerate(zip(*answers, strict=True)):
        accepted = {who for who in range(4) if answer[who] == "accepted"}
        assert accepted in ({0, 1}, {2, 3}), (number, answer)
        assert {path.name for path in stage.folder.glob(f"{number:04d}-*")} == {
            f"{number:04d}-{w}" for w in accepted
        }
    entered = stage.check()
    assert entered == 2 * count == len(visible(stage.folder))
    return {"rounds": count, "tries": sum(tries), "entered": entered}


def main():
    scenario, folder, url, key, count = sys.argv[1:]
    stage = Stage(folder, url, key)
    told = globals()[scenario](stage, int(count))
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
