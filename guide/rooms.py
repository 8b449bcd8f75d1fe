"""Which room imports which, for types and inside functions too: `python -m guide.rooms` prints the graph."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src" / "sfumato"
Graph = Mapping[str, Mapping[str, int]]
"""By room, how often it imports from each other room."""


def rooms(sources: Path = SOURCES) -> Graph:
    """Return the graph of rooms; a model is a room of its own, as are the kinds of parts that it has."""
    modules = {_name(path, sources): path for path in sources.rglob("*.py")}
    graph: dict[str, Counter[str]] = defaultdict(Counter)
    for name, path in modules.items():
        here = room_of(name)
        for target in _imported(path, modules.keys()):
            if room_of(target) != here:
                graph[here][room_of(target)] += 1
    return graph


def room_of(module: str) -> str:
    """Return the room of a module, named without the package.

    >>> room_of("table.cut"), room_of("models.freeform.attack"), room_of("models.contract")
    ('table', 'models.*.attack', 'models.contract')
    """
    parts = module.split(".")
    if parts[0] != "models" or len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return module
    return (
        f"models.*.{parts[2]}" if parts[2] in {"promise", "judge", "attack"} else f"models.{parts[1]}.parts"
    )


def circles(graph: Graph) -> list[list[str]]:
    """Return the rooms that lead back to themselves, those of one circle together."""
    reached = {room: _reached(graph, room) for room in graph}
    return sorted(
        {
            tuple(sorted(there for there in reached[room] if room in reached.get(there, ())))
            for room in graph
            if room in reached[room]
        }
    )


def _reached(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    ahead = list(graph.get(start, ()))
    while ahead:
        room = ahead.pop()
        if room not in reached:
            reached.add(room)
            ahead += graph.get(room, ())
    return reached


def _name(path: Path, sources: Path) -> str:
    return ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def _imported(path: Path, modules: object) -> Iterator[str]:
    """Yield the modules of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato"):
            base = (node.module or "").removeprefix("sfumato").lstrip(".")
            for alias in node.names:
                inside = f"{base}.{alias.name}".lstrip(".")
                yield inside if inside in modules else base  # type: ignore[operator]
        elif isinstance(node, ast.Import):
            yield from (a.name.removeprefix("sfumato.") for a in node.names if a.name.startswith("sfumato."))


if __name__ == "__main__":
    graph = rooms()
    for room in sorted(graph):
        print(f"{room}: {', '.join(f'{there} {count}' for there, count in sorted(graph[room].items()))}")
    print("circles:", circles(graph) or "none")
