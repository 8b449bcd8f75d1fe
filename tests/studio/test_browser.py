"""The studio in a real browser: other pages cannot reach it; people can, by keyboard and by phone."""

from __future__ import annotations

import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import sfumato as sf
from studio.served import PATIENCE, browser, served, stand_in, wait_for
from studio.stage import POLICY, table

pytestmark = pytest.mark.pages

HOSTILE = (Path(__file__).parent / "hostile.html").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(table(), encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def hostile_server(page):
    """A web server of somebody else on this computer, under whatever name."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):  # the name that the library calls
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_other_pages_can_neither_read_nor_send(folder):
    from sfumato.studio.state import PolicyFile

    version = PolicyFile(folder / "policy.yaml").version
    with served(folder) as studio, browser() as opened:
        context = opened.new_context()
        context.set_default_timeout(1000 * PATIENCE)
        context.new_page().goto(studio.address)
        page = HOSTILE.replace("PORT", str(studio.port)).replace("VERSION", version)
        server = hostile_server(page)
        try:
            for host in ("evil.example", "127.0.0.1", "localhost"):
                visited = context.new_page()
                frames = []
                visited.on("response", lambda r, f=frames: f.append(r) if r.frame.parent_frame else None)
                visited.goto(f"http://{host}:{server.server_port}/")
                visited.wait_for_function("document.title.startsWith('{')")
                said = visited.evaluate("JSON.parse(document.title)")
                assert set(said.values()) <= {"refused", "nothing"}, (host, said)
                assert said["read"] == said["socket"] == said["events"] == said["picture"] == "refused"
                assert all(answer.status == 403 for answer in frames)
                with visited.expect_navigation():
                    visited.evaluate("document.getElementById('form').submit()")
                assert "Another page" in visited.inner_text("body")
            bent = context.new_page()
            answer = bent.goto(f"http://rebound.example:{studio.port}/declare")
            assert answer.status == 400
        finally:
            server.shutdown()
            server.server_close()
        assert (folder / "policy.yaml").read_text(encoding="utf-8") == POLICY
        assert not (folder / ".policy.yaml.history").exists()
        still = context.new_page()
        assert still.goto(f"{studio.base}/declare").status == 200


def test_the_browser_is_let_in_by_a_file(folder, tmp_path_factory):
    """As it is opened: the token is in no address, and the page that held it is gone."""
    environment, note = stand_in(tmp_path_factory.mktemp("program"))
    addresses, wrong = [], []
    with browser() as opened, served(folder, environment=environment, opens="--browser") as studio:
        wait_for(note.exists)
        file = note.read_text(encoding="utf-8").splitlines()[0]
        page = opened.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("request", lambda request: addresses.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.goto(file)
        page.wait_for_url("**/declare")
        assert page.goto(f"{studio.base}/history").status == 200
        token = studio.address.partition("token=")[2]
        assert file in addresses and not [one for one in addresses if token in one] and wrong == []
        wait_for(lambda: not list(folder.glob(".sfumato-private-*/*")))
        stranger = opened.new_context().new_page()
        assert stranger.goto(studio.address).status == 403
        studio.process.send_signal(signal.SIGINT)
        assert "second time" in studio.process.stderr.read()


def serious(page):
    """What axe-core finds that keeps people out."""
    found = Axe().run(page).response["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in {"serious", "critical"}]


def test_a_steward_declares_by_keyboard_and_by_phone(folder):
    (folder / "policy.yaml").unlink()
    asked, wrong = [], []
    with served(folder) as studio, browser() as opened:
        context = opened.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(studio.address)
        page.wait_for_url("**/discover")
        page.set_input_files(
            "#file", files=[{"name": "mine.csv", "mimeType": "text/csv", "buffer": table().encode()}]
        )
        page.wait_for_selector(".banner")
        assert serious(page) == []
        page.get_by_role("button", name="Propose a policy").click()
        page.get_by_role("link", name="Go on to Declare").click()
        page.wait_for_selector("#findings .callout, #findings .finding")
        page.get_by_role("combobox", name="Role: sex").focus()
        page.keyboard.type("secret")
        page.get_by_role("button", name="Apply roles").focus()
        page.keyboard.press("Enter")
        text, did = page.locator("body"), "roles: sex is sensitive"  # no polling by eval: the page forbids it
        expect(text).to_contain_text(did, use_inner_text=True, timeout=1000 * PATIENCE)
        assert sf.Policy.load(folder / "policy.yaml").columns["sex"].role == "sensitive"
        page.get_by_role("button", name="Undo").press("Enter")
        expect(text).not_to_contain_text(did, use_inner_text=True, timeout=1000 * PATIENCE)
        pages = ("/discover", "/declare", "/declare/column?name=zip", "/history", "/declare/text")
        for path in pages:
            page.goto(studio.base + path)
            assert serious(page) == [], path
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        for path in pages:
            page.goto(studio.base + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            assert path not in pages[:2] or serious(page) == [], path
    assert {url.partition("/open")[0][: len(studio.base)] for url in asked} == {studio.base}
    assert wrong == []
