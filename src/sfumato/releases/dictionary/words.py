"""The fixed words of data dictionaries."""

from __future__ import annotations

from enum import StrEnum


class DictionaryWording(StrEnum):
    """Every sentence of a dictionary's page that does not come from the table or the policy."""

    NAME = "Data dictionary"
    KICKER = "Data dictionary"
    TITLE = "What {file} means"
    VERDICT = "{rows} rows in {columns} columns, published under {promises} promises"
    ONE_ROW = "1 row in {columns} columns, published under {promises} promises"
    SUMMARY = "Values were made less exact before they were published. This page says how to read them."
    PROMISED = "What is promised of this table"
    PROMISE = "Promise"
    IN_WORDS = "In plain words"
    LEFT_OPEN = "What it leaves open"
    COLUMNS = "Columns"
    ENCODING = "Encoding"
    DELIMITER = "Between cells"
    COLUMN = "Column"
    TYPE = "Type"
    PUBLISHED = "Published"
    EMPTY = "Empty cells"
    VALUES = "How values are written"
    VALUES_LEAD = "Only texts that stand in the table are listed here."
    FORM = "Form"
    READING = "How to read it"
    TEXTS = "Texts of this form"
    MANY = "too many to list"
    NOTE = "This dictionary was made from the published file, and holds nothing that the file does not show."
    AND = ", "


PER_PERSON = "Each row is taken to be about another person."
SEVERAL_ROWS = "Somebody may have several rows; promises count people, not rows."
GENERALIZED = "made less exact"
UNCHANGED = "as in the source"
TERMS_REMOVED = "as in the source, some terms may be left out"
