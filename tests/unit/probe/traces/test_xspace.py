import pytest

from feedwatch.errors import TraceError
from feedwatch.probe.traces import read_trace
from feedwatch.probe.traces.analysis import analyse
from feedwatch.probe.traces.xspace import read_xspace
from tests.unit.probe.traces.builders import Ref, SpaceBuilder, gpu_space

MB = 1_000_000


def sample_of(space):
    return analyse(read_xspace(space.bytes()))


def gpu_of(space):
    return sample_of(space).devices["/device:GPU:0"]


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ("size:1000000 dest:0 async:1", "unknown"),
        ("kind:pageable size:1000000 dest:0 async:1", "pageable"),
        ("kind_src:pinned kind_dst:device size:1000000 dest:0 async:1", "pinned"),
        ("async:1 dest:0 size:1000000 kind_dst:device kind_src:managed", "other"),
        ("kind_src:unknown kind_dst:device size:1000000", "unknown"),
        (Ref("kind_src:pinned kind_dst:device size:1000000 dest:0 async:1"), "pinned"),
    ],
)
def test_all_forms_of_memcpy_details_are_read(details, kind):
    gpu = gpu_of(gpu_space(details))
    assert (gpu.copies.count, gpu.copies.size_bytes) == (1, MB)
    assert set(gpu.by_kind) == {kind}
    assert gpu.copies.gb_per_s == pytest.approx(100.0)


def test_the_host_twin_of_a_copy_is_not_counted():
    assert gpu_of(gpu_space("size:1000000", call_us=11)).copies.count == 1


@pytest.mark.parametrize(
    ("call_us", "kind"), [(10.4, "pageable"), (30.0, "pageable"), (2.0, "pinned"), (6.0, "unknown")]
)
def test_a_kind_that_is_not_stated_is_inferred_from_the_host_call_and_marked_so(call_us, kind):
    sample = sample_of(gpu_space("size:1000000 dest:0 async:1", call_us=call_us))
    assert set(sample.devices["/device:GPU:0"].by_kind) == {kind}
    assert sample.kind_inferred == (kind != "unknown")


def test_small_copies_tell_no_kind_and_a_stated_kind_is_never_overruled():
    assert not sample_of(gpu_space("size:8 dest:0 async:1", call_us=10.4)).kind_inferred
    stated = sample_of(gpu_space("kind:pinned size:1000000", call_us=30.0))
    assert set(stated.devices["/device:GPU:0"].by_kind) == {"pinned"}
    assert not stated.kind_inferred


def test_hidden_is_the_part_of_a_copy_during_which_a_kernel_ran():
    gpu = gpu_of(gpu_space("kind:pinned size:1000000", kernel=(24, 50)))
    assert gpu.hidden_share == pytest.approx(0.6)
    assert gpu.exposed_ns == pytest.approx(4_000)
    assert gpu.exposed_per_step_ns == pytest.approx(4_000)
    assert gpu.busy_ns == pytest.approx(54_000)
    assert gpu.idle_share == pytest.approx(0.46)
    assert gpu.bytes_per_step == MB


def test_input_wait_is_a_share_of_the_step():
    sample = sample_of(gpu_space("size:8"))
    assert sample.input_wait_ns == pytest.approx(15_000)
    assert sample.input_wait_share == pytest.approx(0.15)
    assert sample.input_wait_idle_ns == pytest.approx(15_000)


def test_a_wait_before_the_host_step_is_joined_by_its_group():
    space = SpaceBuilder()
    gpu = space.plane("/device:GPU:0")
    gpu.event(gpu.line("Stream #1"), "kernel", 50, 10)
    host = space.plane("/host:CPU")
    line = host.line("python")
    host.event(line, "train", 40, 60, step_num=5, group_id=3)
    host.event(line, "IteratorGetNextOp::DoCompute", 0, 30, group_id=3)
    sample = sample_of(space)
    assert sample.steps == 1
    assert sample.input_wait_share == pytest.approx(0.5)


def steps_space(device_groups, host_groups):
    space = SpaceBuilder()
    gpu = space.plane("/device:GPU:0")
    steps, stream = gpu.line("Steps"), gpu.line("Stream #1")
    for index, group in enumerate(device_groups):
        gpu.event(steps, str(group), 100 * index, 100, group_id=group)
        gpu.event(stream, "kernel", 100 * index, 10 if group in host_groups else 90)
    host = space.plane("/host:CPU")
    line = host.line("python")
    for group in host_groups:
        host.event(line, "TraceContext", 100 * group, 100, graph_type="train", step_num=group, group_id=group)
    return space


def test_a_first_and_a_last_step_without_their_host_half_are_cut_off_and_left_out():
    gpu = gpu_of(steps_space([0, 1, 2, 3], [1, 2]))
    assert gpu.steps == 2
    assert gpu.idle_share == pytest.approx(0.9)
    assert gpu.busy_ns == pytest.approx(200_000)  # totals speak of the whole file


def test_whole_first_and_last_steps_stay():
    assert gpu_of(steps_space([1, 2, 3], [1, 2, 3])).steps == 3


def test_steps_of_the_device_alone_all_stay():
    assert gpu_of(steps_space([0, 1, 2], [])).steps == 3


def test_a_profile_of_one_batch_finds_its_step_by_the_root_of_the_group():
    space = SpaceBuilder()
    space.plane("/device:GPU:0")
    host = space.plane("/host:CPU")
    line = host.line("python")
    host.event(line, "EagerKernelExecute", 0, 100, group_id=0, step_name="EagerKernelExecute 0")
    host.event(line, "IteratorGetNextOp::DoCompute", 10, 50, group_id=0)
    sample = sample_of(space)
    assert sample.steps == 1
    assert sample.input_wait_share == pytest.approx(0.5)


def test_without_get_next_events_the_iterator_roots_speak():
    space = gpu_space("size:8")
    space.space.planes[1].lines[0].events.pop()
    host = space.plane("/host:CPU")
    line = host.line("tf_data")
    host.event(line, "Iterator::Prefetch", 0, 20)
    host.event(line, "Iterator::Prefetch::Map", 0, 90)
    assert sample_of(space).input_wait_ns == pytest.approx(20_000)


def test_aggregated_events_have_no_time_and_are_said_to_be_left_out():
    space = gpu_space("size:8")
    plane = space.plane("/device:GPU:1")
    plane.event(plane.line("Stream #2"), "kernel", 0, 5, occurrences=9)
    plane.event(plane.line("Stream #3"), "kernel", 0, 5)
    sample = sample_of(space)
    assert sample.devices["/device:GPU:1"].kernels == 1
    assert any("aggregated" in problem for problem in sample.problems)


def test_the_profilers_error_text_is_the_answer_when_there_is_no_device_data():
    space = SpaceBuilder()
    space.plane("/device:GPU:0")
    space.plane("/host:CPU")
    space.error("node-3: Failed to load libcupti\n(is it installed?)")
    sample = sample_of(space)
    assert sample.devices == {}
    assert "no device data: node-3: Failed to load libcupti (is it installed?)" in sample.problems


def test_an_empty_gpu_plane_beside_others_is_unknown_not_idle():
    space = gpu_space("size:8")
    space.plane("/device:GPU:1")
    sample = sample_of(space)
    assert list(sample.devices) == ["/device:GPU:0"]
    assert "no device data for /device:GPU:1" in sample.problems


def test_no_copies_and_no_steps_are_answers_of_their_own():
    space = SpaceBuilder()
    gpu = space.plane("/device:GPU:0")
    gpu.event(gpu.line("Stream #1"), "kernel", 0, 5)
    sample = sample_of(space)
    assert sample.devices["/device:GPU:0"].copies.count == 0
    assert sample.devices["/device:GPU:0"].hidden_share is None
    assert sample.devices["/device:GPU:0"].idle_share is None
    assert sample.step_ns is None
    starts = {problem.split(":")[0] for problem in sample.problems}
    assert {"no copies", "no steps", "input wait unknown"} <= starts
    assert "no device data" not in starts


def test_amd_copy_kernels_make_copies_unknown():
    space = SpaceBuilder()
    gpu = space.plane("/device:GPU:0")
    gpu.event(gpu.line("Stream #1"), "__amd_rocclr_copyBuffer.kd", 0, 5)
    assert any(problem.startswith("copies unknown") for problem in sample_of(space).problems)


def test_all_bytes_of_a_device_that_feeds_the_others_stay_with_it():
    space = gpu_space("size:1000000")
    other = space.plane("/device:GPU:1")
    other.event(other.line("Stream #1"), "kernel", 0, 5)
    sample = sample_of(space)
    assert sample.devices["/device:GPU:0"].copies.size_bytes == MB
    assert sample.devices["/device:GPU:1"].copies.size_bytes == 0


def test_f15_a_truncated_file_an_empty_one_and_a_bare_plane_are_one_line(tmp_path):
    whole = gpu_space("size:8").bytes()
    bare = gpu_space("size:8").space.planes[0].SerializeToString()
    for name, data in {"cut": whole[: len(whole) - 9], "empty": b"", "bare": bare, "text": b"hello world"}.items():
        path = tmp_path / f"{name}.xplane.pb"
        path.write_bytes(data)
        with pytest.raises(TraceError) as raised:
            read_trace(path)
        assert path.name in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_broken_character_in_a_name_does_not_make_the_file_unreadable():
    space = gpu_space("size:8")
    space.space.planes[0].event_metadata[0].value.name = b"\xff\xfe"
    assert gpu_of(space).copies.count == 1
