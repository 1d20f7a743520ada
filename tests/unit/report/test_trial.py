import io

import pytest
from rich.console import Console

from feedwatch.model.trial import Ended, Outcome, Span, TrialSection
from feedwatch.model.verdict import Fix
from feedwatch.report.json import from_json, to_json
from feedwatch.report.trial import answer, at_most, live_view, notes_of, print_trial, speed
from tests.fakes.reports import report
from tests.fakes.trials import AS_IS, row, section
from tests.fakes.values import facts, run_facts


def printed(thing, **more):
    console = Console(file=io.StringIO(), width=120, **more)
    print_trial(thing, console) if isinstance(thing, TrialSection) else console.print(thing)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (row(), "1.9–2.1×"),
        (row(outcome=Outcome.SAME, low=0.98, high=1.02), "no difference above 3 %"),
        (row(outcome=Outcome.UNDECIDED, low=0.9, high=1.4), "undecided (0.9–1.4×)"),
        (row(outcome=Outcome.REFUSED, low=None), "refused"),
        (AS_IS, "1×"),
    ],
)
def test_how_fast_in_a_few_words(given, said):
    assert speed(given) == said


def test_the_answer_is_one_sentence():
    assert answer(section(row(), picked="num_workers=2")) == (
        "Use num_workers=2: 1.9–2.1× faster, measured (3 blocks, 4.5 s)."
    )
    wide = row(low=1.5, high=3.0)
    assert "at least 1.5× faster" in answer(section(wide, picked="num_workers=2"))
    less = row("num_workers=1", outcome=Outcome.SAME, low=0.99, high=1.01)
    assert "as fast as it is, with less" in answer(section(less, picked="num_workers=1"))
    assert "Nothing that was tried" in answer(section(row()))
    assert answer(TrialSection(Ended.INTERRUPTED, 3.0, (AS_IS,))).startswith("Interrupted. ")
    assert answer(TrialSection(Ended.NOT_BEGUN, 0.0)) == "No trial was made."


def test_everything_is_printed_and_the_edit_stands_by_itself():
    refused = row("num_workers=8", outcome=Outcome.REFUSED, low=None, note="no room in /dev/shm")
    wrong = row("prefetch_factor=4", predicted=Span(3.0, 4.0), contradicts=True)
    fix = Fix("", "loader = DataLoader(..., num_workers=2)  # train.py:7")
    text = printed(section(row(), refused, wrong, picked="num_workers=2", fix=fix, drift=1.4, notes=("loud",)))
    for part in (
        "Use num_workers=2", "can gain more than 2.3×", "num_workers=8: no room in /dev/shm", "3–4×", "loud",
        "prefetch_factor=4: predicted 3–4×, measured 1.9–2.1×", "the machine changed meanwhile",
    ):  # fmt: skip
        assert part in text, part
    assert "\nloader = DataLoader(..., num_workers=2)  # train.py:7\n" in text


def test_while_it_runs_there_is_a_bar_and_whose_turn_it_is():
    text = printed(live_view(section(row()), "num_workers=2", 12.0, 60.0))
    assert "12 s of at most 1 min · now: num_workers=2" in text


def test_no_ceiling_is_no_sentence():
    assert at_most(None) is None
    assert notes_of(section(row())) == []


def test_a_report_with_a_trial_survives_its_file():
    tried = section(row(predicted=Span(1.5, 1.8)), picked="num_workers=2", fix=Fix("", "x"), notes=("n",))
    whole = report(known=facts(run=run_facts(), trial=tried))
    assert whole.trial == tried
    assert from_json(to_json(whole)) == whole
    assert from_json({key: value for key, value in to_json(whole).items() if key != "trial"}).trial is None
