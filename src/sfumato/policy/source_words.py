"""The key `source` of a policy: how its data are read, so that no verb has to be told again."""

from __future__ import annotations

from sfumato.core.data_file import DECIMAL_MARKS
from sfumato.core.json_object import JsonObject
from sfumato.policy.taxonomies.date_form import DATE_FORMS

KEY = "source"


def schema() -> JsonObject:
    """Returns the schema of the key."""
    return {
        "type": "object",
        "properties": {
            "encoding": {"type": "string", "minLength": 1, "description": "Of a text file: windows-1252."},
            "delimiter": {"type": "string", "minLength": 1, "description": "What separates cells: ;"},
            "decimal": {"enum": list(DECIMAL_MARKS), "description": "The decimal mark of numbers in texts."},
            "date-format": {"enum": list(DATE_FORMS), "description": "How texts write a date."},
            "sheet": {"type": "string", "minLength": 1, "description": "The sheet of a spreadsheet."},
            "query": {"type": "string", "minLength": 1, "description": "What is asked of a database."},
            "longest-cell": {
                "type": ["integer", "string"],
                "minimum": 1,
                "description": "How many bytes a cell of a text file may have; 1048576 unless it is said.",
            },
            "empty": {
                "type": "string",
                "minLength": 1,
                "description": "Texts of a CSV file that stand for an empty cell, commas between: NA,NULL.",
            },
            "catalog": {
                "type": "string",
                "minLength": 1,
                "description": "The file of SAS that holds the labels of codes: formats.sas7bcat.",
            },
        },
        "additionalProperties": False,
        "description": "How the data are read. It is no promise, and no part of the policy's digest.",
    }
