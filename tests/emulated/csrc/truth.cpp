#include "truth.h"

#include <mutex>

namespace emulated::truth {
namespace {

struct Log {
  std::mutex mutex;
  std::vector<Operation> operations;
  std::vector<HostWait> waits;
  std::map<std::string, int64_t> counters;
};

// Never destroyed: the streams' threads may still write while the process exits.
Log& log() {
  static auto* it = new Log();
  return *it;
}

}  // namespace

void add(Operation operation) {
  std::lock_guard<std::mutex> lock(log().mutex);
  log().operations.push_back(std::move(operation));
}

void add(HostWait wait) {
  std::lock_guard<std::mutex> lock(log().mutex);
  ++log().counters["wait." + wait.what];
  log().waits.push_back(std::move(wait));
}

void count(const std::string& what, int64_t amount) {
  std::lock_guard<std::mutex> lock(log().mutex);
  log().counters[what] += amount;
}

std::vector<Operation> operations() {
  std::lock_guard<std::mutex> lock(log().mutex);
  return log().operations;
}

std::vector<HostWait> waits() {
  std::lock_guard<std::mutex> lock(log().mutex);
  return log().waits;
}

std::map<std::string, int64_t> counters() {
  std::lock_guard<std::mutex> lock(log().mutex);
  return log().counters;
}

void clear() {
  std::lock_guard<std::mutex> lock(log().mutex);
  log().operations.clear();
  log().waits.clear();
  log().counters.clear();
}

}  // namespace emulated::truth
