"""A plugin for pytest that records which test runs which line, and how long each takes.

    SFUMATO_MUTANTS_RECORD=FILE python -m pytest -p mutants.recorder ...

It writes the tests with their seconds, quickest first, and for every file of ours the tests of each line.
Lines that run while a module is imported belong to no test.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

VARIABLE = "SFUMATO_MUTANTS_RECORD"


class Recorder:
    """Switches the context of the coverage to the test that is about to run."""

    def __init__(self, goal: Path, folder: Path) -> None:
        self.goal, self.folder = goal, folder
        self.seconds: dict[str, float] = {}
        self.coverage = coverage.Coverage(data_file=None, config_file=False, source=[str(folder / "src")])
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begin = time.process_time()
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")
            self.seconds[item.nodeid] = time.process_time() - begin

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        quickest = sorted(self.seconds, key=lambda test: (self.seconds[test], test))
        numbers = {test: number for number, test in enumerate(quickest)}
        lines = {
            Path(file).relative_to(self.folder).as_posix(): {
                line: sorted(numbers[test] for test in tests if test)
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        tests = [[test, round(self.seconds[test], 3)] for test in quickest]
        self.goal.write_text(json.dumps({"tests": tests, "lines": lines}), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record where the variable says to."""
    goal = os.environ.get(VARIABLE)
    if goal:
        config.pluginmanager.register(Recorder(Path(goal), Path(config.rootpath)))
