"""What browsers and folders hand to the studio, damaged: every form, every address, and every file of it."""

from __future__ import annotations

import faulthandler
import random
import shutil
import time
from urllib.parse import quote, urlencode

from faults.damage import TOKENS, damaged
from faults.soak_releases import CLOCK, Task, must
from faults.soak_verbs import BYTES, SECONDS, most_held
from studio.stage import CANARY, OURS, StudioClient, open_studio

FORMS = {
    "/undo": {},
    "/redo": {},
    "/history/1": {},
    "/data/choose": {"table": "people.csv"},
    "/data/forget": {"table": "people.csv"},
    "/discover/look": {"k": "5", "share": "10", "size": "3", "header": "yes"},
    "/discover/propose": {"preset": "", "tried": "yes"},
    "/declare/roles": {"column": "age", "role": "quasi"},
    "/declare/confirm": {"column": "sex"},
    "/declare/preset": {"preset": "ema"},
    "/declare/promise": {"position": "0", "act": "change", "p-k": "4"},
    "/declare/promise/add": {"promise": "l-diversity", "p-of": "disease", "p-l": "2"},
    "/declare/rest": {"person": "name", "missing": "own-value"},
    "/declare/repair": {"finding": "undeclared", "column": "age", "role": "quasi"},
    "/declare/text/write": {"text": "# a policy\ncolumns:\n  age: {role: quasi}\n"},
    "/declare/column/taxonomy": {"name": "age", "kind": "intervals", "widths": "5, 10", "from": "0"},
    "/declare/column/proposal": {"name": "zip"},
    "/declare/column/write": {"name": "disease"},
    "/declare/column/tree": {"name": "disease", "act": "rename", "node": "Viral", "label": "V", "target": ""},
    "/declare/column/values": {"name": "disease"},
    "/protect/begin": {},
    "/protect/search": {"search": "lattice"},
    "/protect/use": {"k": "3", "share": "0"},
    "/protect/offer": {"offer": "1"},
    "/attack/begin": {},
    "/release/rehearse": {"to": "lab", "into": "one", "chain": "main"},
    "/release/tolerance": {"tolerance": "5"},
    "/release/publish": {"to": "lab", "into": "one", "chain": "main"},
    "/release/report": {"folder": "one", "audience": "public"},
    "/trace/again": {"original": "yes"},
    "/trace/forget": {},
}
PAGES = (
    "/",
    "/discover",
    "/declare",
    "/declare/text",
    "/history",
    "/protect",
    "/attack",
    "/release",
    "/trace",
)
ADDRESSES = {
    "/declare/column": {"name": "age"},
    "/release": {"to": "lab", "into": "one", "chain": "main"},
    "/release/file": {"folder": "one", "file": "data.csv"},
    "/release/report-file": {"file": "report.html"},
    "/protect/slider": {"k": "3", "share": "10"},
    "/jobs/1": {"part": "findings"},
    "/open": {"token": "x"},
}
PLACES = ("/declare/values/{}", "/discover/charts/{}.svg", "/trace/charts/{}.svg", "/jobs/{}", "/static/{}")
BOUNDARY = "b0undary"
EACH = 40
"""So many units share a studio before a new one is opened."""


class Studio(Task):
    """A studio without a server; its work is done at once."""

    begun = None

    def fresh(self, number):
        if self.begun == number // EACH:
            return
        self.begun = number // EACH
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.studio = open_studio(self.folder)
        self.client = StudioClient(self.studio)
        table = {"table": self.studio.folder.tables()[0].key}
        for path, fields in (("/data/choose", table), ("/declare/rest", FORMS["/declare/rest"])):
            answer = self.post(path, urlencode({**fields, "version": self.studio.policy.version}).encode())
            must(answer.status_code == 303, f"{path}: {answer.status_code}: {answer.text[-500:]}")

    def post(self, path, body, kind="application/x-www-form-urlencoded"):
        return self.client.post(path, content=body, headers={**OURS, "content-type": kind})

    def unit(self, number):
        self.fresh(number)
        chance = random.Random(f"studio {number}")
        kinds = (
            self.form,
            self.form,
            self.form,
            self.field,
            self.address,
            self.place,
            self.upload,
            self.file,
        )
        faulthandler.dump_traceback_later(CLOCK, exit=True)
        begun, held = time.process_time(), most_held()
        name, answers = kinds[number % len(kinds)](chance)
        seconds = time.process_time() - begun
        faulthandler.cancel_dump_traceback_later()
        for answer in answers:
            must(answer.status_code < 500, f"{name}: {answer.status_code}: {answer.text[-300:]}")
            must("a bug:" not in answer.text, f"{name}: {answer.text[answer.text.find('a bug:') :][:200]}")
            must(CANARY not in answer.text, f"{name}: a cell was shown")
        must(seconds < SECONDS, f"{name}: {seconds:.1f} s of processor time")
        taken = most_held() - held
        must(taken * 1024 < BYTES, f"{name}: {taken} kB more than before")
        return f"{name} {answers[0].status_code}"

    def form(self, chance):
        """The bytes of a form are damaged; the version is that of the policy."""
        path = chance.choice(list(FORMS))
        version = urlencode({"version": self.version})
        body = damaged(urlencode(FORMS[path]).encode(), chance)
        return "form", [
            self.post(path, body + b"&" + version.encode()),
            self.client.get(chance.choice(PAGES)),
        ]

    def field(self, chance):
        """One field holds what nobody expects."""
        path = chance.choice([path for path, fields in FORMS.items() if fields])
        fields = {**FORMS[path], "version": self.version}
        token = chance.choice(TOKENS)
        fields[chance.choice(list(fields))] = (token * (1 + 3 * chance.randrange(2))).decode(
            "utf-8", "replace"
        )
        return "field", [self.post(path, urlencode(fields).encode()), self.client.get(chance.choice(PAGES))]

    def address(self, chance):
        path = chance.choice(list(ADDRESSES))
        query = damaged(urlencode(ADDRESSES[path]).encode(), chance)[:20_000]
        return "address", [self.client.get(f"{path}?{quote(query, safe='=&%+')}")]

    def place(self, chance):
        text = chance.choice((b"../../etc/passwd", b"-1", b"9" * 30, b"x" * 3000, *TOKENS))[:3000]
        return "place", [self.client.get(chance.choice(PLACES).format(quote(text, safe="")))]

    def upload(self, chance):
        """A file is dropped: its frame or its rows are damaged."""
        rows = (self.studio.folder.path / "people.csv").read_bytes()
        head = (
            f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'.encode()
        )
        tail = f"\r\n--{BOUNDARY}--\r\n".encode()
        if chance.random() < 0.5:
            body = head + damaged(rows, chance) + tail
        else:
            body = damaged(head + rows + tail, chance)
        path = chance.choice(("/data/upload", "/trace/upload"))
        answers = [self.post(path, body, f"multipart/form-data; boundary={BOUNDARY}")]
        if answers[0].status_code == 303:
            answers += [self.client.get("/discover"), self.client.get("/declare")]
        return "upload", answers

    def file(self, chance):
        """A file of the folder is damaged by somebody else; afterwards it is whole again."""
        folder = self.studio.folder.path
        files = [folder / "policy.yaml", folder / "people.csv", *folder.glob(".policy.yaml.history/*.json")]
        path = chance.choice([file for file in files if file.exists()])
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, chance))
        pages = chance.sample(PAGES, 3)
        answers = [self.client.get(page) for page in pages]
        answers.append(self.post("/undo", urlencode({"version": "x"}).encode()))
        path.write_bytes(whole)
        return "file", answers

    @property
    def version(self):
        """The version of the policy; none where the folder has no policy that can be read."""
        try:
            return self.studio.policy.version
        except Exception:
            return ""
