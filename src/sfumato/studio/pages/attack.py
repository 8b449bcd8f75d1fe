"""The page Attack: each adversary, what it knows, and what it gets before and after."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.policy.policy import Policy
from sfumato.studio.page import (
    Question,
    SameStep,
    SentForm,
    action,
    command,
    needed_question,
    question_of,
    render,
    studio_of,
    to,
    yaml_part,
)
from sfumato.studio.views import promise_looks, strike

STEP = "attack"


def show(request: Request) -> Response:
    """Shows what adversaries got from the table as it is and as it would be published."""
    studio = studio_of(request)
    question = question_of(studio)
    job = None if question is None else studio.jobs.find(STEP, question.key)
    policy = None if question is None else question.policy()
    return render(
        request,
        "attack.html",
        step=STEP,
        same=SameStep() if question is None or policy is None else _same(question, policy),
        question=question,
        job=job,
        view=None if job is None else job.value,
        places=_places(policy),
    )


def _places(policy: Policy | None) -> dict[str, int]:
    """Returns where on the page Declare each promise stands, by what it is called."""
    looks = () if policy is None else promise_looks(policy)
    return {look.title: place for place, look in enumerate(looks)}


def begin(request: Request, form: SentForm) -> Response:
    """Starts to attack."""
    del form
    studio = studio_of(request)
    question = needed_question(studio)
    question.policy()
    studio.jobs.start(STEP, question.key, "/attack", strike, question)
    return to("/attack")


def _same(question: Question, rules: Policy) -> SameStep:
    policy = question.policy_path.name
    python = "\n".join(
        (
            "import sfumato as sf",
            "",
            f"before = sf.audit({question.name!r}, {policy!r})",
            f"plan = sf.protect({question.name!r}, {policy!r})",
            f"after = sf.audit(plan.apply({question.name!r}), {policy!r})",
        )
    )
    cli = "\n".join(
        (
            command("sfumato", "audit", question.name, "--policy", policy),
            command("sfumato", "protect", question.name, "--policy", policy, "-o", "safe.csv"),
            command("sfumato", "audit", "safe.csv", "--policy", policy),
        )
    )
    return SameStep(yaml_part(rules.to_yaml(), "promises"), python, cli)


routes = [Route("/attack", show), Route("/attack/begin", action(begin), methods=["POST"])]
