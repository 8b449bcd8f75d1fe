"""The order of the verbs: the only module that knows what comes after what."""
# ruff: noqa: PLC0415  # databases wait until something is released

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.attack.audit import Audit
from sfumato.attack.audit import audit as audit_source
from sfumato.declare.ailment import Ailment
from sfumato.declare.doctor import examine, examine_held, examine_path, worst_first
from sfumato.declare.draft import draft
from sfumato.declare.knowledge import Knowledge
from sfumato.declare.knowledge_builder import propose
from sfumato.declare.knowledge_doctor import SetsHeld
from sfumato.declare.policy import Policy
from sfumato.declare.presets import preset as preset_of
from sfumato.declare.safe_harbor import safe_harbor
from sfumato.declare.term_rule import forms_of
from sfumato.discover.discovery import Discovery
from sfumato.discover.reading import Reading
from sfumato.discover.scan import scan
from sfumato.engine import open_source
from sfumato.engine.source import Source
from sfumato.journey.chain import beside_history, imprints, looks_back, memory_of
from sfumato.protect.plan import Plan, make_plan
from sfumato.release.private import private_folder
from sfumato.release.publish import check_target, publish
from sfumato.release.recheck import recheck
from sfumato.report.charts import save
from sfumato.terms.errors import BadData, BadPolicy, BrokenPromise, WrongCall
from sfumato.terms.imprint import Imprint
from sfumato.terms.microdata import Coding, Role
from sfumato.terms.progress import Progress, silent
from sfumato.terms.promise import BesideEarlier, Promises
from sfumato.terms.taxonomy import Label, Taxonomy
from sfumato.terms.term_sets import SetForm, terms_of
from sfumato.terms.verdict import Verdict

if TYPE_CHECKING:
    from sfumato.release.issue import Prepared
    from sfumato.release.ledger.ledger import Ledger
    from sfumato.release.ledger.record import Check, Record
    from sfumato.release.receipt import Receipt

AnyPolicy = Policy | str | Path | Mapping[str, Any]
"""A policy, the path of its file, or what the file would say."""


AnyImprint = Imprint | str | Path
"""The imprint of a release, or the path of its JSON file."""


def policy_of(given: AnyPolicy) -> Policy:
    """The policy that was meant."""
    if isinstance(given, Policy):
        return given
    return Policy.load(given) if isinstance(given, str | Path) else Policy.from_dict(given)


def discover(
    data: Any,
    *,
    k: int,
    mode: str | None = None,
    fraction: Fraction | float | str | None = None,
    count: int | None = None,
    max_size: int | None = None,
    max_results: int | None = None,
    deadline: float | None = None,
    record_risk: int | None = None,
    without: Sequence[str] = (),
    progress: Progress | None = None,
) -> Discovery:
    """Find the columns that single people out: minimal sets, the smallest of them, and direct identifiers.

    A record is exposed if fewer than `k` share its values. Say how many exposed records it takes, by exactly
    one of `mode` ("any", "all", "distinct"), `fraction` (of all records) and `count`. The search ends at
    sets of `max_size` columns, at `max_results` sets, after `deadline` seconds. `record_risk` asks also which
    records stand out by so many columns or fewer; columns in `without` are not searched.
    """
    return scan(
        open_source(data),
        Reading.of(k=k, mode=mode, fraction=fraction, count=count),
        max_size=max_size,
        max_results=max_results,
        deadline=deadline,
        risk_size=record_risk,
        without=without,
        progress=progress or silent,
    )


def draw(result: Discovery, folder: str | Path) -> tuple[Path, ...]:
    """Draw a result's charts into a folder: SVG files, and one page with all of them; nothing is fetched."""
    return save(result.charts(), folder)


def protect(
    data: Any, policy: AnyPolicy, *, earlier: Sequence[AnyImprint] = (), progress: Progress | None = None
) -> Plan:
    """Find out what each column has to become so that every promise holds.

    `data` is a dataframe (pandas, Polars eager or lazy, PyArrow, DuckDB relation) or the path of a CSV or
    Parquet file. Nothing is written; `plan.apply(data)` makes the safe table. `earlier` are the imprints of
    all earlier releases of these people, oldest first (`plan.imprint`, or JSON files of them).
    """
    told, meant = progress or silent, beside(policy_of(policy), earlier)
    source = open_source(data)
    _check_columns(source.columns, meant)
    table = source.count(meant.codings, missing=meant.missing, person=meant.person, progress=told)
    if not table.rows + table.dropped:
        raise BadData("the table has no rows", remedy="There is nothing to protect in it.")
    return make_plan(table, meant, progress=told)


def beside(policy: Policy, earlier: Sequence[AnyImprint]) -> Policy:
    """The policy with the evidence of earlier releases."""
    known = [i if isinstance(i, Imprint) else Imprint.from_json(Path(i).read_bytes()) for i in earlier]
    if known and not any(isinstance(p, BesideEarlier) for p in policy.promises):
        raise WrongCall(
            "no promise of the policy is about earlier releases",
            remedy="Add the promise continuous, or leave the earlier releases out.",
        )
    return replace(policy, promises=policy.promises.given(known))


def _check_columns(names: Sequence[str], policy: Policy) -> None:
    """Every column is declared."""
    _check_header(names, policy)
    policy.check_columns(names)


def _check_header(names: Sequence[str], policy: Policy) -> None:
    """Some column is declared. Where none is, the names may be the cells of a first row: not to be shown."""
    if names and not set(names) & set(policy.columns):
        raise BadPolicy(
            f"none of the {len(names)} columns of the data is declared",
            where="columns",
            remedy="Has the file a line of column names? Is it the right policy?",
        )


def protect_file(
    data: Any,
    policy: AnyPolicy,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[Plan, tuple[Verdict, ...]]:
    """Protect, and publish to a CSV or Parquet file; the plan, and the verdicts on the bytes of the file.

    The file appears under its name only after a second implementation has read it and agreed. Where the
    policy counts people and does not publish who they are, that judge also reads a witness: the same rows
    with a number for each person, in a private folder that is gone afterwards.
    """
    target, told, meant = Path(out), progress or silent, policy_of(policy)
    check_target(target, source=Path(data) if isinstance(data, str | Path) else None, overwrite=overwrite)
    plan = protect(data, meant, progress=told)

    def write(staged: Path) -> None:
        open_source(data).write(plan.recoding, staged, drop=meant.dropped, progress=told)

    def judge(staged: Path) -> tuple[Verdict, ...]:
        with private_folder() as private:
            return _judged(staged, data, plan, meant, private=private, progress=told)

    return plan, publish(target, write, judge, overwrite=overwrite)


def _judged(
    staged: Path, data: Any, plan: Plan, policy: Policy, *, private: Path, progress: Progress
) -> tuple[Verdict, ...]:
    """What a second implementation says of the written bytes; `private` is a folder for the witness."""
    progress("recheck", 0)
    if policy.person is None or policy.person in policy.published:
        return agreed(recheck(staged, _with_priors(policy, plan)))
    witness = private / f"witness{staged.suffix}"
    gone = tuple(name for name in policy.dropped if name != policy.person)
    open_source(data).write(plan.recoding, witness, drop=gone, numbered=(policy.person,), progress=progress)
    return agreed(recheck(staged, _with_priors(policy, plan), witness=witness))


def _with_priors(meant: Policy, plan: Plan) -> Policy:
    """The policy with the priors that the plan took from the original table; nothing else is the plan's."""
    pairs = list(zip(meant.promises, plan.policy.promises, strict=False))
    if not any(getattr(ours, "unbound", False) for ours, _ in pairs):
        return meant
    made = [plans if getattr(ours, "unbound", False) else ours for ours, plans in pairs]
    return replace(meant, promises=Promises(tuple(made)))


def release(
    data: Any,
    policy: AnyPolicy,
    *,
    ledger: Ledger | str,
    into: str | Path | None = None,
    to: str | Sequence[str] | None = None,
    chain: str = "main",
    format: str | None = None,
    checks: Sequence[Check] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Receipt:
    """Publish a table to a new folder and enter it in the ledger: both, or neither.

    `chain` names the series of releases about the same people that this one continues: it is planned and
    checked beside all of them, from what the ledger remembers (more `checks` may be given). The folder holds
    the table, a manifest and a signed certificate; it appears whole, after the bytes were read again and
    judged. With `dry_run` nothing is written, and `into` is not needed.
    """
    from sfumato.release.issue import issue, rehearse
    from sfumato.release.ledger.ledger import Ledger
    from sfumato.release.ledger.record import remembered

    meant, told = policy_of(policy), progress or silent
    recipient = recipient_of(to)
    if not chain:
        raise WrongCall("a chain needs a name")

    checks = (beside_history(meant), *checks)

    def prepare(history: Sequence[Record]) -> Prepared:
        earlier = imprints(history) if looks_back(meant) else ()
        plan = protect(data, meant, earlier=earlier, progress=told)
        return _prepared(plan, data, meant, remembered(memory_of(plan)), progress=told)

    if dry_run:
        earlier = _history(ledger, chain)
        return rehearse(earlier, prepare, chain=chain, recipient=recipient, checks=checks)
    if into is None:
        raise WrongCall("no target named", remedy="Say into which new folder.")
    kind = format or ("parquet" if str(data).lower().endswith((".parquet", ".pq")) else "csv")
    if kind not in ("csv", "parquet"):
        raise WrongCall("a release is a CSV or a Parquet file", remedy="Say csv or parquet.")
    opened = Ledger(ledger) if isinstance(ledger, str) else ledger
    return issue(
        opened, prepare, into=into, name=f"data.{kind}", chain=chain, recipient=recipient, checks=checks
    )


def recipient_of(to: str | Sequence[str] | None) -> str | None:
    """The one recipient that was named."""
    names = [to] if isinstance(to, str) else list(to or ())
    if len(names) > 1:
        raise WrongCall(
            "one release goes to one recipient",
            remedy="Versions for several recipients are not there yet: release to one name.",
        )
    return names[0] if names else None


def _history(ledger: Ledger | str, chain: str) -> tuple[Record, ...]:
    """The earlier releases; of a ledger that is not there yet, none."""
    from sfumato.release.ledger.database import Database
    from sfumato.release.ledger.ledger import Ledger

    if isinstance(ledger, Ledger):
        return ledger.history(chain)
    return Ledger(ledger, readonly=True).history(chain) if Database(ledger).exists else ()


def _prepared(plan: Plan, data: Any, policy: Policy, memory: bytes, *, progress: Progress) -> Prepared:
    """What the ledger is told of a plan: numbers of nodes, digests and counts, never a value."""
    from sfumato.release.issue import Prepared

    recoding, cuts = plan.recoding, plan.recoding.cuts
    return Prepared(
        policy=policy.digest,
        write=lambda path: open_source(data).write(recoding, path, drop=policy.dropped, progress=progress),
        judge=lambda path, private: _judged(path, data, plan, policy, private=private, progress=progress),
        verdicts=plan.verdicts,
        taxonomies={column.name: column.taxonomy.digest for column in recoding.table.keys},
        cuts=None if cuts is None else {name: cut.nodes.tolist() for name, cut in cuts.items()},
        figures={
            "rows": plan.rows - plan.suppressed,
            "suppressed": plan.suppressed,
            "classes": plan.classes,
            "k": plan.smallest,
            "loss": plan.loss,
        },
        memory=memory,
        versions={"sfumato": version("sfumato")},
    )


def agreed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the written bytes, if each is for them: any doubt is a no."""
    for verdict in verdicts:
        if verdict.holds is not True:
            raise BrokenPromise(
                f"the written file does not keep {verdict.promise} ({verdict.word}); nothing was published.",
                remedy="The plan said otherwise: please report this.",
            )
    return verdicts


def audit(data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Audit:
    """Judge a published table, and attack it as every adversary would; nothing but the table is looked at."""
    return audit_source(open_source(data), policy_of(policy), progress=progress or silent)


def attack(name: str, data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Audit:
    """One adversary alone."""
    return audit_source(open_source(data), policy_of(policy), attacks=(name,), progress=progress or silent)


def declare(data: Any, *, preset: str | None = None, progress: Progress | None = None) -> Policy:
    """A working policy from the data alone, to be read and corrected by whoever knows the data."""
    return draft(open_source(data).survey(progress=progress or silent), preset=preset)


def knowledge(
    data: Any,
    *,
    label: str,
    terms: str | Sequence[str],
    separator: str = ";",
    support: int = 1,
    share: Fraction = Fraction(0),
) -> Knowledge:
    """A knowledge table from a frame or a file: a column of labels beside one of terms.

    `terms` names a column of delimited text, of lists, or of one term per row; or several 0/1 columns. With
    `support` the rows are taken for records about people, and a term belongs to a label if it occurs in that
    many of its records (and in that `share` of them); with 1, all rows of a label are kept as they are.
    """
    form = SetForm(separator) if isinstance(terms, str) else SetForm(parts=tuple(terms))
    codings = [Coding(label, Role.SENSITIVE, _flat), Coding(_SET, Role.QUASI_SENSITIVE, _flat, form)]
    if isinstance(terms, str):
        codings[1] = replace(codings[1], name=terms)
    table = open_source(data).count(codings)
    labels, sets = (table.column(c.name).taxonomy.leaf_labels for c in codings)
    records = [
        (str(labels[a]), terms_of(sets[b]), n)
        for a, b, n in zip(
            table.codes(label).tolist(),
            table.codes(codings[1].name).tolist(),
            table.counts.tolist(),
            strict=True,
        )
        if labels[a] is not None
    ]
    if support > 1 or share > 0:
        return propose(records, support=support, share=share)
    single = all(len(held) <= 1 for _, held, _ in records)
    return propose(records, support=1) if single else Knowledge.of((a, held) for a, held, _ in records)


_SET = "terms"


def _flat(values: Sequence[Label]) -> Taxonomy:
    return Taxonomy.flat(sorted(values, key=lambda value: (value is None, value or "")))


def _sets_held(source: Source, policy: Policy) -> dict[str, SetsHeld]:
    """The term sets that the set-valued columns of a source hold."""
    found = {}
    for name, form in forms_of(policy).items():
        if set(form.parts or (name,)) <= set(source.columns):
            table = source.count([Coding(name, Role.QUASI_SENSITIVE, _flat, form)])
            found[name] = SetsHeld(table.column(name).taxonomy.leaf_labels, table.counts)
    return found


def check(
    policy: AnyPolicy, data: Any = None, *, preset: str | None = None, progress: Progress | None = None
) -> list[Ailment]:
    """Everything that is wrong with a policy, alone or beside data, worst first, with the repair."""
    asked = preset_of(preset) if preset else None
    source = None if data is None else open_source(data)
    survey = None if source is None else source.survey(progress=progress or silent)
    if isinstance(policy, str | Path):
        found = examine_path(policy, survey)
        if any(ailment.name == "policy" for ailment in found):
            return found
    meant = policy_of(policy)
    if survey is not None:
        _check_header(tuple(survey.columns), meant)
    if not isinstance(policy, str | Path):
        found = examine(meant, survey)
    if source is not None:
        found = worst_first([*found, *examine_held(meant, _sets_held(source, meant))])
    return found + (safe_harbor(meant) if asked and asked.checks_columns else [])
