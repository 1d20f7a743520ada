"""The fault catalogue of docs/promises.md: which test holds each fault, for which framework.

A fault that may happen to any framework is a row of `rows.py`, whose name begins with its id. What concerns one
framework, or none, has a test of its own, named here. ANY: nothing in the fault depends on the framework.
"""

from tests.faults.benches import ALL, KERAS, TORCH
from tests.faults.rows import ROWS

ANY = "any"
KERAS_ROWS, LIGHTNING = "faults/test_keras_faults.py::", "faults/test_lightning.py::"
NVML, OUTPUT = "faults/test_nvml_faults.py::", "faults/test_output_faults.py::"
PROFILING, WINDOWS = "unit/probe/test_profiling.py::", "contract/test_profiler_windows.py::"
TRACES, LOAD, DIGEST = "unit/probe/traces/", "unit/report/test_load.py::", "unit/test_digest.py::"
STEPS, DEVICE = "unit/measure/test_steps.py::", "faults/test_device_faults.py::"
TRIAL = "unit/trial/"
KERAS_CONTRACT = "contract/keras/test_contract.py::test_fit_is_the_same_with_and_without"
LIGHTNING_CONTRACT = "contract/lightning/test_training_is_unchanged.py::test_a_watched_fit_does_what_a_bare_one_does"


def of_keras(test: str) -> dict[str, str]:
    return dict.fromkeys(KERAS, test)


def of_torch(test: str) -> dict[str, str]:
    return dict.fromkeys(TORCH, test)


ELSEWHERE: dict[str, dict[str, str]] = {
    # sources
    "F01": {ANY: NVML + "test_f01_a_missing_library_is_unknown_and_one_note"},
    "F02": {ANY: NVML + "test_f02_a_gpu_lost_in_mid_run_is_unknown_from_then_on"},
    "F03": {ANY: NVML + "test_f03_no_permission_costs_that_figure_only"},
    "F04": {ANY: NVML + "test_f04_on_a_mig_slice_utilisation_is_unknown_never_zero"},
    "F05": {ANY: NVML + "test_f05_a_hanging_call_is_unknown_and_holds_nobody"},
    "F06": {ANY: NVML + "test_f06_cuda_visible_devices_reorders_and_names_by_uuid"},
    "F07": {
        ANY: PROFILING + "test_f07_another_profiler_means_no_window_at_all_and_says_whose",
        "torch": WINDOWS + "test_f07_while_a_torch_profiler_runs_ours_does_not_start_and_theirs_is_whole",
    },
    "F08": {
        ANY: PROFILING + "test_f08_a_profiler_started_during_ours_ends_ours_for_good",
        "torch": WINDOWS + "test_f08_a_torch_profiler_started_during_our_window_is_whole_and_ends_ours",
    },
    "F09": {"keras-tensorflow": WINDOWS + "test_f09_an_active_tensorflow_session_is_left_untouched"},
    "F10": {
        ANY: PROFILING + "test_f10_a_start_that_fails_is_tried_once_and_reported",
        "lightning": DEVICE + "test_a_profiler_that_does_not_start_is_said_once_and_training_goes_on",
    },
    "F11": {ANY: PROFILING + "test_f11_no_device_events_are_unknown_and_not_tried_for_ever"},
    "F12": {ANY: PROFILING + "test_f12_a_stop_that_raises_switches_windows_off"},
    "F13": {ANY: PROFILING + "test_f13_a_stop_that_takes_seconds_is_counted_and_sampling_backs_off"},
    "F14": {"keras-tensorflow": WINDOWS + "test_f14_two_windows_within_a_second_are_two_readable_traces"},
    "F15": {ANY: TRACES + "test_xspace.py::test_f15_a_truncated_file_an_empty_one_and_a_bare_plane_are_one_line"},
    "F16": {ANY: TRACES + "test_source.py::test_f16_a_file_above_the_limit_is_refused_by_its_size"},
    "F17": {ANY: "unit/probe/test_cpu_budget.py::test_f17_absent_cgroup_files_leave_the_affinity"},
    # output
    "F26": {ANY: OUTPUT + "test_f26_tensorboard_reads_while_we_write"},
    "F27": {ANY: OUTPUT + "test_f27_hostile_names_are_text_everywhere"},
    # the user's side
    "F28": of_keras(KERAS_ROWS + "test_a_fault_in_any_hook_of_ours_changes_nothing_and_is_told_once")
    | {"lightning": LIGHTNING + "test_an_exception_in_our_own_code_reaches_nobody"},
    "F40": {"lightning": LIGHTNING_CONTRACT},
    # time and shape
    "F48": of_keras(KERAS_CONTRACT) | {ANY: STEPS + "test_a_begin_without_an_end_is_the_end_of_the_data"},
    "F49": {"keras-tensorflow": KERAS_CONTRACT, "keras-jax": KERAS_CONTRACT},
    "F50": {ANY: "unit/measure/test_bounded_memory.py::test_ten_million_steps_grow_memory_by_less_than_8_mb"},
    "F51": {ANY: "unit/hooks/test_run.py::test_marks_of_microsecond_steps_are_bounded"},
    "F52": {ANY: "unit/measure/test_window.py::test_warmup_and_the_first_step_of_an_epoch_are_kept_apart"},
    "F53": of_keras(KERAS_CONTRACT)
    | {
        "lightning": LIGHTNING_CONTRACT,
        "torch": "unit/hooks/test_walks.py::test_validation_is_kept_apart_wherever_it_stands",
        ANY: STEPS + "test_validation_is_no_part_of_the_step_and_nothing_inside_it_counts",
    },
    "F54": {"lightning": LIGHTNING_CONTRACT},
    # process
    "F56": {"lightning": LIGHTNING_CONTRACT},
    "F58": of_keras(KERAS_ROWS + "test_a_nested_fit_does_not_disturb_the_outer_one"),
    "F59": of_keras(KERAS_ROWS + "test_two_fits_in_two_threads_are_two_runs"),
    "F61": {"lightning": LIGHTNING_CONTRACT, ANY: STEPS + "test_a_resumed_run_goes_on_counting_where_it_was"},
    "F62": {ANY: "unit/report/test_ranks.py::test_files_of_an_earlier_larger_world_are_left_out"},
    "F63": {"lightning": "contract/lightning/test_ranks.py::test_a_rank_that_dies_leaves_its_error_and_its_report"},
    "F64": {
        "lightning": "contract/lightning/test_ranks.py::"
        "test_every_rank_writes_its_own_file_and_the_reader_names_the_straggler"
    },
    "F66": {ANY: OUTPUT + "test_f66_python_without_asserts_docstrings_or_with_warnings_as_errors"},
    "F68": {ANY: OUTPUT + "test_f68_a_script_that_just_ends_still_gets_its_report"},
    "F69": {
        **of_keras(KERAS_ROWS + "test_where_no_iterator_can_be_timed_the_wait_is_not_measured_and_that_is_said"),
        "lightning": LIGHTNING + "test_a_lightning_without_a_name_we_wrap_switches_off_that_source_alone",
    },
    # what an attack on the first version found
    "F73": {ANY: "unit/test_session.py::test_a_disk_that_stalls_holds_up_neither_close_nor_the_latest_report"},
    "F75": {ANY: LOAD + "test_a_bad_rank_file_costs_the_other_ranks_nothing"},
    "F76": {ANY: DIGEST + "test_a_disk_that_is_full_for_three_seconds_costs_three_seconds_and_is_said"},
    "F77": {ANY: TRACES + "test_kineto.py::test_f77_items_that_are_no_events_cost_no_more_than_others"},
    "F78": {ANY: "faults/test_trace_large_files.py::test_a_bomb_is_stopped_and_memory_stays_small"},
    "F80": {ANY: LOAD + "test_nothing_but_a_bad_file_is_one_clear_error"},
    "F81": {ANY: DIGEST + "test_a_wall_clock_that_is_set_back_an_hour_delays_no_report"},
    "F82": of_keras("unit/hooks/keras/test_writer.py::test_f82_without_anything_every_run_gets_a_directory_of_its_own"),
    "F83": {
        "keras-tensorflow": "unit/hooks/keras/test_tf_stamps.py::test_f83_a_name_is_used_again_and_never_by_two_at_once"
    },
    "F84": {ANY: OUTPUT + "test_ctrl_c_while_the_end_waits_for_the_disk_leaves_a_last_report"},
    "F87": {ANY: "unit/test_session.py::test_f87_a_coarse_clock_tells_the_parts_of_long_steps_only"},
    "F89": {
        ANY: TRACES + "test_kineto.py::"
        "test_f89_an_event_with_its_keys_in_another_order_is_read_behind_one_that_is_skipped"
    },
    "F90": {ANY: "unit/cli/test_check.py::test_f90_a_share_that_cannot_be_is_an_error_not_a_pass"},
    "F91": {ANY: "rules/test_pasted_fixes.py::test_compiled_programs_are_kept_where_only_the_user_writes"},
    "F92": {
        "keras-tensorflow": "unit/hooks/keras/test_callback.py::"
        "test_keras_2_trains_on_and_one_sentence_says_that_it_is_not_measured"
    },
    "F93": {ANY: "unit/cli/test_report.py::test_f93_a_run_that_was_killed_is_told_from_one_that_runs"},
    "F94": {ANY: DIGEST + "test_no_step_of_a_hand_over_waits_for_the_next_one"},
    "F95": {ANY: DIGEST + "test_an_hour_of_short_epochs_writes_less_than_3_mb"},
    # the device
    "F96": of_torch(DEVICE + "test_f96_memory_is_full_at_our_first_events"),
    "F97": of_torch(DEVICE + "test_f97_an_event_that_never_completes_costs_its_own_steps_only"),
    "F98": {"torch": DEVICE + "test_f98_a_device_that_is_lost_in_mid_run_gives_the_users_own_exception"},
    "F99": {"torch": DEVICE + "test_f99_nothing_is_recorded_and_nothing_fails_while_a_graph_is_captured"},
    "F100": {"torch": DEVICE + "test_f100_a_stream_that_is_destroyed_gives_the_users_own_exception"},
    "F101": {"torch": DEVICE + "test_f101_a_kernel_that_hangs_does_not_hang_the_end"},
    "F102": {"torch": DEVICE + "test_f102_two_runs_on_one_device_do_not_disturb_each_other"},
    "F103": {"lightning": DEVICE + "test_f103_a_profiler_that_starts_slowly_is_in_no_step_and_in_our_cost"},
    # trials
    "F104": {
        ANY: TRIAL + "test_board.py::test_a_variant_that_raises_in_its_turn_is_left_out_and_the_loop_gets_another_batch"
    },
    "F105": {ANY: "unit/hooks/test_trial.py::test_interrupted_it_keeps_what_is_known"},
    "F106": {
        ANY: TRIAL + "test_room.py::test_a_queue_that_fills_shared_memory_is_refused_with_both_figures",
        "torch": "unit/hooks/torch/test_variants.py::test_what_must_not_be_opened_twice_is_told_by_name",
        "keras-tensorflow": "unit/hooks/tf_data/test_edits.py::test_large_tensors_in_memory_are_not_copied",
    },
    "F107": dict.fromkeys(
        ("torch", "lightning", "keras-tensorflow"),
        "contract/test_trials.py::test_a_trial_measures_and_writes_nothing_of_the_users",
    ),
}


def fault_of(row: str) -> str:
    return row.partition("-")[0]


def held() -> dict[str, set[str]]:
    """For every fault: the frameworks (or ANY) that a test holds it for."""
    found = {fault: set(tests) for fault, tests in ELSEWHERE.items()}
    for name, row in ROWS.items():
        found.setdefault(fault_of(name), set()).update(row.frameworks)
    return found


def counted() -> str:
    """How many faults have a test, by framework."""
    of = held().values()
    lines = [f"{framework}: {sum(framework in each for each in of)}" for framework in (*ALL, ANY)]
    return f"{len(of)} faults; " + ", ".join(lines)
