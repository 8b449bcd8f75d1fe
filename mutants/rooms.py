"""Which rooms are mutated, and which tests are asked about each: the most related first."""

from __future__ import annotations

ROOMS = ("models", "verify", "releases/ledger", "recipients")
"""Folders of `src/sfumato` from which mutants are drawn, equally many from each."""

Stages = tuple[tuple[str, ...], ...]
"""Paths of tests, stage by stage; a mutant that survives one stage goes on to the next."""

STAGES: dict[str, Stages] = {
    "models/freeform": (
        ("tests/models/freeform", "tests/papers/test_wang_2009.py"),
        ("tests/models", "tests/attacks", "tests/policy"),
    ),
    "models/quasi_sensitive": (
        (
            "tests/papers/test_quasi_sensitive.py",
            "tests/models/quasi_sensitive",
            "tests/policy/test_reference.py",
        ),
        ("tests/search/test_term_removal.py", "tests/models", "tests/table/test_term_sets.py"),
        ("tests/attacks", "tests/workflows/test_recipients_term_sets.py", "tests/policy"),
    ),
    "models/continuous": (
        (
            "tests/models/continuous",
            "tests/attacks/test_correspondence.py",
            "tests/attacks/test_table_imprint.py",
            "tests/attacks/adversaries",
            "tests/verify/chain",
        ),
        (
            "tests/recipients",
            "tests/workflows/test_chain.py",
            "tests/workflows/test_imprints.py",
            "tests/models",
        ),
    ),
    "models": (
        ("tests/models", "tests/papers"),
        ("tests/policy", "tests/verify", "tests/attacks"),
        ("tests/releases", "tests/extend"),
    ),
    "verify": (
        (
            "tests/verify",
            "tests/models/beta_likeness/test_judge.py",
            "tests/models/quasi_sensitive/test_judge.py",
            "tests/models/freeform/test_second_judge.py",
        ),
        ("tests/releases", "tests/workflows/test_witness.py", "tests/attacks"),
        (
            "tests/models",
            "tests/extend",
            "tests/releases/test_output_file.py",
            "tests/cli/test_cli_judges.py",
        ),
    ),
    "releases/ledger": (
        ("tests/releases",),
        (
            "tests/cli/test_cli_release.py",
            "tests/faults/test_crashes.py",
            "tests/faults/test_program.py",
        ),
    ),
    "recipients": (
        ("tests/recipients", "tests/papers/test_schrittwieser_2011_tracing.py"),
        (
            "tests/workflows/test_trace.py",
            "tests/cli/test_cli_trace.py",
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
