"""Compatibility of a policy's parts: the table role x promise x search, with the reason for every no.

Checks are data (the abilities of the searches) or small functions (`CHECKS`). A promise adds its
own: `roles` (what its columns may be), `column_role` (a role that belongs to it), `searches` (which can keep
it) and `objections(policy)`, sentences about whatever else it cannot go with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sfumato import promises
from sfumato.core.adversary import Adversary
from sfumato.core.beliefs import BeliefLimit
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Missing, Role
from sfumato.core.policy_view import ColumnOptions
from sfumato.core.problem import Place, Problem, did_you_mean, short
from sfumato.core.promise import Promise, Promises, TablePromise
from sfumato.policy import searches
from sfumato.policy.content import Knows, PolicyContent, ProtectRule
from sfumato.policy.recipients import GLOBAL_SEARCHES, Coalition
from sfumato.policy.searches import LOSSES, Ability
from sfumato.policy.set_columns import forms_of
from sfumato.promises.quasi_sensitive.set_options import options_of as set_options_of


def roles() -> tuple[Role, ...]:
    """Returns the roles that this version knows what to do with."""
    return tuple(role for role in Role if not role.needs_promise or promises.owner_of(role))


def options_of(role: Role) -> type[ColumnOptions] | None:
    """Returns the options of columns of this role, beyond the taxonomy; `None` if there are none."""
    return promises.column_options(role)


def objections(policy: PolicyContent) -> list[Problem]:
    """Returns every reason why this policy cannot be followed, each with its place."""
    return [problem for check in CHECKS for problem in check(policy)]


def _some_promise(policy: PolicyContent) -> Iterator[Problem]:
    if not policy.promises.members:
        yield Problem(("promises",), "no promise is made, so nothing would be protected")


def _some_key(policy: PolicyContent) -> Iterator[Problem]:
    if policy.promises.members and not any(rule.role.is_key for rule in policy.columns.values()):
        yield Problem(
            ("columns",),
            "no column is a quasi-identifier, so there are no classes to make a promise about.",
            "Give the columns that others may know the role quasi.",
        )


def _protected_columns(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in _with_places(policy):
        fit = promise.roles
        for name in promise.sensitive:
            rule = policy.rule_of(name)
            if rule is None:
                near = did_you_mean(name, list(policy.columns))
                yield Problem((*place, "of"), f"there is no column {short(name)}.", near)
            elif rule.role not in fit:
                yield Problem((*place, "of"), _UNFIT[rule.role].format(name=short(name)), _fitting(fit))


_UNFIT: Mapping[Role, str] = {
    Role.IDENTIFIER: "{name} is an identifier and never published, so nothing can be promised of it.",
    Role.QUASI: "{name} is a quasi-identifier: others know it and it is generalized; it is no secret.",
    Role.FREE: "{name} is free: part of the class key and generalized; it has a promise of its own.",
    Role.SENSITIVE: "{name} is sensitive.",
    Role.QUASI_SENSITIVE: "{name} is quasi-sensitive.",
    Role.INSENSITIVE: "{name} is insensitive: published unchanged and counted nowhere.",
}


def _fitting(fit: tuple[Role, ...]) -> str:
    return f"The column of this promise must be {' or '.join(fit)}."


def _unordered_taxonomies(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in _with_places(policy):
        for name in promise.ordered_columns:
            rule = policy.columns.get(name)
            if rule is not None and rule.taxonomy is not None and not rule.taxonomy.ordered:
                yield Problem(
                    (*place, "distance"),
                    f"the taxonomy of {short(name)} has no order to measure a distance in.",
                    "Add `ordered: true` to it, or use the distance equal or hierarchical.",
                )


def _unused_taxonomies(policy: PolicyContent) -> Iterator[Problem]:
    for name, rule in policy.columns.items():
        if rule.start and (rule.role is not Role.QUASI or rule.taxonomy is None):
            yield Problem(
                ("columns", name, "start"),
                "only a quasi-identifier with a taxonomy begins at a level.",
                "Drop it, or give the column both.",
            )
        if rule.taxonomy is not None and rule.role in (Role.IDENTIFIER, Role.INSENSITIVE):
            fate = "never published" if rule.role is Role.IDENTIFIER else "published unchanged"
            yield Problem(
                ("columns", name, "taxonomy"),
                f"a column that is {rule.role} is {fate}; its taxonomy would not be used.",
                "Drop the taxonomy, or make the column quasi.",
            )


def _search(policy: PolicyContent) -> Iterator[Problem]:
    return of_search(policy.protect, policy.missing)


def of_search(protect: ProtectRule, missing: Missing) -> Iterator[Problem]:
    """Yields what the search itself cannot do, whatever the columns and promises are."""
    try:
        ability = searches.ability_of(protect.search)
    except WrongCall as refused:
        yield Problem(("protect", "search"), refused.message, refused.remedy)
        return
    if ability is None:
        names = searches.known()
        hint = did_you_mean(protect.search, names)
        yield Problem(("protect", "search"), f"the searches are {', '.join(names)}.", hint)
        return
    if protect.loss not in LOSSES:
        hint = did_you_mean(protect.loss, list(LOSSES))
        yield Problem(("protect", "loss"), f"the losses are {', '.join(LOSSES)}.", hint)
    elif protect.loss not in ability.losses:
        remedy = f"Use {' or '.join(ability.losses)}, or search: lattice."
        reason = ability.why_not or f"{protect.search} cannot keep it small"
        yield Problem(("protect", "loss"), f"{protect.loss} does not work: {reason}.", remedy)
    if protect.relaxed and not ability.relaxes:
        yield Problem(("protect", "relaxed"), f"only Mondrian can be relaxed, not {protect.search}")
    if protect.suppress > 0 and not ability.suppresses and missing is not Missing.SUPPRESS:
        yield Problem(
            ("protect", "suppress"),
            f"{protect.search} has nothing to suppress: it never makes a class that breaks a promise.",
            "Leave suppress out.",
        )


def _searchable(policy: PolicyContent) -> Iterator[Problem]:
    search = policy.protect.search
    try:
        ability = searches.ability_of(search)
    except WrongCall:  # `of_search` says so
        return
    if ability is None:
        return
    for place, promise in _with_places(policy):
        whole, named = isinstance(promise, TablePromise), promise.searches
        able = ability.whole_table or not whole if named is None else search in named
        if not able:
            reason = "it is about the recoded table as a whole" if whole else "it says so itself"
            remedy = _searches_that(lambda a: a.whole_table) if named is None else _search_remedy(named)
            yield Problem(place, f"{search} cannot keep it: {reason}.", remedy)
        elif whole and policy.protect.suppress > 0:
            yield Problem(
                ("protect", "suppress"),
                f"{promise.name} is about the recoded table as a whole, with every row in it.",
                "Leave suppress out.",
            )
        elif not whole and not promise.monotone and not ability.any_promise:
            reason = (
                "a step that breaks it may be followed by one that mends it"
                if ability.whole_columns
                else "somebody whose key fits several classes sees their union, which may break it"
            )
            yield Problem(
                place,
                f"{search} cannot keep it: it is not monotone, so {reason}.",
                _searches_that(lambda a: a.any_promise),
            )


def _searches_that(fits: Callable[[Ability], bool]) -> str:
    return _search_remedy([name for name, ability in searches.usable().items() if fits(ability)])


def _search_remedy(names: Sequence[str]) -> str:
    return f"Use search: {' or '.join(names)}."


def _limits(policy: PolicyContent) -> Iterator[Problem]:
    protect = policy.protect
    if not 0 <= protect.suppress <= 1:
        yield Problem(("protect", "suppress"), "must be a share from 0 to 1 (0% to 100%)")
    if policy.missing is Missing.SUPPRESS and protect.suppress == 0:
        yield Problem(
            ("missing",),
            "rows with empty cells are to be suppressed, but nothing may be suppressed.",
            "Set protect.suppress, or use missing: own-value.",
        )
    for name, weight in protect.weights.items():
        place: Place = ("protect", "weights", name)
        rule = policy.columns.get(name)
        if rule is None:
            yield Problem(place, "there is no such column.", did_you_mean(name, list(policy.columns)))
        elif not rule.role.is_key:
            yield Problem(place, f"only key columns have a weight; this one is {rule.role}")
        if weight <= 0:
            yield Problem(place, "a weight must be greater than 0")


def _person(policy: PolicyContent) -> Iterator[Problem]:
    if policy.person is None:
        return
    rule = policy.columns.get(policy.person)
    if rule is None:
        hint = did_you_mean(policy.person, list(policy.columns))
        yield Problem(("person",), f"there is no column {short(policy.person)}.", hint)
    elif rule.role is not Role.IDENTIFIER:
        yield Problem(
            ("person",),
            f"the column that tells people apart must not be published, but it is {rule.role}.",
            "Give it the role identifier.",
        )


def _knows(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what cannot be promised, or not be searched for, by what others know of a person."""
    if policy.person is None:
        return
    if policy.knows is Knows.ROW:
        for place, promise in _with_places(policy):
            if not promise.by_size and not promise.looks_back:
                yield Problem(
                    place,
                    "it does not bind who knows two rows of a person and looks at what both leave.",
                    "Say knows: profile under person, or promise k-anonymity alone.",
                )
    if not policy.by_profile:
        return
    if policy.missing is Missing.SUPPRESS:
        yield Problem(
            ("missing",),
            "rows with empty cells would be left out one by one, but people are published with all their rows"
            " or not at all.",
            "Use missing: own-value or refuse.",
        )
    for place, promise in _with_places(policy):
        if not promise.cone and not promise.by_size and not promise.looks_back:
            yield Problem(
                place,
                f"{promise.name} does not say that what keeps it may be added up (`cone`), so it cannot be"
                " judged by what all rows of a person show.",
                "Drop `person` and give everybody one row, or promise something else.",
            )
    try:
        ability = searches.ability_of(policy.protect.search)
    except WrongCall:  # `of_search` says so
        return
    if ability is not None and not ability.whole_columns:
        yield Problem(
            ("protect", "search"),
            f"{policy.protect.search} recodes every class by itself, and what all rows of a person show is"
            " judged only where a value becomes the same everywhere.",
            _searches_that(lambda a: a.whole_columns),
        )


def _unknown_roles(policy: PolicyContent) -> Iterator[Problem]:
    known = roles()
    for name, rule in policy.columns.items():
        if rule.role not in known:
            yield Problem(("columns", name, "role"), f"{rule.role} is not available in this version")


def _roles_without_promise(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns whose role belongs to a promise, where no such promise is about the column."""
    covered = {(promise.column_role, column) for promise in policy.promises for column in promise.reads}
    sets = {part: name for name, form in forms_of(policy).items() for part in form.parts}
    for name, rule in policy.columns.items():
        needed = promises.owner_of(rule.role)
        if needed is None or (rule.role, sets.get(name, name)) in covered:
            continue
        yield Problem(
            ("columns", name, "role"),
            f"{rule.role} means nothing without the promise {needed} that speaks of this column.",
            f"Promise {needed}, say of the column what it needs, or make the column quasi.",
        )


def _set_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what is wrong about set-valued columns."""
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        options = set_options_of(rule)
        if options.separator is not None and options.set is not None:
            yield Problem(("columns", name, "separator"), "a 0/1 column of a set has no separator")
        if options.set is not None and options.set in policy.columns:
            yield Problem(("columns", name, "set"), f"{short(options.set)} is the name of a column")
        if rule.taxonomy is not None:
            yield Problem(
                ("columns", name, "taxonomy"), "term sets are shortened, not generalized along a tree"
            )
    if not 0 <= policy.protect.terms.margin < 1:
        yield Problem(("protect", "terms", "margin"), "must be a share from 0 to below 1")


def _terms_of_local_classes(policy: PolicyContent) -> Iterator[Problem]:
    """Yields a search that publishes nodes class by class where terms are removed and classes merged."""
    ability = searches.BUILT_IN.get(policy.protect.search)
    if ability is None or ability.beside_others or policy.protect.terms.method == "keep":
        return
    if any(rule.role is Role.QUASI_SENSITIVE for rule in policy.columns.values()):
        yield Problem(
            ("protect", "search"),
            f"{policy.protect.search} cannot be followed by the removal of terms: classes that are merged for"
            " it might publish what is no node of a taxonomy.",
            "Use search: top-down or lattice, or set protect.terms.method to keep.",
        )


def _one_knowledge(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns whose terms would be removed for more than one knowledge."""
    if policy.protect.terms.method == "keep":
        return
    known: dict[str, str] = {}
    for i, promise in enumerate(policy.promises):
        for limit in Promises((promise,)).limits.of_kind(BeliefLimit):
            digest = limit.knowledge.digest
            if known.setdefault(limit.column, digest) != digest:
                yield Problem(
                    ("promises", str(i)),
                    f"terms of {short(limit.column)} are removed for one knowledge, and the promises name"
                    " several.",
                    "Join them into one knowledge table, or set protect.terms.method to keep.",
                )


def _recipients(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what versions for several recipients cannot go with."""
    rule = policy.recipients
    if rule is None:
        return
    if policy.protect.search not in GLOBAL_SEARCHES:
        yield Problem(
            ("protect", "search"),
            f"{policy.protect.search} recodes every class by itself: versions have no pattern to be told"
            " apart by.",
            f"Use search: {' or '.join(GLOBAL_SEARCHES)}.",
        )
    if rule.coalition is not Coalition.NONE and policy.protect.suppress > 0:
        yield Problem(
            ("recipients", "coalition"),
            "where rows may be suppressed, versions hold different people, and what colluders learn from that"
            " is not judged.",
            "Leave protect.suppress out.",
        )
    if not rule.tolerance <= 10:
        yield Problem(("recipients", "tolerance"), "must be a share of the best loss, up to 10 (1000%)")
    if len(set(rule.overriders)) < len(rule.overriders):
        yield Problem(("recipients", "overriders"), "a key is named twice")


def _coalition(policy: PolicyContent) -> Iterator[Problem]:
    """Yields promises that cannot be judged on several versions put together."""
    rule = policy.recipients
    if rule is None or rule.coalition is Coalition.NONE:
        return
    for place, promise in _with_places(policy):
        if not promise.looks_back and not promise.cone:
            yield Problem(
                place,
                "what recipients believe who put their versions together cannot be judged: it is not known"
                " whether sums and multiples of histograms that keep it keep it, too.",
                "Leave it out, or say coalition: none.",
            )
    if rule.adversary is Adversary.TARGET and policy.promises.about_beliefs:
        yield Problem(
            ("recipients", "adversary"),
            "target counts the people and the values that are left for somebody; how likely a value is, as"
            f" {policy.promises.about_beliefs[0].name} bounds it, is judged against a register alone.",
            "Say adversary: register, or promise k-anonymity and distinct l-diversity alone.",
        )
    for place, promise in _with_places(policy):
        if promise.adversary is not None and promise.adversary is not rule.adversary:
            yield Problem(
                (*place, "adversary"),
                f"recipients who put their versions together are judged as {rule.adversary}, and beside"
                f" earlier releases as {promise.adversary}: what is accepted for one tells the other.",
                f"Say adversary: {rule.adversary} here, or adversary: {promise.adversary} for recipients.",
            )
        if promise.looks_back and not promise.asks_others and policy.promises.about_values:
            yield Problem(
                (*place, "survivors"),
                "recipients who put releases of several times together learn about values, too.",
                "Say survivors: true, or coalition: none.",
            )


def _beside_earlier(policy: PolicyContent) -> Iterator[Problem]:
    """Yields promises that cannot be judged on what earlier releases leave of them."""
    for place, promise in _with_places(policy):
        if not (promise.looks_back and promise.asks_others):
            continue
        if promise.adversary is Adversary.TARGET and policy.promises.about_beliefs:
            yield Problem(
                (*place, "survivors"),
                "against somebody who knows one target, what remains beside earlier releases decides how many"
                f" people and values are left, not how likely one is, as"
                f" {policy.promises.about_beliefs[0].name} bounds it.",
                "Say adversary: register, or leave survivors out.",
            )
        for other in policy.promises.of_class if promise.adversary is Adversary.REGISTER else ():
            if not other.cone:
                yield Problem(
                    (*place, "survivors"),
                    f"{other.name} is not known to be kept by sums and multiples of what keeps it: what is"
                    " believed beside earlier releases cannot be judged.",
                    "Leave survivors out.",
                )
            elif other.relative:
                yield Problem(
                    (*place, "survivors"),
                    f"{other.name} compares with the whole table, which differs from release to release.",
                    "Give it a fixed reference, or leave survivors out.",
                )


def _objections_of_promises(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in _with_places(policy):
        for sentence in promise.objections(policy):
            yield Problem(place, sentence)


def _with_places(policy: PolicyContent) -> Iterator[tuple[Place, Promise]]:
    for i, promise in enumerate(policy.promises):
        yield ("promises", i, promise.name), promise


CHECKS: list[Callable[[PolicyContent], Iterator[Problem]]] = [
    _unknown_roles,
    _roles_without_promise,
    _some_promise,
    _some_key,
    _protected_columns,
    _unordered_taxonomies,
    _unused_taxonomies,
    _search,
    _searchable,
    _limits,
    _person,
    _knows,
    _set_columns,
    _terms_of_local_classes,
    _one_knowledge,
    _recipients,
    _coalition,
    _beside_earlier,
    _objections_of_promises,
]
