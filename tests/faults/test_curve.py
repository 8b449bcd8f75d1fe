"""The curve of cost: what is a fifth above the recorded one is told, and the recorded one has every size."""

from __future__ import annotations

import json

import pytest
from benchmarks import curve

RECORDED = {"10000": {"cpu": 3.0, "scan": 1.0, "ratio": 3.0, "peak": 200.0}}


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    """Run the benchmark with a point that is not measured; the exit code and what it says."""
    path = tmp_path / "curve.json"
    path.write_text(json.dumps(RECORDED), encoding="utf-8")

    def run(ratio, peak, *words):
        monkeypatch.setattr(curve, "point", lambda _: {"cpu": 9.0, "scan": 1.0, "ratio": ratio, "peak": peak})
        code = curve.main(["--sizes", "10000", "--recorded", str(path), *words])
        return code, capsys.readouterr().err, json.loads(path.read_text(encoding="utf-8"))

    return run


@pytest.mark.parametrize(("ratio", "peak"), [(3.0, 200.0), (3.59, 239.9), (1.0, 50.0)])
def test_a_fifth_more_is_let_be(play, ratio, peak):
    assert play(ratio, peak) == (0, "", RECORDED)


@pytest.mark.parametrize(
    ("ratio", "peak", "told"),
    [(3.61, 200.0, ["ratio 3.61, recorded 3.0"]), (3.0, 240.1, ["peak 240.1, recorded 200.0"])],
)
def test_more_than_that_is_an_alarm(play, ratio, peak, told):
    assert play(ratio, peak) == (1, "".join(f"10000 rows: {one}\n" for one in told), RECORDED)


def test_a_size_that_was_never_recorded_is_an_alarm_until_it_is(play):
    assert curve.alarms({}, RECORDED) == ["10000 rows: never recorded"]
    code, said, recorded = play(9.0, 900.0, "--record")
    assert (code, said, recorded["10000"]["ratio"]) == (0, "", 9.0)


def test_the_recorded_curve_has_every_size():
    recorded = json.loads(curve.RECORDED.read_text(encoding="utf-8"))
    assert {str(size) for size in curve.SIZES} <= set(recorded)
    for size in curve.SIZES:
        figures = recorded[str(size)]
        assert figures["ratio"] == pytest.approx(figures["cpu"] / figures["scan"], rel=0.05)
