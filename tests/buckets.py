"""A bucket to release into: a real S3 protocol over HTTP, on this machine, thrown away afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SERVER = Path(__file__).parent / "faults" / "store_server.py"
SECRET = "canary-secret-41c8"


class Buckets:
    """A server with buckets, and its faults."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="sfumato-s3-")
        self._made = 0

    def __enter__(self):
        place = Path(self._folder.name) / "port"
        self._process = subprocess.Popen(
            [sys.executable, SERVER, place], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 60
        while not place.exists():
            assert self._process.poll() is None and time.monotonic() < until, "the store does not start"
            time.sleep(0.05)
        self.url = f"http://127.0.0.1:{place.read_text(encoding='utf-8')}"
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def new(self):
        """The address of a place in an empty bucket."""
        self.heal()
        self._made += 1
        self._ask("PUT", f"bucket{self._made}")
        return f"s3://bucket{self._made}/out"

    @property
    def variables(self):
        """What stands in the environment of whoever uses it."""
        return {
            "AWS_ACCESS_KEY_ID": "publisher",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
        }

    def harm(self, how, **when):
        """From now on, fail."""
        self._ask("PUT", "_fault", json.dumps({"how": how, **when}).encode())

    def heal(self):
        """Fail no more; how many requests came since it was told something."""
        return json.loads(self._ask("PUT", "_fault", b"{}"))["count"]

    def _ask(self, method, path, content=b""):
        asked = urllib.request.Request(f"{self.url}/{path}", method=method, data=content or None)
        with urllib.request.urlopen(asked) as answer:
            return answer.read()


def used(buckets, monkeypatch):
    """Let this process speak to the buckets, and wait for nothing long."""
    from sfumato.releases import targets as store

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in buckets.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(store, "RETRIES", 0)
    return buckets
