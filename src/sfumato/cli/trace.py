"""`sfumato trace`: who leaked it?"""

# ruff: noqa: PLC0415  # what a verb needs is loaded when it runs

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from sfumato.cli.guide_page import complete_policy
from sfumato.cli.options import (
    AsJson,
    Chain,
    Charts,
    Engine,
    KeyFile,
    LedgerUrl,
    OneChain,
    OpeningKey,
    ShowValues,
    argument,
    draw_charts,
    option,
    reads_data,
    table_read_by,
    tell_drawn,
    valued,
)
from sfumato.cli.terminal import print_note, print_or_json, progress_bar
from sfumato.system.errors import BadData, UsageError
from sfumato.table.data_file import NO_FORM, SourceForm

LeakFile = Annotated[str, argument("LEAK", "A CSV, Parquet or JSON file: a table or a record.")]
Reported = Annotated[
    list[str] | None,
    valued("--reported", "FILE", "An earlier leak that others got a report on; may be repeated."),
]
Error = Annotated[str, valued("--error", "SHARE", "The share of traces in which an innocent may be charged.")]
Columns = Annotated[
    list[str] | None, valued("--column", "THEIRS=OURS", "Our name of a column of the leak; may be repeated.")
]


@reads_data
def trace(
    leak: LeakFile,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    key: OpeningKey = None,
    chain: OneChain = None,
    column: Columns = None,
    error: Error = "1/1000",
    reported: Reported = None,
    engine: Engine = None,
    charts: Charts = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    form: SourceForm = NO_FORM,
) -> None:
    """Find out whose copy leaked, and charge an innocent in at most a stated share of traces.

    Exits 0 whatever the answer is, even if the leak is not ours.

    Example:  sfumato trace leak.csv --ledger sqlite:///ledger.db
    """
    from sfumato.workflows.trace import trace as trace_

    pairs = [name.partition("=") for name in column or ()]
    if any(not mark for _, mark, _ in pairs):
        raise UsageError("a column is renamed by THEIRS=OURS", remedy="For example --column years=age.")
    with progress_bar() as progress:
        result = trace_(
            table_read_by(engine, leak, form),
            ledger=ledger,
            key=key,
            chain=chain,
            columns={theirs: ours for theirs, _, ours in pairs},
            error=error,
            reported=[table_read_by(engine, file) for file in reported or ()],
            progress=progress,
        )
        drawn = draw_charts(result, charts)
    print_or_json(result, as_json=as_json)
    if show_values:
        print_note("\n".join(result.values()))
    tell_drawn(drawn)


# `sfumato erase`: take people out of what the ledger keeps.


STANDARD_INPUT = "-"
MOST_DIGITS = 15
"""Of the number of a row."""


def erase(
    data: Annotated[
        str | None, argument("DATA", "The table, their rows still in it; needed where batches tell.")
    ] = None,
    policy: Annotated[
        Path | None, valued("--policy", "POLICY", "Its policy file.", short="-p", complete=complete_policy)
    ] = None,
    person: Annotated[
        list[str] | None, valued("--person", "KEY", "The key of somebody; may be repeated.")
    ] = None,
    person_file: Annotated[
        str | None, valued("--person-file", "FILE", "Keys, one in a line; - reads standard input instead.")
    ] = None,
    rows: Annotated[
        str | None, valued("--rows", "FILE", "Numbers of rows of the table, from 1, one in a line; or -.")
    ] = None,
    column: Annotated[
        str | None, valued("--column", "NAME", "The column of keys, where the policy does not say it.")
    ] = None,
    ledger: LedgerUrl = "sqlite:///ledger.db",
    chain: Chain = "main",
    key: KeyFile = None,
    forget: Annotated[
        bool, option("--forget", "Keep no mark that keeps them out if they come back.")
    ] = False,
    yes: Annotated[bool, option("--yes", "Erase; without it nothing is done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take people out of everything that the ledger keeps, and say what is left to delete.

    Marks of theirs go from all entries and all chains. What was published stays published, and later releases
    are held against it as it is. The ledger stays whole: a sealed entry says that people were erased, and
    names nobody. It cannot be undone; without --yes nothing is done, and the exit code is 2. A key given with
    --person may stay in the history of the shell: --person-file avoids that. --rows names people without a
    key, by the rows of the table they are in.

    Example:  sfumato erase people.csv -p policy.yaml --person-file - --yes
    """
    from sfumato.workflows.erase import erase as erase_

    people, numbers = [*(person or []), *_lines_in(person_file, "--person-file")], _numbers_in(rows)
    if not yes:
        raise UsageError(
            "an erasure cannot be undone: marks of people are deleted",
            remedy="Say --yes to do it.",
        )
    erasure = erase_(
        people,
        rows=numbers,
        ledger=ledger,
        data=data,
        policy=policy,
        column=column,
        chain=chain,
        forget=forget,
        key=key,
    )
    print_or_json(erasure, as_json=as_json)


def _lines_in(file: str | None, option: str) -> list[str]:
    """Returns the lines of a file or of standard input; empty ones are left out."""
    from sfumato.system.disk import LARGEST_LIST, read_document

    if file is None:
        return []
    try:
        content = (
            _standard_input(option)
            if file == STANDARD_INPUT
            else read_document(Path(file), most=LARGEST_LIST)
        )
        lines = content.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise BadData(f"it cannot be read ({error.strerror})", where=option) from None
    except UnicodeDecodeError:
        raise BadData("it is not written in UTF-8", where=option) from None
    return [line for line in lines if line]


def _numbers_in(file: str | None) -> list[int]:
    lines = [line.strip() for line in _lines_in(file, "--rows")]
    if any(not line.isascii() or not line.isdigit() or len(line) > MOST_DIGITS for line in lines):
        raise BadData("rows are whole numbers, one in a line", where="--rows")
    return [int(line) for line in lines]


def _standard_input(option: str) -> bytes:
    from sfumato.system.disk import LARGEST_LIST

    content = sys.stdin.buffer.read(LARGEST_LIST + 1)
    if len(content) > LARGEST_LIST:
        raise BadData(f"there are more than {LARGEST_LIST} bytes of them", where=option)
    return content
