"""Errors: their classes, their exit codes, and every message with its remedy, read from the source."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.system import errors

SOURCES = Path(__file__).parent.parent / "src" / "sfumato"
EXIT_CODES = {
    0: "done; for judges: nothing is broken",
    1: "a promise does not hold, an attack achieves more than allowed, or no recoding can keep the promises",
    2: "the call is off: an unknown option, an output that exists already, an attack that has nothing to"
    " strike",
    3: "the data, a taxonomy or the policy cannot be used, or a file is not there",
    4: "somebody else released first, the ledger is in use or out of reach, or a last step is to be taken:"
    " try again",
    5: "refused because of earlier releases",
    70: "a bug; the message says whether something was published",
    130: "interrupted; nothing was published",
}
"""What each exit code means. `classes` has the codes themselves; a test holds both against each other."""
HOLE = "…"


@dataclass(frozen=True, order=True)
class Message:
    """One sentence that the program may say: the error, the place it is raised, and what to do next."""

    kind: str
    text: str
    remedy: str
    module: str


def classes() -> dict[str, type[errors.SfumatoError]]:
    """Returns every class of errors by its name, in the order of its file."""
    return {
        name: found
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.SfumatoError)
    }


def exit_codes_table() -> str:
    """Returns the exit codes as a table."""
    return "\n".join(
        ["| code | meaning |", "|---|---|", *(f"| {code} | {text} |" for code, text in EXIT_CODES.items())]
    )


def classes_table() -> str:
    """Returns the classes of errors with their exit codes."""
    lines = ["| error | kind of | exit code | what it means |", "|---|---|---|---|"]
    for name, found in classes().items():
        first = (inspect.getdoc(found) or "").partition("\n")[0]
        base = "" if found is errors.SfumatoError else f"`{found.__bases__[0].__name__}`"
        lines.append(f"| `{name}` | {base} | {found.exit_code} | {first} |")
    return "\n".join(lines)


def messages() -> list[Message]:
    """Returns every message that the source can raise or list, each once, in alphabetical order."""
    found = set()
    for path in sorted(SOURCES.rglob("*.py")):
        module = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                found.update(_message(node, module))
    return sorted(found)


def _message(call: ast.Call, module: str) -> Iterator[Message]:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    place = 1 if name == "Problem" else 0
    if (name != "Problem" and name not in classes()) or len(call.args) <= place:
        return
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    after = call.args[place + 1] if name == "Problem" and len(call.args) > place + 1 else named.get("remedy")
    text = _text(call.args[place])
    if text.replace(HOLE, "").strip(" .:;"):
        kind = "BadPolicy" if name == "Problem" else name
        yield Message(kind, text, "" if after is None else _text(after), module)


def _text(node: ast.expr) -> str:
    """Returns the words of an expression; what is put in when the program runs becomes a hole."""
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split(" "))
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.IfExp(body=body, orelse=other):
            both = [_text(body), _text(other)]
            return " / ".join(part for part in both if part) if any(both) else ""
    return HOLE


def messages_table() -> str:
    """Returns every message with its remedy, by class."""
    every = messages()
    parts = []
    for name in classes():
        some = [message for message in every if message.kind == name]
        if not some:
            continue
        parts += ["", f"### {name}", "", "| message | what to do | raised in |", "|---|---|---|"]
        parts += [f"| {_cell(m.text)} | {_cell(m.remedy)} | `{m.module}` |" for m in some]
    return "\n".join(parts)


def _cell(text: str) -> str:
    flat = " ".join(text.split())
    for mark in "|*_<>[]":
        flat = flat.replace(mark, f"\\{mark}")
    return flat
