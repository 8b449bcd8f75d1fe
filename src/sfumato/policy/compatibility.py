"""Compatibility of a policy's parts: the table role x promise x search, with the reason for every no.

Checks are data (the abilities of the searches) or small functions (`CHECKS`). A promise adds its
own: `roles` (what its columns may be), `column_role` (a role that belongs to it), `searches` (which can keep
it) and `objections(policy)`, sentences about whatever else it cannot go with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sfumato.models import registry as promises
from sfumato.models.contract import (
    ClassPromise,
    ColumnOptions,
    ColumnRolePromise,
    CrossReleasePromise,
    Promises,
    TablePromise,
    is_derived,
    is_relative,
)
from sfumato.models.quasi_sensitive.knowledge import BeliefLimit, Knowledge, merged_rows
from sfumato.models.quasi_sensitive.promise import MOST_MERGED_ROWS, MOST_TABLES, SetOptions
from sfumato.models.quasi_sensitive.promise import options_of as set_options_of
from sfumato.policy import presets as safe_harbor
from sfumato.policy import searches
from sfumato.policy.chain import KEY as CHAIN
from sfumato.policy.columns import forms_of
from sfumato.policy.content import PolicyContent, ProtectRule, with_places
from sfumato.policy.person import KEY as PERSON
from sfumato.policy.recipients import By, RecipientRule
from sfumato.policy.searches import BEST, COMPARED, GLOBAL_SEARCHES, LOSSES, Ability
from sfumato.policy.taxonomies.texts import LISTING, Flat, lists_values
from sfumato.system.errors import Place, Problem, UsageError, did_you_mean, short
from sfumato.table.microdata import BARE, VALUE_MARK, Missing, Role
from sfumato.table.spelling import meaning

# Compatibility of controls: weights, levels, columns that move together, rows that are never suppressed.

ABOUT: Mapping[str, str] = {
    "weight": "a weight",
    "at-most": "a coarsest level",
    "fixed": "a fixed level",
    "never-suppress": "rows that are never suppressed",
}


def weights(policy: PolicyContent) -> Iterator[Problem]:
    """Yields weights of columns that have none to have, or two, and a loss in which nothing counts."""
    for name in policy.protect.weights:
        place: Place = ("protect", "weights", name)
        rule = policy.columns.get(name)
        if rule is None:
            yield Problem(place, "there is no such column.", did_you_mean(name, list(policy.columns)))
        elif not rule.role.is_key:
            yield Problem(place, f"only key columns have a weight; this one is {rule.role}")
        elif rule.controls.weight is not None:
            yield Problem(place, "the column itself says its weight, too.", "Say it once.")
    weight_of = policy.weights
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    for name, weight in weight_of.items():
        if weight < 0:
            place = ("protect", "weights", name) if name in policy.protect.weights else ("columns", name)
            yield Problem(place, "a weight must not be negative")
    if keys and all(weight_of.get(name, 1) == 0 for name in keys):
        yield Problem(
            ("columns", keys[0], "weight"),
            "every key column has the weight 0, so that no table is better than another.",
            "Leave out the weight of a column that matters.",
        )


def of_keys(policy: PolicyContent) -> Iterator[Problem]:
    """Yields controls of columns that are published as they are, or not at all."""
    for name, rule in policy.columns.items():
        for key in rule.controls.words:
            place = ("columns", name, key)
            if not rule.role.is_key:
                yield Problem(place, f"only key columns have {ABOUT[key]}; this one is {rule.role}")
            elif key == "fixed" and rule.role is not Role.QUASI:
                yield Problem(
                    place,
                    f"only a quasi-identifier has {ABOUT[key]}; this one is {rule.role}.",
                    "Use at-most.",
                )


def levels(policy: PolicyContent) -> Iterator[Problem]:
    """Yields levels of one column that contradict each other."""
    for name, rule in policy.columns.items():
        controls = rule.controls
        if controls.fixed is not None:
            for key, contradicts in (("at-most", controls.at_most is not None), ("start", rule.start > 0)):
                if contradicts:
                    yield Problem(
                        ("columns", name, key),
                        f"the column is fixed at level {controls.fixed}, which says it all.",
                        f"Drop fixed or {key}.",
                    )
        elif controls.at_most is not None and controls.at_most < rule.start:
            yield Problem(
                ("columns", name, "at-most"),
                f"the column starts at level {rule.start}, so it is never as fine as level"
                f" {controls.at_most}.",
                f"Use a level from {rule.start} on, or an earlier start.",
            )


def never_suppressed(policy: PolicyContent) -> Iterator[Problem]:
    """Yields rows that are never suppressed, where rows with empty cells, or those of recipients, may be."""
    for name in (name for name, rule in policy.columns.items() if rule.controls.never_suppress):
        place: Place = ("columns", name, "never-suppress")
        if policy.missing is Missing.SUPPRESS:
            yield Problem(
                place,
                "rows with an empty key cell are suppressed, whatever else they hold (missing: suppress).",
                "Use missing: own-value.",
            )
        if policy.by_patterns and policy.protect.suppress > 0:
            yield Problem(
                place,
                "versions for recipients are chosen by how many rows they suppress, not by which.",
                "Leave protect.suppress out, so that no row is suppressed, or never-suppress.",
            )


def together(policy: PolicyContent) -> Iterator[Problem]:
    """Yields groups of columns that cannot move together."""
    grouped: set[str] = set()
    for i, group in enumerate(policy.protect.together):
        place: Place = ("protect", "together", i)
        if len(group) < 2:
            yield Problem(place, "a group has at least two columns")
        for name in group:
            rule = policy.columns.get(name)
            if rule is None:
                near = did_you_mean(name, list(policy.columns))
                yield Problem(place, f"there is no column {short(name)}.", near)
            elif not rule.role.is_key:
                yield Problem(place, f"only key columns have levels; {short(name)} is {rule.role}")
            if name in grouped:
                yield Problem(place, f"{short(name)} is in two groups, or twice in one.", "Join the groups.")
            grouped.add(name)
        yield from _no_common_level(policy, place, group)


def _no_common_level(policy: PolicyContent, place: Place, group: tuple[str, ...]) -> Iterator[Problem]:
    rules = [policy.columns[name] for name in group if name in policy.columns]
    least = max((rule.finest for rule in rules), default=0)
    most = min((c for rule in rules if (c := rule.controls.ceiling) is not None), default=least)
    if most < least:
        yield Problem(
            place,
            f"one of the columns is never finer than level {least}, another never coarser than level {most}.",
            "Change start, at-most or fixed of one of them.",
        )


# The searches that a policy can be followed by, with the reason for every other.
#
# `best` compares the searches that fit, and is refused only where none does.


def search_problems(policy: PolicyContent) -> Iterator[Problem]:
    """Yields why the search of a policy cannot follow it; of `best`, what the nearest search lacks."""
    if policy.protect.search == BEST:
        against = against_compared(policy)
        if all(against.values()):
            yield from min(against.values(), key=len)
        return
    yield from of_search(policy.protect, policy.missing)
    ability = searches.usable_ability(policy.protect.search)
    if ability is not None:  # else `of_search` says so
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
    except UsageError as refused:
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


def _recipients(policy: PolicyContent, search: str) -> Iterator[Problem]:
    if policy.by_patterns and search not in GLOBAL_SEARCHES:
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


def _searches_that(fits: Callable[[Ability], bool]) -> str:
    return _search_remedy([name for name, ability in searches.usable().items() if fits(ability)])


def _search_remedy(names: Sequence[str]) -> str:
    return f"Use search: {' or '.join(names)}."


# Compatibility with several tables in one hand: versions for recipients, and earlier releases.


def several_tables_for_recipients(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what versions for several recipients cannot go with."""
    rule = policy.recipients
    if rule is None:
        return
    yield from _kind_of_versions(rule, policy)
    if rule.by is By.MARKS:
        return
    if policy.protect.terms.margin:
        yield Problem(
            ("protect", "terms", "margin"),
            "terms beyond need are drawn at random, and versions for recipients show the same terms, also to"
            " those who come later.",
            "Leave the margin out.",
        )
    if len(set(rule.overriders)) < len(rule.overriders):
        yield Problem(("recipients", "overriders"), "a key is named twice")


ONLY_PATTERNS = {
    "quality": "versions by marks are alike in the loss that releases print.",
    "frame_proof": "who builds the version of another has to know a coin for every group.",
    "patterns": "versions by marks have no levels of columns.",
}
"""Keys that are of patterns alone, and why marks do without."""


def _kind_of_versions(rule: RecipientRule, policy: PolicyContent) -> Iterator[Problem]:
    """Yields why versions cannot differ by what is asked for, and keys of the other kind."""
    if not 0 < rule.error < 1:
        yield Problem(("recipients", "error"), "must be a chance, such as 1/1000")
    if not 0 <= rule.tolerance <= 10:
        yield Problem(("recipients", "tolerance"), "must be a share of the best loss, up to 10 (1000%)")
    if rule.by is By.PATTERNS:
        if policy.chain is not None:
            yield Problem(
                ("recipients", "by"),
                "in a chain of groups versions differ by marks.",
                "Leave `by` out, or leave chain out.",
            )
        if rule.collusion != RecipientRule().collusion:
            yield Problem(("recipients", "collusion"), "it is of versions by marks.", "Use frame-proof.")
        return
    if policy.chain is None:
        yield Problem(
            ("recipients", "by"),
            "versions differ by marks in a chain of groups.",
            "Add `chain: {}`, or say by: patterns.",
        )
    for name, reason in ONLY_PATTERNS.items():
        if getattr(rule, name) != getattr(RecipientRule(), name):
            key = name.replace("_", "-")
            yield Problem(("recipients", key), reason, f"Leave {key} out, or say by: patterns.")


def followed_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns of `follows` that are not there, or follow from themselves."""
    for name, others in policy.follows.items():
        for column in (name, *others):
            place: Place = ("follows", name)
            if column not in policy.columns:
                near = did_you_mean(column, list(policy.columns))
                yield Problem(place, f"there is no column {short(column)}.", near)
        if name in others:
            yield Problem(place, "a column does not follow from itself")


def versions_of_one_table(policy: PolicyContent) -> Iterator[Problem]:
    """Yields versions for recipients beside a promise about earlier releases."""
    rule = policy.recipients
    if rule is not None and policy.promises.looks_back and replace(rule, overriders=()) != RecipientRule():
        yield Problem(
            ("recipients",),
            "in a chain of `continuous` everybody gets the same version: what different versions of several"
            " releases tell together is not judged there.",
            "Use `chain:` with `recipients: {by: marks}`, where whoever has all of them learns no more than"
            " the groups tell, or leave recipients out.",
        )


def beside_earlier(policy: PolicyContent) -> Iterator[Problem]:
    """Yields promises that cannot be judged on what earlier releases leave of them."""
    for place, promise in with_places(policy):
        asks_others = isinstance(promise, CrossReleasePromise) and promise.asks_others
        if asks_others and policy.promises.about_beliefs:
            yield Problem(
                (*place, "survivors"),
                "what remains beside earlier releases decides how many people and values are left, not how"
                f" likely one is, as {policy.promises.about_beliefs[0].name} bounds it.",
                "Use `chain:`, where that holds for whoever has every release, or leave survivors out.",
            )


# Compatibility of what a policy says of term sets: columns, knowledge, and what tables say together.


def set_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what is wrong about set-valued columns."""
    for name, rule in policy.columns.items():
        if rule.role is not Role.QUASI_SENSITIVE:
            continue
        options = set_options_of(rule)
        if options.separator is not None and options.set is not None:
            yield Problem(("columns", name, "separator"), "a column that is part of a set has no separator")
        yield from _part_of_a_set(policy, name, options)
        if options.set is not None and options.set in policy.columns:
            yield Problem(("columns", name, "set"), f"{short(options.set)} is the name of a column")
        if rule.taxonomy is not None:
            yield Problem(
                ("columns", name, "taxonomy"), "term sets are shortened, not generalized along a tree"
            )
    if not 0 <= policy.protect.terms.margin < 1:
        yield Problem(("protect", "terms", "margin"), "must be a share from 0 to below 1")


def _part_of_a_set(policy: PolicyContent, name: str, options: SetOptions) -> Iterator[Problem]:
    """Yields what is wrong about a column that stands for terms of a set."""
    for key, needs_a_set in (("marks", options.marks is not None), ("values", options.values)):
        if needs_a_set and options.set is None:
            yield Problem(
                ("columns", name, key), "only a column that is part of a set has it.", "Say which set."
            )
    if options.marks is not None and options.values:
        yield Problem(("columns", name, "marks"), "a column whose values are terms has no marks")
    form = forms_of(policy).get(options.set or "")
    if form is not None and VALUE_MARK in name and any(part.values for part in form.part_forms):
        yield Problem(
            ("columns", name, "set"),
            f"the name holds {VALUE_MARK}, which stands between a column and its value in terms of this set.",
            "Rename the column.",
        )


def one_knowledge(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns whose terms would be removed for more than one knowledge."""
    if policy.protect.terms.method == "keep":
        return
    digest_of: dict[str, str] = {}
    for i, promise in enumerate(policy.promises):
        for limit in Promises((promise,)).limits.of_kind(BeliefLimit):
            digest = limit.knowledge.digest
            if digest_of.setdefault(limit.column, digest) != digest:
                yield Problem(
                    ("promises", str(i)),
                    f"terms of {short(limit.column)} are removed for one knowledge, and the promises name"
                    " several.",
                    "Join them into one knowledge table, or set protect.terms.method to keep.",
                )


def joint_knowledge(policy: PolicyContent) -> Iterator[Problem]:
    """Yields tables of knowledge that cannot be judged together although they are about the same labels."""
    tables: dict[tuple[str, str], Knowledge] = {}
    places: dict[tuple[str, str], Place] = {}
    for place, promise in with_places(policy):
        for limit in Promises((promise,)).limits.of_kind(BeliefLimit):
            if not limit.parts:
                tables.setdefault((limit.column, limit.knowledge.digest), limit.knowledge)
                places.setdefault((limit.column, limit.knowledge.digest), place)
    if spelled := _label_spelled_twice(tables):
        yield Problem(
            places[spelled],
            "labels of the knowledge differ in nothing but their spelling (case, blanks, points): they would"
            " count as different ones.",
            "Write every label in one way, in all tables of knowledge.",
        )
        return
    by_labels: dict[frozenset[str], list[Knowledge]] = {}
    for table, knowledge in tables.items():
        labels = frozenset(knowledge.labels)
        if any(labels & others and labels != others for others in by_labels):
            yield Problem(
                places[table],
                "its knowledge shares some labels with that of another promise, and not all: what both say"
                " together is not judged.",
                "Give both tables the same labels, or no label in common.",
            )
            return
        alike = by_labels.setdefault(labels, [])
        if alike and alike[0].weights != knowledge.weights:
            yield Problem(
                (*places[table], "prevalence"),
                "another promise is about the same labels and says otherwise how common they are.",
                "Give both promises the same prevalence.",
            )
            return
        alike.append(knowledge)
    for group in by_labels.values():
        named = f"{len(group)} tables of knowledge"
        if len(group) > MOST_TABLES:
            yield Problem(
                ("promises",),
                f"{named} are about the same labels, and at most {MOST_TABLES} are judged together.",
                "Join some of them into one.",
            )
        elif (rows := merged_rows(group)) > MOST_MERGED_ROWS:
            yield Problem(
                ("promises",),
                f"what {named} say together has {rows:,} rows, and at most {MOST_MERGED_ROWS:,} are judged.",
                "Give labels fewer rows, or join the tables into one.",
            )


def _label_spelled_twice(tables: Mapping[tuple[str, str], Knowledge]) -> tuple[str, str] | None:
    """Returns the first of these tables with another spelling of a label, of its own or of one before it."""
    written: dict[str, str] = {}
    for table, knowledge in tables.items():
        if any(written.setdefault(meaning(label) or label, label) != label for label in knowledge.labels):
            return table
    return None


MOST_PRICE = 1000
"""A suppressed row counts as at most so many fully generalized ones."""


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
    for place, promise in with_places(policy):
        fit = promise.roles
        for name in () if is_derived(promise) else promise.sensitive:
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
    for place, promise in with_places(policy):
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


def _rounded_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns that are to be rounded and are not published as numbers, or tell who is who."""
    telling: set[object] = {promise.batch_column for promise in policy.promises.cross_release}
    telling |= {promise.parameters().get("person") for promise in policy.promises}
    for name in policy.digits:
        place, role = ("columns", name, "digits"), policy.columns[name].role
        if role.is_key:
            yield Problem(
                place,
                f"a column that is {role} is generalized by its taxonomy, not rounded.",
                "Drop it, and give the column the taxonomy intervals.",
            )
        elif role not in (Role.SENSITIVE, Role.INSENSITIVE):
            yield Problem(
                place,
                f"only numbers that are published as they are can be rounded, and the column is {role}.",
                "Drop it; it is for columns that are sensitive or insensitive.",
            )
        elif name in telling:
            yield Problem(
                place,
                "a promise tells people or releases apart by this column: rounded, it would take several for"
                " one.",
                "Drop it.",
            )


def _folded_keys(policy: PolicyContent) -> Iterator[Problem]:
    """Yields key columns whose spellings cannot be published as one."""
    for name, rule in policy.columns.items():
        if not rule.one_spelling:
            continue
        place = ("columns", name, "spelling")
        if rule.taxonomy is not None and not isinstance(rule.taxonomy, LISTING):
            yield Problem(
                place,
                "only values that stand for themselves have spellings (flat, tree, rows, file); this taxonomy"
                " reads its values in its own way.",
                "Drop it.",
            )
        elif policy.promises.looks_back and not lists_values(rule.taxonomy):
            yield Problem(
                place,
                "the published spelling is one of those that occur, and may be another in the next release.",
                "List the values, as in `taxonomy: {flat: [north, south]}`.",
            )


def _limits(policy: PolicyContent) -> Iterator[Problem]:
    protect = policy.protect
    if not 0 <= protect.suppress <= 1:
        yield Problem(("protect", "suppress"), "must be a share from 0 to 1 (0% to 100%)")
    if protect.price is not None and not 1 <= protect.price <= MOST_PRICE:
        yield Problem(
            ("protect", "price"),
            f"must be a number from 1 to {MOST_PRICE}: a row that is gone tells no more than one of which"
            " every column is fully generalized.",
            "As in `price: 3`.",
        )
    if policy.missing is Missing.SUPPRESS and protect.suppress == 0:
        yield Problem(
            ("missing",),
            "rows with empty cells are to be suppressed, but nothing may be suppressed.",
            "Set protect.suppress, or use missing: own-value.",
        )


def _named_patterns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields patterns of recipients that do not name exactly the key columns."""
    named = () if policy.recipients is None else policy.recipients.patterns
    keys = {name for name, rule in policy.columns.items() if rule.role.is_key}
    for recipient, levels in named:
        place = ("recipients", "patterns", recipient)
        for column in dict(levels):
            if column not in keys:
                yield Problem(
                    (*place, column),
                    f"{short(column)} is no key column.",
                    did_you_mean(column, sorted(keys)) or "Patterns have the levels of quasi-identifiers.",
                )
        if lacking := sorted(keys - set(dict(levels))):
            yield Problem(
                place,
                f"a pattern names the level of every key column; lacking: {', '.join(map(short, lacking))}.",
                "0 leaves a column as it is.",
            )


def _person(policy: PolicyContent) -> Iterator[Problem]:
    named, by = policy.person, policy.people.by
    if named is None:
        return
    if named not in policy.columns:
        hint = did_you_mean(named, list(policy.columns))
        yield Problem((PERSON,), f"there is no column {short(named)}.", hint)
    elif policy.columns[named].role is not Role.IDENTIFIER:
        yield Problem(
            (PERSON,),
            "the column that tells people apart must not be published, but it is"
            f" {policy.columns[named].role}.",
            "Give it the role identifier.",
        )
    if by is not None and by not in policy.columns:
        hint = did_you_mean(by, list(policy.columns))
        yield Problem((PERSON, "by"), f"there is no column {short(by)}.", hint)
    elif by is not None and policy.columns[by].role in (Role.SENSITIVE, Role.QUASI_SENSITIVE):
        yield Problem(
            (PERSON, "by"),
            f"{short(by)} is {policy.columns[by].role}: which values a person shows would depend on them.",
            "Order rows by a date, or by another column that is no secret.",
        )
    if policy.people.rows != 1:
        yield from _several_rows(policy)
    if policy.missing is Missing.SUPPRESS:
        yield Problem(
            ("missing",),
            "rows with empty cells would be left out one by one, and other rows of the same people shown.",
            "Use missing: own-value or refuse.",
        )


def _several_rows(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what does not go with values in several rows of a person."""
    if policy.protect.search not in (BEST, "local", "mondrian"):
        yield Problem(
            (PERSON, "rows"),
            f"{policy.protect.search} recodes whole columns, and people who show several rows are grouped.",
            "Use search: best, local or mondrian.",
        )
    for place, promise in with_places(policy):
        if is_relative(promise):
            yield Problem(
                place,
                f"{promise.name} compares one row of everybody with the whole table.",
                "Name a reference in the promise, or say rows: 1.",
            )


def _bare_rows(policy: PolicyContent) -> Iterator[Problem]:
    """Yields a published column of the name that the column of bare rows has."""
    rule = policy.columns.get(BARE)
    if rule is not None and rule.role is not Role.IDENTIFIER and (policy.chain or policy.person):
        yield Problem(
            ("columns", BARE),
            "a column of this name is written, which tells bare rows of people from others.",
            "Rename the column, or do not publish it.",
        )


def against_several_rows(policy: PolicyContent) -> str | None:
    """Returns why nobody may have several rows under a policy; `None` where somebody may."""
    if policy.recipients is not None and policy.chain is None:
        return "versions for recipients are made of whole columns"
    for promise in policy.promises:
        if isinstance(promise, TablePromise | CrossReleasePromise):
            return f"{promise.name} is about whole tables, and judges one row per person"
        if isinstance(promise, ColumnRolePromise):
            return f"terms of {promise.name} are judged in one row per person"
    return None


def _unknown_roles(policy: PolicyContent) -> Iterator[Problem]:
    available = roles()
    for name, rule in policy.columns.items():
        if rule.role not in available:
            yield Problem(("columns", name, "role"), f"{rule.role} is not available in this version")


def _roles_without_promise(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns whose role belongs to a promise, where no such promise is about the column."""
    owners = [promise for promise in policy.promises if isinstance(promise, ColumnRolePromise)]
    covered = {(promise.column_role, column) for promise in owners for column in promise.reads}
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


def _objections_of_promises(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in with_places(policy):
        for sentence in promise.objections(policy):
            yield Problem(place, sentence)


def chain_of_groups(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what a policy with `chain` cannot go with, and columns of it that are not there."""
    rule = policy.chain
    if rule is None:
        return
    if rule.since is not None and rule.since not in policy.columns:
        hint = did_you_mean(rule.since, list(policy.columns))
        yield Problem((CHAIN, "since"), f"there is no column {short(rule.since)}.", hint)
    if rule.since is not None and policy.person is not None:
        yield Problem(
            (CHAIN, "since"),
            "a batch tells who came when where no column tells people apart; `person` does.",
            "Drop since, or person.",
        )
    yield from against_groups(policy)


def against_groups(policy: PolicyContent) -> Iterator[Problem]:
    """Yields which promises of a policy are not kept by groups of people; what yields none is released so."""
    for place, promise in with_places(policy):
        if isinstance(promise, TablePromise):
            yield Problem(
                place,
                f"{promise.name} is about whole tables, and a chain of groups keeps promises about classes.",
                "Drop chain: releases then go on by whole columns (continuous).",
            )
        elif isinstance(promise, ColumnRolePromise):
            yield Problem(
                place, f"terms of {promise.name} are not removed in a chain of groups yet.", "Drop chain."
            )
        elif isinstance(promise, ClassPromise) and not promise.monotone:
            yield Problem(
                place,
                f"two classes that keep {promise.name} may break it together, and a reader cannot always tell"
                " them apart.",
                "Ask for another promise.",
            )


CHECKS: list[Callable[[PolicyContent], Iterator[Problem]]] = [
    _unknown_roles,
    _roles_without_promise,
    _some_promise,
    _some_key,
    _protected_columns,
    _unordered_taxonomies,
    _unused_taxonomies,
    _rounded_columns,
    _folded_keys,
    search_problems,
    _limits,
    weights,
    of_keys,
    levels,
    never_suppressed,
    together,
    _named_patterns,
    _person,
    _bare_rows,
    chain_of_groups,
    set_columns,
    one_knowledge,
    joint_knowledge,
    several_tables_for_recipients,
    followed_columns,
    versions_of_one_table,
    beside_earlier,
    safe_harbor.objections,
    _objections_of_promises,
]
