"""The program `sfumato`, loaded once: every call is a process of its own that is forked from it.

What a call does, from its first own line on, is what the program does; only loading is not done again. So
kills and signals hit the work. The process that forks opens no file, no table and no ledger itself.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path


class Prepared:
    """A loaded program that calls are started from; `first` is a call that shows what is to be loaded.

    That call has to succeed: one that fails loads less, and the tests would not be of what they say.
    """

    def __init__(self, first):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # what forks has one thread
        self._server = subprocess.Popen([sys.executable, __file__], env=alone, **pipes)
        if ended := self.ask("load", *map(str, first)):
            self.close()
            raise RuntimeError(f"the first call of a prepared program ended with {ended}")

    def ask(self, *words):
        self._server.stdin.write(json.dumps(words) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def start(self, arguments, log, most=None):
        """A call that runs, as a `Popen` would be; `most` is the size that none of its files may exceed."""
        return self._start(arguments, out=str(log), err=str(log), most=most)

    def run(self, arguments, code=None):
        """A call in this folder that has ended, as `subprocess.run` tells it.

        `code` is a program that stands for `sfumato`, and is handed the same arguments.
        """
        with tempfile.TemporaryDirectory(prefix="sfumato-prepared-") as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            call = self._start(arguments, out=str(out), err=str(err), code=code, folder=str(Path.cwd()))
            call.wait(math.inf)
            said = [file.read_text(encoding="utf-8", errors="surrogateescape") for file in (out, err)]
            return subprocess.CompletedProcess(arguments, call.returncode, *said)

    def _start(self, arguments, **how):
        return Call(self, self.ask("start", how, *map(os.fsdecode, map(_word, arguments))))

    def close(self):
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


def _word(argument):
    return argument if isinstance(argument, bytes) else str(argument)


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
    pid = start({"out": os.devnull, "err": os.devnull}, *arguments, names=names)
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


def start(how, *arguments, names=None):
    """Forks a call; its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        _prepare(**how)
        sys.argv = ["sfumato", *arguments]
        if program := how.get("code"):
            exec(compile(program, "<code>", "exec"), {"__name__": "__main__"})
        elif names is not None:
            from sfumato.cli.main import main  # comes back, so that it can be told what was loaded

            main()
        else:
            from sfumato.cli.program import main

            main()
        code = 0
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


def _prepare(out, err, most=None, folder=None, **_):
    """What was asked for this process: where it writes to, where it is, and how large its files may be."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for place, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644), place)
    if folder is not None:
        os.chdir(folder)
    if most is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def poll(pid):
    """How a call ended and what it used; nothing where it has not."""
    done, status, used = os.wait4(pid, os.WNOHANG)
    if not done:
        return None
    return os.waitstatus_to_exitcode(status), [used.ru_utime + used.ru_stime, used.ru_maxrss]


if __name__ == "__main__":
    serve()
