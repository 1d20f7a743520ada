// The emulated machine: two devices with in-order streams, moments that streams pass, settings and fault switches.
//
// A stream is a thread that works its queue off in order, but the times of its operations are arithmetic: an operation
// starts at the later of its arrival and the end of the one before it, and ends its duration later. The thread only
// sleeps until then. So a busy machine delays when the host *sees* that something is done, never the device's own times.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "truth.h"

namespace emulated {

constexpr int kDevices = 2;
// The default stream and a pool that is handed out in turn, as CUDA does it.
constexpr int kStreamsPerDevice = 33;

struct Settings {
  double pinned_gb_per_s = 12.0;
  double pageable_gb_per_s = 4.0;
  double on_device_gb_per_s = 500.0;
  double launch_latency_us = 5.0;  // from enqueueing to the earliest start
  double operator_us = 0.0;        // device time of each arithmetic operator; 0 enqueues nothing for it
  int64_t launch_queue = 1024;     // so many operations may be queued before the host waits
  bool spin = false;               // host waits burn a core, as CUDA's do by default, instead of sleeping
  int64_t memory_bytes = int64_t{1} << 30;  // per device
  double profiler_start_ms = 0.0;
  double profiler_stop_ms = 0.0;
  double profiled_launch_us = 0.0;   // host time that each enqueueing costs while a profiler records
  double attached_launch_us = 0.0;   // the same after the first recording, for ever: Kineto leaves CUPTI attached
};

Settings settings();
void change_settings(const std::function<void(Settings&)>& change);

enum class ProfilerStart { kWorks, kRaises, kHangs };

struct Faults {
  int events_never_complete = 0;  // so many of the next recorded events
  int events_out_of_memory = 0;   // so many of the next created events raise
  bool lost[kDevices] = {};
  bool capturing = false;  // a graph capture is in progress on every stream
  ProfilerStart profiler_start = ProfilerStart::kWorks;
};

Faults faults();
void change_faults(const std::function<void(Faults&)>& change);

class Stream;

// A point in a stream's work that others can wait for; guarded by the stream's own lock.
struct Moment {
  Stream* stream = nullptr;
  bool passed = false;
  bool never = false;
  Nanoseconds at = 0;
};

struct Task {
  Operation operation;
  Nanoseconds duration = 0;
  std::shared_ptr<Moment> reaches;  // passed once the stream gets here
  std::shared_ptr<Moment> awaits;   // of another stream
  int64_t generation = 0;
};

class Stream {
 public:
  Stream(int device, int index);

  // Completes the operation's device, stream, thread and times. Waits where the launch queue is full.
  void enqueue(Task task);
  void synchronise(const char* what);
  bool idle();
  bool has_passed(const Moment& moment);
  void wait_for(const Moment& moment);
  void wake();

  // Waits for all that is queued now, without an entry in the log.
  void drain();

  int device() const { return device_; }
  int index() const { return index_; }
  void destroy(bool destroyed);
  void check();

 private:
  void run();
  Task next();
  int64_t enqueued();
  Nanoseconds await(const Task& task);
  void sleep_until(Nanoseconds end, int64_t generation);
  void host_wait(const char* what, const std::function<bool()>& over);
  void wait_until(const std::function<bool()>& over);

  const int device_;
  const int index_;
  std::mutex mutex_;
  std::condition_variable arrived_;    // a task came
  std::condition_variable abandoned_;  // what is queued shall end now
  std::condition_variable progress_;   // a task is done
  std::deque<Task> queue_;
  int64_t enqueued_ = 0;
  int64_t completed_ = 0;
  int watchers_ = 0;
  bool destroyed_ = false;
  Nanoseconds free_at_ = 0;  // only the stream's thread touches it
};

Stream& stream(int device, int index);
Stream& current_stream(int device);
int current_stream_index(int device);
void set_current_stream(int device, int index);
int next_pool_stream(int device);

int current_device();
void set_current_device(int device);

void synchronise_device(int device);
void run_kernel(double duration_ms, const std::string& name, int device);

// Abandons what is queued, mends every fault, restores the settings and empties the log.
void reset();
int64_t generation();

// Of the thread that calls; the profiler sets it, enqueueing reads it.
Correlation& correlation();
// The profiler's session that is recording; 0 is none.
void set_recording(int64_t session);
int64_t recording();

int thread_id();
void sleep_ms(double ms);

// After a fork the streams' threads are gone: a used device must not be touched in the child, as with CUDA.
bool in_bad_fork();

// Raise as torch does: torch.AcceleratorError. `check_not_capturing` is for what CUDA forbids during graph capture.
void check_usable(int device);
void check_not_capturing(const char* what);

}  // namespace emulated
