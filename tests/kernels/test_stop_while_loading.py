"""A request to stop while machine code is loaded is heeded when it is loaded."""

from __future__ import annotations

import signal

import pytest

from sfumato.kernels import compiled
from sfumato.system.progress import StopAsked, StopRequest


def test_a_request_is_held_and_heeded_afterwards():
    request = StopRequest()
    reached = []
    with pytest.raises(StopAsked), request.hold():
        with request.hold():
            request._note(signal.SIGINT, None)
            reached.append("inside")
        reached.append("still held")
    assert reached == ["inside", "still held"] and request.held == 0
    with pytest.raises(StopAsked):
        request.raise_if_asked()


def test_what_is_raised_while_a_request_is_held_comes_first():
    request = StopRequest()
    with pytest.raises(ValueError, match="of its own"), request.hold():
        request._note(signal.SIGTERM, None)
        raise ValueError("of its own")
    assert request.held == 0 and request.asked


def test_nothing_is_heeded_once_something_is_published():
    request = StopRequest(published=True)
    with request.hold():
        request._note(signal.SIGINT, None)
    assert request.asked


def test_machine_code_is_loaded_whole(monkeypatch):
    request, loaded = StopRequest(), []

    def load(self, kinds):
        request._note(signal.SIGINT, None)  # inside a callback it would be dropped
        loaded.append((self, kinds))

    monkeypatch.setattr(compiled, "stop_request", request)
    monkeypatch.setattr(compiled.CPUDispatcher, "compile", load)
    kernel = compiled.njit(cache=True)(lambda x: x)
    with pytest.raises(StopAsked):
        kernel.compile((compiled.types.int64,))
    assert len(loaded) == 1 and compiled.Kernel._depth == 0
