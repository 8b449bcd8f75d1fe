"""Value trees written as nested braces: `name:discrete`, and on the next line `{root {child {leaf} …} …}`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from sfumato.table.taxonomy import Taxonomy

HEAD = re.compile(r"^([^:\s]+):discrete")
TOKEN = re.compile(r"[{}]|[^{}]+")


@cache
def nested_trees(path: Path) -> dict[str, Taxonomy]:
    """The trees of all discrete columns in a file, by the name of the column."""
    lines = path.read_text(encoding="utf-8").splitlines()
    heads = [(i, found[1]) for i, line in enumerate(lines) if (found := HEAD.match(line))]
    return {name: nested_tree(lines[i + 1]) for i, name in heads}


def nested_tree(text: str) -> Taxonomy:
    """The tree that one line of braces says.

    >>> nested_tree("{Any {Alone} {Married {Here} {Away}}}").height
    2
    """
    labels: list[str | None] = []
    parents: list[int] = []
    open_nodes = [-1]
    for token in TOKEN.findall(text.strip()):
        if token == "}":
            open_nodes.pop()
        elif token != "{" and token.strip():
            labels.append(token.strip())
            parents.append(open_nodes[-1])
            open_nodes.append(len(labels) - 1)
    return Taxonomy.grow(labels, parents)
