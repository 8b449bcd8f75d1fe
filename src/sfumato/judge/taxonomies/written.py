"""Taxonomies that the policy writes out: flat lists, rows, nested trees, and hierarchy files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from sfumato.core.errors import BadTaxonomy
from sfumato.judge.taxonomies.numbers import in_order
from sfumato.judge.taxonomies.value_tree import ANY, Text, ValueTree

SEPARATORS = (";", ",", "\t", "|")

Path = tuple[str, ...]
"""A value, and what it becomes on the way to the root."""


def build_flat(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of a value or `*`; the values are those that occur, or those that are listed.

    >>> build_flat({"flat": True}, ["10", "9", None]).values
    ('9', '10', None)
    """
    said = spec["flat"]
    values = in_order(text for text in texts if text is not None) if said is True else _labels(said)
    levels = [list(dict.fromkeys(values))]
    return _with_all(_tree(levels, spec, texts), texts)


def build_rows(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of `{rows: [[Flu, Viral, "*"], [TB, "*"]]}`.

    >>> [level[1] for level in build_rows({"rows": [["Flu", "Viral", "*"], ["TB", "*"]]}, []).labels]
    ['TB', 'TB', '*']
    """
    listed = spec["rows"]
    rows = listed if isinstance(listed, Sequence) else []
    return of_paths([_labels(row) for row in rows], spec, texts)


def build_tree(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of nested groups, `{tree: {Viral: [Flu, AIDS], Trauma: null}}`.

    >>> build_tree({"tree": {"Viral": ["Flu", "AIDS"], "Trauma": None}}, [None]).values
    ('Flu', 'AIDS', 'Trauma', None)

    A single group that holds everything is the root itself.

    >>> build_tree({"tree": {"person": ["f", "m"]}}, []).labels
    (('f', 'm'), ('person', 'person'))
    """
    return of_paths(list(_branches(spec["tree"], ())), spec, texts)


def build_file(spec: Mapping[str, object], texts: Sequence[Text], content: bytes) -> ValueTree:
    r"""Returns the tree of a hierarchy file: a line per value, then what it becomes, level by level.

    >>> build_file({"file": "h.csv"}, [], b"Flu;Viral;*\nAIDS;Viral;*\n").labels[1]
    ('Viral', 'Viral')
    """
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise BadTaxonomy("a hierarchy file is not UTF-8 text", where=str(spec["file"])) from None
    read = {separator: _lines(text, separator) for separator in SEPARATORS}
    fitting = [s for s in SEPARATORS if s in text] or [SEPARATORS[0]]
    lines = read[max(fitting, key=lambda s: sum(len(line) > 1 for line in read[s]))]
    if not lines or "\0" in text:
        raise BadTaxonomy("a hierarchy file holds no rows that can be read", where=str(spec["file"]))
    return of_paths([_whole(line, str(spec["file"])) for line in lines], spec, texts)


def of_paths(paths: Sequence[Path], spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree in which values take these paths; where one is shorter, its value stays for longer.

    All end in the root: in one label, if they say so, else in `*`. Raises `BadTaxonomy` where a value has two
    different paths, or a text has none.
    """
    chosen: dict[str, Path] = {}
    for path in paths:
        if chosen.setdefault(path[0], path) != path:
            raise BadTaxonomy("not a hierarchy: a value has two paths to the root")
    rooted = len({path[-1] for path in chosen.values()}) == 1 and all(len(p) > 1 for p in chosen.values())
    if not rooted:
        chosen = {v: p if len(p) > 1 and p[-1] == ANY else (*p, ANY) for v, p in chosen.items()}
    longest = max(map(len, chosen.values()), default=0)
    full = [(value,) * (longest - len(path)) + path for value, path in chosen.items()]
    levels = [[path[i] for path in full] for i in range(longest)]
    return _with_all(_tree(levels, spec, texts), texts)


def _with_all(tree: ValueTree, texts: Sequence[Text]) -> ValueTree:
    """Returns the tree; raises `BadTaxonomy` where a text has no place in it."""
    lacking = [text for text in texts if text is not None and tree.place(text) is None]
    if lacking:
        raise BadTaxonomy(f"{len(lacking)} values have no place in the taxonomy", values=lacking)
    return tree


def _tree(levels: Sequence[Sequence[Text]], spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    return ValueTree.of_levels(levels, ordered=spec.get("ordered") is True, missing=None in texts)


def _branches(words: object, above: Path) -> Iterator[Path]:
    """Yields the path of every value in nested mappings and lists; a group without members is a value."""
    if isinstance(words, Mapping):
        for name, below in words.items():
            inner = list(_branches(below, (str(name), *above)))
            yield from inner or [(str(name), *above)]
    elif isinstance(words, Sequence) and not isinstance(words, str):
        for word in words:
            yield from _branches(word, above)
    elif words is not None:
        yield (str(words), *above)


def _lines(text: str, separator: str) -> list[Path]:
    """Yields the cells of every line that is not empty; nothing where quotes do not fit this separator."""
    try:
        found = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        return [tuple(line) for line in found if line]
    except csv.Error:
        return []


def _whole(line: Path, where: str) -> Path:
    """Returns a line without the empty cells at its end; raises where another one is empty."""
    while len(line) > 1 and line[-1] == "":
        line = line[:-1]
    if "" in line:
        raise BadTaxonomy("a line of a hierarchy file has an empty cell", where=where)
    return line


def _labels(listed: object) -> Path:
    given = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else [listed]
    return tuple(map(str, given))
