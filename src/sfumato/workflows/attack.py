"""The verb `attack`: one adversary alone, by name or with questions of its own."""
# ruff: noqa: PLC0415  # each attack is loaded when it is asked for

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.policy_argument import AnyImprint, AnyPolicy, load_policy
from sfumato.journey.table_argument import open_table

if TYPE_CHECKING:
    from sfumato.attacks.audit import Audit
    from sfumato.attacks.chain.correspondence import Correspondence, Method, Scope
    from sfumato.attacks.table.freeform import FreeformFinding
    from sfumato.core.microdata import Microdata
    from sfumato.core.verdict import Finding
    from sfumato.journey.audit import AnyReference
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.system.address import Address


class AttackVerb:
    """One adversary alone: `sf.attack("linkage", table, policy)`.

    Four adversaries answer questions of their own: `sf.attack.correspondence(releases, policy)`,
    `sf.attack.posterior_belief(tables, policy)`, `sf.attack.freeform(table, policy)` and
    `sf.attack.quasi_sensitive(table, policy)`. Three know how the table is made, and no audit plays them:
    `sf.attack.downcoding`, `sf.attack.minimality` (with a register) and `sf.attack.term_removal`.
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

        `data` may be a list of releases of the same people, oldest first, for an adversary who holds several.
        Raises `WrongCall`, with what is needed, where the attack has nothing to strike: that is no success.
        """
        from sfumato.attacks import registry
        from sfumato.journey.audit import audit_by

        registry.make(name)  # a wrong name is refused before anything is read
        audit = audit_by(
            name, data, policy, reference=reference, against=against, chain=chain, progress=progress
        )
        if not audit.findings and not audit.failed:
            raise WrongCall(f"{name} has nothing to strike: {audit.not_tried[name]}")
        return audit

    def downcoding(
        self,
        data: AnyTable,
        policy: AnyPolicy,
        *,
        steps: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Audit:
        """Attack what key columns hide, as somebody would who knows how the search decides.

        Where there are at most `steps` worlds (20,000), all are listed and the answer is exact; else worlds
        of single classes are drawn, with this `seed`, and findings tell the error.
        """
        from sfumato.journey.world_attack import attack_keys

        return attack_keys(data, policy, steps=steps, seed=seed, progress=progress)

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

        The `register` holds the key columns of everybody in the published table, as they were before.
        `steps` and `seed` as for `downcoding`.
        """
        from sfumato.journey.world_attack import attack_values

        return attack_values(data, policy, register, steps=steps, seed=seed, progress=progress)

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

        Classes with at most `steps` worlds (20,000) are looked at, and the answer is exact for them.
        """
        from sfumato.journey.world_attack import attack_terms

        return attack_terms(data, policy, reference=reference, steps=steps, progress=progress)

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

        Releases are given one by one, with `policy=`, or as one list that the policy may follow. Raises
        `WrongCall` where there are fewer than two: one release has no other to correspond to.

        A release is a published table (a frame, or a CSV or Parquet file), which the policy's taxonomies are
        enough for, or its imprint (or the JSON file of one). Two releases are always judged exactly. More are
        judged by the refined bound; `exact` narrows it by the integer program, first where that decides
        about k, and says what stays open; `paper` composes attacks as the paper does (a reference: its
        bound may be too high). The scope `realized` needs `data`, and the column `since` where there are
        several batches.
        """
        from sfumato.attacks.attack import SEVERAL_RELEASES
        from sfumato.attacks.chain.correspondence import correspondence
        from sfumato.attacks.chain.table_chain import imprints_of

        if releases and isinstance(releases[0], list | tuple):
            releases, policy = _list_and_policy(releases, policy)
        if len(releases) < 2:
            raise WrongCall(f"correspondence has nothing to strike: it needs {SEVERAL_RELEASES}")
        rules = None if policy is None else load_policy(policy)
        known = imprints_of(releases, rules)
        return correspondence(known, rules, scope=scope, method=method, data=data, since=since)

    def posterior_belief(self, releases: Sequence[AnyTable], policy: AnyPolicy) -> list[Finding]:
        """Return how likely tables about the same people, put together two by two, make a sensitive value.

        Tables (frames, or CSV or Parquet files) are given oldest first; each holds everybody of those before
        it. One finding per sensitive column, a breach where the belief is more than the policy allows of a
        class.
        """
        from sfumato.attacks.chain.posterior_belief import posterior_belief

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

        By default the worst attack on every value that is worth inferring, breach or not, the largest threat
        first. `every` lists all breaches instead, the most general first, `limit` at most. `extended` counts
        the inference of a value more general than those in the table too (Definition 3.4 of the paper);
        without it only published values are inferred (Definition 3.3).
        """
        from sfumato.attacks.table.freeform import LIMIT, freeform

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
        """Yield all freeform breaches one by one, the most general first."""
        from sfumato.attacks.table.freeform import streamed

        rules = load_policy(policy)
        return streamed(open_table(data, policy=rules), rules, extended=extended, progress=progress)

    def quasi_sensitive(self, data: AnyTable, policy: AnyPolicy) -> list[Finding]:
        """Return what terms give away together, worst first, in a raw or a published table."""
        from sfumato.attacks.table.quasi_sensitive import quasi_sensitive

        return quasi_sensitive(data, load_policy(policy))


def _list_and_policy(
    given: tuple[Any, ...], policy: AnyPolicy | None
) -> tuple[tuple[Any, ...], AnyPolicy | None]:
    """Returns the releases of a list, and the policy that follows it or was named; the caller is typed."""
    releases, *after = given
    if len(after) > 1 or (after and policy is not None):
        raise WrongCall(
            "a list of releases is followed by a policy and nothing else",
            remedy="Put every release into the list, or give them one by one.",
        )
    return tuple(releases), after[0] if after else policy


attack = AttackVerb()
