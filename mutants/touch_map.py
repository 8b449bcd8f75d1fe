"""Which tests run which line: what `mutants.recorder` wrote, asked for the tests of a mutant."""

from __future__ import annotations

import ast
import json
import math
from dataclasses import dataclass
from pathlib import Path

from mutants.mutant import Mutant


@dataclass(frozen=True)
class TouchMap:
    """Tests, quickest first, with their seconds, and the numbers of those that run a line of a file."""

    tests: tuple[tuple[str, float], ...]
    lines: dict[str, dict[str, list[int]]]

    @classmethod
    def load(cls, path: Path) -> TouchMap:
        told = json.loads(path.read_text(encoding="utf-8"))
        return cls(tuple((test, seconds) for test, seconds in told["tests"]), told["lines"])

    @property
    def seconds(self) -> float:
        """How long all tests take."""
        return sum(seconds for _, seconds in self.tests)

    def tests_of(self, mutant: Mutant, source: str, *, most: float = math.inf) -> list[str]:
        """Return the tests that run the mutant's statement, quickest first; none if only an import does.

        With `most`, only so many that they take this many seconds together, and at least one.
        """
        lines = self.lines.get(mutant.path, {})
        numbers = {n for line in statement_lines(source, mutant.line) for n in lines.get(str(line), ())}
        chosen, left = list[str](), most
        for test, seconds in (self.tests[number] for number in sorted(numbers)):
            left -= seconds
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def statement_lines(source: str, line: int) -> range:
    """Return the lines of the innermost statement around a line, of a compound one those of its head.

    >>> statement_lines("def f(x):\\n    if (x\\n        > 1):\\n        return 2\\n", 3)
    range(2, 4)
    """
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not around:
        return range(line, line + 1)
    inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    body = getattr(inner, "body", None)  # simple statements have none
    last = body[0].lineno - 1 if body else (inner.end_lineno or inner.lineno)
    return range(inner.lineno, max(last, line) + 1)
