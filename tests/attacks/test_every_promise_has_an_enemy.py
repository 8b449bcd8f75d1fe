"""Each promise is threatened by an attack, or the limitations say why none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato import promises
from sfumato.attacks.registry import known, make

LIMITATIONS = Path(__file__).parents[2] / "docs" / "limitations.md"


def threatened():
    return {promise for name in known() for promise in make(name).threatens}


@pytest.mark.parametrize("promise", promises.known())
def test_a_promise_is_attacked_or_its_limits_are_written_down(promise):
    written = LIMITATIONS.read_text(encoding="utf-8") if LIMITATIONS.exists() else ""
    assert promise in threatened() or f"`{promise}`" in written


def test_attacks_threaten_promises_that_exist():
    assert threatened() <= set(promises.known())
