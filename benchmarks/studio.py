"""How long the studio lets somebody wait over a million rows: first paint, answers of pages, sliders.

`python -m benchmarks.studio` prints seconds as a browser sees them, with the load of the machine, and the CPU
seconds of the server for each answer. It needs the extra `studio`, Chromium and Playwright.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.demo.hospital import columns

ROWS = 1_000_000
NAMES = ("patient_id", "zip", "sex", "job", "disease")
PATIENCE = 1_800_000
PAGES = ("discover", "declare", "protect", "attack", "release", "trace")
POLICY = """\
columns:
  patient_id: {role: identifier}
  zip: {role: quasi, taxonomy: {prefix: [4, 3, 2, 1]}}
  sex: {role: quasi}
  job: {role: quasi}
  disease: {role: sensitive}
promises:
  - k-anonymity: {k: 5}
  - l-diversity: {of: disease, l: 2}
"""


def main(rows: int = ROWS) -> list[dict[str, object]]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # a package of tests

    found: list[dict[str, object]] = []
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        table = {key: values for key, values in columns(rows, 1).items() if key in NAMES}
        pa_csv.write_csv(
            pa.table({key: values.tolist() for key, values in table.items()}), folder / "people.csv"
        )
        (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        with served(folder) as (process, address):
            page = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"]).new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(address)
            page.wait_for_url("**/declare")
            home = address.partition("/open")[0]
            found.append(line("first paint", _paint(page), 2.0))

            def pages(while_: str) -> None:
                for step in PAGES:
                    used = cpu(process.pid)
                    start = time.perf_counter()
                    page.goto(f"{home}/{step}", wait_until="commit")
                    answered = time.perf_counter() - start
                    found.append(line(f"{step}, {while_}", answered, 1.0, cpu(process.pid) - used))

            page.goto(f"{home}/discover")
            page.get_by_role("button", name="Look at it people.csv").click()
            pages("while it is read")
            page.goto(f"{home}/discover")
            page.wait_for_selector(".banner")
            pages("when it is read")
            page.goto(f"{home}/protect")
            page.get_by_role("button", name="Find solutions").first.click()
            pages("while solutions are sought")
            page.goto(f"{home}/protect")
            page.wait_for_selector("#slide-k")
            found += _slides(page, "while solutions are sought")
            page.wait_for_selector(".solution")
            found += _slides(page, "when nothing else is done")
            pages("when solutions are there")
    return found


def _paint(page: object) -> float:
    asked = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now()"
    return float(page.evaluate(asked)) / 1000  # type: ignore[attr-defined]


SLIDE = """async (k) => {
  const slider = document.getElementById("slide-k"), answer = document.getElementById("answer");
  const start = performance.now();
  const changed = new Promise((done) => {
    new MutationObserver((_, seen) => { seen.disconnect(); done(performance.now() - start); })
      .observe(answer, { childList: true });
  });
  slider.value = k;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  return await changed;
}"""


def _slides(page: object, when: str) -> Iterator[dict[str, object]]:
    """Moves the slider of k and waits until the answer is on the page."""
    took = [float(page.evaluate(SLIDE, str(k))) / 1000 for k in range(6, 46)]  # type: ignore[attr-defined]
    yield line(f"slider, median of {len(took)}, {when}", statistics.median(took), 0.3)
    yield line(f"slider, slowest, {when}", max(took), 0.3)


def line(name: str, seconds: float, limit: float, used: float | None = None) -> dict[str, object]:
    load = os.getloadavg()[0]
    words = "" if used is None else f", {used:.2f} CPU s of the server"
    print(f"{name}: {seconds:.3f} s of {limit} s{words}, load {load:.1f}", flush=True)
    return {"name": name, "ours": seconds, "theirs": limit, "ratio": seconds / limit, "ok": seconds <= limit}


def cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    words = [sys.executable, "-m", "sfumato", "studio", str(folder), "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
