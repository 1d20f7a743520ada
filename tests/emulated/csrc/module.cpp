// The Python side of the emulated machine: settings, fault switches and the log. The device itself is torch's.
#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "backend.h"
#include "machine.h"
#include "memory.h"

namespace py = pybind11;

namespace emulated {
namespace {

// Settings and faults live in the machine under its lock; these are Python's handles to them.
struct SettingsHandle {};
struct FaultsHandle {};

template <class Value>
void add_setting(py::class_<SettingsHandle>& handle, const char* name, Value Settings::*member) {
  handle.def_property(
      name, [member](const SettingsHandle&) { return settings().*member; },
      [member](const SettingsHandle&, Value value) {
        change_settings([&](Settings& it) { it.*member = value; });
      });
}

template <class Value>
void add_fault(py::class_<FaultsHandle>& handle, const char* name, Value Faults::*member) {
  handle.def_property(
      name, [member](const FaultsHandle&) { return faults().*member; },
      [member](const FaultsHandle&, Value value) {
        change_faults([&](Faults& it) { it.*member = value; });
      });
}

py::tuple as_tuple(const Operation& it) {
  return py::make_tuple(it.kind, it.name, it.copy, it.device, it.stream, it.bytes, it.thread, it.enqueued, it.start,
                        it.end);
}

py::tuple as_tuple(const HostWait& it) {
  return py::make_tuple(it.what, it.device, it.stream, it.thread, it.begin, it.end);
}

template <class Entry>
py::list as_list(const std::vector<Entry>& entries) {
  py::list list;
  for (const auto& entry : entries) {
    list.append(as_tuple(entry));
  }
  return list;
}

// torch translates its own errors only in its own functions.
void translate(std::exception_ptr error) {
  const auto raise = [](const char* type, const char* text) {
    PyErr_SetString(py::module_::import("torch").attr(type).ptr(), text);
  };
  try {
    std::rethrow_exception(error);
  } catch (const c10::OutOfMemoryError& it) {
    raise("OutOfMemoryError", it.what_without_backtrace());
  } catch (const c10::AcceleratorError& it) {
    raise("AcceleratorError", it.what_without_backtrace());
  } catch (const c10::Error& it) {
    PyErr_SetString(PyExc_RuntimeError, it.what_without_backtrace());
  }
}

void add_handles(py::module_& module) {
  py::class_<SettingsHandle> set(module, "Settings");
  set.def(py::init<>());
  add_setting(set, "pinned_gb_per_s", &Settings::pinned_gb_per_s);
  add_setting(set, "pageable_gb_per_s", &Settings::pageable_gb_per_s);
  add_setting(set, "on_device_gb_per_s", &Settings::on_device_gb_per_s);
  add_setting(set, "launch_latency_us", &Settings::launch_latency_us);
  add_setting(set, "operator_us", &Settings::operator_us);
  add_setting(set, "launch_queue", &Settings::launch_queue);
  add_setting(set, "spin", &Settings::spin);
  add_setting(set, "memory_bytes", &Settings::memory_bytes);
  add_setting(set, "profiler_start_ms", &Settings::profiler_start_ms);
  add_setting(set, "profiler_stop_ms", &Settings::profiler_stop_ms);
  add_setting(set, "profiled_launch_us", &Settings::profiled_launch_us);
  add_setting(set, "attached_launch_us", &Settings::attached_launch_us);

  py::enum_<ProfilerStart>(module, "ProfilerStart")
      .value("WORKS", ProfilerStart::kWorks)
      .value("RAISES", ProfilerStart::kRaises)
      .value("HANGS", ProfilerStart::kHangs);
  py::class_<FaultsHandle> fault(module, "Faults");
  fault.def(py::init<>());
  add_fault(fault, "events_never_complete", &Faults::events_never_complete);
  add_fault(fault, "events_out_of_memory", &Faults::events_out_of_memory);
  add_fault(fault, "capturing", &Faults::capturing);
  add_fault(fault, "profiler_start", &Faults::profiler_start);
  fault.def("lose_device", [](const FaultsHandle&, int device) {
    TORCH_CHECK(device >= 0 && device < kDevices, "there is no device ", device);
    change_faults([&](Faults& it) { it.lost[device] = true; });
  });
  fault.def("destroy_stream",
            [](const FaultsHandle&, int device, int index) { stream(device, index).destroy(true); });
}

}  // namespace
}  // namespace emulated

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  using namespace emulated;
  const auto released = py::call_guard<py::gil_scoped_release>();
  py::register_local_exception_translator(&translate);
  register_hooks();
  add_handles(module);
  module.attr("DEVICES") = kDevices;
  module.def("kernel", &run_kernel, released);
  module.def("synchronise_device", &synchronise_device, released);
  module.def("reset", &reset, released);
  module.def("current_device", &current_device);
  module.def("set_device", &set_current_device);
  module.def("in_bad_fork", &in_bad_fork);
  module.def("check_usable", &check_usable);
  module.def("capturing", [] { return faults().capturing; });
  module.def("operations", [] { return as_list(truth::operations()); });
  module.def("waits", [] { return as_list(truth::waits()); });
  module.def("counters", &truth::counters);
}
