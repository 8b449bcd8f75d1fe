"""Files that are dropped into the browser: streamed into a private folder, whole or not at all, and wiped."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.studio import state as uploads
from sfumato.studio.app import make_app
from sfumato.system.disk import private_folder
from studio.stage import BASE, OURS, StudioClient, open_studio, post, refusal, table


def private_files(studio):
    return sorted(path.name for path in (studio.folder.path.parent / "private").iterdir())


def send(client, name, content="a\n1\n"):
    return client.post("/data/upload", files={"file": (name, content)}, headers=OURS)


def test_a_dropped_table_is_looked_at_and_wiped(studio, client):
    assert send(client, "dropped.csv", table()).headers["location"] == "/discover"
    assert studio.data.name == "dropped.csv" and studio.data.dropped
    place = studio.data.path
    assert place.read_text(encoding="utf-8") == table() and place.stat().st_mode & 0o777 == 0o600
    page = client.get("/discover").text
    assert "dropped, wiped at the end" in page and "rows stand out" in page
    post(client, "/data/forget", table="dropped/dropped.csv")
    assert private_files(studio) == []


def test_the_private_folder_is_the_owners_and_goes_with_the_studio():
    with private_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "x.csv").write_text("a", encoding="utf-8")
    assert not folder.exists()


def test_a_file_of_the_folder_is_never_wiped(studio, client):
    post(client, "/data/forget", table="folder/people.csv")
    assert (studio.folder.path / "people.csv").exists()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../policy.csv", "policy.csv"),
        ("/etc/cron.d/x.csv", "x.csv"),
        ("C:\\people\\x.csv", "x.csv"),
        ("x.csv\x00.exe", None),
        (".hidden.csv", None),
        ("x.py", None),
        ("policy.yaml", None),
        ("a" * 300 + ".csv", None),
    ],
)
def test_names_of_dropped_files_lead_nowhere_else(studio, client, name, kept):
    before = sorted(path.name for path in studio.folder.path.iterdir())
    answer = send(client, name)
    assert (answer.status_code == 303) == (kept is not None), refusal(answer)
    assert private_files(studio) == ([kept] if kept else [])
    assert sorted(path.name for path in studio.folder.path.iterdir()) == before


@given(st.binary(max_size=3000), st.integers(1, 400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_bytes_and_however_they_come_they_arrive(studio, content, block):
    """The same file, in blocks of any size: boundaries may be cut anywhere."""
    mark = "b0undary"
    body = (
        b'--%s\r\nContent-Disposition: form-data; name="file"; filename="x.parquet"\r\n\r\n' % mark.encode()
    )
    body += content + b"\r\n--%s--\r\n" % mark.encode()
    if f"\r\n--{mark}".encode() in content:
        return

    async def blocks():
        for start in range(0, len(body), block):
            yield body[start : start + block]

    place = _sent(studio, blocks(), f"multipart/form-data; boundary={mark}")
    assert place.read_bytes() == content


def _sent(studio, stream, kind):
    """Hands a stream to the one who receives files, as the server does."""

    sent = SimpleNamespace(headers={"content-type": kind}, stream=lambda: stream)
    return asyncio.run(uploads.receive_file(sent, studio.folder))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no parts at all",
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\nhalf of',
        b'--b\r\nContent-Disposition: form-data; name="other"; filename="x.csv"\r\n\r\na\r\n--b--\r\n',
        b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\na\r\n--b--\r\n',
        b"--b\r\n" + b"X" * 9000 + b": 1\r\n\r\na\r\n--b--\r\n",
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\na\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="y.csv"\r\n\r\na\r\n--b--\r\n',
    ],
)
def test_what_does_not_come_whole_leaves_nothing_half(studio, client, body):
    headers = {**OURS, "content-type": "multipart/form-data; boundary=b"}
    answer = client.post("/data/upload", content=body, headers=headers)
    assert answer.status_code == 422 and "a bug" not in answer.text
    assert [name for name in private_files(studio) if name.startswith(".")] == []


def test_a_client_that_stops_sending_is_given_up(studio, monkeypatch):
    monkeypatch.setattr(uploads, "UPLOAD_PATIENCE", 0.05)

    async def slow():
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\nhalf'
        await asyncio.sleep(30)

    with pytest.raises(Exception, match="did not come whole"):
        _sent(studio, slow(), "multipart/form-data; boundary=b")
    assert private_files(studio) == []


def test_two_uploads_at_once_do_not_mix(tmp_path):
    studio = open_studio(tmp_path)
    client = StudioClient(studio)
    app = make_app(studio)

    async def both():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url=BASE, headers={"cookie": client.cookie}
        ) as asked:
            files = [{"file": (f"{letter}.csv", f"x\n{letter * 70_000}\n")} for letter in "abcd"]
            await asyncio.gather(*(asked.post("/data/upload", files=one, headers=OURS) for one in files))

    asyncio.run(both())
    for letter in "abcd":
        path = studio.folder.table(f"dropped/{letter}.csv").path
        assert path.read_text(encoding="utf-8") == f"x\n{letter * 70_000}\n"
