"""The names that programs may rely on, with their signatures and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

PROMPT = re.compile(r"^\s*>>> ", re.MULTILINE)


def names(module: str) -> str:
    """Returns every stable name of a module: how it is called, and what its docstring says."""
    home = importlib.import_module(module)
    return "\n".join(part for name in sorted(home.__all__, key=str.lower) for part in _entry(home, name))


def _entry(home, name: str) -> Iterator[str]:
    thing = getattr(home, name)
    yield f"\n### {name}\n"
    if inspect.ismodule(thing):
        yield _first(thing)
        for member in sorted(getattr(thing, "__all__", ())):
            found = getattr(thing, member)
            yield f"\n**`{name}.{member}{_signature(found)}`**\n\n{_doc(found)}"
        return
    if callable(thing):
        yield f"**`{home.__name__}.{name}{_signature(thing)}`**\n"
    yield _doc(thing)
    members = public_members(thing)
    if members:
        yield "\n| member | what it is |\n|---|---|"
        yield from (f"| `{key}{_arguments(member)}` | {_cell(_first(member))} |" for key, member in members)


def public_members(thing: object) -> list[tuple[str, object]]:
    """Returns what a class of ours offers: methods and properties that its own docstrings explain."""
    thing = thing if inspect.isclass(thing) or not callable(thing) else type(thing)
    if not inspect.isclass(thing) or not thing.__module__.startswith("sfumato"):
        return []
    found = []
    for key in dir(thing):
        member = inspect.getattr_static(thing, key)
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not key.startswith("_") and (callable(plain) or isinstance(plain, property)) and plain.__doc__:
            found.append((key, plain))
    return found


def summary(module: str) -> str:
    """Returns every stable name of a module with its first sentence."""
    home = importlib.import_module(module)
    stable = sorted(home.__all__, key=str.lower)
    lines = (f"| `{name}` | {_cell(_said_of(home, name))} |" for name in stable)
    return "\n".join(["| name | what it is |", "|---|---|", *lines])


def _said_of(home, name: str) -> str:
    """Returns the first sentence about a name: of a constant or an alias, what stands below it."""
    thing = getattr(home, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        return _first(thing)
    place = home._MODULES.get(name)
    return (_said_below(place) if place else {}).get(name) or _first(thing)


@cache
def _said_below(module: str) -> dict[str, str]:
    """Returns the texts of a module that stand right below an assignment, by the name that is assigned."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    return {
        target.id: inspect.cleandoc(text.value.value)
        for assigned, text in pairwise(body)
        if isinstance(assigned, ast.Assign) and isinstance(target := assigned.targets[0], ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def _signature(thing: object) -> str:
    try:
        asked = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    kept = [
        p.replace(annotation=inspect.Parameter.empty, default=_shown_default(p.default))
        for p in asked.parameters.values()
    ]
    return str(asked.replace(parameters=kept, return_annotation=inspect.Signature.empty))


class _Word(str):
    """A default that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _shown_default(default: object) -> object:
    """Returns a default as a page may show it: of a function its name, of an object of ours its class."""
    if default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None):
        return default
    name = getattr(default, "__name__", type(default).__name__)
    return _Word("…" if name == "<lambda>" else name)


def _arguments(member: object) -> str:
    if isinstance(member, property):
        return ""
    return re.sub(r"^\((self|cls)(, )?", "(", _signature(member))


def _doc(thing: object) -> str:
    """Returns the docstring of a name; its examples as a block that says what it is."""
    if not (callable(thing) or inspect.ismodule(thing)):
        return f"`{type(thing).__name__}`: {_cell(_first(thing))}"
    prose, parameters, examples = _sections(inspect.getdoc(thing) or "")
    if _is_called(thing):  # an object of ours: its class tells what it is, the call which words it takes
        parameters = _sections(inspect.getdoc(type(thing).__call__) or "")[1]
    return "\n\n".join(
        part
        for part in (prose, _parameter_list(parameters), f"```pycon\n{examples}\n```" if examples else "")
        if part
    )


def _is_called(thing: object) -> bool:
    return not (inspect.isroutine(thing) or inspect.isclass(thing) or inspect.ismodule(thing))


def _sections(text: str) -> tuple[str, str, str]:
    """Returns what a docstring says, its section `Args:` and its examples."""
    found = PROMPT.search(text)
    before, examples = (text[: found.start()], text[found.start() :]) if found else (text, "")
    prose, _, parameters = before.partition("\nArgs:\n")
    return prose.rstrip(), parameters.rstrip(), examples.strip()


def _parameter_list(section: str) -> str:
    """Returns a section `Args:` as a list of Markdown."""
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    return "\n".join(f"- `{name}`: {' '.join(meaning.split())}" for name, meaning in entries)


def _first(thing: object) -> str:
    source = thing.fget if isinstance(thing, property) else thing
    return (inspect.getdoc(source) or "").partition("\n\n")[0]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
