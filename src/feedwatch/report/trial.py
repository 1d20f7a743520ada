"""The table of a trial, for a terminal: while it grows, and at the end."""

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from feedwatch.model.trial import Ended, Outcome, Role, Span, TrialRow, TrialSection
from feedwatch.words import count, ms, percent, seconds, times, times_between

ENDS = {
    Ended.DECIDED: "",
    Ended.TIME_IS_UP: "The time was up. ",
    Ended.INTERRUPTED: "Interrupted. ",
    Ended.TRAINING_ENDED: "The training ended first. ",
    Ended.NOT_BEGUN: "",
}
# A wider interval says that it is faster, but not how much.
WIDE = 1.5
# A machine that is this much slower or faster at the end than at the beginning is said.
DRIFTED = 0.1


def speed(row: TrialRow) -> str:
    """1.9–2.1×, no difference above 3 %, undecided: what was measured against the run as it is."""
    if row.role is Role.AS_IS:
        return "1×"
    if row.outcome in (Outcome.REFUSED, Outcome.FAILED) or row.speedup is None:
        return row.outcome.value
    if row.outcome is Outcome.SAME:
        return "no difference above 3 %"
    span = times_between(row.speedup.low, row.speedup.high)
    return f"undecided ({span})" if row.outcome is Outcome.UNDECIDED else span


def trial_table(section: TrialSection) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("tried", overflow="fold")
    for heading in ("batch", "waits", "speed", "predicted", "blocks"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in section.rows:
        style = "bold green" if row.name == section.picked else "dim" if row.role is not Role.VARIANT else None
        predicted = "" if row.predicted is None else times_between(row.predicted.low, row.predicted.high)
        waits = "" if row.wait_share is None or row.role is Role.CEILING else percent(row.wait_share)
        batch = "" if row.step_ms is None else ms(row.step_ms)
        table.add_row(Text(row.name), batch, waits, speed(row), predicted, str(row.blocks or ""), style=style)
    return table


def live_view(section: TrialSection, current: str | None, spent_s: float, most_s: float) -> Group:
    now = f" · now: {current}" if current else ""
    head = Text(f"trial · {seconds(spent_s)} of at most {seconds(most_s)}{now}")
    return Group(head, ProgressBar(total=most_s, completed=min(spent_s, most_s), width=60), trial_table(section))


def answer(section: TrialSection) -> str:
    """One sentence: what to use."""
    row, ended = section.winner, ENDS[section.ended]
    if section.ended is Ended.NOT_BEGUN:
        return "No trial was made."
    if row is None or row.speedup is None:
        return f"{ended}Nothing that was tried is surely better than the run as it is."
    if row.outcome is Outcome.SAME:
        return f"{ended}Use {row.name}: as fast as it is, with less."
    wide = row.speedup.high > WIDE * row.speedup.low
    gained = f"at least {times(row.speedup.low)}" if wide else times_between(row.speedup.low, row.speedup.high)
    return f"{ended}Use {row.name}: {gained} faster, measured ({count(row.blocks, 'block')}, {seconds(row.seconds)})."


def at_most(ceiling: Span | None) -> str | None:
    if ceiling is None:
        return None
    return f"No change to the input can gain more than {times(ceiling.high)} (measured with one cached batch)."


def notes_of(section: TrialSection) -> list[str]:
    """What else there is to say: what was left out and why, where prediction and measurement differ, the machine."""
    said = [f"{row.name}: {row.note}" for row in section.rows if row.note]
    for row in section.rows:
        if row.contradicts and row.predicted is not None and row.speedup is not None:
            was = times_between(row.predicted.low, row.predicted.high)
            said.append(f"{row.name}: predicted {was}, measured {times_between(row.speedup.low, row.speedup.high)}")
    if section.drift is not None and abs(section.drift - 1) > DRIFTED:
        said.append(f"the machine changed meanwhile: the run as it is took {percent(section.drift)} of its first time")
    return [*said, *section.notes]


def print_trial(section: TrialSection, console: Console) -> None:
    parts: list[RenderableType] = [Text(answer(section), style="bold")]
    ceiling = at_most(section.ceiling)
    if ceiling is not None:
        parts.append(Text(ceiling))
    if section.rows:
        parts += [Text(), trial_table(section)]
    parts += [Text(note, style="dim") for note in notes_of(section)]
    console.print(Group(*parts))
    if section.fix is not None and section.fix.after.strip():
        console.print()
        console.print(Text(section.fix.after.strip()), soft_wrap=True, highlight=False)
        console.print()
