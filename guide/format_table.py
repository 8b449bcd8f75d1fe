"""The endings of files, from what their readers and writers say of themselves."""

from __future__ import annotations

from sfumato.table.data_file import in_words, readable_formats, written_formats


def endings_table() -> str:
    """Returns the table of what a file of each ending is, and of the endings that are written."""
    written = {ending for kind in written_formats().values() for ending in kind.endings}
    rows = ["| a file that ends in | is read as | written are |", "|---|---|---|"]
    for kind in readable_formats():
        names = in_words([f"`{ending}`" for ending in kind.endings])
        own = in_words([f"`{ending}`" for ending in kind.endings if ending in written])
        rows.append(f"| {names} | {kind.what} | {own} |")
    return "\n".join(rows)
