"""The verb `attack`: one adversary alone, by name or with questions of its own."""

# ruff: noqa: PLC0415  # each attack is loaded when it is asked for

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sfumato.attacks.adversaries.downcoding import Downcoding
from sfumato.attacks.adversaries.minimality import DeFinetti, ValueMinimality
from sfumato.attacks.audit import Audit
from sfumato.attacks.audit import audit as audit_source
from sfumato.attacks.known_search import STEPS, KnownSearch
from sfumato.inputs import AnyImprint, AnyPolicy, load_policy, open_table, unheard, view_policy
from sfumato.models.attack_contract import Attack, make_all
from sfumato.models.contract import Promise
from sfumato.models.quasi_sensitive.attack import KnownRemoval, Rows, TermMinimality
from sfumato.models.registry import definitions
from sfumato.policy.person import PersonRule
from sfumato.policy.policy import Policy
from sfumato.policy.reference import with_reference
from sfumato.reports.report import chance
from sfumato.search.class_term_removal import RARITY, RemovalCosts, SolverBudget, TermLimit, solve_class
from sfumato.search.plan import Plan, limits_of, make_plan, may_be_blind, removes_terms
from sfumato.search.term_removal import MOST_TRIES, removed_from_all
from sfumato.system.coins import Coins
from sfumato.system.disk import private_folder
from sfumato.system.errors import BadPolicy, Infeasible, UsageError
from sfumato.system.presentation.cards import verdict_lines
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Finding
from sfumato.table.microdata import ROW_NUMBER, Codes, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.source import AnyTable
from sfumato.workflows.audit import audit
from sfumato.workflows.protect_file import protect_file

if TYPE_CHECKING:
    from sfumato.attacks.correspondence import Correspondence, Method, Scope
    from sfumato.models.freeform.attack import FreeformFinding
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.system.address import Address
    from sfumato.workflows.audit import AnyReference


class AttackVerb:
    """One adversary alone: `sf.attack("linkage", table, policy)`.

    Four adversaries answer questions of their own: `sf.attack.correspondence(releases, policy)`,
    `sf.attack.posterior_belief(tables, policy)`, `sf.attack.freeform(table, policy)` and
    `sf.attack.quasi_sensitive(table, policy)`. Three know how the table is made, and no audit plays them:
    `sf.attack.downcoding`, `sf.attack.minimality` (with a register) and `sf.attack.term_removal`.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> [finding.breach for finding in sf.attack("linkage", plan.apply(people), plan.policy).findings]
    [False, False, False]
    """

    def __call__(
        self,
        name: str,
        data: AnyTable | Address | Sequence[AnyTable],
        policy: AnyPolicy,
        *,
        reference: AnyReference | None = None,
        against: Ledger | str | None = None,
        chain: str = "main",
        progress: Progress | None = None,
    ) -> Audit:
        """Attack a published table as the adversary `name` would, and judge it by the policy.

        Raises `UsageError`, with what is needed, where the attack has nothing to strike: that is no success.

        Args:
            name: the name of the attack, such as "linkage".
            data: the published table, as for `audit`. For an adversary who holds several releases of the same
                people, it may be a list of them, oldest first.
            policy: the policy that the table was published under.
            reference: what the owner kept of the original table, as for `audit`.
            against: a ledger, or its URL, whose releases the adversary holds, too.
            chain: the chain of that ledger.
            progress: receives the phase, how much is done, and out of how much.
        """
        from sfumato.models import attack_contract as registry
        from sfumato.workflows.audit import audit_by

        registry.make(name)  # a wrong name is refused before anything is read
        audit = audit_by(
            name, data, policy, reference=reference, against=against, chain=chain, progress=progress
        )
        if not audit.findings and not audit.failed:
            raise UsageError(f"{name} has nothing to strike: {audit.not_tried[name]}")
        return audit

    def downcoding(
        self,
        data: AnyTable,
        policy: AnyPolicy,
        *,
        steps: int | None = None,
        progress: Progress | None = None,
    ) -> Audit:
        """Attack what key columns hide, as somebody would who knows how the search decides.

        All tables behind the published one are listed, and the answer is exact.

        Args:
            data: the published table, as for `audit`.
            policy: the policy that the table was published under.
            steps: the most tables that are listed; 20,000 by default.
            progress: receives the phase, how much is done, and out of how much.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold"] * 2})
        >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy.with_(search="lattice")
        >>> audit = sf.attack.downcoding(sf.protect(people, policy).apply(people), policy)
        >>> [finding.breach for finding in audit.findings]
        [False]
        """
        rules = load_policy(policy)
        adversary = known_search(rules, steps=STEPS if steps is None else steps)
        return _audit(Downcoding(adversary), data, rules, progress or silent)

    def minimality(
        self,
        data: AnyTable,
        policy: AnyPolicy,
        register: AnyTable,
        *,
        steps: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Audit:
        """Attack sensitive values, as somebody would who knows how the search decides, and everybody's keys.

        Small tables are decided: values are dealt in every way, and those ways are kept that give this file.
        Of larger ones the owner measures, with the original as register: values of two people of one class
        are exchanged, and the table is planned again. Findings say how many exchanges of how many were tried.

        Args:
            data: the published table, as for `audit`.
            policy: the policy that the table was published under.
            register: the key columns of everybody in the published table, as they were before; of a large
                table also its sensitive columns.
            steps: how often is planned at most: 20,000 times by default, fewer for large tables.
            seed: chooses whose values are exchanged.
            progress: receives the phase, how much is done, and out of how much.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold"] * 2})
        >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy.with_(search="lattice")
        >>> safe = sf.protect(people, policy).apply(people)
        >>> [finding.breach for finding in sf.attack.minimality(safe, policy, people[["age"]]).findings]
        [False]
        """
        rules, show = load_policy(policy), progress or silent
        if rules.chain is not None:  # rows of its newcomers are grouped, each a person
            rules = replace(rules, person=None, people=PersonRule())
        source = open_table(register, policy=rules)
        codings = [c for c in rules.codings if c.role.is_key or c.name in source.columns]
        if absent := [coding.name for coding in codings if coding.name not in source.columns]:
            raise UsageError(
                f"the register has no column {', '.join(absent)}",
                where="register",
                remedy="It must have every key column of the policy, as it was before it was published.",
            )
        person = ROW_NUMBER if _draws_coins(rules) else None
        people = source.count(codings, missing=rules.missing, person=person, progress=show)
        most = max(LEAST_PLANS, min(STEPS, MOST_PLANNED_ROWS // max(1, people.rows)))
        adversary = known_search(rules, steps=most if steps is None else steps, seed=seed)
        return _audit(ValueMinimality(adversary, people), data, rules, show)

    def definetti(
        self, data: AnyTable, policy: AnyPolicy, original: AnyTable, *, progress: Progress | None = None
    ) -> Audit:
        """Measure how often values are guessed by rules that the published table itself teaches.

        Args:
            data: the published table, as for `audit`.
            policy: the policy that the table was published under.
            original: the original table, whose people are guessed at.
            progress: receives the phase, how much is done, and out of how much.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold"] * 2})
        >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
        >>> audit = sf.attack.definetti(plan.apply(people), plan.policy, people)
        >>> audit.findings[0].details["base rate"]
        Fraction(1, 2)
        """
        rules, show = load_policy(policy), progress or silent
        source = open_table(original, policy=rules)
        if absent := [coding.name for coding in rules.codings if coding.name not in source.columns]:
            raise UsageError(f"the original has no column {', '.join(absent)}", where="register")
        people = source.count(rules.codings, missing=rules.missing, progress=show)
        return _audit(DeFinetti(people), data, view_policy(rules), show)

    def term_removal(
        self,
        data: AnyTable,
        policy: AnyPolicy,
        *,
        reference: AnyReference | None = None,
        steps: int | None = None,
        progress: Progress | None = None,
    ) -> Audit:
        """Attack labels of quasi-sensitive terms, as somebody would who knows how terms are removed.

        Args:
            data: the published table, as for `audit`.
            policy: the policy that the table was published under.
            reference: what the owner kept of the original table, as for `audit`.
            steps: the most worlds of a class that is looked at, 20,000 by default; the answer is exact for
                these.
            progress: receives the phase, how much is done, and out of how much.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24"], "signs": ["fever;cough", "sneeze"]})
        >>> known = {"flu": ["fever", "cough"], "cold": ["cough", "sneeze"]}
        >>> columns = {"age": {"role": "quasi"}, "signs": {"role": "quasi-sensitive", "separator": ";"}}
        >>> limit = {"of": "signs", "knowledge": known, "l": 2, "c": 1}
        >>> policy = {"columns": columns, "promises": [{"quasi-sensitive": limit}]}
        >>> plan = sf.protect(people, policy)
        >>> safe = plan.apply(people)
        >>> [f.breach for f in sf.attack.term_removal(safe, policy, reference=plan.reference).findings]
        [False]
        """
        rules = with_reference(load_policy(policy), data, reference)
        if any(promise.needs_original for promise in rules.promises.of_terms):
            raise UsageError(
                "worlds cannot be listed without what was kept of the original table",
                where="reference",
                remedy="Name it with --reference, or store the prior in the policy.",
            )
        adversary = known_removal(rules, steps=STEPS if steps is None else steps)
        source = open_table(data, policy=rules)
        audit = audit_source(source, rules, attacks=(TermMinimality(adversary),), progress=progress or silent)
        if audit.failed:
            raise UsageError(audit.failed[0], where="attack", remedy="See `sfumato attack --help`.")
        if not any(finding.details["classes looked at"] for finding in audit.findings):
            raise UsageError(
                "term-removal has nothing to strike: every class has more worlds than may be listed",
                remedy="Allow more --steps, or try it on a part of the table.",
            )
        return audit

    @overload
    def correspondence(
        self,
        releases: Sequence[AnyTable | AnyImprint],
        policy: AnyPolicy | None = None,
        /,
        *,
        scope: Scope = "feasible",
        method: Method = "exact",
        data: Microdata | None = None,
        since: str | None = None,
    ) -> Correspondence: ...
    @overload
    def correspondence(
        self,
        *releases: AnyTable | AnyImprint,
        policy: AnyPolicy | None = None,
        scope: Scope = "feasible",
        method: Method = "exact",
        data: Microdata | None = None,
        since: str | None = None,
    ) -> Correspondence: ...
    def correspondence(
        self,
        *releases: Any,  # the overloads say what
        policy: AnyPolicy | None = None,
        scope: Scope = "feasible",
        method: Method = "exact",
        data: Microdata | None = None,
        since: str | None = None,
    ) -> Correspondence:
        """Attack cumulative releases, oldest first, with everything they say together.

        Two releases are always judged exactly. More are judged by the refined bound. Raises `UsageError`
        where there are fewer than two: one release has no other to correspond to.

        Args:
            releases: the releases one by one, with `policy=`, or one list that the policy may follow. A
                release is a published table (a frame, or a CSV or Parquet file), which the policy's
                taxonomies are enough for, or its imprint (or the JSON file of one).
            policy: the policy that the releases were published under.
            scope: "feasible", "literal" or "realized", which needs `data`.
            method: "exact" narrows the bound by the integer program, first where that decides about k, and
                says what stays open; "refined" is the bound alone; "paper" composes attacks as the paper does
                (a reference: its bound may be too high).
            data: the counted table of everybody, which tells where somebody is.
            since: the column of that table that says with which batch a row came, where there are several.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold"] * 2})
        >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
        >>> more = pl.concat([people, pl.DataFrame({"age": ["22", "38"], "disease": ["flu", "cold"]})])
        >>> later = sf.protect(more, plan.policy)
        >>> attacked = sf.attack.correspondence(plan.apply(people), later.apply(more), policy=plan.policy)
        >>> attacked.FA, attacked.BA
        (2, 1)
        """
        from sfumato.attacks.chain import imprints_of
        from sfumato.attacks.correspondence import correspondence
        from sfumato.models.attack_contract import SEVERAL_RELEASES

        if releases and isinstance(releases[0], list | tuple):
            releases, policy = _list_and_policy(releases, policy)
        if len(releases) < 2:
            raise UsageError(f"correspondence has nothing to strike: it needs {SEVERAL_RELEASES}")
        rules = None if policy is None else load_policy(policy)
        imprints = imprints_of(releases, rules)
        return correspondence(imprints, rules, scope=scope, method=method, data=data, since=since)

    def posterior_belief(self, releases: Sequence[AnyTable], policy: AnyPolicy) -> list[Finding]:
        """Return how likely tables about the same people, put together two by two, make a sensitive value.

        There is one finding per sensitive column, a breach where the belief is more than the policy allows of
        a class.

        Args:
            releases: the tables (frames, or CSV or Parquet files), oldest first; each holds everybody of
                those before it.
            policy: the policy that the tables were published under.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold"] * 2})
        >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
        >>> safe = plan.apply(people)
        >>> [finding.confidence for finding in sf.attack.posterior_belief([safe, safe], plan.policy)]
        [Fraction(1, 2)]
        """
        from sfumato.attacks.adversaries.posterior_belief import posterior_belief

        return posterior_belief(releases, load_policy(policy))

    def freeform(
        self,
        data: AnyTable,
        policy: AnyPolicy,
        *,
        every: bool = False,
        extended: bool = True,
        limit: int | None = None,
        progress: Progress = silent,
    ) -> list[FreeformFinding]:
        """Return what can be inferred from a table as it stands, published or raw.

        By default these are the worst attacks on every value that is worth inferring, breach or not, the
        largest threat first.

        Args:
            data: the table, as for `protect`.
            policy: a policy with a freeform promise.
            every: list all breaches instead, the most general first.
            extended: count the inference of a value more general than those in the table, too (Definition 3.4
                of the paper). Without it only published values are inferred (Definition 3.3).
            limit: the most breaches that are listed.
            progress: receives the phase, how much is done, and out of how much.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "disease": ["flu", "hiv", "hiv", "hiv"]})
        >>> columns = {"sex": {"role": "free"}, "disease": {"role": "free", "sensitive": ["hiv"]}}
        >>> policy = {"columns": columns, "promises": [{"freeform": {"threat": "1/2"}}]}
        >>> sf.attack.freeform(people, policy)[0].in_full
        'Whoever knows that sex is m infers that disease is hiv: right for 2 of 2 people (threat 1).'
        """
        from sfumato.models.freeform.attack import LIMIT, freeform

        rules = load_policy(policy)
        return freeform(
            open_table(data, policy=rules),
            rules,
            every=every,
            extended=extended,
            limit=LIMIT if limit is None else limit,
            progress=progress,
        )

    def freeform_breaches(
        self, data: AnyTable, policy: AnyPolicy, *, extended: bool = True, progress: Progress = silent
    ) -> Iterator[FreeformFinding]:
        """Yield all freeform breaches one by one, the most general first.

        Args:
            data: the table, as for `protect`.
            policy: a policy with a freeform promise.
            extended: count the inference of more general values, too, as for `freeform`.
            progress: receives the phase, how much is done, and out of how much.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "disease": ["flu", "hiv", "hiv", "hiv"]})
        >>> columns = {"sex": {"role": "free"}, "disease": {"role": "free", "sensitive": ["hiv"]}}
        >>> policy = {"columns": columns, "promises": [{"freeform": {"threat": "1/2"}}]}
        >>> next(sf.attack.freeform_breaches(people, policy)).in_full
        'Anybody infers that disease is hiv: right for 3 of 4 people (threat 3/4).'
        """
        from sfumato.models.freeform.attack import streamed

        rules = load_policy(policy)
        return streamed(open_table(data, policy=rules), rules, extended=extended, progress=progress)

    def quasi_sensitive(self, data: AnyTable, policy: AnyPolicy) -> list[Finding]:
        """Return what terms give away together, worst first, in a raw or a published table.

        There is one summary per promise, then every label that somebody can be linked to: with which belief
        at most, how many people, the belief before and the change. Rows that link to nothing come last.

        Args:
            data: the table, as for `protect`.
            policy: a policy with a quasi-sensitive promise.

        >>> import polars as pl, sfumato as sf
        >>> people = pl.DataFrame({"age": ["21", "24"], "signs": ["fever;cough", "sneeze"]})
        >>> known = {"flu": ["fever", "cough"], "cold": ["cough", "sneeze"]}
        >>> columns = {"age": {"role": "quasi"}, "signs": {"role": "quasi-sensitive", "separator": ";"}}
        >>> limit = {"of": "signs", "knowledge": known, "l": 2, "c": 1}
        >>> policy = {"columns": columns, "promises": [{"quasi-sensitive": limit}]}
        >>> sf.attack.quasi_sensitive(people, policy)[0].confidence
        Fraction(1, 1)
        """
        from sfumato.attacks.audit import audit as audit_table
        from sfumato.models.quasi_sensitive.attack import IndirectLabel
        from sfumato.policy.reference import with_reference

        meant = with_reference(load_policy(policy), data)
        return list(audit_table(data, meant, attacks=(IndirectLabel(most=None),)).findings)


def _list_and_policy(
    arguments: tuple[Any, ...], policy: AnyPolicy | None
) -> tuple[tuple[Any, ...], AnyPolicy | None]:
    """Returns the releases of a list, and the policy that follows it or was named; the caller is typed."""
    releases, *after = arguments
    if len(after) > 1 or (after and policy is not None):
        raise UsageError(
            "a list of releases is followed by a policy and nothing else",
            remedy="Put every release into the list, or give them one by one.",
        )
    return tuple(releases), after[0] if after else policy


def _audit(attack: Attack, data: AnyTable, policy: Policy, progress: Progress) -> Audit:
    audit = audit_source(open_table(data, policy=policy), policy, attacks=(attack,), progress=progress)
    if audit.failed:
        raise UsageError(audit.failed[0], where="attack", remedy="See `sfumato attack --help`.")
    if not audit.findings:
        what = "there are more tables than may be listed" if audit.rows else "the table has no rows"
        raise UsageError(
            f"{attack.name} cannot strike: {what}",
            remedy="Allow more `--steps`, or attack a part of the table.",
        )
    return audit


attack = AttackVerb()


# Attacks on a table before and after: what adversaries get from it as it is, and as it would be published.
#
# Everything that is returned is plain data without a cell value.


@dataclass(frozen=True)
class Strike:
    """What an adversary got: how sure they are, in words, and whether that is more than is allowed."""

    sentence: str
    chance: str
    people: int
    breach: bool
    partly_tried: bool = False

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Strike | None:
        """Returns the worst of some findings."""
        worst = max(findings, key=lambda f: (f.breach, f.confidence), default=None)
        if worst is None:
            return None
        partly = not worst.breach and any(finding.not_tried for finding in findings)
        return cls(worst.told, chance(worst), worst.people, worst.breach, partly)


@dataclass(frozen=True)
class AdversaryLine:
    """An adversary, what they know and seek, and what they get before and after.

    `stopped_by` are the promises of the policy that limit this attack, `would_stop` the policy keys of all
    that do; `about` names the column that is attacked, where there are several.
    """

    attack: str
    who: str
    about: str
    knows: str
    seeks: str
    succeeds: str
    before: Strike | None
    after: Strike | None
    stopped_by: tuple[str, ...]
    would_stop: tuple[str, ...]

    @property
    def rank(self) -> tuple[bool, bool, str, str]:
        """Those first who get too much after, then those who did before."""
        won = [strike is not None and strike.breach for strike in (self.after, self.before)]
        return (not won[0], not won[1], self.attack, self.who)


@dataclass(frozen=True)
class AttackRehearsal:
    """All adversaries, worst first; what was promised and whether it holds; which attacks had no target."""

    adversaries: tuple[AdversaryLine, ...]
    before: str
    after: str
    promises: tuple[tuple[str, ...], ...]
    holds: bool | None
    rows: int
    not_tried: Mapping[str, str]
    failed: tuple[str, ...]


def rehearse_attacks(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    against: Ledger | str | None = None,
    chain: str = "main",
    spill: Path | None = None,
    progress: Progress | None = None,
) -> AttackRehearsal:
    """Attacks a table as it is, then as `protect` would publish it, judged from its bytes.

    The safe file is written to a private folder and gone afterwards. With `against`, a ledger, also beside
    every release of a chain. Raises what `protect` refuses.
    """
    rules, show = load_policy(policy), progress or silent
    before = audit(data, rules, warn=unheard, progress=show)
    with private_folder(spill) as private:
        safe = private / "safe.csv"
        protect_file(data, rules, safe, against=against, chain=chain, warn=unheard, progress=show)
        after = audit(safe, rules, against=against, chain=chain, warn=unheard, progress=show)
    return AttackRehearsal(
        _lines(before, after, rules),
        before.headline.title,
        after.headline.title,
        tuple(verdict_lines(after.verdicts)),
        after.holds,
        after.rows,
        dict(after.not_tried),
        after.failed,
    )


def _lines(before: Audit, after: Audit, policy: Policy) -> tuple[AdversaryLine, ...]:
    attacks = {attack.name: attack for attack in make_all()[0]}
    secrets = {name for name in policy.published if not policy.columns[name].role.is_key}
    sides: dict[tuple[str, str, str], tuple[list[Finding], list[Finding]]] = {}
    for side, side_audit in enumerate((before, after)):
        for finding in side_audit.findings:
            who, colon, _ = finding.adversary.partition(":")
            about = ", ".join(name for name in finding.columns if name in secrets)
            key = (finding.attack, who if colon else "", about)
            sides.setdefault(key, ([], []))[side].append(finding)
    lines = [
        _line(attacks.get(attack), (attack, who, about), findings, policy)
        for (attack, who, about), findings in sides.items()
    ]
    return tuple(sorted(lines, key=lambda line: line.rank))


def _line(
    attack: Attack | None,
    named: tuple[str, str, str],
    findings: tuple[Sequence[Finding], Sequence[Finding]],
    policy: Policy,
) -> AdversaryLine:
    name, who, about = named
    promised = [p for p in policy.promises if name in p.threats and _concerns(p, about)]
    texts = ("", "", "") if attack is None else (attack.knows, attack.seeks, attack.succeeds)
    return AdversaryLine(
        name,
        who,
        about,
        *texts,
        Strike.of(findings[0]),
        Strike.of(findings[1]),
        tuple(str(promise) for promise in promised),
        tuple(dict.fromkeys(maker.name for maker in definitions() if name in maker.threats)),
    )


def _concerns(promise: Promise, about: str) -> bool:
    """Whether a promise is about the attacked column, or about no column at all."""
    return not about or not promise.sensitive or about in promise.sensitive


# How a policy removes terms, as adversaries know it who ask what it would have done in another world.

WIDEST = 36
MOST_CELLS = 14
"""With more terms left in a class, what a margin may remove is not listed."""


def known_removal(policy: Policy, *, steps: int) -> KnownRemoval:
    """Returns how the policy removes terms from a class, with the chance of every outcome.

    Raises `UsageError` where that depends on more than the class.
    """
    if steps < 1:
        raise UsageError("at least one world is needed", where="steps", remedy="As in `--steps 20000`.")
    limits = limits_of(policy.promises)
    rule = policy.protect.terms
    for holds, what in (
        (not removes_terms(policy), "the policy removes no term"),
        (len(limits) != 1 or bool(limits and limits[0].parts), "terms of several columns are removed"),
        (rule.cost == RARITY, "what a removal costs depends on the whole table"),
    ):
        if holds:
            raise UsageError(f"worlds cannot be listed: {what}", remedy="Ask for quasi-sensitive instead.")
    (limit,), costs = limits, RemovalCosts(rule.cost, WIDEST)
    budget = SolverBudget(rule.method, nodes=20_000)

    def outcomes(rows: Rows) -> Mapping[Rows, Fraction]:
        answer = solve_class(rows, limit, costs, budget)
        if answer.found and rule.scope == "class" and answer.cost:
            answer = removed_from_all(rows, answer, limit, costs)
        if not answer.found:
            return {}
        return (
            with_margin(answer.kept, limit, costs, rule.margin) if rule.margin else {answer.kept: Fraction(1)}
        )

    return KnownRemoval(outcomes, steps)


def with_margin(
    remaining: Rows, limit: TermLimit, costs: RemovalCosts, margin: Fraction
) -> Mapping[Rows, Fraction]:
    """Returns what a margin makes of a class, with the chance of each: terms are drawn a few times, until
    what is left keeps the promise; if it never does, the class stays."""
    cells = [(i, term) for i, terms in enumerate(remaining) for term in terms]
    if len(cells) > MOST_CELLS:
        raise UsageError(
            f"worlds cannot be listed: of {len(cells)} terms that are left in a class any may be removed"
        )
    fine: dict[Rows, Fraction] = {}
    for chosen in product((False, True), repeat=len(cells)):
        gone = {cell for cell, goes in zip(cells, chosen, strict=True) if goes}
        rows = tuple(tuple(t for t in terms if (i, t) not in gone) for i, terms in enumerate(remaining))
        answer = solve_class(rows, limit, costs, SolverBudget(rounds=1, nodes=1))
        if answer.found and answer.kept == rows:
            chance = margin ** len(gone) * (1 - margin) ** (len(cells) - len(gone))
            fine[rows] = fine.get(rows, Fraction(0)) + chance
    refused = 1 - sum(fine.values(), Fraction(0))
    tries = sum((refused**i for i in range(MOST_TRIES)), Fraction(0))
    outcomes = {rows: chance * tries for rows, chance in fine.items()}
    outcomes[remaining] = outcomes.get(remaining, Fraction(0)) + refused**MOST_TRIES
    return outcomes


# The planner of a policy, as adversaries know it who ask what it would have done with another table.

MOST_PLANNED_ROWS = 2_000_000
"""So many rows are planned at most where values are exchanged, unless a caller asks for more steps."""
LEAST_PLANS = 20


def known_search(policy: Policy, *, steps: int, seed: int = 0) -> KnownSearch:
    """Returns the policy's planner for adversaries who hand it tables of their own.

    Where grouping may be blind it draws coins of its own, every time the same. Raises `UsageError` where what
    is published depends on more than the table.
    """
    for holds, what in (
        (policy.person is not None, "rows of several per person"),
        (policy.promises.looks_back, "earlier releases"),
        (any(p.needs_original for p in policy.promises.of_terms), "what is kept of the original table"),
        (removes_terms(policy), "terms that are removed"),
    ):
        if holds:
            raise UsageError(
                f"tables cannot be compared: what is published depends on {what}",
                remedy="Ask for linkage, homogeneity or another attack on the table itself.",
            )
    if steps < 1:
        raise UsageError("at least one plan is needed", where="steps", remedy="As in `--steps 20000`.")
    coins = Coins.fresh() if _draws_coins(policy) else None
    alone = replace(policy, chain=None)

    def plan(table: Microdata) -> Plan | None:
        try:
            return make_plan(table, alone, coins=coins, everybody=coins is not None)
        except (Infeasible, BadPolicy):  # also where a value is named that this table lacks
            return None

    def republish(table: Microdata) -> Recoding | None:
        planned = plan(table)
        return None if planned is None else planned.recoding

    def units(table: Microdata) -> Codes | None:
        planned = plan(table)
        return None if planned is None or planned.grouped is None else planned.grouped.unit_of

    return KnownSearch(
        republish,
        {coding.name: coding.build for coding in policy.codings if coding.role.is_key},
        steps=steps,
        seed=seed,
        suppress=policy.protect.suppress,
        units=None if coins is None else units,
    )


def _draws_coins(policy: Policy) -> bool:
    """Whether people may be grouped by coins: in chains, and where that is asked for."""
    return may_be_blind(policy) and (policy.chain is not None or policy.protect.grouping == "blind")
