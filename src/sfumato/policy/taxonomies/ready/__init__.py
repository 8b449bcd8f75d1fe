"""Taxonomies that are there already, each with its source, its date and its licence (`catalogue.toml`)."""

from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyEntry, ReadyKind, ReadyTaxonomy

__all__ = ["CATALOGUE", "ReadyEntry", "ReadyKind", "ReadyTaxonomy"]
