"""A steward's way from a raw file to a released folder with a report, with nothing of the rows on it."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path

import openpyxl
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from workflows.canaries import everything_in, files_with, handed_out

pytestmark = pytest.mark.slow

CANARY = "Zuleika"
NAMES = ("Name", "PLZ", "Geburtsdatum", "Geschlecht", "Gewicht", "Diagnose")


def rows(count=120):
    """Patients as an office writes them: dd.mm.yyyy, decimal commas, umlauts."""
    for i in range(count):
        born = f"{1 + i * 5 % 28:02}.{1 + i * 7 % 12:02}.{1950 + i * 3 % 40}"
        sex, illness = ("männlich", "weiblich")[i % 2], ("Grippe", "Röteln", "Allergie")[i * 11 % 17 % 3]
        yield f"{CANARY}{i:03} Müller", f"8{i % 4}331", born, sex, f"{60 + i * 13 % 30},{i % 10}", illness


def xlsx():
    book = openpyxl.Workbook()
    book.properties.creator = CANARY
    book.active.append(NAMES)
    for row in rows():
        book.active.append(row)
    book.save("patienten.xlsx")
    return "patienten.xlsx"


def latin_1():
    text = "\r\n".join([";".join(NAMES), *(";".join(row) for row in rows())]) + "\r\n"
    Path("patienten.csv").write_bytes(text.encode("latin-1"))
    return "patienten.csv"


def spss():
    columns = dict(zip(NAMES, map(list, zip(*rows(), strict=True)), strict=True))
    codes = {"männlich": 1.0, "weiblich": 2.0}, {"Grippe": 1.0, "Röteln": 2.0, "Allergie": 3.0}
    for name, code in zip(("Geschlecht", "Diagnose"), codes, strict=True):
        columns[name] = [code[cell] for cell in columns[name]]
    labels = [{number: text for text, number in code.items()} for code in codes]
    pyreadstat.write_sav(
        pl.DataFrame(columns),
        "patienten.sav",
        note=CANARY,
        variable_value_labels={"Geschlecht": labels[0], "Diagnose": labels[1]},
    )
    return "patienten.sav"


ANSWERS = ("--row", "person", "--audience", "public", "--once", "--rule", "none", "--nothing-exact")


def go_all_the_way(sfumato, data, *said, ending=".html"):
    """From a file to a report, by the commands that `init` prints; returns what they said.

    Without an ending a report is also a PDF file, which takes its time.
    """
    first = sfumato("init", data, *said, *ANSWERS, "--json")
    assert first.code == 0, first.err
    policy = Path("policy.yaml")
    policy.write_text(policy.read_text().replace("search: best", "search: top-down"))
    told = first.out + first.err + policy.read_text()
    for command in first.document["next"]:
        ends = ending if command.startswith("sfumato report") else ""
        answer = sfumato(*shlex.split(f"{command}{ends}")[1:])
        assert answer.code == 0, (command, answer.err)
        told += answer.out + answer.err
    return told


@pytest.mark.parametrize("make", [xlsx, latin_1, spss])
def test_from_a_raw_file_to_a_release_with_reports(sfumato, tmp_path, monkeypatch, make):
    monkeypatch.chdir(tmp_path)
    data = make()
    told = go_all_the_way(sfumato, data, ending="" if make is latin_1 else ".html")
    assert CANARY not in told
    policy = Path("policy.yaml").read_text()
    assert "written: dd.mm.yyyy" in policy and "written: '1234,5'" in policy
    released = Path("release-1") / f"data{Path(data).suffix}"
    assert sfumato("audit", released, "-p", "policy.yaml").code == 0
    files = json.loads(Path("release-1/manifest.json").read_text())["files"]
    (described,) = (file for file in files if file["name"] == released.name)
    assert set(described["columns"]) == set(NAMES) - {"Name"}
    assert {"report.html", "public-report.html", "ledger.db"} <= {path.name for path in tmp_path.iterdir()}
    assert Path("public-report.pdf").exists() == (make is latin_1)
    assert files_with(CANARY, *handed_out(tmp_path, data)) == []


def test_a_canary_is_found_wherever_it_hides(tmp_path):
    """The search above finds what it looks for, in every format."""
    secret = pl.DataFrame({"a": [f"{CANARY}1", "x"] * 500})
    secret.write_parquet(tmp_path / "a.parquet", compression="zstd")
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as file:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        table = secret.to_arrow(compat_level=pl.CompatLevel.oldest())
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table)
    with zipfile.ZipFile(tmp_path / "c.xlsx", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/sharedStrings.xml", f"<t>{CANARY}</t>" * 50)
    (tmp_path / "d.txt").write_bytes(CANARY.encode("utf-16"))
    (tmp_path / "e.txt").write_bytes(b"nothing")
    found = {path.name for path in files_with(CANARY, tmp_path)}
    assert found == {"a.parquet", "b.arrow", "c.xlsx", "d.txt"}


def test_a_canary_is_found_in_a_pdf(tmp_path):
    import weasyprint

    page = tmp_path / "page.pdf"
    weasyprint.HTML(string=f"<title>t</title><p>somebody called {CANARY}</p>").write_pdf(page)
    assert CANARY.encode() not in page.read_bytes()
    assert CANARY.encode() in everything_in(page)
