"""Compatibility with several tables in one hand: versions for recipients, and earlier releases."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.adversary import Adversary
from sfumato.core.problem import Problem
from sfumato.policy.compatibility.promise_places import with_places
from sfumato.policy.content import PolicyContent
from sfumato.policy.recipients import Coalition


def for_recipients(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what versions for several recipients cannot go with."""
    rule = policy.recipients
    if rule is None:
        return
    if rule.coalition is not Coalition.NONE and policy.protect.suppress > 0:
        yield Problem(
            ("recipients", "coalition"),
            "where rows may be suppressed, versions hold different people, and what colluders learn from that"
            " is not judged.",
            "Leave protect.suppress out.",
        )
    if policy.protect.terms.margin:
        yield Problem(
            ("protect", "terms", "margin"),
            "terms beyond need are drawn at random, and versions for recipients show the same terms, also to"
            " those who come later.",
            "Leave the margin out.",
        )
    if not rule.tolerance <= 10:
        yield Problem(("recipients", "tolerance"), "must be a share of the best loss, up to 10 (1000%)")
    if len(set(rule.overriders)) < len(rule.overriders):
        yield Problem(("recipients", "overriders"), "a key is named twice")


def for_colluders(policy: PolicyContent) -> Iterator[Problem]:
    """Yields promises that cannot be judged on several versions put together."""
    rule = policy.recipients
    if rule is None or rule.coalition is Coalition.NONE:
        return
    for place, promise in with_places(policy):
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
    for place, promise in with_places(policy):
        if promise.adversary is not None and promise.adversary is not rule.adversary:
            yield Problem(
                (*place, "adversary"),
                f"recipients who put their versions together are judged as {rule.adversary}, and beside"
                f" earlier releases as {promise.adversary}: what is accepted for one tells the other.",
                f"Say adversary: {rule.adversary} here, or adversary: {promise.adversary} for recipients.",
            )
        of_values = any(not p.by_size for p in policy.promises.of_class)
        if promise.looks_back and not promise.asks_others and of_values:
            yield Problem(
                (*place, "survivors"),
                "recipients who put releases of several times together learn about values, too.",
                "Say survivors: true, or coalition: none.",
            )


def beside_earlier(policy: PolicyContent) -> Iterator[Problem]:
    """Yields promises that cannot be judged on what earlier releases leave of them."""
    for place, promise in with_places(policy):
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
