"""A new user in a real browser: from dropping a file to a downloaded release and a traced leak.

`SFUMATO_PICTURES=write` keeps a picture of every page in docs/pictures; look at them.
"""

from __future__ import annotations

import csv
import os
import random
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from guide import screenshots
from PIL import Image
from playwright.sync_api import expect

from sfumato.demo.hospital import columns
from studio.visitor import visitor

pytestmark = pytest.mark.pages

KEPT = Path(__file__).parents[2] / "docs" / "pictures"
COLUMNS = ("name", "zip", "sex", "job", "disease")
WINDOWS = {"wide": (1280, 1000), "narrow": (390, 844)}
NARROW = ("studio-protect", "studio-attack")
"""Pages of which a picture on a narrow screen is kept."""


def hospital(path, rows=300):
    """Writes a table of made-up patients; returns their names."""
    table = {name: values.tolist() for name, values in columns(rows, 1).items() if name in COLUMNS}
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(table)
        lines.writerows(zip(*table.values(), strict=True))
    return set(table["name"])


def part_of(file, path, rows=120):
    """Writes some rows of a table, drawn at random, as a leak."""
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    drawn = random.Random(7).sample(lines, min(rows, len(lines)))
    path.write_text("\n".join([head, *drawn]) + "\n", encoding="utf-8")
    return path


class Tour:
    """Looks at every page that a person gets to, in every window: its faults, its width, whether what can be
    pressed is in reach, no name of a patient; a picture."""

    def __init__(self, person, names):
        self.person, self.names = person, names

    def look(self, step, *, at="h1"):
        page, before = self.person.page, self.person.page.viewport_size
        for size, (width, height) in WINDOWS.items():
            page.set_viewport_size({"width": width, "height": height})
            self._look(step if size == "wide" else f"{step}-{size}", at)
        page.set_viewport_size(before)

    def _look(self, name, at):
        page = self.person.page
        assert self.person.serious() == []
        assert self.person.wider_than_window() <= 0
        self.person.reaches_everything()
        text = page.locator("body").inner_text()
        assert not [name for name in self.names if name in text]
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        if at != "h1":
            place = page.locator(at).first.bounding_box()
            page.evaluate(f"window.scrollTo(0, {place['y'] - 24})")
        self._keep(f"studio-{name}", page.screenshot(), page.content())

    def _keep(self, name, content, html):
        """Writes the picture to the docs if asked to; what is there must be as large, and of such a page.

        What is released, and so what is traced, differs from run to run: keys are made anew.
        """
        if name.endswith("-narrow") and not name.startswith(NARROW):
            return
        with Image.open(BytesIO(content)) as opened:
            picture = opened.convert("RGB")
        if os.environ.get("SFUMATO_PICTURES") == "write":
            picture.quantize(256).save(KEPT / f"{name}.png", optimize=True)
            screenshots.keep(KEPT / f"{name}.png", html)
        with Image.open(KEPT / f"{name}.png") as kept:
            assert kept.size == picture.size
        assert (KEPT / f"{name}.png").stat().st_size < 150_000
        if not name.startswith(("studio-release", "studio-trace")):
            assert not screenshots.stale(KEPT / f"{name}.png", html), f"{name}.png shows an older page"


def prepare(person, tour, data):
    """From a dropped file to a confirmed policy."""
    person.drop(data)
    person.sees("Columns that single people out together")
    tour.look("discover")
    person.press("Propose a policy")
    person.sees("The policy is written")
    person.go("declare")
    boxes = person.page.locator("form[action='/declare/confirm'] input[type=checkbox]")
    for box in boxes.all():
        box.check()
    if boxes.count():
        person.press("I have looked: these may be published unchanged")
    person.sees("No column waits for confirmation.")
    tour.look("declare")


def protect(person, tour):
    """Solutions, and a slider that is moved."""
    person.go("protect")
    person.press("Find solutions")
    person.sees("Solutions side by side")
    slider = person.page.get_by_label("Everybody hides among at least")
    slider.fill("12")
    expect(person.page.get_by_role("button", name="Use k = 12")).to_be_visible()
    slider.fill("5")
    expect(person.page.get_by_role("button", name="Use k = 5 ")).to_be_visible()
    tour.look("protect", at="section:has(.solutions)")


def attack(person, tour):
    """Every adversary, before and after."""
    person.go("attack")
    person.press("Attack both tables")
    person.sees("Adversaries")
    linkage = person.page.locator(".adversary", has_text="Linkage, Prosecutor")
    expect(linkage).to_contain_text("Succeeds")
    expect(linkage).to_contain_text("Withstood")
    expect(linkage).to_contain_text("k-anonymity, k = 5")
    tour.look("attack")


def release(person, tour, into):
    """Rehearsed, released to two, downloaded; returns the file of the first."""
    person.go("release")
    person.page.get_by_label("Recipients").fill("north, south")
    person.page.get_by_label("How much more detail").fill("100")
    person.press("Put into the policy")
    person.press("Rehearse: write nothing")
    person.sees("How many recipients can be served?")
    person.sees("Leaked rows that identify this recipient:")
    person.press("Release")
    person.sees("with a manifest and a certificate, and in the ledger.")
    tour.look("release", at=".banner")
    saved = {}
    for name in ("data.csv", "certificate.json"):
        with person.page.expect_download() as coming:
            person.page.locator("article.folder", has_text="north").get_by_role("link", name=name).click()
        saved[name] = into / name
        coming.value.save_as(saved[name])
    assert saved["certificate.json"].read_text(encoding="utf-8").startswith("{")
    return saved["data.csv"]


def test_from_a_file_to_a_traced_leak(tmp_path):
    """Every step is taken in a narrow window, and every page is looked at in a narrow and in a wide one."""
    folder = tmp_path / "folder"
    folder.mkdir()
    names = hospital(tmp_path / "patients.csv")
    width, height = WINDOWS["narrow"]
    with visitor(folder, width=width, height=height) as person:
        tour = Tour(person, names)
        prepare(person, tour, tmp_path / "patients.csv")
        protect(person, tour)
        attack(person, tour)
        table = release(person, tour, tmp_path)
        person.go("trace")
        person.drop(part_of(table, tmp_path / "leak.csv"))
        person.sees("Nobody is charged")
        person.sees("cannot be told apart")
        tour.look("trace", at=".banner")
        assert person.hosts == {urlsplit(person.home).netloc}
        assert person.complaints == []
    assert {path.name for path in folder.iterdir()} >= {"policy.yaml", "ledger.db"}
