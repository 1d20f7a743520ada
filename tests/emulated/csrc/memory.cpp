#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <vector>

#include "machine.h"

namespace emulated {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr size_t kAlignment = 64;
// CUDA's allocator rounds to this too.
constexpr size_t kGranularity = 512;

size_t rounded(size_t bytes) { return (bytes + kGranularity - 1) / kGranularity * kGranularity; }

void* take(size_t bytes) {
  void* pointer = std::aligned_alloc(kAlignment, bytes);
  if (pointer == nullptr) {
    throw std::bad_alloc();
  }
  return pointer;
}

// Blocks in use by their address, so that any pointer into one finds it.
class Blocks {
 public:
  void insert(void* pointer, size_t bytes) { blocks_.emplace(static_cast<const char*>(pointer), bytes); }

  size_t remove(void* pointer) {
    const auto it = blocks_.find(static_cast<const char*>(pointer));
    const auto bytes = it->second;
    blocks_.erase(it);
    return bytes;
  }

  bool holds(const void* pointer) const {
    const auto* at = static_cast<const char*>(pointer);
    auto it = blocks_.upper_bound(at);
    return it != blocks_.begin() && at < (--it)->first + it->second;
  }

 private:
  std::map<const char*, size_t> blocks_;
};

// Freed blocks are kept for the next request of the same size: fresh memory costs page faults, which a device has not.
class Cache {
 public:
  void* find(size_t bytes) {
    auto& free = free_[bytes];
    if (free.empty()) {
      return nullptr;
    }
    void* pointer = free.back();
    free.pop_back();
    return pointer;
  }

  void put(void* pointer, size_t bytes) { free_[bytes].push_back(pointer); }

  size_t empty() {
    size_t released = 0;
    for (auto& [bytes, free] : free_) {
      for (auto* pointer : free) {
        std::free(pointer);
        released += bytes;
      }
    }
    free_.clear();
    return released;
  }

 private:
  std::map<size_t, std::vector<void*>> free_;
};

Stat& total(StatArray& stats) { return stats[static_cast<size_t>(StatType::AGGREGATE)]; }

struct DeviceMemory {
  std::mutex mutex;
  Blocks used;
  Cache cache;
  DeviceStats stats;

  void release_cache() {
    if (const auto released = cache.empty()) {
      total(stats.reserved_bytes).decrease(released);
      ++stats.num_device_free;
    }
  }
};

DeviceMemory& memory(int device) {
  static auto* devices = new DeviceMemory[kDevices];
  return devices[device];
}

void free_device_memory(void* pointer);

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const int device = current_device();
    const c10::Device where(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device));
    check_usable(device);
    if (bytes == 0) {
      return {nullptr, nullptr, &free_device_memory, where};
    }
    auto& there = memory(device);
    const auto size = rounded(bytes);
    std::lock_guard<std::mutex> lock(there.mutex);
    void* pointer = there.cache.find(size);
    if (pointer == nullptr) {
      make_room(there, device, size, bytes);
      pointer = take(size);
      total(there.stats.reserved_bytes).increase(size);
      total(there.stats.segment).increase(1);
      ++there.stats.num_device_alloc;
    }
    there.used.insert(pointer, size);
    for (auto* sizes : {&there.stats.allocated_bytes, &there.stats.active_bytes}) {
      total(*sizes).increase(size);
    }
    total(there.stats.requested_bytes).increase(bytes);
    total(there.stats.allocation).increase(1);
    total(there.stats.active).increase(1);
    report(there, pointer, static_cast<int64_t>(size), where);
    return {pointer, pointer, &free_device_memory, where};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_device_memory; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    for (int device = 0; device < kDevices; ++device) {
      std::lock_guard<std::mutex> lock(memory(device).mutex);
      memory(device).release_cache();
    }
  }
  // Data move when the call is made, so a block that was freed is never still being read by a stream.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    std::lock_guard<std::mutex> lock(memory(device).mutex);
    return memory(device).stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    change_stats(device, [](Stat& it) { it.reset_accumulated(); });
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    change_stats(device, [](Stat& it) { it.reset_peak(); });
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    check_usable(device);
    std::lock_guard<std::mutex> lock(memory(device).mutex);
    const auto limit = settings().memory_bytes;
    const auto reserved = total(memory(device).stats.reserved_bytes).current;
    return {static_cast<size_t>(std::max<int64_t>(0, limit - reserved)), static_cast<size_t>(limit)};
  }

  static void report(DeviceMemory& there, void* pointer, int64_t change, c10::Device where) {
    c10::reportMemoryUsageToProfiler(pointer, change, total(there.stats.allocated_bytes).current,
                                     total(there.stats.reserved_bytes).current, where);
  }

 private:
  static void make_room(DeviceMemory& there, int device, size_t size, size_t asked) {
    const auto limit = settings().memory_bytes;
    const auto reserved = [&] { return total(there.stats.reserved_bytes).current; };
    const auto fits = [&] { return reserved() + static_cast<int64_t>(size) <= limit; };
    if (fits()) {
      return;
    }
    ++there.stats.num_alloc_retries;
    there.release_cache();
    if (fits()) {
      return;
    }
    ++there.stats.num_ooms;
    using c10::CachingAllocator::format_size;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "emulated out of memory. Tried to allocate ", format_size(asked),
                     ". Device ", device, " has a total capacity of ", format_size(limit), " of which ",
                     format_size(std::max<int64_t>(0, limit - reserved())), " is free. ",
                     format_size(total(there.stats.allocated_bytes).current), " is allocated by torch.");
  }

  template <class Change>
  static void change_stats(int device, Change change) {
    auto& there = memory(device);
    std::lock_guard<std::mutex> lock(there.mutex);
    for (auto* stats : {&there.stats.allocation, &there.stats.segment, &there.stats.active,
                        &there.stats.allocated_bytes, &there.stats.reserved_bytes, &there.stats.active_bytes,
                        &there.stats.requested_bytes}) {
      change(total(*stats));
    }
  }
};

void free_device_memory(void* pointer) {
  // A forked child may have inherited the lock in a locked state; it exits soon, and its memory with it.
  const int device = in_bad_fork() ? -1 : device_of(pointer);
  if (device < 0) {
    return;
  }
  auto& there = memory(device);
  std::lock_guard<std::mutex> lock(there.mutex);
  const auto size = there.used.remove(pointer);
  there.cache.put(pointer, size);
  for (auto* sizes : {&there.stats.allocated_bytes, &there.stats.active_bytes}) {
    total(*sizes).decrease(size);
  }
  total(there.stats.allocation).decrease(1);
  total(there.stats.active).decrease(1);
  DeviceAllocator::report(there, pointer, -static_cast<int64_t>(size),
                          c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device)));
}

struct PinnedMemory {
  std::mutex mutex;
  Blocks used;
  Cache cache;
};

PinnedMemory& pinned() {
  static auto* it = new PinnedMemory();
  return *it;
}

void free_pinned_memory(void* pointer) {
  if (pointer == nullptr || in_bad_fork()) {
    return;
  }
  std::lock_guard<std::mutex> lock(pinned().mutex);
  pinned().cache.put(pointer, pinned().used.remove(pointer));
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    check_usable(current_device());
    if (bytes == 0) {
      return {nullptr, nullptr, &free_pinned_memory, c10::Device(c10::DeviceType::CPU)};
    }
    const auto size = rounded(bytes);
    std::lock_guard<std::mutex> lock(pinned().mutex);
    void* pointer = pinned().cache.find(size);
    if (pointer == nullptr) {
      pointer = take(size);
    }
    pinned().used.insert(pointer, size);
    truth::count("pinned.allocations");
    truth::count("pinned.bytes", static_cast<int64_t>(bytes));
    return {pointer, pointer, &free_pinned_memory, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned_memory; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
};

}  // namespace

c10::DeviceAllocator* device_allocator() {
  static auto* it = new DeviceAllocator();
  return it;
}

c10::Allocator* pinned_allocator() {
  static auto* it = new PinnedAllocator();
  return it;
}

bool is_pinned(const void* pointer) {
  if (in_bad_fork()) {
    return false;
  }
  std::lock_guard<std::mutex> lock(pinned().mutex);
  return pinned().used.holds(pointer);
}

int device_of(const void* pointer) {
  for (int device = 0; pointer != nullptr && device < kDevices; ++device) {
    std::lock_guard<std::mutex> lock(memory(device).mutex);
    if (memory(device).used.holds(pointer)) {
      return device;
    }
  }
  return -1;
}

}  // namespace emulated
