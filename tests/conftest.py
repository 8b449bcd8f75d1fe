"""How many random cases, that they are the same on every machine, what each test needs; and buckets."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from buckets import Buckets, used

PROFILE = os.environ.get("SFUMATO_HYPOTHESIS", "quick")
FEW = 8
"""So many random cases of each test are tried by `make check`, where a test says more."""

settings.register_profile(
    "check", max_examples=FEW, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "quick", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(PROFILE)

HERE = Path(__file__).parent
NEEDS = {"peers": "peers", "engine/spark": "spark"}
"""Folders of tests, and what all tests in them need."""


def pytest_collection_modifyitems(items):
    """Mark tests by what they need; in `make check`, try fewer random cases."""
    for item in items:
        folder = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
        for start, mark in NEEDS.items():
            if folder.startswith(f"{start}/"):
                item.add_marker(mark)
        if "cluster" in getattr(item, "fixturenames", ()):  # doctests have no fixtures
            item.add_marker("postgresql")
        test = getattr(item, "obj", None)
        if PROFILE == "check" and test is not None and is_hypothesis_test(test):
            _try_few(test)


def _try_few(test):
    """Hypothesis has no public way to lower the number of cases that a test asks for itself."""
    bare = getattr(test, "__func__", test)
    asked = bare._hypothesis_internal_use_settings
    bare._hypothesis_internal_use_settings = settings(asked, max_examples=min(FEW, asked.max_examples))


@pytest.fixture(scope="module")
def server():
    """Buckets of our own, thrown away afterwards."""
    with Buckets() as running:
        yield running


@pytest.fixture
def buckets(server, monkeypatch):
    """The same, for this process to speak to; sound when it begins."""
    yield used(server, monkeypatch)
    server.heal()
