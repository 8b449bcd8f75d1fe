"""An S3 server in a process of its own, which can be told to fail: at which request, and how.

`python store_server.py FILE` writes its port to FILE. `PUT /_fault` with a JSON document says what happens:

    how     deny, fail (nothing was done), lose (it was done, the answer is lost), kill (a process, before),
            slay (a process, after), garble (the bytes of an object), forget (conditions are not looked at)
    first   the number of the request from which on, counted from this call; and `last`
    only    methods that it is about
    pid     whom to kill
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

STORE = DomainDispatcherApplication(create_backend_app)
FAILURES = {"deny": ("403 Forbidden", "AccessDenied"), "fail": ("500 Internal Server Error", "InternalError")}


class Faulty:
    """The store, and what is to go wrong with it. One request at a time: conditions are kept."""

    def __init__(self):
        self.fault, self.count, self.lock = {}, 0, threading.Lock()

    def __call__(self, environ, start):
        with self.lock:
            if environ["PATH_INFO"] == "/_fault":
                return self.told(environ, start)
            self.count += 1
            how = self.fault.get("how") if self.now(environ["REQUEST_METHOD"]) else None
            return self.answer(how, environ, start)

    def told(self, environ, start):
        told = {"count": self.count}
        self.fault = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or b"{}")
        self.count = 0
        start("200 OK", [])
        return [json.dumps(told).encode()]

    def now(self, method):
        first, last = self.fault.get("first", 1), self.fault.get("last", 10**9)
        return first <= self.count <= last and method in self.fault.get("only", [method])

    def answer(self, how, environ, start):
        if how == "kill":
            os.kill(self.fault["pid"], signal.SIGKILL)
            how = "fail"
        if how == "forget":
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if how in FAILURES:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            return failed(how, start)
        headers = []
        body = b"".join(STORE(environ, lambda *words: headers.append(words)))
        if how == "slay":
            os.kill(self.fault["pid"], signal.SIGKILL)
        if how in ("slay", "lose"):
            return failed("fail", start)
        if how == "garble" and environ["REQUEST_METHOD"] == "GET" and not environ["QUERY_STRING"]:
            body = body[::-1]
        start(*headers[0][:2])
        return [body]


def failed(how, start):
    status, code = FAILURES[how]
    body = f"<Error><Code>{code}</Code><Message>made up</Message></Error>".encode()
    start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


class Quiet(WSGIRequestHandler):
    """Says nothing of what it does."""

    def log(self, *_):
        pass


def main():
    server = make_server("127.0.0.1", 0, Faulty(), threaded=True, request_handler=Quiet)
    place = Path(sys.argv[1])
    place.with_suffix(".new").write_text(str(server.server_port), encoding="utf-8")
    place.with_suffix(".new").rename(place)
    server.serve_forever()


if __name__ == "__main__":
    main()
