"""Every fact that a rule reads has a writer, or stands in the table of what cannot be known where."""

import pytest

from feedwatch.advise.pages import page_markdown
from feedwatch.advise.registry import RETIRED, RULES, rule
from feedwatch.advise.seen_with import ABSENT, PART_OF, Framework, seen_with, why_not, with_parts
from tests.rules.ablation import needs_of
from tests.rules.fact_flow import ALL_FACTS, TRACKED, doors, read_by_rule, read_in, written_behind
from tests.rules.test_rules_on_cases import CASES

DOOR = {
    Framework.LIGHTNING: "feedwatch.lightning",
    Framework.TORCH_LOOP: "feedwatch.torch",
    Framework.KERAS_TENSORFLOW: "feedwatch.keras",
    Framework.KERAS_TORCH: "feedwatch.keras",
    Framework.KERAS_JAX: "feedwatch.keras",
}

# A door that hands over at least what another one does: what is said of that one holds for it, too.
AT_LEAST = {"feedwatch.huggingface": Framework.TORCH_LOOP}

# Rooms that use facts after they were handed over.
READERS = ("advise", "diagnose", "report", "digest", "session", "probe")

# Facts that none of these rooms reads by name.
READ_ELSEWHERE = {
    "BatchFacts.device": "the torch room: a batch that arrives on the device makes LoaderFacts.device_tensors",
    "LoaderFacts.dataset_len": "the torch room: items against bytes make LoaderFacts.in_memory",
    "DeviceFacts.name": "the fault tests tell by it which GPU was asked",
    "PyDatasetFacts.ready_share": "whether a PyDataset's workers keep up; no rule asks for it yet",
    "PyDatasetFacts.use_multiprocessing": "a setting of the user's; the settings of a pipeline are kept whole",
    "TfDataFacts.autotune": "the tf.data room: the table of settings in the report",
    "TfDataFacts.deterministic": "the tf.data room: the table of settings in the report",
    "TfStage.batch_size": "the tf.data room: makes TfDataFacts.elements_per_batch",
    "TfStage.buffered": "the tf.data room: makes Stage.buffer",
}
# Written by hooks and probes ahead of the rules that will read them. A line goes when its rule comes.
AHEAD_OF_RULES = {
    "HostFacts.children_cpus",
    "LoaderFacts.one_rank_loads",
    "PipelineFacts.members",
    "PyDatasetFacts.item_ms",
}
# Read by a rule ahead of the hook that will write it. A line goes when its writer comes.
AHEAD_OF_HOOKS: set[str] = set()
# These go into the report as they are.
SHOWN_WHOLE = ("Stage", "WorkerTime")

by_code = pytest.mark.parametrize("one", RULES, ids=lambda one: one.code)
by_framework = pytest.mark.parametrize("framework", Framework, ids=lambda one: one.value)


def absent(fact, framework):
    return any(framework in row.where and not set(row.what).isdisjoint(with_parts(fact)) for row in ABSENT)


def read_by_rules():
    """Of the facts that hooks hand over; what rules read of themselves (`rule.name`) is none."""
    return set().union(*(read_by_rule(one.check.__module__) for one in RULES)) | read_in("diagnose")[0]


def test_every_door_leads_to_a_framework_in_the_table():
    assert set(DOOR.values()) | set(AT_LEAST) == doors()
    assert set(DOOR) == set(Framework)


@by_framework
def test_every_fact_that_a_rule_reads_has_a_writer_or_a_reason(framework):
    written = written_behind(DOOR[framework])
    missing = {fact for fact in read_by_rules() - written if not absent(fact, framework)}
    assert missing - AHEAD_OF_HOOKS == set(), (
        f"no code behind {DOOR[framework]} writes them, and ABSENT gives no reason"
    )


@pytest.mark.parametrize("door", AT_LEAST)
def test_a_door_that_stands_in_no_table_of_its_own_hands_over_as_much_as_its_example(door):
    like = AT_LEAST[door]
    missing = {fact for fact in read_by_rules() - written_behind(door) if not absent(fact, like)}
    assert missing == set()


def test_what_is_called_absent_behind_a_whole_door_is_written_nowhere_there():
    stale = [
        (fact, door)
        for row in ABSENT
        for fact in row.what
        for door in set(DOOR.values())
        if fact in written_behind(door) and all(absent(fact, one) for one in Framework if DOOR[one] == door)
    ]
    assert stale == [], "there is a writer now: take them out of ABSENT, or name the backends that lack them"


def test_a_fact_whose_writer_has_come_is_no_longer_ahead_of_it():
    assert all(AHEAD_OF_HOOKS.isdisjoint(written_behind(door)) for door in doors())


def test_every_fact_has_a_reader():
    read, _ = read_in(*READERS)
    unread = {fact for fact in ALL_FACTS - read if fact.partition(".")[0] not in SHOWN_WHOLE}
    assert unread == set(READ_ELSEWHERE) | AHEAD_OF_RULES, "a fact that nobody reads is dead: delete it and its writers"


def test_it_is_clear_which_fact_each_rule_reads():
    _, doubts = read_in("advise", "diagnose")
    assert [doubt for doubt in doubts if ".rules." in doubt or ".questions." in doubt or ".diagnose." in doubt] == []


def test_the_table_names_facts_and_rules_that_exist_and_gives_reasons():
    codes = {one.code for one in RULES}
    for row in ABSENT:
        assert set(row.what) <= ALL_FACTS | codes
        assert set(row.what).isdisjoint(RETIRED)
        assert row.where
        assert len(row.why) > 15
        assert not row.why.endswith(".")
    assert set(PART_OF) | {"Facts", "Stage"} == set(TRACKED)
    assert set(PART_OF.values()) <= ALL_FACTS


@by_code
def test_a_rule_names_the_facts_without_which_it_is_silent(one):
    found = sorted(needs_of(one, list(CASES[one.code].FIRES.values())))
    assert sorted(one.needs) == found, f"write needs={tuple(found)} into the rule"


@by_code
def test_a_rule_reads_what_it_needs(one):
    about_facts = {fact for fact in one.needs if fact in ALL_FACTS}
    assert about_facts <= read_by_rule(one.check.__module__)


@by_code
def test_a_rule_can_be_seen_somewhere_and_its_page_says_where(one):
    assert seen_with(one)
    page = page_markdown(one.code)
    assert f"Seen with: {', '.join(framework.value for framework in seen_with(one))}." in page
    for framework in Framework:
        assert framework in seen_with(one) or f"{why_not(one, framework)}." in page


def test_a_fact_is_unknown_where_the_part_it_belongs_to_is():
    assert with_parts("WorkerTime.fetch_ms") == (
        "WorkerTime.fetch_ms", "LoaderFacts.workers", "PipelineFacts.loader", "Facts.pipeline",
    )  # fmt: skip
    assert Framework.KERAS_JAX not in seen_with(rule("FW112"))


@pytest.mark.parametrize(
    ("code", "frameworks"),
    [
        ("FW101", tuple(Framework)),
        ("FW120", (Framework.KERAS_TENSORFLOW, Framework.KERAS_TORCH, Framework.KERAS_JAX)),
        ("FW122", (Framework.KERAS_TENSORFLOW,)),
        ("FW202", (Framework.LIGHTNING,)),
        ("FW307", tuple(Framework)),
        ("FW309", (Framework.KERAS_TENSORFLOW, Framework.KERAS_JAX)),
        ("FW311", tuple(one for one in Framework if one is not Framework.TORCH_LOOP)),
    ],
)
def test_where_some_rules_are_seen(code, frameworks):
    assert seen_with(rule(code)) == frameworks
