"""Which rooms are mutated, and which tests are asked about each: the most related first."""

from __future__ import annotations

ROOMS = ("models", "verify", "releases/ledger", "recipients")
"""Folders of `src/sfumato` from which mutants are drawn, equally many from each."""

Stages = tuple[tuple[str, ...], ...]
"""Paths of tests, stage by stage; a mutant that survives one stage goes on to the next."""

STAGES: dict[str, Stages] = {
    "models/freeform": (
        ("tests/promises/freeform", "tests/papers/test_wang_2009.py"),
        ("tests/promises", "tests/attacks", "tests/policy"),
    ),
    "models/quasi_sensitive": (
        (
            "tests/papers/test_quasi_sensitive.py",
            "tests/core/test_knowledge.py",
            "tests/judge/test_quasi_sensitive.py",
            "tests/policy/test_reference.py",
        ),
        ("tests/protection/term_removal/test_phase.py", "tests/promises", "tests/engine/test_term_sets.py"),
        ("tests/attacks", "tests/journeys/test_recipients_term_sets.py", "tests/policy"),
    ),
    "models/continuous": (
        ("tests/promises/continuous", "tests/chains", "tests/attacks/chain", "tests/judge/chain"),
        (
            "tests/protection/recipients",
            "tests/journeys/test_chain.py",
            "tests/journeys/test_imprints.py",
            "tests/promises",
        ),
    ),
    "models": (
        ("tests/promises", "tests/papers"),
        ("tests/policy", "tests/judge", "tests/attacks"),
        ("tests/releases", "tests/extend"),
    ),
    "verify": (
        ("tests/judge", "tests/promises/freeform/test_second_judge.py"),
        ("tests/releases", "tests/journeys/test_witness.py", "tests/attacks"),
        (
            "tests/promises",
            "tests/extend",
            "tests/releases/test_output_file.py",
            "tests/journeys/test_cli_judges.py",
        ),
    ),
    "releases/ledger": (
        ("tests/releases", "tests/core/test_reading_tree.py"),
        (
            "tests/journeys/test_cli_release.py",
            "tests/faults/test_crashes.py",
            "tests/faults/test_program.py",
        ),
    ),
    "recipients": (
        ("tests/tracing", "tests/papers/test_schrittwieser_2011_tracing.py"),
        (
            "tests/journeys/test_trace.py",
            "tests/journeys/test_cli_trace.py",
        ),
    ),
}
"""By folder of `src/sfumato`; the longest that fits a file counts."""


def folder_of(path: str) -> str:
    """Return the folder whose tests are asked about a file.

    >>> folder_of("src/sfumato/models/freeform/promise.py"), folder_of("src/sfumato/models/contract.py")
    ('models/freeform', 'models')
    """
    inside = path.removeprefix("src/sfumato/")
    return max((folder for folder in STAGES if inside.startswith(f"{folder}/")), key=len)
