#include "machine.h"

#include <c10/util/Exception.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

namespace emulated {
namespace {

// Error codes and texts that CUDA gives in the same situations.
constexpr int kOutOfDevices = 101;
constexpr int kInvalidHandle = 400;
constexpr int kLost = 719;
constexpr int kCapturing = 900;

constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max() / 4;

struct Machine {
  std::mutex mutex;
  Settings settings;
  Faults faults;
  std::array<std::array<Stream*, kStreamsPerDevice>, kDevices> streams{};
  std::array<int, kDevices> pool_turn{};
};

// Never destroyed, as the streams' threads outlive main().
Machine& machine() {
  static auto* it = new Machine();
  return *it;
}

std::atomic<int64_t> g_generation{1};
std::atomic<int64_t> g_session{0};
std::atomic<bool> g_was_recorded{false};
std::atomic<bool> g_in_use{false};
std::atomic<bool> g_bad_fork{false};

thread_local int t_device = 0;
thread_local std::array<int, kDevices> t_stream{};
thread_local Correlation t_correlation;

[[noreturn]] void fail(int code, const std::string& text) {
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, code, "emulated error: " + text);
}

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { g_bad_fork = g_in_use.load(); }); });
}

Nanoseconds in_ns(double ms) {
  return ms * 1e6 >= static_cast<double>(kForever) ? kForever : std::llround(ms * 1e6);
}

// What a profiler costs the host: the thread is busy, not asleep, as it is inside CUPTI's callbacks.
void pay_for_profiling(const Settings& set) {
  const double us = recording() != 0 ? set.profiled_launch_us : g_was_recorded ? set.attached_launch_us : 0.0;
  for (const auto until = now() + in_ns(us / 1e3); us > 0 && now() < until;) {
  }
}

template <class Action>
void for_each_stream(int device, Action action) {
  std::vector<Stream*> there;
  {
    std::lock_guard<std::mutex> lock(machine().mutex);
    for (auto* it : machine().streams[device]) {
      if (it != nullptr) {
        there.push_back(it);
      }
    }
  }
  for (auto* it : there) {
    action(*it);
  }
}

HostWait begin_wait(const char* what, int device, int stream) {
  HostWait wait;
  wait.what = what;
  wait.device = device;
  wait.stream = stream;
  wait.thread = thread_id();
  wait.session = recording();
  wait.begin = now();
  return wait;
}

void check_device(int device) {
  if (device < 0 || device >= kDevices) {
    fail(kOutOfDevices, "invalid device ordinal " + std::to_string(device));
  }
}

}  // namespace

Settings settings() {
  std::lock_guard<std::mutex> lock(machine().mutex);
  return machine().settings;
}

void change_settings(const std::function<void(Settings&)>& change) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  change(machine().settings);
}

Faults faults() {
  std::lock_guard<std::mutex> lock(machine().mutex);
  return machine().faults;
}

void change_faults(const std::function<void(Faults&)>& change) {
  {
    std::lock_guard<std::mutex> lock(machine().mutex);
    change(machine().faults);
  }
  // Whoever waits on a device that is lost now must raise.
  for (int device = 0; device < kDevices; ++device) {
    for_each_stream(device, [](Stream& it) { it.wake(); });
  }
}

Stream::Stream(int device, int index) : device_(device), index_(index) {
  watch_forks();
  g_in_use = true;
  std::thread worker([this] { run(); });
  const auto name = "emulated " + std::to_string(device) + ":" + std::to_string(index);
  pthread_setname_np(worker.native_handle(), name.c_str());
  worker.detach();
}

void Stream::enqueue(Task task) {
  check();
  const auto set = settings();
  pay_for_profiling(set);
  task.operation.device = device_;
  task.operation.stream = index_;
  task.operation.thread = thread_id();
  task.operation.session = recording();
  task.operation.correlation = t_correlation;
  std::unique_lock<std::mutex> lock(mutex_);
  if (static_cast<int64_t>(queue_.size()) >= set.launch_queue) {
    lock.unlock();
    host_wait("launch_queue", [&] { return static_cast<int64_t>(queue_.size()) < set.launch_queue; });
    lock.lock();
  }
  task.generation = generation();
  task.operation.enqueued = now();
  queue_.push_back(std::move(task));
  ++enqueued_;
  lock.unlock();
  arrived_.notify_one();
}

void Stream::run() {
  for (;;) {
    Task task = next();
    free_at_ = std::max(free_at_, await(task));
    auto& done = task.operation;
    done.start = std::max(free_at_, done.enqueued + in_ns(settings().launch_latency_us / 1e3));
    done.end = done.start + task.duration;
    sleep_until(done.end, task.generation);
    if (task.generation != generation()) {
      done.end = std::min(done.end, now());
      done.start = std::min(done.start, done.end);
    }
    free_at_ = done.end;
    const auto passed_at = done.end;
    truth::add(std::move(task.operation));
    std::lock_guard<std::mutex> lock(mutex_);
    if (task.reaches && !task.reaches->never) {
      task.reaches->at = passed_at;
      task.reaches->passed = true;
    }
    ++completed_;
    if (watchers_ > 0) {
      progress_.notify_all();
    }
  }
}

Task Stream::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  arrived_.wait(lock, [this] { return !queue_.empty(); });
  Task task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

Nanoseconds Stream::await(const Task& task) {
  if (!task.awaits) {
    return 0;
  }
  auto& other = *task.awaits->stream;
  std::unique_lock<std::mutex> lock(other.mutex_);
  ++other.watchers_;
  other.progress_.wait(lock, [&] { return task.awaits->passed || task.generation != generation(); });
  --other.watchers_;
  return task.awaits->passed ? task.awaits->at : now();
}

void Stream::sleep_until(Nanoseconds end, int64_t generation_of_task) {
  if (end <= now()) {
    return;
  }
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(end)};
  std::unique_lock<std::mutex> lock(mutex_);
  abandoned_.wait_until(lock, until, [&] { return generation_of_task != generation(); });
}

void Stream::host_wait(const char* what, const std::function<bool()>& over) {
  auto wait = begin_wait(what, device_, index_);
  wait_until(over);
  wait.end = now();
  truth::add(std::move(wait));
  check_usable(device_);
}

// Over as well when the device is lost or everything is abandoned: nothing will ever pass then.
void Stream::wait_until(const std::function<bool()>& over) {
  const auto began_in = generation();
  const auto ends = [&] { return over() || began_in != generation() || faults().lost[device_]; };
  if (settings().spin) {
    for (bool done = false; !done;) {
      std::lock_guard<std::mutex> lock(mutex_);
      done = ends();
    }
    return;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  ++watchers_;
  progress_.wait(lock, ends);
  --watchers_;
}

void Stream::synchronise(const char* what) {
  check();
  check_not_capturing("a synchronisation");
  const auto target = enqueued();
  host_wait(what, [this, target] { return completed_ >= target; });
}

void Stream::drain() {
  const auto target = enqueued();
  wait_until([this, target] { return completed_ >= target; });
}

int64_t Stream::enqueued() {
  std::lock_guard<std::mutex> lock(mutex_);
  return enqueued_;
}

bool Stream::idle() {
  check();
  check_not_capturing("a query");
  truth::count("query.stream");
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ == enqueued_;
}

bool Stream::has_passed(const Moment& moment) {
  check_usable(device_);
  check_not_capturing("a query");
  truth::count("query.event");
  std::lock_guard<std::mutex> lock(mutex_);
  return moment.passed;
}

void Stream::wait_for(const Moment& moment) {
  check_usable(device_);
  check_not_capturing("a synchronisation");
  host_wait("event", [&moment] { return moment.passed; });
}

void Stream::wake() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
  }
  abandoned_.notify_all();
  progress_.notify_all();
}

void Stream::destroy(bool destroyed) {
  std::lock_guard<std::mutex> lock(mutex_);
  destroyed_ = destroyed;
}

void Stream::check() {
  check_usable(device_);
  std::lock_guard<std::mutex> lock(mutex_);
  if (destroyed_) {
    fail(kInvalidHandle, "invalid resource handle: the stream was destroyed");
  }
}

Stream& stream(int device, int index) {
  check_device(device);
  check_usable(device);
  std::lock_guard<std::mutex> lock(machine().mutex);
  auto& slot = machine().streams[device].at(index);
  if (slot == nullptr) {
    slot = new Stream(device, index);
  }
  return *slot;
}

int current_stream_index(int device) {
  check_device(device);
  return t_stream[device];
}

Stream& current_stream(int device) { return stream(device, current_stream_index(device)); }

void set_current_stream(int device, int index) {
  check_device(device);
  t_stream[device] = index;
}

int next_pool_stream(int device) {
  check_device(device);
  check_usable(device);
  std::lock_guard<std::mutex> lock(machine().mutex);
  auto& turn = machine().pool_turn[device];
  turn = turn % (kStreamsPerDevice - 1) + 1;
  return turn;
}

int current_device() { return t_device; }

void set_current_device(int device) {
  check_device(device);
  t_device = device;
}

void synchronise_device(int device) {
  check_device(device);
  check_usable(device);
  check_not_capturing("a synchronisation");
  auto wait = begin_wait("device", device, -1);
  for_each_stream(device, [](Stream& it) { it.drain(); });
  wait.end = now();
  truth::add(std::move(wait));
  check_usable(device);
}

void run_kernel(double duration_ms, const std::string& name, int device) {
  Task task;
  task.operation.kind = "kernel";
  task.operation.name = name;
  task.duration = in_ns(duration_ms);
  truth::count("kernels");
  current_stream(device).enqueue(std::move(task));
}

void reset() {
  ++g_generation;
  change_faults([](Faults& it) { it = Faults(); });
  change_settings([](Settings& it) { it = Settings(); });
  g_was_recorded = false;
  for (int device = 0; device < kDevices; ++device) {
    for_each_stream(device, [](Stream& it) { it.destroy(false); });
    for_each_stream(device, [](Stream& it) { it.drain(); });
  }
  truth::clear();
}

int64_t generation() { return g_generation; }

Correlation& correlation() { return t_correlation; }

void set_recording(int64_t session) {
  if (session != 0) {
    g_was_recorded = true;
  }
  g_session = session;
}

int64_t recording() { return g_session; }

int thread_id() {
  thread_local const int id = static_cast<int>(syscall(SYS_gettid));
  return id;
}

void sleep_ms(double ms) { std::this_thread::sleep_for(std::chrono::nanoseconds(in_ns(ms))); }

bool in_bad_fork() { return g_bad_fork; }

void check_usable(int device) {
  TORCH_CHECK(!in_bad_fork(), "Cannot re-initialize the emulated device in forked subprocess. To use it with ",
              "multiprocessing, you must use the 'spawn' start method");
  if (faults().lost[device]) {
    fail(kLost, "unspecified launch failure: device " + std::to_string(device) + " is lost");
  }
}

void check_not_capturing(const char* what) {
  if (faults().capturing) {
    truth::count("forbidden_during_capture");
    fail(kCapturing, std::string("operation not permitted when stream is capturing: ") + what);
  }
}

}  // namespace emulated
