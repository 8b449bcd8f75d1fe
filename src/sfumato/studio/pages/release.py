"""The page Release: who receives what, what the ledger remembers, and the files to hand on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from sfumato.policy.policy import Policy
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.studio.page import (
    LEDGER,
    Question,
    SameStep,
    SentForm,
    action,
    command,
    needed_question,
    python_call,
    question_of,
    render,
    studio_of,
    to,
    yaml_part,
)
from sfumato.studio.policy_edit import PolicyEdit, apply_edit, with_words
from sfumato.studio.security import Studio
from sfumato.studio.state import check_name
from sfumato.studio.views import (
    ReleasedFolder,
    ReleaseOrder,
    history_of,
    publish,
    rehearse,
    releases_in,
    write_report,
)
from sfumato.system.errors import SfumatoError, UsageError
from sfumato.system.json_object import JsonObject

STEP = "release"
REHEARSAL, RELEASE, REPORT = "rehearsal", "release", "report"
"""The kinds of jobs."""
MOST_NAMES = 200
REPORTS = ("internal", "public")


def show(request: Request) -> Response:
    """Shows the form, what a rehearsal or a release came to, and the ledger."""
    studio = studio_of(request)
    question = question_of(studio)
    order = _order(SentForm(tuple(request.query_params.multi_items())), studio)
    policy = None if question is None else question.policy()
    jobs = {
        kind: None if question is None else studio.jobs.find(kind, _key(question, order))
        for kind in (REHEARSAL, RELEASE)
    }
    history, broken = _history(question)
    return render(
        request,
        "release.html",
        step=STEP,
        same=SameStep() if question is None or policy is None else _same(question, order, policy),
        question=question,
        order=order,
        waiting=() if policy is None else tuple(policy.waiting),
        rehearsal=jobs[REHEARSAL],
        released=jobs[RELEASE],
        reporting=studio.jobs.find(REPORT, REPORT),
        history=history,
        broken=broken,
        over_time=over_time([record for record, _ in history]),
        folders=releases_in(studio.folder.path),
        reports=_reports(studio),
        tolerance=_tolerance(policy),
    )


def try_out(request: Request, form: SentForm) -> Response:
    """Starts a rehearsal: everything but the writing."""
    studio, order = studio_of(request), _order(form, studio_of(request))
    question = needed_question(studio)
    question.policy()
    path = _path(order)
    studio.jobs.start(REHEARSAL, _key(question, order), path, rehearse, question, order)
    return to(path)


def hand_out(request: Request, form: SentForm) -> Response:
    """Starts a release."""
    studio, order = studio_of(request), _order(form, studio_of(request))
    question = needed_question(studio)
    if studio.policy.version != form.version:
        raise UsageError("the policy was changed meanwhile", remedy="Look at it, then release again.")
    question.policy()
    if studio.folder.file(order.into).exists():
        raise UsageError(
            "there is a file or folder of this name", where=order.into, remedy="Name another folder."
        )
    path = _path(order)
    studio.jobs.start(RELEASE, _key(question, order), path, publish, question, order)
    return to(path)


def loosen(request: Request, form: SentForm) -> Response:
    """Writes into the policy how much more than the best a version may lose, so that there are several."""
    percent = form.whole("tolerance", least=0, most=100)
    order = _order(form, studio_of(request))

    def edit(policy: Policy) -> PolicyEdit:
        def change(words: JsonObject) -> None:
            words.setdefault("recipients", {})["tolerance"] = f"{percent}%"

        edited = with_words(policy, change)
        python = f'words.setdefault("recipients", {{}})["tolerance"] = "{percent}%"'
        return PolicyEdit(edited, f"versions may lose {percent}% more than the best", python)

    apply_edit(studio_of(request).policy, form.version, edit)
    return to(_path(order))


def make_report(request: Request, form: SentForm) -> Response:
    """Starts to write the report on a release."""
    studio = studio_of(request)
    question = needed_question(studio)
    folder, audience = _released(studio, form.text("folder")), form.text("audience")
    if audience not in REPORTS:
        raise UsageError("a report is internal or public")
    studio.jobs.start(REPORT, REPORT, "/release", write_report, question, folder.path, audience)
    return to("/release")


def download(request: Request) -> Response:
    """Sends a file of a release, to be saved."""
    studio = studio_of(request)
    folder = _released(studio, request.query_params.get("folder", ""))
    name = request.query_params.get("file", "")
    if name not in folder.files:
        raise UsageError("this release has no such file", remedy="Choose one of those that are listed.")
    path = studio.folder.path.joinpath(*folder.path.split("/"), name)
    return FileResponse(
        path, filename=f"{folder.path.replace('/', '-')}-{name}", media_type="application/octet-stream"
    )


def download_report(request: Request) -> Response:
    """Sends a report, to be saved."""
    studio = studio_of(request)
    name = request.query_params.get("file", "")
    if name not in _reports(studio):
        raise UsageError("there is no such report", remedy="Choose one of those that are listed.")
    return FileResponse(studio.folder.file(name), filename=name, media_type="application/octet-stream")


def over_time(records: Sequence[ReleaseRecord]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Returns the figures of a chain's releases that show how safe people stay, as points of lines.

    k, FA and BA by the number of the release, for the longest chain; nothing where two releases have k alone.
    """
    chains: dict[str, list[ReleaseRecord]] = {}
    for record in records:
        chains.setdefault(record.chain, []).append(record)
    longest = max(chains.values(), key=len, default=[])
    lines = []
    for name in ("k", "FA", "BA"):
        points = [
            (record.sequence, int(record.figures[name]))
            for record in longest
            if isinstance(record.figures.get(name), int)
        ]
        if len(points) > 1:
            lines.append((name, points))
    return lines if len(lines) > 1 or len(longest) > 2 else []


def _order(form: SentForm, studio: Studio) -> ReleaseOrder:
    names = tuple(
        dict.fromkeys(
            name.strip() for name in form.text("to", "").replace("\n", ",").split(",") if name.strip()
        )
    )
    if len(names) > MOST_NAMES:
        raise UsageError(
            f"at most {MOST_NAMES} recipients are served at a time here",
            remedy="Use the command line for more.",
        )
    into = form.text("into", "").strip() or _free_name(studio)
    check_name(into)
    return ReleaseOrder(names, form.text("chain", "").strip() or "main", into)


def _free_name(studio: Studio) -> str:
    """Returns the name of a folder that is not there yet: the day, and a number where there are several."""
    today = f"release-{datetime.now(UTC):%Y-%m-%d}"
    names = (today if number == 1 else f"{today}-{number}" for number in range(1, 1000))
    return next((name for name in names if not studio.folder.file(name).exists()), today)


def _key(question: Question, order: ReleaseOrder) -> str:
    return f"{question.stamp}:{question.version}:{order}"  # a release changes the ledger, and is still shown


def _path(order: ReleaseOrder) -> str:
    fields = [("to", ", ".join(order.to)), ("chain", order.chain), ("into", order.into)]
    return f"/release?{urlencode(fields)}"


def _history(question: Question | None) -> tuple[tuple[tuple[ReleaseRecord, str], ...], SfumatoError | None]:
    """Returns what the ledger remembers, or why it cannot be read."""
    if question is None or not question.begun:
        return (), None
    try:
        return history_of(question.ledger), None
    except SfumatoError as broken:
        return (), broken


def _released(studio: Studio, path: str) -> ReleasedFolder:
    for folder in releases_in(studio.folder.path):
        if folder.path == path:
            return folder
    raise UsageError("there is no such release in this folder", remedy="Choose one of those that are listed.")


def _reports(studio: Studio) -> tuple[str, ...]:
    files = (file for file in studio.folder.path.glob("report-*.html") if _is_plain(file))
    return tuple(sorted(file.name for file in files))


def _is_plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _tolerance(policy: Policy | None) -> int:
    """Returns how much more than the best a version may lose, in percent."""
    rule = None if policy is None else policy.recipients
    return 0 if rule is None else round(100 * rule.tolerance)


def _same(question: Question, order: ReleaseOrder, rules: Policy) -> SameStep:
    policy = question.policy_path.name
    words = ["sfumato", "release", question.name, "--policy", policy, "--into", order.into]
    for name in order.to:
        words += ["--to", name]
    words += [] if order.chain == "main" else ["--chain", order.chain]
    named: dict[str, object] = {"ledger": f"sqlite:///{LEDGER}", "into": order.into}
    named |= {"to": list(order.to)} if order.to else {}
    named |= {} if order.chain == "main" else {"chain": order.chain}
    call = python_call("", "sf.release", [question.name, policy], **named)
    yaml = yaml_part(rules.to_yaml(), "recipients") or yaml_part(rules.to_yaml(), "promises")
    return SameStep(
        yaml, f"import sfumato as sf\n\n{call}", f"{command(*words, '--dry-run')}\n{command(*words)}"
    )


routes = [
    Route("/release", show),
    Route("/release/rehearse", action(try_out), methods=["POST"]),
    Route("/release/tolerance", action(loosen), methods=["POST"]),
    Route("/release/publish", action(hand_out), methods=["POST"]),
    Route("/release/report", action(make_report), methods=["POST"]),
    Route("/release/file", download),
    Route("/release/report-file", download_report),
]
