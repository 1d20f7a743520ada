"""The line that is renewed."""

import io

from feedwatch.report.progress import CLEAR, ProgressLine, progress_text

VALUES = {"feedwatch/stall_ratio": 0.62, "feedwatch/step_ms": 41.0, "feedwatch/samples_per_s": 380.0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_says_what_a_person_watches_for():
    said = "feedwatch: step 1,234, waiting for input 62 %, 41 ms per step, 380 samples/s"
    assert progress_text(1234, VALUES) == said


def test_what_was_not_measured_is_not_zero():
    assert "waiting for input not measured" in progress_text(1, {})


def test_on_a_terminal_one_line_is_renewed_and_gone_at_the_end():
    terminal = Terminal()
    line = ProgressLine(terminal)
    for step in (1, 2, 3):
        line.scalars(step, VALUES, 0.0)
    assert terminal.getvalue().count(CLEAR) == 3
    assert "\n" not in terminal.getvalue()
    line.close()
    assert terminal.getvalue().endswith(CLEAR)


def test_a_log_file_gets_whole_lines_and_few_of_them():
    log = io.StringIO()
    line = ProgressLine(log)
    for step in (1, 2, 3):
        line.scalars(step, VALUES, 0.0)
    line.close()
    assert log.getvalue().count("\n") == 1
    assert CLEAR not in log.getvalue()
