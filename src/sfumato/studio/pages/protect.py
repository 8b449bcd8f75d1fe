"""The page Protect: solutions side by side, what they change, and sliders that answer at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.policy.policy import Policy
from sfumato.search.counted_lattice import CountedLattice, LatticeAnswer
from sfumato.studio.jobs import BackgroundJob
from sfumato.studio.page import (
    Question,
    SameStep,
    SentForm,
    action,
    command,
    fragment,
    needed_question,
    python_call,
    question_of,
    render,
    studio_of,
    to,
)
from sfumato.studio.policy_edit import PolicyEdit, apply_edit
from sfumato.studio.security import Studio
from sfumato.studio.table_view import LatticePicture
from sfumato.studio.views import LatticeView, SolutionsView, count_lattice, find_solutions, train_models
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.arrays import written
from sfumato.table.microdata import Role
from sfumato.workflows.choices import least_people
from sfumato.workflows.report import ModelScores

STEP = "protect"
LATTICE, SOLUTIONS, MODELS = "lattice", "solutions", "models"
"""The kinds of jobs."""
PER_MILLE = 1000
"""The slider of suppression moves in thousandths."""


def show(request: Request) -> Response:
    """Shows what was found for the table and the policy as they are."""
    studio = studio_of(request)
    question = question_of(studio)
    policy = None if question is None else question.policy()
    counted, search = _jobs(studio, question)
    drawn = counted.value if counted is not None and isinstance(counted.value, LatticeView) else None
    lattice = None if drawn is None else drawn.counted
    view = search.value if search is not None and isinstance(search.value, SolutionsView) else None
    point = None if policy is None else _asked(policy, lattice)
    answer = None if lattice is None or point is None else _answer(lattice, *point)
    targets = _targets(policy)
    training = None if question is None else _training(studio, question, targets)
    return render(
        request,
        "protect.html",
        step=STEP,
        same=SameStep() if question is None or policy is None else _same(question, policy),
        question=question,
        counting=counted,
        finding=search,
        lattice=lattice,
        view=view,
        asked=point,
        search=None if policy is None else policy.protect.search,
        answer=answer,
        map=_map(drawn, answer, point),
        targets=targets,
        training=training,
        models=training.value if training is not None and isinstance(training.value, ModelScores) else None,
        k=None if policy is None else least_people(policy),
    )


def begin(request: Request, form: SentForm) -> Response:
    """Starts to count the lattice, and to search."""
    del form
    studio = studio_of(request)
    question = needed_question(studio)
    question.policy()
    counted, search = _jobs(studio, question)
    if counted is None or counted.error is not None:
        studio.jobs.start(LATTICE, question.key, "/protect", count_lattice, question)
    if search is None or not search.open:
        studio.jobs.start(SOLUTIONS, question.key, "/protect", find_solutions, question)
    return to("/protect")


def slide(request: Request) -> Response:
    """Answers a question of the sliders, from counts."""
    studio = studio_of(request)
    counted, _ = _jobs(studio, question_of(studio))
    if counted is None or not isinstance(counted.value, LatticeView):
        return Response(headers={"hx-refresh": "true"})
    form = SentForm(tuple(request.query_params.multi_items()))
    lattice = counted.value.counted
    point = _sent(form, lattice)
    answer = _answer(lattice, *point)
    return fragment(
        "slider_answer.html",
        lattice=lattice,
        asked=point,
        answer=answer,
        map=_map(counted.value, answer, point),
        version=studio.policy.version,
    )


def use(request: Request, form: SentForm) -> Response:
    """Writes the k and the limit of the sliders into the policy, and the full-domain search."""
    studio = studio_of(request)
    counted, _ = _jobs(studio, needed_question(studio))
    if counted is None or not isinstance(counted.value, LatticeView):
        raise UsageError("nothing is counted for this policy", remedy="Count again, then move the sliders.")
    k, share = _sent(form, counted.value.counted)
    suppress = Fraction(share, PER_MILLE)
    did = f"k = {k}, at most {float(suppress):.1%} suppressed, search: lattice"
    changes = f"k={k}, suppress={written(suppress)!r}, search='lattice'"
    return _change(
        request, form, lambda policy: policy.with_(k=k, suppress=suppress, search="lattice"), did, changes
    )


def choose(request: Request, form: SentForm) -> Response:
    """Writes a search into the policy."""
    search = form.text("search")
    return _change(
        request, form, lambda policy: policy.with_(search=search), f"search: {search}", f"search={search!r}"
    )


def train(request: Request, form: SentForm) -> Response:
    """Starts to train a model on each solution."""
    studio = studio_of(request)
    question = needed_question(studio)
    _, search = _jobs(studio, question)
    view = None if search is None else search.value
    target = form.text("target")
    if not isinstance(view, SolutionsView) or target not in _targets(question.policy()):
        raise UsageError("there is nothing to learn from yet", remedy="Find solutions, then choose a column.")
    searches = tuple(solution.search for solution in view.solutions.compared)
    key = f"{question.key}:{target}"
    studio.jobs.start(MODELS, key, "/protect#models", train_models, question, searches, target)
    return to("/protect#models")


def _targets(policy: Policy | None) -> tuple[str, ...]:
    """Returns the columns that a model may be asked to tell: published as they are, secret ones first."""
    if policy is None:
        return ()
    plain = [name for name in policy.published if not policy.columns[name].role.is_key]
    return tuple(sorted(plain, key=lambda name: policy.columns[name].role is not Role.SENSITIVE))


def _training(studio: Studio, question: Question, targets: tuple[str, ...]) -> BackgroundJob | None:
    """Returns the newest job that trains models, whatever column it is about."""
    jobs = (studio.jobs.find(MODELS, f"{question.key}:{name}") for name in targets)
    return max((job for job in jobs if job is not None), key=lambda job: job.number, default=None)


def _map(
    view: LatticeView | None, answer: LatticeAnswer | Infeasible | None, point: tuple[int, int] | None
) -> LatticePicture | None:
    """Returns the lattice to be drawn, where it is small and something was asked."""
    if view is None or view.map is None or point is None:
        return None
    chosen = tuple(answer.levels.values()) if isinstance(answer, LatticeAnswer) else None
    return LatticePicture.of(view.map, point[0], Fraction(point[1], PER_MILLE), chosen)


def accept(request: Request, form: SentForm) -> Response:
    """Writes the change that was offered to get a column back."""
    studio = studio_of(request)
    _, search = _jobs(studio, needed_question(studio))
    view = None if search is None else search.value
    offer = view.solutions.offer if isinstance(view, SolutionsView) else None
    if offer is None:
        raise UsageError("nothing is offered for this policy", remedy="Search again.")
    did = f"{offer.key}: {offer.value}"
    if offer.column is None:
        python = f"suppress={offer.value!r}"
        return _change(request, form, lambda policy: policy.with_(suppress=offer.value), did, python)
    return _change(request, form, partial(_beginning_at, offer.column, int(offer.value)), did, "")


def _beginning_at(column: str, start: int, policy: Policy) -> Policy:
    rule = replace(policy.columns[column], start=start)
    return replace(policy, columns={**policy.columns, column: rule})


def _change(
    request: Request, form: SentForm, change: Callable[[Policy], Policy], did: str, python: str
) -> Response:
    """Changes the policy file, and starts to search by the new one."""
    code = f"policy = policy.with_({python})" if python else ""
    apply_edit(studio_of(request).policy, form.version, lambda policy: PolicyEdit(change(policy), did, code))
    return begin(request, form)


def chart(request: Request) -> Response:
    """Sends the picture of what a larger k costs."""
    studio = studio_of(request)
    _, search = _jobs(studio, question_of(studio))
    view = None if search is None else search.value
    if not isinstance(view, SolutionsView) or view.chart is None:
        return Response(status_code=404)
    return Response(view.chart.picture, media_type="image/svg+xml")


def _jobs(studio: Studio, question: Question | None) -> tuple[BackgroundJob | None, BackgroundJob | None]:
    if question is None:
        return None, None
    return studio.jobs.find(LATTICE, question.key), studio.jobs.find(SOLUTIONS, question.key)


def _asked(policy: Policy, lattice: CountedLattice | None) -> tuple[int, int]:
    """Returns where the sliders stand: at what the policy asks, as far as they reach."""
    k, share = least_people(policy), int(policy.protect.suppress * PER_MILLE)
    if lattice is None:
        return k, share
    return min(max(k, lattice.ks[0]), lattice.ks[-1]), min(share, int(lattice.most * PER_MILLE))


def _sent(form: SentForm, lattice: CountedLattice) -> tuple[int, int]:
    k = form.whole("k", least=lattice.ks[0], most=lattice.ks[-1])
    return k, form.whole("share", least=0, most=int(lattice.most * PER_MILLE))


def _answer(lattice: CountedLattice, k: int, share: int) -> LatticeAnswer | Infeasible:
    """Returns the answer of the lattice, or the error that says why there is none."""
    try:
        return lattice.answer(k, Fraction(share, PER_MILLE))
    except Infeasible as refused:
        return refused


def _same(question: Question, policy: Policy) -> SameStep:
    rule = policy.protect
    yaml = f"protect:\n  search: {rule.search}\n  suppress: {written(rule.suppress)}\n"
    call = python_call("plan", "sf.protect", [question.name, question.policy_path.name])
    words = ["sfumato", "protect", question.name, "--policy", question.policy_path.name]
    cli = command(*words, "--dry-run", "--compare", "--explain")
    return SameStep(yaml, f"import sfumato as sf\n\n{call}\nplan.comparison(), plan.explain()", cli)


routes = [
    Route("/protect", show),
    Route("/protect/begin", action(begin), methods=["POST"]),
    Route("/protect/slider", slide),
    Route("/protect/use", action(use), methods=["POST"]),
    Route("/protect/search", action(choose), methods=["POST"]),
    Route("/protect/models", action(train), methods=["POST"]),
    Route("/protect/offer", action(accept), methods=["POST"]),
    Route("/protect/charts/risk.svg", chart),
]
