"""A studio without a server: the application, a folder with a table, and work that is done at once."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx

from sfumato.studio.app import make_app
from sfumato.studio.jobs import Jobs, perform
from sfumato.studio.security import Gate, Studio
from sfumato.studio.state import NAME, OpenedFolder, PolicyFile

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"
OURS = {"origin": BASE, "sec-fetch-site": "same-origin"}
CANARY = "Zyxwvut"
"""A value of the table that no page, log or error may show."""


class AtOnce:
    """A workshop that does work when it is asked to, and then says what came of it."""

    def begin(self, order, report):
        report(perform(order, lambda *_: None))

    def stop(self):
        pass


class Held(AtOnce):
    """A workshop that begins work and never ends it, unless told to."""

    def __init__(self):
        self.stopped = 0

    def begin(self, order, report):
        self.order, self.report = order, report

    def stop(self):
        self.stopped += 1


def table(rows=60):
    """A table of people in which some stand out, and one has a name that is nobody else's."""
    lines = ["name,age,zip,sex,disease"]
    diseases = ("flu", "cold", "asthma")
    for n in range(rows):
        name = CANARY if not n else f"{'ABCDEFGHIJ'[n % 10].lower().title()}na {chr(65 + n % 26)}berg{n}"
        lines.append(f"{name},{20 + n % 37},0{2100 + n % 7},{'fm'[n % 2]},{diseases[n % 3]}")
    return "\n".join(lines) + "\n"


POLICY = """\
# written by hand
columns:
  name: {role: identifier}  # nobody needs it
  age: {role: quasi, taxonomy: {intervals: [5, 10, 20], from: 0, to: 120}}  # in years
  zip: {role: quasi, taxonomy: {prefix: [3, 1]}}
  sex: {role: insensitive}
  disease: {role: sensitive, taxonomy: {tree: {Viral: [flu, cold], Other: [asthma]}}}
promises:
  - k-anonymity: {k: 3}   # three
  - l-diversity: {of: disease, l: 2}
confirm:
  sex: harmless, it seems
"""


def open_studio(home: Path, *, policy: str | None = POLICY, workshop=None) -> Studio:
    folder, private = home / "folder", home / "private"
    folder.mkdir()
    private.mkdir(mode=0o700)
    (folder / "people.csv").write_text(table(), encoding="utf-8")
    if policy is not None:
        (folder / NAME).write_text(policy, encoding="utf-8")
    opened = OpenedFolder(folder, private)
    return Studio(opened, PolicyFile(opened.file(NAME)), Jobs(workshop or AtOnce()), Gate(PORT), [].append)


class StudioClient:
    """Asks an application as a browser does that was let in; no server and no socket is between them."""

    def __init__(self, studio, *, entered=True):
        self.app = make_app(studio)
        self.cookie = f"{studio.gate.cookie}={studio.gate.session}" if entered else ""

    def ask(self, method, path, *, headers=(), **words):
        given = dict(headers)
        if self.cookie:
            given.setdefault("cookie", self.cookie)

        async def asked():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
                return await client.request(method, path, headers=given, **words)

        return asyncio.run(asked())

    def get(self, path, **words):
        return self.ask("GET", path, **words)

    def post(self, path, **words):
        return self.ask("POST", path, **words)


def post(client: StudioClient, path: str, version: str | None = None, **fields):
    """Sends a form as a page of the studio does."""
    words = fields if version is None else {**fields, "version": version}
    return client.post(path, data=words, headers=OURS)


def refusal(answer) -> str:
    """What a page says that says no."""
    found = re.search(r'role="alert">(.*?)</div>', answer.text, re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[1])).strip() if found else answer.text
