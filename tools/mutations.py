"""Proof that the tests can fail: each line below breaks one guard, bound, undo or writer, and a named test must notice.

    python tools/mutations.py [FIRST] [LAST] > docs/mutations.md    # about five minutes for all

Works on a copy of the repository. Not part of the test command.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
COPIED: Final = ("src", "tests", "docs", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
# A test that hangs has noticed, too.
SECONDS: Final = 40


class Mutation(NamedTuple):
    file: str  # below src/feedwatch
    line: str  # found once
    broken: str
    test: str  # below tests; more than one, separated by blanks


class Outcome(NamedTuple):
    mutation: Mutation
    noticed: bool


def _in(file: str, test_file: str, *rows: tuple[str, str, str]) -> list[Mutation]:
    joint = "::" if test_file.endswith(".py") else "/"
    return [Mutation(file, line, broken, f"{test_file}{joint}{test}") for line, broken, test in rows]


GUARDS: Final = _in(
    "guard.py",
    "unit/test_guard.py",
    (
        "            return function(*args)\n        except Exception as error:",
        "            return function(*args)\n        except BaseException as error:",
        "test_ctrl_c_and_exit_are_the_users",
    ),
    ("self.off = self._failures >= MAX_FAILURES", "self.off = False", "test_a_part_is_switched_off_after_three_failures"),
    ("if not self._warned:", "if True:", "test_a_failure_is_swallowed_and_said_once"),
    ("    with suppress(Exception):", "    if True:", "test_warnings_as_errors_do_not_reach_training"),
    ("min(2 * self._pause_ns, LONGEST_PAUSE_NS)", "0", "test_what_failed_is_tried_again_after_a_pause_that_doubles"),
    (
        'line = _BARE_PATH.sub(r"\\1", _QUOTED_PATH.sub(r"\\1\\2\\1", start))',
        "line = start",
        "test_of_an_absolute_path_only_the_last_part_is_kept",
    ),
    ('return line if len(line) <= limit else line[: limit - 1] + "…"', "return line", "test_a_text_of_10_mb_becomes_one_short_line"),
    ('text = "its text cannot be read"', "raise", "test_an_error_that_cannot_say_its_text_does_not_leak"),
    ("if strict():", "if False:", "test_strict_re_raises_the_same_object"),
)  # fmt: skip
FILES: Final = _in(
    "files.py",
    "unit/test_files.py",
    ("os.O_CREAT | os.O_EXCL |", "os.O_CREAT |", "test_a_new_file_is_made_neither_over_an_old_one_nor_through_a_link"),
    ("os.urandom(8).hex()", "os.getpid()", "test_a_draft_has_another_name_each_time_and_does_not_say_which_process_writes"),
    ("        rename(draft, path.name)", "        path.write_bytes(data)", "test_a_link_at_the_place_of_the_file_is_replaced_and_not_followed"),
    ("            remove(draft)", "            pass", "test_a_file_that_cannot_be_replaced_leaves_no_draft"),
    ("os.O_RDONLY | _DIRECTORY | _NOFOLLOW", "os.O_RDONLY | _DIRECTORY", "test_a_link_in_the_place_of_the_directory_is_not_followed"),
    ("if not stat.S_ISREG(status.st_mode):", "if False:", "test_what_is_no_file_is_refused_without_waiting"),
    ("os.O_RDONLY | _NONBLOCK |", "os.O_RDONLY |", "test_what_is_no_file_is_refused_without_waiting"),
    ("        if status.st_size > most_bytes:", "        if False:", "test_a_file_above_its_limit_is_never_handed_to_its_reader"),
    ("if len(data) > most_bytes:", "if False:", "test_a_file_that_grows_while_it_is_read_is_no_longer_than_its_limit"),
    ("        os.close(descriptor)\n\n\ndef _reason", "        pass\n\n\ndef _reason", "test_no_descriptor_stays_open"),
    ("yield from islice(entries, MAX_ENTRIES)", "yield from entries", "test_a_directory_is_looked_at_only_so_far"),
    ("follow_symlinks=False", "follow_symlinks=True", "test_links_to_directories_are_not_followed"),
)  # fmt: skip
SINK: Final = _in(
    "sink.py",
    "unit/test_sink.py",
    ("if self._closing or os.getpid() != self._pid:", "if self._closing:", "test_a_forked_child_writes_nothing"),
    ("            self.dropped += 1", "            pass", "test_a_stalled_consumer_costs_the_oldest_items_and_no_waiting"),
    ("finished = self._done.wait(seconds)", "finished = self._done.wait()", "test_close_keeps_its_deadline_when_the_disk_hangs"),
    ("self._guard.run(self._consume, self._queue.popleft())", "self._consume(self._queue.popleft())", "test_a_failing_consumer_does_not_end_the_thread"),
    ("deque(maxlen=capacity)", "deque()", "test_a_stalled_consumer_costs_the_oldest_items_and_no_waiting"),
)  # fmt: skip
SESSION: Final = _in(
    "session.py",
    "unit/test_session.py",
    ("        self._sink.put(self._last_log)", "        pass", "test_the_status_of_the_end_is_in_the_report"),
    ("and len(self._facts.notes) < MAX_NOTES", "", "test_notes_hold_no_path_and_are_bounded_in_length_and_number"),
    ("tame(text, MAX_NOTE)", "tame(text, 10**9)", "test_notes_hold_no_path_and_are_bounded_in_length_and_number"),
    ("if tick_ns >= COARSE_NS:", "if False:", "test_f87_a_coarse_clock_tells_the_parts_of_long_steps_only"),
    (
        "patch = guard.run(reader)",
        "patch = reader()",
        "test_a_failing_reader_is_switched_off_and_noted_and_the_run_goes_on",
    ),
)
RUN: Final = _in(
    "hooks/run.py",
    "unit/hooks/test_run.py",
    ("            last.run(self.undo.all)", "            pass", "test_closing_undoes_everything_and_is_idempotent"),
    ("or len(marks.rows) >= marks.most", "", "test_marks_of_microsecond_steps_are_bounded"),
    ("told, report, max(0.0, until_s - time.monotonic())", "told, report, 60.0", "test_a_logger_gets_what_is_left_of_the_time_to_end"),
    ("            if status is not Status.FINISHED:", "            if False:", "test_the_step_that_failed_is_not_counted"),
    ("            keep_earlier(self.directory", "            (lambda *_: None)(self.directory", "test_f82_a_second_run_in_the_same_directory_keeps_the_report_of_the_first"),
    ("                last.run(action)", "                action()", "test_whatever_fails_at_the_end_the_report_is_written"),
    ("                append((now_ns(), LEAVE, category))", "                pass", "test_marks_become_a_report test_the_users_error_passes_through_a_timed_method_as_it_is"),
)  # fmt: skip
WALKS: Final = [
    *_in(
        "hooks/walks.py",
        "unit/hooks/test_walks.py",
        ("        if run.guard.off:\n            return next(batches, _END)", "        if False:\n            return next(batches, _END)", "test_where_marks_cannot_be_handed_over_none_are_kept"),
        ("                run.hand_over()\n        except Exception as error:", "                run.hand_over()\n        except LookupError as error:", "test_what_looks_at_a_loop_may_fail_and_is_switched_off"),
        ("self._run.guard.run(device.enter if what == ENTER else device.leave, category, ns)", "(device.enter if what == ENTER else device.leave)(category, ns)", "test_a_device_that_is_lost_in_a_copy_of_the_users_is_not_their_error"),
    ),
    Mutation("hooks/lightning/loggers.py", "    thread.join(seconds)", "    thread.join()", "unit/hooks/lightning/test_loggers.py::test_neither_a_disk_nor_a_server_that_stalls_holds_up_the_end"),
    Mutation("hooks/loop.py", "self._opening.run(self._begin)", "self._begin()", "unit/hooks/test_loop.py::test_a_run_that_cannot_be_opened_is_one_warning_and_the_loop_goes_on"),
]  # fmt: skip
SYNC: Final = [
    Mutation("hooks/torch/device.py", "return bool(event.query())", "return event.synchronize() is None", "contract/device/test_loop.py::test_weights_are_the_same_and_nobody_waits_for_the_device_more_often"),
]  # fmt: skip
UNDO: Final = _in(
    "hooks/undo.py",
    "unit/hooks/test_undo.py",
    ("vars(owner).get(self.name) is not self.ours", "False", "test_what_somebody_wrapped_around_ours_is_left_alone"),
    ("            if self._set or self._actions:", "            if False:", "test_one_thing_that_cannot_be_taken_back_does_not_keep_the_others"),
    ("weakref.ref(owner) if weak else lambda: owner", "lambda: owner", "test_a_weak_owner_is_not_kept_alive_and_its_death_is_no_error"),
)  # fmt: skip
REPORTS: Final = [
    *_in(
        "report/json.py",
        "unit/report/test_json.py",
        ("if isinstance(value, (int, float)) and not abs(value) <= MAX_NUMBER:", "if False:", "test_a_number_that_cannot_be_is_named_and_never_an_overflow"),
        ("return value if math.isfinite(value) else None", "return value", "test_nan_becomes_null"),
        ("return clean(value[:MAX_TEXT])", "return clean(value)", "test_a_long_text_of_the_users_is_cut_off_when_it_is_written"),
        ("replace_file(path, dumps(report).encode())", "path.write_bytes(dumps(report).encode())", "test_who_reads_the_old_report_reads_it_to_its_end"),
        ("[:-KEPT_REPORTS]", "[:0]", "test_of_earlier_runs_the_newest_are_kept"),
    ),
    *_in(
        "report/load.py",
        "unit/report/test_load.py",
        ("        if self.spent:\n", "        if False:\n", "test_bytes_are_limited_in_all"),
        ("or time.monotonic() > self._until_s", "", "test_time_is_limited"),
        ("listed(directory, EVENT_FILES, MAX_EVENT_FILES, last=True)", "listed(directory, EVENT_FILES, 10**9, last=True)", "test_no_more_event_files_are_read_than_allowed"),
        ("listed(directory, RANK_FILES, MAX_RANK_FILES)", "listed(directory, RANK_FILES, 10**9)", "test_no_more_rank_files_are_read_than_allowed"),
        ("listed(directory, RANK_FILES, MAX_LIVE_RANKS)", "listed(directory, RANK_FILES, 10**9)", "test_during_training_fewer_ranks_and_bytes_are_read"),
        ("Budget(MAX_LIVE_BYTES, ", "Budget(1 << 60, ", "test_during_training_fewer_ranks_and_bytes_are_read"),
        ("opened(path, MAX_EVENT_FILE_BYTES)", "opened(path, 1 << 60)", "test_an_event_file_above_the_limit_is_refused_by_its_size"),
        ("most_bytes: int = MAX_REPORT_BYTES", "most_bytes: int = 1 << 60", "test_a_file_larger_than_any_report_is_refused_by_size"),
        ("len(runs) < MAX_NAMED and", "", "test_so_many_directories_are_searched_and_so_many_runs_named"),
        ("and searched < MAX_SEARCHED and", "and", "test_so_many_directories_are_searched_and_so_many_runs_named"),
        ("tame(problems[0])", "problems[0]", "test_a_bad_rank_file_costs_the_other_ranks_nothing"),
        ("_from_json_file(file, budget, MAX_LIVE_REPORT_BYTES)", "_from_json_file(file, budget)", "test_during_training_smaller_files_are_read_for_a_shorter_time"),
        ("Budget(MAX_LIVE_BYTES, MAX_LIVE_SECONDS)", "Budget(MAX_LIVE_BYTES)", "test_during_training_smaller_files_are_read_for_a_shorter_time"),
        ("    if unpacker.unconsumed_tail:", "    if False:", "test_a_bomb_in_an_event_file_is_refused"),
        ("        if depth < MAX_DEPTH:", "        if True:", "test_runs_below_are_searched_to_a_depth"),
        ("            continue  # damaged, or of another feedwatch: this rank is missing", "            raise", "test_during_training_fewer_ranks_and_bytes_are_read"),
    ),
    *_in(
        "report/tensorboard.py",
        "unit/report/test_tensorboard.py",
        ("            os.ftruncate(self._fd, self._good_bytes)", "            pass", "test_a_full_disk_leaves_no_torn_record_also_where_nothing_more_is_written"),
        ("        if len(data) < length or len(file.read(4)) < 4:", "        if False:", "test_a_broken_tail_hides_only_what_stands_behind_it"),
    ),
    *_in(
        "report/tensorboard.py",
        "unit/test_limits.py",
        ("        if not MIN_RECORD_BYTES <= length <= MAX_RECORD_BYTES:", "        if False:", "test_records_are_held_stepped_over_or_damage"),
        ("        if length > MAX_REPORT_RECORD_BYTES:", "        if False:", "test_records_are_held_stepped_over_or_damage"),
        ("        if last or self._bytes + size_bytes <= MAX_RUN_BYTES:", "        if True:", "test_a_run_writes_so_much_and_its_last_report"),
    ),
]  # fmt: skip
DIGEST: Final = _in(
    "digest.py",
    "unit/test_digest.py",
    ("(changed and self._early_reports.take(age_s))", "changed", "test_a_verdict_that_is_another_one_every_second_is_written_so_often_and_no_more"),
    ("            if window is not None and self._points.take(age_s)", "            if window is not None", "test_points_of_windows_of_milliseconds_are_bounded"),
    ("return every_s * max(1.0, age_s / STEADY_SECONDS)", "return every_s", "test_a_hundred_days_write_less_than_50_mb"),
    ("in_time = self._clock.now_ns() < until_ns", "in_time = True", "test_an_output_that_is_too_slow_loses_points_and_not_the_report"),
)  # fmt: skip
TRACES: Final = [
    *_in(
        "probe/traces/source.py",
        "unit",
        ("                    if total > limit_bytes:", "                    if False:", "test_limits.py::test_what_an_archive_holds_is_limited"),
        ("        if status.st_size > MAX_FILE_BYTES:", "        if False:", "probe/traces/test_source.py::test_f16_a_file_above_the_limit_is_refused_by_its_size"),
        ("LZMADecompressor(memlimit=XZ_MEMORY_BYTES)", "LZMADecompressor()", "probe/traces/test_source.py::test_f16_an_archive_that_asks_for_gigabytes_of_memory_is_refused"),
    ),
    *_in(
        "probe/traces/json_stream.py",
        "unit/probe/traces",
        ("if beyond and beyond.group(1):", "if beyond:", "test_kineto.py::test_f89_an_event_with_its_keys_in_another_order_is_read_behind_one_that_is_skipped"),
        ("                if pending > MAX_VALUE_CHARS:", "                if False:", "test_json_stream.py::test_f16_one_endless_value_is_refused_before_all_of_it_is_held"),
    ),
    Mutation("probe/traces/timeline.py", "if len(self.devices) >= MAX_DEVICES:", "if False:", "unit/probe/traces/test_kineto.py::test_thousands_of_devices_are_damage"),
    Mutation("probe/traces/xspace.py", "_FIRST_BYTES) > MAX_PARTS:", "_FIRST_BYTES) > 10**12:", "faults/test_trace_large_files.py::test_a_bomb_is_stopped_and_memory_stays_small"),
]  # fmt: skip
TAB_AND_CLI: Final = [
    *_in(
        "tab/reports.py",
        "unit/tab/test_reports.py",
        ("    if depth >= MAX_DEPTH and", "    if False and", "test_depth_length_and_text_are_bounded"),
        ("for item in value[:MAX_ITEMS]]", "for item in value]", "test_depth_length_and_text_are_bounded"),
        ("        return value[:MAX_TEXT]", "        return value", "test_depth_length_and_text_are_bounded"),
        (".decompress(raw, MAX_REPORT_BYTES + 1)", ".decompress(raw)", "test_a_bomb_takes_no_more_memory_than_a_report_may"),
        ("        if len(self._rows) >= MAX_ROWS:", "        if False:", "test_only_so_many_lines_are_kept"),
    ),
    Mutation("tab/rank_groups.py", "islice(found, MAX_SIBLINGS)", "found", "unit/tab/test_rank_groups.py::test_so_many_siblings_are_opened"),
    Mutation("tab/plugin.py", 'if request.method not in {"GET", "HEAD"}:', "if False:", "unit/tab/test_plugin.py::test_every_route_only_reads"),
    Mutation("cli/check.py", "if not 0 <= stall_ratio <= 1:", "if False:", "unit/cli/test_check.py::test_f90_a_share_that_cannot_be_is_an_error_not_a_pass"),
    Mutation("cli/report.py", "if path.is_symlink() or (path.exists() and not path.is_file()):", "if False:", "unit/cli/test_report.py::test_html_is_not_written_through_a_link"),
    Mutation("hooks/destination.py", "        except FileExistsError:\n            continue", "        except FileExistsError:\n            return home", "unit/hooks/test_destination.py::test_a_new_home_is_nobody_elses"),
    Mutation("measure/steps.py", "        if len(self._stack) < MAX_DEPTH:", "        if True:", "unit/measure/test_steps.py::test_endless_nesting_is_bounded"),
    Mutation("settings.py", 'in ("0", "off", "false", "no")', "in ()", "unit/test_settings.py"),
]  # fmt: skip
MUTATIONS: Final = [
    *GUARDS,
    *FILES,
    *SINK,
    *SESSION,
    *RUN,
    *WALKS,
    *SYNC,
    *UNDO,
    *REPORTS,
    *DIGEST,
    *TRACES,
    *TAB_AND_CLI,
]


def outcome(mutation: Mutation, repository: Path) -> Outcome:
    file = repository / "src" / "feedwatch" / mutation.file
    whole = file.read_text(encoding="utf-8")
    if whole.count(mutation.line) != 1:
        raise SystemExit(f"{mutation.file}: not found once: {mutation.line}")
    file.write_text(whole.replace(mutation.line, mutation.broken), encoding="utf-8")
    try:
        return Outcome(mutation, noticed=not passes(nodes(mutation), repository))
    finally:
        file.write_text(whole, encoding="utf-8")


def nodes(mutation: Mutation) -> list[str]:
    first, *more = mutation.test.split()
    file = first.partition("::")[0]
    return [f"tests/{first}", *(f"tests/{file}::{name}" for name in more)]


def passes(tests: list[str], repository: Path) -> bool:
    done = subprocess.run(  # noqa: S603 -- our own tests
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--timeout={SECONDS}", *tests],
        cwd=repository,
        env={
            "PYTHONPATH": f"{repository / 'src'}:{repository}",
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{tests}: {done.stdout.decode()[-2000:]}")
    return done.returncode == 0


def main(first: int = 0, last: int = len(MUTATIONS)) -> int:
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, repository / name)
        named = sorted({node for mutation in MUTATIONS[first:last] for node in nodes(mutation)})
        if not passes(named, repository):
            raise SystemExit("the named tests do not pass on the code as it is")
        for mutation in MUTATIONS[first:last]:
            noticed = outcome(mutation, repository).noticed
            survivors += not noticed
            print(row(mutation, noticed), flush=True)
    return survivors


def row(mutation: Mutation, noticed: bool) -> str:
    line, broken = (" ".join(text.split()).replace("|", "\\|") for text in (mutation.line, mutation.broken))
    test = mutation.test.rpartition("::")[2].replace(" ", ", ")
    return f"| {mutation.file} | `{line}` | `{broken or ' '}` | {test} | {'noticed' if noticed else '**survived**'} |"


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:3])))
