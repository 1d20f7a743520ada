// What really happened on the emulated devices: every operation with its times, every wait of the host, and counters.
// Times are nanoseconds of the monotonic clock, the one that Python's time.perf_counter_ns() reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulated {

using Nanoseconds = int64_t;

inline Nanoseconds now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Which profiled host code an operation was enqueued in: the operator and the user's annotation around it.
struct Correlation {
  uint64_t operation = 0;
  uint64_t annotation = 0;
};

struct Operation {
  std::string kind;  // "kernel", "copy", "event" (a record), "wait" (for an event of another stream)
  std::string name;
  std::string copy;  // of a copy: "pageable_to_device", "pinned_to_device", ...
  int device = 0;
  int stream = 0;
  int64_t bytes = 0;
  int thread = 0;
  Nanoseconds enqueued = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  int64_t session = 0;  // the profiler session that recorded it; 0 is none
  Correlation correlation;
};

struct HostWait {
  std::string what;  // "stream", "device", "event", "copy", "item", "operator", "launch_queue"
  int device = 0;
  int stream = -1;  // -1 is every stream of the device
  int thread = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  int64_t session = 0;
};

namespace truth {

void add(Operation operation);
void add(HostWait wait);
void count(const std::string& what, int64_t amount = 1);

std::vector<Operation> operations();
std::vector<HostWait> waits();
std::map<std::string, int64_t> counters();
void clear();

}  // namespace truth
}  // namespace emulated
