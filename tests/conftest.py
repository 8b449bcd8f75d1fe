"""How many random cases, and that they are the same on every machine; and buckets to release into."""

import os

import pytest
from hypothesis import HealthCheck, settings

from buckets import Buckets, used

settings.register_profile(
    "quick", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("SFUMATO_HYPOTHESIS", "quick"))


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
