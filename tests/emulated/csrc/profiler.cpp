// Kineto's child profiler for the emulated device: a real torch.profiler gets its copies, kernels, annotations and
// host calls as it gets CUDA's from CUPTI. Its source is the log, so a trace never says anything else than the truth.
#include <GenericTraceActivity.h>
#include <IActivityProfiler.h>
#include <libkineto.h>
#include <output_base.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <tuple>

#include "machine.h"

namespace emulated {
namespace {

using libkineto::ActivityType;

Nanoseconds wall_clock_ahead_by() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - now();
}

// Outermost last. torch pushes and pops around every operator and annotation of the thread.
thread_local std::vector<uint64_t> t_operations;
thread_local std::vector<uint64_t> t_annotations;

uint64_t last(const std::vector<uint64_t>& ids) { return ids.empty() ? 0 : ids.back(); }

void push(std::vector<uint64_t>& ids, uint64_t id) {
  ids.push_back(id);
  correlation() = {last(t_operations), last(t_annotations)};
}

void pop(std::vector<uint64_t>& ids) {
  if (!ids.empty()) {
    ids.pop_back();
  }
  correlation() = {last(t_operations), last(t_annotations)};
}

void start_as_told() {
  const auto began_in = generation();
  switch (faults().profiler_start) {
    case ProfilerStart::kWorks:
      break;
    case ProfilerStart::kRaises:
      throw std::runtime_error("emulated error: the profiler cannot start (insufficient privileges)");
    case ProfilerStart::kHangs: {
      // torch calls this with the interpreter's lock. A hang keeps the lock free, or no test in this process could end it.
      const std::unique_ptr<pybind11::gil_scoped_release> released(
          PyGILState_Check() != 0 ? new pybind11::gil_scoped_release() : nullptr);
      while (began_in == generation() && faults().profiler_start == ProfilerStart::kHangs) {
        sleep_ms(1);
      }
    }
  }
}

class Session final : public libkineto::IActivityProfilerSession {
 public:
  Session() : number_(next_number()) {}

  void start() override {
    start_as_told();
    sleep_ms(settings().profiler_start_ms);
    ahead_ = wall_clock_ahead_by();
    buffer_->span = libkineto::TraceSpan(now() + ahead_, 0, "emulated");
    status_ = libkineto::TraceStatus::RECORDING;
    set_recording(number_);
  }

  // CUPTI, too, gives only what is complete by now.
  void stop() override {
    set_recording(0);
    sleep_ms(settings().profiler_stop_ms);
    buffer_->span.endTime = now() + ahead_;
    status_ = libkineto::TraceStatus::PROCESSING;
  }

  void processTrace(libkineto::ActivityLogger& logger) override { processTrace(logger, {}, 0, 0); }

  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked, int64_t /*start*/,
                    int64_t /*end*/) override {
    int32_t id = 0;
    for (const auto& operation : truth::operations()) {
      if (operation.session == number_ && (operation.kind == "kernel" || operation.kind == "copy")) {
        add_device_activity(operation, ++id, linked);
        add_host_activity(operation, id);
        widen_annotation(operation);
      }
    }
    for (const auto& wait : truth::waits()) {
      if (wait.session == number_) {
        add_host_wait(wait, ++id);
      }
    }
    add_annotations(linked);
    buffer_->gpuOpCount = static_cast<int>(buffer_->activities.size());
    for (const auto& activity : buffer_->activities) {
      logger.handleGenericActivity(*activity);
    }
  }

  std::vector<std::string> errors() override { return {}; }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

  void pushCorrelationId(uint64_t id) override { push(t_operations, id); }
  void popCorrelationId() override { pop(t_operations); }
  void pushUserCorrelationId(uint64_t id) override { push(t_annotations, id); }
  void popUserCorrelationId() override { pop(t_annotations); }

 private:
  struct Reach {
    Nanoseconds start;
    Nanoseconds end;
  };

  static int64_t next_number() {
    static std::atomic<int64_t> number{0};
    return ++number;
  }

  libkineto::GenericTraceActivity& add(ActivityType type, const std::string& name, Nanoseconds start, Nanoseconds end) {
    buffer_->emplace_activity(buffer_->span, type, name);
    auto& activity = *buffer_->activities.back();
    activity.startTime = start + ahead_;
    activity.endTime = end + ahead_;
    return activity;
  }

  void add_device_activity(const Operation& it, int32_t id, const libkineto::getLinkedActivityCallback& linked) {
    const bool copy = it.kind == "copy";
    auto& activity = add(copy ? ActivityType::GPU_MEMCPY : ActivityType::CONCURRENT_KERNEL, it.name, it.start, it.end);
    activity.id = id;
    activity.device = it.device;
    activity.resource = it.stream;
    activity.flow.id = id;
    activity.flow.type = libkineto::kLinkAsyncCpuGpu;
    if (linked && it.correlation.operation != 0) {
      activity.linked = linked(static_cast<int32_t>(it.correlation.operation));
    }
    activity.addMetadata("device", it.device);
    activity.addMetadata("stream", it.stream);
    activity.addMetadata("correlation", id);
    if (copy) {
      activity.addMetadata("bytes", it.bytes);
      activity.addMetadata("memory bandwidth (GB/s)",
                           it.end > it.start ? static_cast<double>(it.bytes) / static_cast<double>(it.end - it.start)
                                             : 0.0);
    }
  }

  // The call that enqueued it. It returned within the launch latency.
  void add_host_activity(const Operation& it, int32_t id) {
    const auto* name = it.kind == "copy" ? "emulatedMemcpyAsync" : "emulatedLaunchKernel";
    auto& activity = add(ActivityType::PRIVATEUSE1_RUNTIME, name, it.enqueued, it.enqueued + 1000);
    place_on_host(activity, it.thread, id);
    activity.flow.id = id;
    activity.flow.type = libkineto::kLinkAsyncCpuGpu;
    activity.flow.start = true;
  }

  void add_host_wait(const HostWait& it, int32_t id) {
    const auto* name = it.what == "device" ? "emulatedDeviceSynchronize"
                       : it.what == "event" ? "emulatedEventSynchronize"
                                            : "emulatedStreamSynchronize";
    place_on_host(add(ActivityType::PRIVATEUSE1_RUNTIME, name, it.begin, it.end), it.thread, id);
  }

  static void place_on_host(libkineto::GenericTraceActivity& activity, int thread, int32_t id) {
    activity.id = id;
    activity.device = getpid();
    activity.resource = thread;
    activity.threadId = thread;
    activity.addMetadata("correlation", id);
  }

  // An annotation has a twin on every stream that got work from inside it, from its first start to its last end.
  void widen_annotation(const Operation& it) {
    if (it.correlation.annotation == 0) {
      return;
    }
    const auto key = std::make_tuple(it.correlation.annotation, it.device, it.stream);
    auto& reach = reaches_.try_emplace(key, Reach{it.start, it.end}).first->second;
    reach.start = std::min(reach.start, it.start);
    reach.end = std::max(reach.end, it.end);
  }

  void add_annotations(const libkineto::getLinkedActivityCallback& linked) {
    for (const auto& [key, reach] : reaches_) {
      const auto& [annotation, device, stream] = key;
      const auto* host = linked ? linked(static_cast<int32_t>(annotation)) : nullptr;
      if (host != nullptr) {
        auto& activity = add(ActivityType::GPU_USER_ANNOTATION, host->name(), reach.start, reach.end);
        activity.id = static_cast<int32_t>(annotation);
        activity.device = device;
        activity.resource = stream;
        activity.linked = host;
      }
    }
  }

  const int64_t number_;
  Nanoseconds ahead_ = 0;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
  std::map<std::tuple<uint64_t, int, int>, Reach> reaches_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return activities_; }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& wanted,
                                                                 const libkineto::Config&) override {
    const bool device = wanted.count(ActivityType::GPU_MEMCPY) + wanted.count(ActivityType::CONCURRENT_KERNEL) > 0;
    return device ? std::make_unique<Session>() : nullptr;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t, int64_t, const std::set<ActivityType>& wanted,
                                                                 const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  const std::string name_ = "emulated";
  const std::set<ActivityType> activities_{ActivityType::GPU_MEMCPY, ActivityType::CONCURRENT_KERNEL,
                                           ActivityType::GPU_USER_ANNOTATION, ActivityType::PRIVATEUSE1_RUNTIME};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

}  // namespace
}  // namespace emulated
