"""Output and process faults of the promises, with the id of the fault catalogue in each test's name."""

import json
import signal
import threading
import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from feedwatch.model.report import Status
from feedwatch.report.json import write_report_file
from feedwatch.report.load import load_run
from feedwatch.report.tensorboard import own_run
from tests.fakes.reports import report
from tests.faults.runner import expected_weight, run

pytestmark = pytest.mark.timeout(120)


def survived(done):
    """Training went on to its end, with the same result, and nothing of ours was raised."""
    assert expected_weight() in done.stdout, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_f18_a_full_disk_costs_records_and_nothing_else(tmp_path):
    done = survived(
        run(
            """
            import resource, signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            session = opened()
            def hook(step):
                if step == 100:
                    time.sleep(0.3)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
            train(session, hook=hook)
            session.close(Status.FINISHED)
            """,
            tmp_path,
        )
    )
    assert done.returncode == 0
    assert done.stderr.count("feedwatch:") >= 1
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    assert reader.Scalars("feedwatch/stall_ratio")


def test_f21_a_stalled_disk_delays_the_end_by_no_more_than_its_deadline(tmp_path):
    done = survived(
        run(
            """
            session = opened()
            session._digest._outputs[0][0].scalars = lambda *_: time.sleep(60)
            train(session)
            began = time.perf_counter()
            session.close(Status.FINISHED)
            print("close took", time.perf_counter() - began)
            """,
            tmp_path,
        )
    )
    took = float(done.stdout.split("close took")[1])
    assert took < 4
    assert "was not written in time" in done.stderr


def test_f26_tensorboard_reads_while_we_write(tmp_path):
    """A record is in the file whole or not at all: a reader never stops at half of one."""
    output, stop = own_run(tmp_path), threading.Event()
    made, written = report(), []

    def write():
        while not stop.is_set():
            output.scalars(len(written), {"feedwatch/stall_ratio": 0.5}, 1.0)
            output.report(len(written), made, 1.0)
            written.append(write_report_file(tmp_path, made))

    thread = threading.Thread(target=write)
    thread.start()
    time.sleep(0.1)
    reader = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    for _ in range(20):
        reader.Reload()
        steps = [event.step for event in reader.Scalars("feedwatch/stall_ratio")]
        assert steps == list(range(len(steps)))
        assert load_run(tmp_path) == load_run(next(tmp_path.glob("*tfevents*"))) == made
    stop.set()
    thread.join()
    reader.Reload()
    assert len(reader.Scalars("feedwatch/stall_ratio")) == len(written) > 20


def test_ctrl_c_while_the_end_waits_for_the_disk_leaves_a_last_report(tmp_path):
    done = run(
        """
        import signal, threading
        session = opened()
        slow = session._digest._outputs[0][0]
        scalars = slow.scalars
        slow.scalars = lambda *args: (time.sleep(0.8), scalars(*args))
        train(session)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        session.close(Status.FINISHED)
        """,
        tmp_path,
    )
    assert "KeyboardInterrupt" in done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["status"] == "finished"


def test_a_disk_that_is_full_for_a_moment_costs_a_moment(tmp_path):
    """F18: the curves go on when there is room again, and the report says what is missing."""
    done = survived(
        run(
            """
            import resource, signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            session = opened()
            def hook(step):
                time.sleep(0.02)
                if step == 50:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
                if step == 100:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            train(session, hook=hook)
            session.close(Status.FINISHED)
            """,
            tmp_path,
        )
    )
    assert done.stderr.count("feedwatch:") >= 1
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    steps = [event.step for event in reader.Scalars("feedwatch/stall_ratio")]
    assert any(step <= 50 for step in steps)
    assert any(step > 170 for step in steps)
    report = load_run(tmp_path)
    assert report.status is Status.FINISHED
    assert any("failed for" in note and "point" in note for note in report.self_cost.notes)


def test_f34_after_kill_9_the_files_are_readable_to_the_last_window(tmp_path):
    done = run(
        """
        session = opened()
        def hook(step):
            if step == 150:
                time.sleep(0.5)
                os.kill(os.getpid(), 9)
        train(session, hook=hook)
        """,
        tmp_path,
    )
    assert done.returncode == -signal.SIGKILL
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    assert reader.Scalars("feedwatch/stall_ratio")[-1].step >= 140
    assert load_run(tmp_path).status is Status.RUNNING
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == 2


def test_f55_a_fork_after_our_thread_started_neither_hangs_nor_writes(tmp_path):
    done = survived(
        run(
            """
            session = opened()
            def hook(step):
                if step == 100:
                    time.sleep(0.2)
                    pid = os.fork()
                    if pid == 0:
                        for number in range(50):
                            hand_over(session, marks_of(number))
                        session.close(Status.FAILED)
                        os._exit(0)
                    assert os.waitpid(pid, 0)[1] == 0
            train(session, hook=hook)
            session.close(Status.FINISHED)
            """,
            tmp_path,
        )
    )
    assert done.returncode == 0
    assert load_run(tmp_path).status is Status.FINISHED
    assert load_run(tmp_path).steps.measured <= 200


def test_f57_two_hundred_runs_in_one_process_leave_no_thread_and_no_file_open(tmp_path):
    done = run(
        """
        import threading
        before = len(os.listdir("/proc/self/fd"))
        for index in range(200):
            session = opened(where / str(index))
            hand_over(session, [mark for step in range(12) for mark in marks_of(step)])
            session.close(Status.FINISHED)
        print("threads", threading.active_count(), "files", len(os.listdir("/proc/self/fd")) - before)
        """,
        tmp_path,
    )
    assert "threads 1 files 0" in done.stdout, done.stderr


@pytest.mark.parametrize("flags", [("-O",), ("-OO",), ("-W", "error")])
def test_f66_python_without_asserts_docstrings_or_with_warnings_as_errors(tmp_path, flags):
    done = survived(run("session = opened(); train(session); session.close(Status.FINISHED)", tmp_path, *flags))
    assert done.returncode == 0
    assert load_run(tmp_path).verdict.bound.value == "input"


def test_f68_a_script_that_just_ends_still_gets_its_report(tmp_path):
    done = survived(run("session = opened(); train(session)", tmp_path))
    assert done.returncode == 0
    assert load_run(tmp_path).status is Status.INTERRUPTED


def test_f27_hostile_names_are_text_everywhere(tmp_path):
    survived(
        run(
            """
            from feedwatch.model.pipeline import PipelineFacts, Stage
            name = "<img src=x onerror=alert(1)> [a](javascript:b) \\x1b[31m \\ud800"
            session = opened()
            session.update(pipeline=PipelineFacts("tf.data", stages=(Stage(name, name, 5.0, bottleneck=True),)))
            session.note(name)
            train(session)
            session.close(Status.FINISHED)
            """,
            tmp_path,
        )
    )
    assert load_run(tmp_path).status is Status.FINISHED
