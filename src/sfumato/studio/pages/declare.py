"""The page Declare: what each column is, what waits for a person's word, and what is promised."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.policy.policy import ROLES, Policy, column_comments
from sfumato.policy.presets import PRESETS
from sfumato.studio.jobs import BackgroundJob
from sfumato.studio.page import (
    SameStep,
    SentForm,
    action,
    command,
    policy_within,
    python_call,
    render,
    studio_of,
    to,
)
from sfumato.studio.policy_edit import (
    PLAIN_ROLES,
    Edit,
    apply_edit,
    both,
    column_declared,
    column_removed,
    columns_confirmed,
    knowledge_changed,
    missing_meant,
    people_counted,
    preset_taken,
    promise_added,
    promise_changed,
    roles_changed,
)
from sfumato.studio.security import Studio
from sfumato.studio.views import (
    ParameterField,
    PolicyCheckup,
    check_beside,
    knowledge_tables,
    offered_promises,
    promise_looks,
    taxonomy_kind,
)
from sfumato.system.errors import BadPolicy, SfumatoError, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.table.microdata import Missing, Role

STEP = "declare"
CHECKUP = "checkup"
"""The kind of the job that holds the policy against its table."""
HOME = "/declare"


def show(request: Request) -> Response:
    """Shows the policy; where it cannot be read, what is wrong with it."""
    studio = studio_of(request)
    text = studio.policy.text
    if text is None:
        return to("/discover")
    try:
        policy = policy_within(text, studio.policy.path)
    except SfumatoError as error:
        return _text_page(request, text, error)
    job = begin_checkup(studio)
    checkup = job.value if job is not None and isinstance(job.value, PolicyCheckup) else None
    return render(
        request,
        "declare.html",
        step=STEP,
        same=same_step(studio, policy),
        policy=policy,
        roles=ROLES,
        reasons=column_comments(text),
        plain_roles=PLAIN_ROLES,
        kinds={name: taxonomy_kind(rule) for name, rule in policy.columns.items()},
        promises=promise_looks(policy),
        offered=offered_promises(policy),
        asked=request.query_params.get("add", ""),
        about=request.query_params.get("of", ""),
        presets=PRESETS,
        job=job,
        checkup=checkup,
        knowledge=knowledge_tables(policy),
        identifiers=[name for name, rule in policy.columns.items() if rule.role is Role.IDENTIFIER],
        missing=[word.value for word in Missing],
    )


def begin_checkup(studio: Studio) -> BackgroundJob | None:
    """Holds the policy against the chosen table, unless that was done already."""
    data = studio.data
    if data is None:
        return None
    key = f"{data.stamp}:{studio.policy.version}"
    job = studio.jobs.find(CHECKUP, key)
    return job or studio.jobs.start(CHECKUP, key, HOME, check_beside, data.path, studio.policy.path)


def checkup_of(studio: Studio) -> PolicyCheckup | None:
    """Returns what the table says to the policy, where that is known already."""
    data = studio.data
    job = None if data is None else studio.jobs.find(CHECKUP, f"{data.stamp}:{studio.policy.version}")
    return job.value if job is not None and isinstance(job.value, PolicyCheckup) else None


def _edit(request: Request, form: SentForm, edit: Edit) -> Response:
    apply_edit(studio_of(request).policy, form.version, edit)
    return to(HOME)


def set_roles(request: Request, form: SentForm) -> Response:
    """Gives columns other roles."""
    checkup = checkup_of(studio_of(request))

    def proposed(name: str) -> JsonObject | None:
        column = None if checkup is None else checkup.columns.get(name)
        return None if column is None or column.proposed is None else dict(column.proposed)

    chosen = list(zip(form.all("column"), form.all("role"), strict=False))
    return _edit(request, form, roles_changed(chosen, proposed))


def confirm(request: Request, form: SentForm) -> Response:
    """Confirms columns that would be published unchanged."""
    return _edit(request, form, columns_confirmed(form.all("column"), studio_of(request).policy.path.name))


def take_preset(request: Request, form: SentForm) -> Response:
    """Promises what a preset does."""
    return _edit(request, form, preset_taken(form.text("preset")))


def change_promise(request: Request, form: SentForm) -> Response:
    """Changes a promise, or takes it out."""
    studio = studio_of(request)
    position = form.whole("position", least=0, most=1000)
    if form.text("act", "change") == "remove":
        return _edit(request, form, promise_changed(position, None))
    text = studio.policy.expect(form.version) or ""
    policy = policy_within(text, studio.policy.path)
    looks = promise_looks(policy)
    if position >= len(looks):
        raise UsageError("there is no such promise", remedy="Open the page again.")
    return _edit(request, form, promise_changed(position, _parameters(looks[position].fields, form)))


def add_promise(request: Request, form: SentForm) -> Response:
    """Promises more."""
    studio = studio_of(request)
    text = studio.policy.expect(form.version) or ""
    policy = policy_within(text, studio.policy.path)
    title = form.text("promise")
    for look in offered_promises(policy):
        if look.title == title:
            kind: JsonObject = {"kind": look.kind} if look.kind else {}
            return _edit(request, form, promise_added(look.name, {**_parameters(look.fields, form), **kind}))
    raise UsageError("there is no such promise", remedy="Open the page again.")


def _parameters(fields: tuple[ParameterField, ...], form: SentForm) -> JsonObject:
    """Returns the parameters of a promise from a form; what is left empty is left out."""
    read: JsonObject = {}
    for field in fields:
        word = form.text(f"p-{field.name}", "").strip()
        if field.kind == "flag":
            if word == "yes" or field.value is True:
                read[field.name] = word == "yes"
        elif word:
            whole = field.kind == "whole" and word.isascii() and word.isdigit() and len(word) < 12
            read[field.name] = int(word) if whole else word
    return read


def set_knowledge(request: Request, form: SentForm) -> Response:
    """Writes what outsiders know of a column's terms."""
    rows = list(zip(form.all("label"), form.all("terms"), strict=False))
    return _edit(request, form, knowledge_changed(form.text("column"), rows))


def set_rest(request: Request, form: SentForm) -> Response:
    """Says who is counted, and what empty cells mean."""
    edit = both(people_counted(form.text("person")), missing_meant(form.text("missing")))
    return _edit(request, form, edit)


def repair(request: Request, form: SentForm) -> Response:
    """Mends what the doctor found, where one step does it."""
    name, column = form.text("finding"), form.text("column")
    policy_name = studio_of(request).policy.path.name
    edits: dict[str, Edit] = {
        "unconfirmed": columns_confirmed([column], policy_name),
        "undeclared": column_declared(column, form.text("role", Role.QUASI.value)),
        "absent": column_removed(column),
        "several-rows": people_counted(column),
        "empty-cells": missing_meant(Missing.OWN_VALUE.value),
    }
    if name not in edits:
        raise UsageError("this cannot be mended by one step", remedy="Do what the finding says.")
    return _edit(request, form, edits[name])


def values_of_finding(request: Request) -> Response:
    """Shows the values that a finding of the doctor is about, to whoever asks for them."""
    checkup, number = checkup_of(studio_of(request)), request.path_params["number"]
    if checkup is None or number >= len(checkup.findings):
        return to(HOME)
    return render(request, "values.html", step=STEP, found=checkup.findings[number].diagnosis)


def text_page(request: Request) -> Response:
    """Shows the policy as a text that can be changed."""
    text = studio_of(request).policy.text
    return to("/discover") if text is None else _text_page(request, text, None)


def write_text(request: Request, form: SentForm) -> Response:
    """Writes the whole policy; one that is wrong is shown again, with what is wrong."""
    studio = studio_of(request)
    text = form.text("text").replace("\r\n", "\n")
    try:
        policy_within(text, studio.policy.path)
    except SfumatoError as error:
        return _text_page(request, text, error)
    studio.policy.write(text, version=form.version, did="edited as text")
    return to(HOME)


def _text_page(request: Request, text: str, error: SfumatoError | None) -> Response:
    problems = error.problems if isinstance(error, BadPolicy) else ()
    status = 200 if error is None else 422
    return render(
        request, "declare_text.html", step=STEP, status=status, text=text, error=error, problems=problems
    )


def same_step(studio: Studio, policy: Policy) -> SameStep:
    """Returns the policy, and what was changed on it last, in three languages."""
    name, data = studio.policy.path.name, studio.data
    state = studio.policy.current()
    load = f"import sfumato as sf\n\n{python_call('policy', 'sf.Policy.load', [name])}"
    last = "" if state is None or not state.python else f"\n{_prepared(state.python)}"
    lines = [] if state is None or not state.cli else [state.cli]
    lines.append(command("sfumato", "policy", "check", name, *([] if data is None else [data.name])))
    if policy.waiting:
        lines.append(command("sfumato", "policy", "confirm", name, *policy.waiting))
    return SameStep(studio.policy.text or policy.to_yaml(), load + last, "\n".join(lines))


def _prepared(python: str) -> str:
    return f"words = policy.to_dict()\n{python}" if python.startswith("words[") else python


routes = [
    Route(HOME, show),
    Route("/declare/roles", action(set_roles), methods=["POST"]),
    Route("/declare/confirm", action(confirm), methods=["POST"]),
    Route("/declare/preset", action(take_preset), methods=["POST"]),
    Route("/declare/promise", action(change_promise), methods=["POST"]),
    Route("/declare/promise/add", action(add_promise), methods=["POST"]),
    Route("/declare/knowledge", action(set_knowledge), methods=["POST"]),
    Route("/declare/rest", action(set_rest), methods=["POST"]),
    Route("/declare/repair", action(repair), methods=["POST"]),
    Route("/declare/values/{number:int}", values_of_finding),
    Route("/declare/text", text_page),
    Route("/declare/text/write", action(write_text), methods=["POST"]),
]
