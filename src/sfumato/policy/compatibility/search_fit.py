"""The searches that a policy can be followed by, with the reason for every other.

`best` compares the searches that fit, and is refused only where none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Missing, Role
from sfumato.core.problem import Problem, did_you_mean, short
from sfumato.core.promise import TablePromise
from sfumato.policy import searches
from sfumato.policy.compatibility.promise_places import with_places
from sfumato.policy.content import PolicyContent, ProtectRule
from sfumato.policy.recipients import GLOBAL_SEARCHES
from sfumato.policy.searches import BEST, COMPARED, LOSSES, Ability
from sfumato.policy.taxonomies.flat import Flat


def search_problems(policy: PolicyContent) -> Iterator[Problem]:
    """Yields why the search of a policy cannot follow it; of `best`, what the nearest search lacks."""
    if policy.protect.search == BEST:
        against = against_compared(policy)
        if all(against.values()):
            yield from min(against.values(), key=len)
        return
    yield from of_search(policy.protect, policy.missing)
    ability = _ability(policy.protect.search)
    if ability is not None:
        yield from _against(policy, policy.protect.search, ability)


def against_compared(policy: PolicyContent) -> dict[str, list[Problem]]:
    """Returns the searches that `best` compares, each with what stands against it under this policy.

    That Mondrian may be relaxed is no reason against the others, which do not ask.
    """
    against = {}
    for name in COMPARED:
        ability = searches.BUILT_IN[name]
        alone = replace(policy.protect, search=name, relaxed=False)
        problems = [
            *_losses(alone, ability),
            *_against(policy, name, ability),
            *_unlisted_orders(policy, name),
        ]
        against[name] = problems
    return against


def searches_of(policy: PolicyContent) -> tuple[str, ...]:
    """Returns the searches that may be run: the one that is named or, for `best`, those that fit."""
    if policy.protect.search != BEST:
        return (policy.protect.search,)
    return tuple(name for name, problems in against_compared(policy).items() if not problems)


def recodes_columns(policy: PolicyContent) -> bool:
    """Whether every value of a column becomes the same, or would if the policy were for recipients."""
    return policy.protect.search in (*GLOBAL_SEARCHES, BEST)


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
    yield from _losses(protect, ability)
    if protect.suppress > 0 and not ability.can_suppress(protect.price) and missing is not Missing.SUPPRESS:
        weighs = " or give suppressed rows a price, as in `price: 3`" if ability.weighs else ""
        yield Problem(
            ("protect", "suppress"),
            f"{protect.search} has nothing to suppress: it never makes a class that breaks a promise.",
            f"Leave suppress out{weighs}.",
        )


def _losses(protect: ProtectRule, ability: Ability) -> Iterator[Problem]:
    losses = searches.known_losses()
    if protect.loss not in losses:
        hint = did_you_mean(protect.loss, list(losses))
        yield Problem(("protect", "loss"), f"the losses are {', '.join(losses)}.", hint)
    elif protect.loss not in LOSSES and not ability.can_keep_small(protect.loss):
        yield Problem(
            ("protect", "loss"),
            f"{protect.loss} does not work: {protect.search} keeps small what is built in alone.",
            _searches_that(lambda a: a.any_loss),
        )
    elif not ability.can_keep_small(protect.loss):
        remedy = f"Use {' or '.join(ability.losses)}, or search: lattice."
        reason = ability.why_not or f"{protect.search} cannot keep it small"
        yield Problem(("protect", "loss"), f"{protect.loss} does not work: {reason}.", remedy)
    if protect.relaxed and not ability.relaxes:
        yield Problem(("protect", "relaxed"), f"only Mondrian can be relaxed, not {protect.search}")


def _against(policy: PolicyContent, search: str, ability: Ability) -> Iterator[Problem]:
    """Yields why a search cannot follow the policy, beyond its loss."""
    yield from _promises(policy, search, ability)
    yield from _profiles(policy, search, ability)
    yield from _recipients(policy, search)
    yield from _terms(policy, search, ability)
    yield from _together(policy, search, ability)


def _promises(policy: PolicyContent, search: str, ability: Ability) -> Iterator[Problem]:
    for place, promise in with_places(policy):
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


def _profiles(policy: PolicyContent, search: str, ability: Ability) -> Iterator[Problem]:
    if policy.by_profile and not ability.whole_columns:
        yield Problem(
            ("protect", "search"),
            f"{search} recodes every class by itself, and what all rows of a person show is"
            " judged only where a value becomes the same everywhere.",
            _searches_that(lambda a: a.whole_columns),
        )


def _recipients(policy: PolicyContent, search: str) -> Iterator[Problem]:
    if policy.recipients is not None and search not in GLOBAL_SEARCHES:
        yield Problem(
            ("protect", "search"),
            f"{search} recodes every class by itself: versions have no pattern to be told apart by.",
            f"Use search: {' or '.join((*GLOBAL_SEARCHES, BEST))}.",
        )


def _terms(policy: PolicyContent, search: str, ability: Ability) -> Iterator[Problem]:
    """Yields a search that publishes nodes class by class where terms are removed and classes merged."""
    if ability.beside_others or policy.protect.terms.method == "keep":
        return
    if any(rule.role is Role.QUASI_SENSITIVE for rule in policy.columns.values()):
        yield Problem(
            ("protect", "search"),
            f"{search} cannot be followed by the removal of terms: classes that are merged for"
            " it might publish what is no node of a taxonomy.",
            "Use search: top-down or lattice, or set protect.terms.method to keep.",
        )


def _together(policy: PolicyContent, search: str, ability: Ability) -> Iterator[Problem]:
    if policy.protect.together and not ability.levels:
        yield Problem(
            ("protect", "together"),
            f"{search} does not publish a column at one level, so columns cannot have the same one.",
            f"Use search: {' or '.join(n for n, a in searches.usable().items() if a.levels or n == BEST)}.",
        )


def _unlisted_orders(policy: PolicyContent, search: str) -> Iterator[Problem]:
    """Yields columns in an order that nobody listed, where a search would publish ranges of single values."""
    if not searches.BUILT_IN[search].ranges:
        return
    for name, rule in policy.columns.items():
        flat = rule.taxonomy
        if rule.role.is_key and isinstance(flat, Flat) and flat.ordered and flat.domain is None:
            yield Problem(
                ("columns", name, "taxonomy"),
                f"{search} would publish the least and the greatest value of every class of {short(name)}.",
                "List the values in their order, or give intervals.",
            )


def _ability(name: str) -> Ability | None:
    try:
        return searches.ability_of(name)
    except WrongCall:  # `of_search` says so
        return None


def _searches_that(fits: Callable[[Ability], bool]) -> str:
    return _search_remedy([name for name, ability in searches.usable().items() if fits(ability)])


def _search_remedy(names: Sequence[str]) -> str:
    return f"Use search: {' or '.join(names)}."
