"""What pages have in common: the frame, the form that was sent, and how a refusal looks."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from sfumato.inputs import needed_files
from sfumato.policy.policy import Policy, policy_of_text
from sfumato.studio.security import RequestTooLarge, Studio
from sfumato.studio.state import NOTHING, PolicyConflict, PolicyFile, PolicyState, version_of
from sfumato.system.errors import BadPolicy, LedgerConflict, SfumatoError, UsageError, short
from sfumato.system.presentation.cards import format_number, pluralize, visible
from sfumato.system.progress import as_shown

if TYPE_CHECKING:
    from sfumato.studio.security import Studio


# The same step elsewhere: what a page does, as lines of a policy, of Python and of the command line.


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
    block = takewhile(lambda line: line[:1] in ("", " ", "-"), lines[start + 1 :])
    return "\n".join((lines[start], *block)).rstrip() + "\n"


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


# The texts of the studio, from one catalogue.


@cache
def texts() -> SimpleNamespace:
    """Returns all texts, by page and key; no name of a method can stand in the way of a key."""
    content = (resources.files("sfumato.studio") / "texts.toml").read_text(encoding="utf-8")
    pages = {page: SimpleNamespace(**words) for page, words in tomllib.loads(content).items()}
    return SimpleNamespace(**pages)


STEPS = ("discover", "declare", "protect", "attack", "release", "trace")
"""The six verbs, in the order in which a release comes about."""
LONGEST_ADDRESS = 8_000
"""So many characters every browser and server takes in an address."""
MOST_FIELDS = 5000


@cache
def templates() -> Environment:
    """Returns the templates; what is put into them is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=PackageLoader("sfumato.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(visible=_shown, format_number=format_number, pluralize=pluralize)
    environment.globals.update(t=texts(), steps=STEPS)
    return environment


def _shown(text: object, keep: str = "") -> str:
    return visible(str(text), keep=keep)


@dataclass(frozen=True)
class SentForm:
    """The fields of a form that was sent."""

    fields: tuple[tuple[str, str], ...]

    def text(self, name: str, default: str | None = None) -> str:
        """Returns the field of this name; raises `UsageError` where there is none and no default."""
        for key, value in self.fields:
            if key == name:
                return value
        if default is None:
            raise UsageError("the form lacks a field", where=name, remedy="Open the page again.")
        return default

    def all(self, name: str) -> tuple[str, ...]:
        """Returns every field of this name."""
        return tuple(value for key, value in self.fields if key == name)

    def whole(self, name: str, *, least: int, most: int) -> int:
        """Returns a whole number within limits; raises `UsageError` for anything else."""
        text = self.text(name).strip()
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else -1
        if not least <= number <= most:
            raise UsageError(f"a whole number from {least} to {most} is needed", where=name)
        return number

    @property
    def version(self) -> str:
        """The version of the policy that the page was showing."""
        return self.text("version")


Action = Callable[[Request, SentForm], Response]


def studio_of(request: Request) -> Studio:
    """Returns the studio that a request is for."""
    studio: Studio = request.app.state.studio
    return studio


def render(
    request: Request,
    template: str,
    *,
    step: str,
    same: SameStep | None = None,
    status: int = 200,
    **context: object,
) -> Response:
    """Returns a page: a template with the frame that all pages have."""
    studio = studio_of(request)
    policy = studio.policy
    version, state = _seen_policy(policy)
    frame = {
        "step": step,
        "open_steps": request.app.state.steps,
        "data": studio.data,
        "tables": studio.folder.tables(),
        "version": version,
        "has_policy": policy.path.exists(),
        "policy_name": policy.path.name,
        "state": state,
        "same": same or SameStep(),
        "part": "",
    }
    page = templates().get_template(template).render({**frame, **context})
    return HTMLResponse(page, status)


def _seen_policy(policy: PolicyFile) -> tuple[str, PolicyState | None]:
    """Returns the version and the state of the policy; none where it cannot be read, as some page will say.

    The page that says so has the same frame.
    """
    try:
        return policy.version, policy.current()
    except (SfumatoError, OSError):
        return NOTHING, None


def fragment(template: str, **context: object) -> Response:
    """Returns a part of a page, for htmx to put in its place."""
    return HTMLResponse(templates().get_template(template).render(context))


def to(path: str) -> Response:
    """Returns an answer that leads to a page of the studio, whose path is written in the program.

    Raises `UsageError` where what was typed, and goes along in the address, is longer than browsers take.
    """
    if len(path) > LONGEST_ADDRESS:
        raise UsageError("what was typed is too long for a name", remedy="Shorten it.")
    return RedirectResponse(path, 303)


def action(function: Action) -> Callable[[Request], object]:
    """Makes an endpoint of a function that changes something: it gets the form, apart from the event loop."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await request.body()
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except (UnicodeDecodeError, ValueError):
            return refused(request, UsageError("this is no form", remedy="Open the page again."))
        form = SentForm(tuple(pairs))
        try:
            return await run_in_threadpool(function, request, form)
        except PolicyConflict as conflict:
            return conflicting(request, form, conflict)

    return endpoint


def conflicting(request: Request, form: SentForm, conflict: PolicyConflict) -> Response:
    """Returns the page that shows the policy as it is now, with the change that was meant for another."""
    fields = [(name, value) for name, value in form.fields if name != "version"]
    text = studio_of(request).policy.text or ""
    path = request.url.path
    return render(
        request, "conflict.html", step="", status=409, error=conflict, fields=fields, path=path, text=text
    )


def refused(request: Request, error: SfumatoError) -> Response:
    """Returns the page that says no: what is wrong, where, and what to do next."""
    status = (
        413
        if isinstance(error, RequestTooLarge)
        else 409
        if error.exit_code == LedgerConflict.exit_code
        else 422
    )
    problems = error.problems if isinstance(error, BadPolicy) else ()
    return render(request, "refused.html", step="", status=status, error=error, problems=problems)


async def on_error(request: Request, error: Exception) -> Response:
    """Returns the answer to anything that went wrong; pages name tables, so strangers are shown none."""
    if not studio_of(request).gate.knows(request.headers.get("cookie", "")):
        return PlainTextResponse("This cannot be answered.\n", 400)
    return await run_in_threadpool(refused, request, as_shown(error))


# What long work is about: a table, a policy and a ledger, each in one state.


# Policies as the studio reads them: with all their files in the opened folder.


def policy_within(text: str, path: Path) -> Policy:
    """Returns the policy that a text holds, which lies or will lie at `path`.

    Raises `BadPolicy` where it is none, and `UsageError` where it names a file outside of its folder.
    """
    policy = policy_of_text(text, name=path.name, folder=path.parent)
    home = path.parent.resolve()
    for file, what in needed_files(None, policy, None, ()).items():
        if not file.resolve().is_relative_to(home):
            raise UsageError(
                f"{what} lies outside of the folder that the studio was opened on",
                where=short(file.name),
                remedy="Copy the file into the folder, and name it without a path.",
            )
    return policy


LEDGER = "ledger.db"


@dataclass(frozen=True)
class Question:
    """A table and a policy that something is asked about; `stamp` and `version` are the states of both.

    `ledger` is the address of the folder's ledger, `begun` says whether it is there. Work is handed this
    instead of what it names, and looks whether all of it is as it was.
    """

    data: Path
    name: str
    stamp: str
    policy_path: Path
    version: str
    ledger: str
    begun: bool
    history: str = ""
    """The state of the ledger, where the policy looks back at earlier releases."""

    @property
    def key(self) -> str:
        """A text that differs where an answer might."""
        return f"{self.stamp}:{self.version}:{self.history}"

    @property
    def against(self) -> str | None:
        """The ledger, where it is there."""
        return self.ledger if self.begun else None

    def policy(self) -> Policy:
        """Returns the policy; raises `LedgerConflict` where it is no longer the one that was asked about."""
        text = PolicyFile(self.policy_path).text
        if text is None or version_of(text) != self.version:
            raise LedgerConflict("the policy was changed meanwhile", remedy="Start again with the new one.")
        return policy_within(text, self.policy_path)


def question_of(studio: Studio) -> Question | None:
    """Returns what the studio is looking at; `None` while it lacks a table or a policy."""
    data = studio.data
    if data is None or not studio.policy.path.exists():
        return None
    ledger, version = ledger_path(studio), studio.policy.version
    begun = ledger.exists()
    return Question(
        data.path,
        data.name,
        data.stamp,
        studio.policy.path,
        version,
        f"sqlite:///{ledger}",
        begun,
        _state_of(ledger) if begun and _looks_back(studio.policy.path, version) else "",
    )


def needed_question(studio: Studio) -> Question:
    """Returns what the studio is looking at; raises `UsageError` while it lacks a table or a policy."""
    question = question_of(studio)
    if question is None:
        raise UsageError(
            "a table and a policy are needed", remedy="Discover a table, then declare what its columns are."
        )
    return question


def _state_of(ledger: Path) -> str:
    state = ledger.stat()
    return f"{state.st_size}:{state.st_mtime_ns}"


@lru_cache(maxsize=8)
def _looks_back(path: Path, version: str) -> bool:
    """Whether the policy of a version is judged beside earlier releases; not, while it is unusable."""
    del version
    with suppress(SfumatoError):
        policy = PolicyFile(path).load()
        return policy is not None and policy.promises.looks_back
    return False


def ledger_path(studio: Studio) -> Path:
    """Returns where the ledger of the folder is, or will be."""
    return studio.folder.file(LEDGER)
