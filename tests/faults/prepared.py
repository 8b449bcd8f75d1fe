"""The program `sfumato`, loaded once: every call is a process of its own that is forked from it.

What a call does, from its first own line on, is what the program does; only loading is not done again. So
kills and signals hit the work. The process that forks opens no file, no table and no ledger itself.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path


class Prepared:
    """A loaded program that calls are started from; `first` is a call that shows what is to be loaded."""

    def __init__(self, first):
        command = [sys.executable, __file__]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("load", *map(str, first))

    def ask(self, *words):
        self._server.stdin.write(json.dumps(words) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def start(self, arguments, log, most=None):
        """A call that runs, as a `Popen` would be; `most` is the size that none of its files may exceed."""
        return Call(self, self.ask("start", str(log), most, *map(str, arguments)))

    def close(self):
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


class Call:
    """A process that was forked."""

    def __init__(self, prepared, pid):
        self.prepared, self.pid, self.returncode, self.used = prepared, pid, None, None

    def poll(self):
        if self.returncode is None and (ended := self.prepared.ask("poll", self.pid)):
            self.returncode, self.used = ended
        return self.returncode

    def wait(self, timeout=120.0):
        until, pause = time.monotonic() + timeout, 0.001
        while self.poll() is None:
            if time.monotonic() > until:
                self.kill()
                raise subprocess.TimeoutExpired("sfumato", timeout)
            time.sleep(pause)
            pause = min(0.02, 2 * pause)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(9)


def serve():
    """Forks whenever it is asked to."""
    for line in sys.stdin:
        verb, *words = json.loads(line)
        answer = {"load": load, "start": start, "poll": poll}[verb](*words)
        sys.__stdout__.write(json.dumps(answer) + "\n")
        sys.__stdout__.flush()


def load(*arguments):
    """Loads whatever a call loads."""
    handle, place = tempfile.mkstemp(prefix="sfumato-prepared-")
    os.close(handle)
    names = Path(place)
    pid = start(os.devnull, None, *arguments, names=names)
    while not (ended := poll(pid)):
        time.sleep(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in json.loads(names.read_text(encoding="utf-8")):
            try:
                importlib.import_module(name)
            except Exception:  # a part of a library that is not there by this name
                continue
    names.unlink()
    return ended[0]


def start(log, most, *arguments, names=None):
    """Forks a call; its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for place in (1, 2):
            os.dup2(handle, place)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        sys.argv = ["sfumato", *arguments]
        from sfumato.cli.program import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if names is not None:
            names.write_text(json.dumps(sorted(sys.modules)), encoding="utf-8")
        os._exit(code)


def poll(pid):
    """How a call ended and what it used; nothing where it has not."""
    done, status, used = os.wait4(pid, os.WNOHANG)
    if not done:
        return None
    return os.waitstatus_to_exitcode(status), [used.ru_utime + used.ru_stime, used.ru_maxrss]


if __name__ == "__main__":
    serve()
