"""How many random cases, that they are the same on every machine, what each test needs; and buckets."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from buckets import Buckets, used

PROFILE = os.environ.get("SFUMATO_HYPOTHESIS", "quick")
FEW = {"check": 8, "quick": 30}
"""So many random cases of each test are tried by `make check` and `make test`, where a test asks for more."""

for name, few in FEW.items():
    settings.register_profile(
        name,
        max_examples=few,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile(
    "soak", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(PROFILE)

NEEDS = {"peers/": "peers", "table/spark/": "spark"}
"""Folders of tests, and what all tests in them need."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Looks for no garbage while all modules are loaded, nor later in what they hold: there is none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads groups in the same hook
def pytest_collection_modifyitems(config, items):
    """Mark tests by what they need and share; but in `make soak`, try fewer random cases."""
    for item in items:
        if _shares(item) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
        name = item.nodeid.removeprefix("tests/")
        for start, mark in NEEDS.items():
            if name.startswith(start):
                item.add_marker(mark)
        if "cluster" in getattr(item, "fixturenames", ()):  # doctests have no fixtures
            item.add_marker("postgresql")
        test = getattr(item, "obj", None)
        if PROFILE in FEW and test is not None and is_hypothesis_test(test):
            _try_few(test, FEW[PROFILE])
        if config.getoption("loadgroup", default=False) and item.get_closest_marker("xdist_group"):
            _name_group(item)


def _name_group(item):
    """pytest-xdist 3.8 finds the group of a test in its id, and cannot write it there since pytest 9.2."""
    group = item.get_closest_marker("xdist_group").args[0]
    if hasattr(item, "_id"):
        item._id = type(item._id).parse(f"{item.nodeid}@{group}")


def _shares(item):
    """Whether tests of this module share something: one process runs them, or each would make it anew."""
    made = getattr(item, "_fixtureinfo", None)
    fixtures = made.name2fixturedefs.values() if made else ()
    return any(versions[-1].scope == "module" for versions in fixtures)


def _try_few(test, most):
    """Hypothesis has no public way to lower the number of cases that a test asks for itself."""
    bare = getattr(test, "__func__", test)
    asked = bare._hypothesis_internal_use_settings
    bare._hypothesis_internal_use_settings = settings(asked, max_examples=min(most, asked.max_examples))


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


def pytest_sessionfinish():
    """Lets go of what was kept; records what kernels were called with, where a folder is named for it."""
    gc.unfreeze()
    if folder := os.environ.get("SFUMATO_RECORD_SIGNATURES"):
        from sfumato.kernels.signatures import record_asked

        record_asked(Path(folder))
