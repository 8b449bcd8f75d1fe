"""The same step elsewhere: what a page does, as lines of a policy, of Python and of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True)
class SameStep:
    """One step in three languages, to be copied; each is empty where the step has none in it."""

    yaml: str = ""
    python: str = ""
    cli: str = ""

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The languages it can be said in, with the text in each."""
        three = (("YAML", self.yaml), ("Python", self.python), ("Command line", self.cli))
        return tuple((name, text) for name, text in three if text)


def yaml_part(text: str, key: str) -> str:
    """Returns the part of a policy's text below one key; nothing where the policy has no such key.

    >>> yaml_part("columns: {}\\npromises:\\n  - k-anonymity: {k: 5}\\nprotect: {}\\n", "promises")
    'promises:\\n  - k-anonymity: {k: 5}\\n'
    """
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith(f"{key}:")), None)
    if start is None:
        return ""
    rest = takewhile(lambda line: line[:1] in ("", " ", "-"), lines[start + 1 :])
    return "\n".join((lines[start], *rest)).rstrip() + "\n"


def command(*words: str) -> str:
    """Returns a command as it is typed; what needs quotes has them.

    >>> command("sfumato", "discover", "my table.csv", "--k", "5")
    "sfumato discover 'my table.csv' --k 5"
    """
    return " ".join(shlex.quote(word) for word in words)


def python_call(target: str, name: str, arguments: Iterable[object] = (), **named: object) -> str:
    """Returns a call as Python writes it.

    >>> python_call("scan", "sf.discover", ["patients.csv"], k=5)
    "scan = sf.discover('patients.csv', k=5)"
    """
    words = [repr(argument) for argument in arguments]
    words += [f"{key}={value!r}" for key, value in named.items()]
    call = f"{name}({', '.join(words)})"
    return f"{target} = {call}" if target else call
