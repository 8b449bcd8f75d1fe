"""Taxonomies that are there already, each with its source, its date and its licence (`catalogue.toml`)."""

from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyEntry, ReadyKind
from sfumato.policy.taxonomies.ready.ready_taxonomy import ReadyTaxonomy

__all__ = ["CATALOGUE", "ReadyEntry", "ReadyKind", "ReadyTaxonomy"]
