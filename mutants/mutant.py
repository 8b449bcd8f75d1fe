"""A mutant: one change of one file; and which of all possible ones are drawn."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.operators import mutable_nodes, wrong_versions


@dataclass(frozen=True)
class Mutant:
    """One change: what stands between two bytes of a file becomes `text`, read as the syntax tree `meant`.

    It is known by its `name`: the file, the function, the lines as they are and as they become (and which of
    several that are alike), so that it stays the same mutant when code elsewhere changes.
    """

    path: str
    where: str
    line: int
    start: int
    end: int
    text: str
    meant: str
    before: str
    after: str
    nth: int = 1

    @property
    def name(self) -> str:
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.path} | {self.where} | {self.before} | {self.after}{again}"

    def applied(self, source: str) -> str | None:
        """Return the file with the change made; `None` where no text is read as what is meant."""
        data = source.encode()
        for text in (self.text, f"({self.text})"):
            changed = (data[: self.start] + text.encode() + data[self.end :]).decode()
            try:
                tree = ast.parse(changed)
            except SyntaxError:
                continue
            if any(ast.dump(node) == self.meant for node in _nodes_of_line(tree, self.line)):
                return changed
        return None


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of the file."""
    begins = _line_begins(source)
    alike: Counter[tuple[str, str, str]] = Counter()
    for where, node in mutable_nodes(ast.parse(source)):
        if getattr(node, "lineno", None) is None:
            continue
        shown = node.test if isinstance(node, ast.If) else node
        start, end = (begins[line - 1] + column for line, column in _span(shown))
        for wrong in wrong_versions(node):
            made = wrong.test if isinstance(wrong, ast.If) else wrong
            text = ast.unparse(made)
            before, after = _lines(source, start, end, text)
            alike[where, before, after] += 1
            nth = alike[where, before, after]
            yield Mutant(path, where, shown.lineno, start, end, text, ast.dump(made), before, after, nth)


def drawn(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return so many mutants, chosen by the hash of their names and a seed; in the order of the files.

    One that is drawn stays drawn when others come or go, unless they push it out.
    """

    def lot(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()

    return sorted(sorted(mutants, key=lot)[:count], key=lambda m: (m.path, m.start, m.after))


def mutants_in(root: Path, room: str) -> list[Mutant]:
    """Return every mutant of the files in a room of `src/sfumato`."""
    found = list[Mutant]()
    for file in sorted((root / "src" / "sfumato" / room).rglob("*.py")):
        found += mutants_of(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
    return found


def _nodes_of_line(tree: ast.Module, line: int) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if getattr(node, "lineno", None) == line)


def _span(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _line_begins(source: str) -> list[int]:
    begins = [0]
    for line in source.encode().splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    return begins


def _lines(source: str, start: int, end: int, text: str) -> tuple[str, str]:
    """The lines of a change as they are and as they become, in one line each."""
    data = source.encode()
    begin = data.rfind(b"\n", 0, start) + 1
    stop = data.find(b"\n", end)
    stop = len(data) if stop < 0 else stop
    before = data[begin:stop].decode()
    after = data[begin:start].decode() + text + data[end:stop].decode()
    return " ".join(before.split()), " ".join(after.split())
