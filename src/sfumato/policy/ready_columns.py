"""Ready taxonomies for columns of a draft: those of which every value is known."""

from __future__ import annotations

import re

from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.taxonomies import TaxonomyRule, rule_from
from sfumato.policy.taxonomies.ready import CATALOGUE, ReadyEntry, ReadyKind, ReadyTaxonomy

LEAST_VALUES = 3
"""Fewer different values prove nothing."""
SHORT_CODE = 3
"""So short texts are codes of many things; a header has to say which."""


def ready_taxonomy(profile: ColumnProfile) -> tuple[TaxonomyRule, str] | None:
    """Returns the one ready taxonomy that knows every value, with the reason; `None` for none or several.

    Words such as names of countries speak for themselves. Short codes and numbers count only under a header
    that names the taxonomy.
    """
    if profile.distinct < LEAST_VALUES:
        return None
    fitting = [entry for entry in CATALOGUE.values() if _fits(entry, profile)]
    if len(fitting) > 1:
        fitting = [entry for entry in fitting if _is_named(entry, profile)]
    if len(fitting) != 1:
        return None
    entry = fitting[0]
    return rule_from({"ready": entry.name}), f"values of the ready taxonomy {entry.name}"


def _fits(entry: ReadyEntry, profile: ColumnProfile) -> bool:
    if not entry.file and not entry.shape:
        return False  # ages and dates are recognized by other means
    if not _is_named(entry, profile) and (entry.shape or any(_is_short(value) for value in profile.values)):
        return False
    if entry.kind is ReadyKind.RULE:
        return all(re.fullmatch(entry.shape, value) for value in profile.values)
    rule = ReadyTaxonomy(entry.name)
    return all(rule.knows(value) for value in profile.values)


def _is_short(value: str) -> bool:
    return len(value) <= SHORT_CODE or value.isdigit()


def _is_named(entry: ReadyEntry, profile: ColumnProfile) -> bool:
    words = set(re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", profile.header).lower()))
    return bool(words & set(entry.headers))
