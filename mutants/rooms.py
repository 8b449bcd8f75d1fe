"""Which rooms are mutated, and which tests are asked about each: the most related first."""

from __future__ import annotations

ROOMS = ("promises", "judge", "chains", "releases/ledger", "tracing")
"""Folders of `src/sfumato` from which mutants are drawn, equally many from each."""

Stages = tuple[tuple[str, ...], ...]
"""Paths of tests, stage by stage; a mutant that survives one stage goes on to the next."""

STAGES: dict[str, Stages] = {
    "promises/freeform": (
        ("tests/promises/freeform", "tests/papers/test_wang_2009.py"),
        ("tests/promises", "tests/policy/test_policy.py", "tests/attacks"),
    ),
    "promises/quasi_sensitive": (
        (
            "tests/papers/test_quasi_sensitive.py",
            "tests/policy/test_knowledge.py",
            "tests/judge/test_quasi_sensitive.py",
            "tests/releases/test_reference.py",
        ),
        ("tests/protection/test_term_suppression.py", "tests/promises", "tests/engine/test_term_sets.py"),
        ("tests/attacks", "tests/protection/recipients/test_term_sets.py", "tests/policy"),
    ),
    "promises/continuous": (
        ("tests/chains",),
        ("tests/protection/recipients", "tests/journeys/test_chain.py", "tests/promises"),
    ),
    "promises": (
        ("tests/promises", "tests/papers"),
        ("tests/policy", "tests/judge", "tests/attacks"),
        ("tests/releases/test_files_of_0_1.py", "tests/extend"),
    ),
    "judge": (
        ("tests/judge", "tests/promises/freeform/test_second_judge.py"),
        ("tests/releases/test_files_of_0_1.py", "tests/journeys/test_witness.py", "tests/attacks"),
        ("tests/extend", "tests/journeys/test_publish.py", "tests/journeys/test_cli_judges.py"),
    ),
    "chains": (
        ("tests/chains",),
        ("tests/protection/recipients", "tests/journeys/test_chain.py"),
    ),
    "releases/ledger": (
        ("tests/releases",),
        (
            "tests/journeys/test_cli_release.py",
            "tests/faults/test_crashes.py",
            "tests/faults/test_program.py",
        ),
    ),
    "tracing": (
        ("tests/tracing",),
        ("tests/journeys/test_trace_journey.py", "tests/releases/test_files_of_0_1.py"),
    ),
}
"""By folder of `src/sfumato`; the longest that fits a file counts."""


def folder_of(path: str) -> str:
    """Return the folder whose tests are asked about a file.

    >>> folder_of("src/sfumato/promises/freeform/watch.py"), folder_of("src/sfumato/promises/k_anonymity.py")
    ('promises/freeform', 'promises')
    """
    inside = path.removeprefix("src/sfumato/")
    return max((folder for folder in STAGES if inside.startswith(f"{folder}/")), key=len)
