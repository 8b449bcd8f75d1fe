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

NEEDS = {"peers/": "peers", "table/spark/": "spark"}
"""Folders of tests, and what all tests in them need."""

SLOW = (
    "attacks/adversaries/test_chain.py",
    "attacks/adversaries/test_posterior_belief.py",
    "attacks/test_conformance.py",
    "attacks/test_correspondence.py",
    "attacks/test_every_promise_has_an_enemy.py",
    "attacks/test_experiment.py",
    "attacks/test_false_comfort.py",
    "attacks/test_published_labels.py",
    "attacks/test_register.py",
    "attacks/test_suppressed_rows.py",
    "attacks/test_worlds.py",
    "cli/test_cli_attack.py",
    "cli/test_cli_discover.py",
    "cli/test_cli_judges.py",
    "cli/test_cli_protect.py",
    "cli/test_cli_recipients.py",
    "cli/test_cli_release.py",
    "cli/test_cli_trace.py",
    "cli/test_commands_page.py",
    "cli/test_completion.py",
    "cli/test_golden.py",
    "cli/test_help_pages.py",
    "cli/test_progress.py",
    "cli/test_standard_streams.py",
    "cli/test_start.py",
    "cli/test_working_folder.py",
    "discovery/quasi_identifiers/test_methods.py",
    "discovery/quasi_identifiers/test_minimal_sets.py",
    "discovery/quasi_identifiers/test_record_risk.py",
    "discovery/test_limits_kept.py",
    "draft/test_column_taxonomy.py",
    "draft/test_suggest.py",
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
    "kernels/test_machine_code.py",
    "models/beta_likeness/test_beta_likeness.py",
    "models/continuous/test_candidates.py",
    "models/continuous/test_order_of_columns.py",
    "models/continuous/test_overlap.py",
    "models/continuous/test_search.py",
    "models/continuous/test_several_tables.py",
    "models/continuous/test_worlds.py",
    "models/freeform/test_against_the_definition.py",
    "models/freeform/test_monotone.py",
    "models/freeform/test_search.py",
    "models/freeform/test_second_judge.py",
    "models/quasi_sensitive/test_quasi_sensitive_together.py",
    "models/quasi_sensitive/test_term_removal_worlds.py",
    "models/test_against_fractions.py",
    "models/test_conformance.py",
    "models/test_person_worlds.py",
    "models/test_promise_strength.py",
    "models/test_table_conformance.py",
    "papers/test_continuous_figures.py",
    "papers/test_reproductions.py::test_what_defences",
    "policy/taxonomies/test_builders.py",
    "policy/test_policy.py",
    "policy/test_reference.py",
    "recipients/test_assignment.py",
    "recipients/test_coalition.py",
    "recipients/test_coalitions.py",
    "recipients/test_false_charge.py",
    "recipients/test_frame_proofness.py",
    "recipients/test_framings.py",
    "recipients/test_guesses.py",
    "recipients/test_leaked_rows.py",
    "recipients/test_leaks.py",
    "recipients/test_patterns.py",
    "recipients/test_quality.py",
    "recipients/test_readings.py",
    "recipients/test_simulated_leaks.py",
    "recipients/test_summary.py",
    "recipients/test_tricks.py",
    "releases/ledger/test_borders.py",
    "releases/ledger/test_checkpoint.py",
    "releases/ledger/test_growth.py",
    "releases/ledger/test_insider.py",
    "releases/ledger/test_ledger.py",
    "releases/ledger/test_ledger_use.py",
    "releases/ledger/test_life.py",
    "releases/ledger/test_names_and_time.py",
    "releases/ledger/test_restored.py",
    "releases/test_dictionary.py",
    "reports/test_figures.py",
    "reports/test_pictures.py",
    "reports/test_public.py",
    "reports/test_report.py",
    "search/test_best.py",
    "search/test_class_term_removal.py",
    "search/test_conformance.py",
    "search/test_controls.py",
    "search/test_counted_lattice.py",
    "search/test_ladders.py",
    "search/test_lattice.py",
    "search/test_lattice_midsize.py",
    "search/test_local.py",
    "search/test_mondrian.py",
    "search/test_optimum.py",
    "search/test_people_with_several_rows.py",
    "search/test_priced_suppression.py",
    "search/test_term_removal.py",
    "search/test_top_down.py",
    "search/test_wide_lattice.py",
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
    "system/presentation/test_cards.py",
    "system/presentation/test_visible_text.py",
    "table/reading/test_csv_blocks.py::test_large",
    "table/reading/test_files.py",
    "table/reading/test_whole_files_in_memory.py",
    "table/test_batches.py",
    "table/test_conformance.py",
    "table/test_corners.py",
    "table/test_imports.py",
    "table/test_little_memory.py",
    "table/test_odd_tables.py",
    "table/test_survey.py::test_too_many_values",
    "table/test_versions.py",
    "test_docs.py::test_console_blocks",
    "test_docs.py::test_python_blocks",
    "test_guide.py",
    "test_mutants.py",
    "test_supply.py::test_a_wheel",
    "verify/chain/test_together.py",
    "verify/file_bytes/test_csv_forms.py",
    "verify/file_bytes/test_parquet_rewrite.py",
    "verify/file_bytes/test_parquet_surplus.py",
    "verify/test_controls.py",
    "verify/test_file.py",
    "verify/test_published_labels.py",
    "verify/test_ready_taxonomies.py",
    "verify/test_shared_leaves.py",
    "verify/test_shares_nothing.py",
    "verify/test_spelling.py",
    "verify/test_tampered_files.py",
    "verify/test_taxonomies.py",
    "verify/test_whole_files.py",
    "verify/test_written_by_the_engine.py",
    "verify/test_written_forms.py",
    "workflows/test_against.py",
    "workflows/test_attack_rehearsal.py",
    "workflows/test_chain.py",
    "workflows/test_columns_as_terms.py",
    "workflows/test_compare.py",
    "workflows/test_confirm.py",
    "workflows/test_csv_forms.py",
    "workflows/test_defaults_to_release.py",
    "workflows/test_digits.py",
    "workflows/test_draft_trial.py",
    "workflows/test_erasure.py",
    "workflows/test_file_formats.py",
    "workflows/test_floor.py",
    "workflows/test_frames.py",
    "workflows/test_import_version.py",
    "workflows/test_imprints.py",
    "workflows/test_init.py",
    "workflows/test_key_spellings.py",
    "workflows/test_knowledge.py",
    "workflows/test_local.py",
    "workflows/test_named_patterns.py",
    "workflows/test_notebook.py",
    "workflows/test_order_of_columns.py",
    "workflows/test_other_columns.py",
    "workflows/test_passes.py",
    "workflows/test_random_versions.py",
    "workflows/test_recipients.py",
    "workflows/test_recipients_in_a_chain.py",
    "workflows/test_recipients_same_terms.py",
    "workflows/test_refused_chains.py",
    "workflows/test_register.py",
    "workflows/test_reuse_plan.py",
    "workflows/test_sas_with_labels.py",
    "workflows/test_settled_releases.py::test_a_release_that_promises_less",
    "workflows/test_settled_releases.py::test_two_chains",
    "workflows/test_silence.py",
    "workflows/test_steward.py",
    "workflows/test_stores.py",
    "workflows/test_trace.py",
    "workflows/test_versions_lacking_rows.py",
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
