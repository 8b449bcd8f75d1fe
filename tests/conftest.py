"""How many random cases, that they are the same on every machine, what each test needs; and buckets."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from buckets import Buckets, used

PROFILE = os.environ.get("SFUMATO_HYPOTHESIS", "quick")
FEW = {"check": 8, "quick": 30}
"""So many random cases of each test are tried by `make check` and `make test`, where a test asks for more."""

for name, few in FEW.items():
    settings.register_profile(
        name,
        max_examples=few,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile(
    "soak", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(PROFILE)

NEEDS = {"peers/": "peers", "engine/spark/": "spark"}
"""Folders of tests, and what all tests in them need."""

SLOW = (
    "attacks/chain/test_adversaries.py",
    "attacks/chain/test_correspondence.py",
    "attacks/chain/test_posterior_belief.py",
    "attacks/test_conformance.py",
    "attacks/test_every_promise_has_an_enemy.py",
    "attacks/test_false_comfort.py",
    "attacks/test_published_labels.py",
    "attacks/worlds/",
    "chains/test_candidates.py",
    "chains/test_order_of_columns.py",
    "chains/test_overlap.py",
    "chains/test_several_tables.py",
    "chains/test_worlds.py",
    "discovery/quasi_identifiers/test_methods.py",
    "discovery/quasi_identifiers/test_minimal_sets.py",
    "discovery/quasi_identifiers/test_record_risk.py",
    "discovery/test_limits_kept.py",
    "discovery/test_suggest.py",
    "engine/test_batches.py",
    "engine/test_conformance.py",
    "engine/test_corners.py",
    "engine/test_csv_blocks.py::test_large",
    "engine/test_files.py",
    "engine/test_imports.py",
    "engine/test_little_memory.py",
    "engine/test_odd_tables.py",
    "engine/test_survey.py::test_too_many_values",
    "engine/test_versions.py",
    "engine/test_whole_files_in_memory.py",
    "extend/test_plugins.py",
    "faults/test_changes_of_a_ledger.py",
    "faults/test_crashes.py",
    "faults/test_damaged_inputs.py",
    "faults/test_erasures.py",
    "faults/test_formulas.py",
    "faults/test_hostile_shapes.py",
    "faults/test_limits.py",
    "faults/test_no_locks.py",
    "faults/test_no_room.py",
    "faults/test_nothing_by_chance.py",
    "faults/test_one_place.py",
    "faults/test_packed_files.py",
    "faults/test_program.py",
    "faults/test_readers.py",
    "faults/test_signals.py",
    "faults/test_soak.py",
    "faults/test_spill.py",
    "faults/test_store",
    "faults/test_versions_at_once.py",
    "faults/test_writers.py",
    "journeys/test_against.py",
    "journeys/test_attack_rehearsal.py",
    "journeys/test_chain.py",
    "journeys/test_cli_attack.py",
    "journeys/test_cli_discover.py",
    "journeys/test_cli_judges.py",
    "journeys/test_cli_protect.py",
    "journeys/test_cli_recipients.py",
    "journeys/test_cli_release.py",
    "journeys/test_cli_trace.py",
    "journeys/test_columns_as_terms.py",
    "journeys/test_commands_page.py",
    "journeys/test_compare.py",
    "journeys/test_completion.py",
    "journeys/test_confirm.py",
    "journeys/test_csv_forms.py",
    "journeys/test_digits.py",
    "journeys/test_draft_trial.py",
    "journeys/test_erasure.py",
    "journeys/test_file_formats.py",
    "journeys/test_floor.py",
    "journeys/test_frames.py",
    "journeys/test_golden.py",
    "journeys/test_help_pages.py",
    "journeys/test_import_version.py",
    "journeys/test_imprints.py",
    "journeys/test_init.py",
    "journeys/test_key_spellings.py",
    "journeys/test_knowledge.py",
    "journeys/test_reuse_plan.py",
    "journeys/test_local.py",
    "journeys/test_named_patterns.py",
    "journeys/test_notebook.py",
    "journeys/test_order_of_columns.py",
    "journeys/test_other_columns.py",
    "journeys/test_passes.py",
    "journeys/test_progress.py",
    "journeys/test_sas_with_labels.py",
    "journeys/test_random_versions.py",
    "journeys/test_recipients.py",
    "journeys/test_recipients_in_a_chain.py",
    "journeys/test_recipients_same_terms.py",
    "journeys/test_refused_chains.py",
    "journeys/test_register.py",
    "journeys/test_settled_releases.py::test_a_release_that_promises_less",
    "journeys/test_settled_releases.py::test_two_chains",
    "journeys/test_silence.py",
    "journeys/test_start.py",
    "journeys/test_steward.py",
    "journeys/test_stores.py",
    "journeys/test_standard_streams.py",
    "journeys/test_trace.py",
    "journeys/test_defaults_to_release.py",
    "journeys/test_versions_lacking_rows.py",
    "journeys/test_working_folder.py",
    "judge/chain/test_together.py",
    "judge/file_bytes/",
    "judge/test_controls.py",
    "judge/test_file.py",
    "judge/test_published_labels.py",
    "judge/test_ready_taxonomies.py",
    "judge/test_shared_leaves.py",
    "judge/test_shares_nothing.py",
    "judge/test_spelling.py",
    "judge/test_tampered_files.py",
    "judge/test_taxonomies.py",
    "judge/test_whole_files.py",
    "judge/test_written_by_the_engine.py",
    "judge/test_written_forms.py",
    "kernels/test_machine_code.py",
    "papers/test_continuous_figures.py",
    "papers/test_reproductions.py::test_what_defences",
    "policy/taxonomies/test_builders.py",
    "policy/test_column_taxonomy.py",
    "policy/test_policy.py",
    "policy/test_reference.py",
    "promises/continuous/test_search.py",
    "promises/freeform/test_against_the_definition.py",
    "promises/freeform/test_monotone.py",
    "promises/freeform/test_search.py",
    "promises/freeform/test_second_judge.py",
    "promises/test_against_fractions.py",
    "promises/test_beta_likeness.py",
    "promises/test_conformance.py",
    "promises/test_promise_strength.py",
    "promises/test_person_worlds.py",
    "promises/test_quasi_sensitive_together.py",
    "promises/test_table_conformance.py",
    "protection/patterns/",
    "protection/recipients/",
    "protection/searches/test_best.py",
    "protection/searches/test_conformance.py",
    "protection/searches/test_controls.py",
    "protection/searches/test_ladders.py",
    "protection/searches/test_lattice.py",
    "protection/searches/test_lattice_midsize.py",
    "protection/searches/test_local.py",
    "protection/searches/test_mondrian.py",
    "protection/searches/test_optimum.py",
    "protection/searches/test_people_with_several_rows.py",
    "protection/searches/test_priced_suppression.py",
    "protection/searches/test_top_down.py",
    "protection/searches/test_wide_lattice.py",
    "protection/term_removal/test_one_class.py",
    "protection/term_removal/test_phase.py",
    "protection/test_counted_lattice.py",
    "releases/dictionary/",
    "releases/ledger/test_borders.py",
    "releases/ledger/test_checkpoint.py",
    "releases/ledger/test_growth.py",
    "releases/ledger/test_insider.py",
    "releases/ledger/test_ledger.py",
    "releases/ledger/test_ledger_use.py",
    "releases/ledger/test_life.py",
    "releases/ledger/test_names_and_time.py",
    "releases/ledger/test_restored.py",
    "reports/",
    "show/test_cards.py",
    "show/test_visible_text.py",
    "studio/test_attack.py",
    "studio/test_attacked.py",
    "studio/test_command.py",
    "studio/test_declare.py",
    "studio/test_discover.py",
    "studio/test_gate.py",
    "studio/test_jobs.py",
    "studio/test_many_rows.py",
    "studio/test_policy_file.py",
    "studio/test_protect.py",
    "studio/test_release.py",
    "studio/test_same_step.py",
    "studio/test_trace.py",
    "test_docs.py::test_console_blocks",
    "test_docs.py::test_python_blocks",
    "test_guide.py",
    "test_mutants.py",
    "test_supply.py::test_a_wheel",
    "tracing/test_coalition.py",
    "tracing/test_false_charge.py",
    "tracing/test_framings.py",
    "tracing/test_guesses.py",
    "tracing/test_leaks.py",
    "tracing/test_readings.py",
    "tracing/test_simulated_leaks.py",
    "tracing/test_tricks.py",
    "usefulness/test_figures.py",
)
"""Tests that take more than their share of a minute, most of them in processes of their own."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Looks for no garbage while all modules are loaded, nor later in what they hold: there is none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads groups in the same hook
def pytest_collection_modifyitems(items):
    """Mark tests by what they need and share; but in `make soak`, try fewer random cases."""
    for item in items:
        if _shares(item) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
        name = item.nodeid.removeprefix("tests/")
        for start, mark in (*NEEDS.items(), *((start, "slow") for start in SLOW)):
            if name.startswith(start):
                item.add_marker(mark)
        if "cluster" in getattr(item, "fixturenames", ()):  # doctests have no fixtures
            item.add_marker("postgresql")
        test = getattr(item, "obj", None)
        if PROFILE in FEW and test is not None and is_hypothesis_test(test):
            _try_few(test, FEW[PROFILE])


def _shares(item):
    """Whether tests of this module share something: one process runs them, or each would make it anew."""
    made = getattr(item, "_fixtureinfo", None)
    fixtures = made.name2fixturedefs.values() if made else ()
    return any(versions[-1].scope == "module" for versions in fixtures)


def _try_few(test, most):
    """Hypothesis has no public way to lower the number of cases that a test asks for itself."""
    bare = getattr(test, "__func__", test)
    asked = bare._hypothesis_internal_use_settings
    bare._hypothesis_internal_use_settings = settings(asked, max_examples=min(most, asked.max_examples))


@pytest.fixture(scope="module")
def server():
    """Buckets of our own, thrown away afterwards."""
    with Buckets() as running:
        yield running


@pytest.fixture
def buckets(server, monkeypatch):
    """The same, for this process to speak to; sound when it begins."""
    yield used(server, monkeypatch)
    server.heal()


def pytest_sessionfinish():
    """Lets go of what was kept; records what kernels were called with, where a folder is named for it."""
    gc.unfreeze()
    if folder := os.environ.get("SFUMATO_RECORD_SIGNATURES"):
        from sfumato.kernels.signatures import record_asked

        record_asked(Path(folder))
