"""Reports as people see them: in a browser, wide and narrow, light and dark, and on paper.

`SFUMATO_PICTURES=write` keeps the pictures in docs/pictures, with digests of the pages they were taken of
(`guide/screenshots.py`); look at them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from guide import screenshots
from PIL import Image

import sfumato as sf
from reports.test_report import NOON
from studio.served import browser

pytestmark = [pytest.mark.slow, pytest.mark.pages, pytest.mark.xdist_group("pages of reports")]

KEPT = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The reports on a made-up hospital, and the dictionary of its release."""
    home = tmp_path_factory.mktemp("pages")
    sf.demo.write(home, 600)
    data, policy = home / "hospital.csv", home / "policy.yaml"
    sf.release(data, policy, ledger=f"sqlite:///{home}/ledger.db", into=home / "2026-11")
    sf.report(home / "2026-11", policy, original=data, made=NOON).save(home / "internal")
    sf.report(home / "2026-11", policy, audience="public", made=NOON).save(home / "public.html")
    shutil.copy(home / "2026-11" / "dictionary.html", home)
    return home


@pytest.fixture(scope="module")
def opened_browser():
    with browser() as opened_one:
        yield opened_one


@pytest.fixture
def seen(pages, opened_browser):
    """Takes a picture of a page in a browser window of this size."""

    def look(name, width, height, *, dark=False):
        window = {"width": width, "height": height}
        context = opened_browser.new_context(viewport=window, color_scheme="dark" if dark else "light")
        try:
            page = context.new_page()
            page.goto((pages / name).as_uri())
            return opened(BytesIO(page.screenshot()))
        finally:
            context.close()

    return look


TAKEN_OF = {
    "internal-wide": "internal.html",
    "internal-pdf": "internal.html",
    "public-narrow-dark": "public.html",
    "dictionary": "dictionary.html",
}
"""Screenshot -> the page that it shows; paper is printed from the same page."""


def keep(name, picture, pages):
    """Writes the picture to the docs if asked to; what is there must be as large."""
    if os.environ.get("SFUMATO_PICTURES") == "write":
        KEPT.mkdir(exist_ok=True)
        picture.quantize(48).save(KEPT / f"{name}.png", optimize=True)
        screenshots.keep(KEPT / f"{name}.png", (pages / TAKEN_OF[name]).read_text(encoding="utf-8"))
    assert opened(KEPT / f"{name}.png").size == picture.size
    assert (KEPT / f"{name}.png").stat().st_size < 150_000


def opened(file):
    with Image.open(file) as picture:
        return picture.convert("RGB")


def is_clean(picture, margin=8):
    """Whether nothing is cut off at the right: the last columns of pixels have the colour of the paper."""
    width, height = picture.size
    return len(picture.crop((width - margin, 0, width, height)).getcolors(1 << 20)) == 1


def ink(picture):
    """The share of pixels that are not paper."""
    colours = sorted(picture.getcolors(1 << 24), reverse=True)
    return 1 - colours[0][0] / (picture.size[0] * picture.size[1])


def is_dark(picture):
    return sum(picture.getpixel((2, 2))) < 200


def count_near(picture, colour, apart=60):
    near = (
        n
        for n, c in picture.getcolors(1 << 24)
        if sum(abs(a - b) for a, b in zip(c, colour, strict=True)) < apart
    )
    return sum(near)


@pytest.mark.parametrize("name", ["internal", "public", "dictionary"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_on_screens(seen, pages, name, width, dark):
    picture = seen(f"{name}.html", width, 1000 if width > 600 else 1400, dark=dark)
    assert is_clean(picture) and is_dark(picture) is dark
    assert 0.03 < ink(picture) < 0.6
    if name != "dictionary":
        assert count_near(picture, (127, 211, 160) if dark else (29, 107, 63)) > 200, "the verdict is green"
    kept = {("internal", 1280, False): "internal-wide", ("public", 390, True): "public-narrow-dark"}
    kept[("dictionary", 1280, False)] = "dictionary"
    if (name, width, dark) in kept:
        keep(kept[name, width, dark], picture, pages)


def test_pages_on_paper(pages, tmp_path):
    call = ["pdftoppm", "-r", "80", "-png", str(pages / "internal.pdf"), str(tmp_path / "page")]
    subprocess.run(call, check=True, capture_output=True, timeout=120)
    pictures = [opened(file) for file in sorted(tmp_path.glob("page-*.png"))]
    assert 4 <= len(pictures) <= 14
    for picture in pictures:
        assert is_clean(picture, margin=30) and not is_dark(picture) and 0.005 < ink(picture) < 0.6
    keep("internal-pdf", pictures[0], pages)


@pytest.mark.parametrize("name", TAKEN_OF)
def test_kept_pictures_show_the_pages_of_today(pages, name):
    page = (pages / TAKEN_OF[name]).read_text(encoding="utf-8")
    assert not screenshots.stale(KEPT / f"{name}.png", page), (
        f"{name}.png is older than what it shows: run `make pictures`"
    )
    assert screenshots.stale(KEPT / f"{name}.png", page.replace("</h1>", " (draft)</h1>"))
