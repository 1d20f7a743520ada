// The device guard (devices, streams, events) and the accelerator hooks (availability, pinned memory, generators).
#include "backend.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "machine.h"
#include "memory.h"

namespace emulated {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

c10::Device device_at(int index) { return {kType, static_cast<c10::DeviceIndex>(index)}; }

int index_of(c10::Device device) { return device.has_index() ? device.index() : current_device(); }

c10::Stream torch_stream(int device, int index) {
  return c10::Stream(c10::Stream::UNSAFE, device_at(device), index);
}

Stream& ours(const c10::Stream& it) { return stream(it.device_index(), static_cast<int>(it.id())); }

// What torch holds for an event. Every recording is a new moment: who waits for an old one is not disturbed.
struct Event {
  std::shared_ptr<Moment> moment;
};

Moment& moment_of(void* event) { return *static_cast<Event*>(event)->moment; }

bool use_up(int Faults::*count) {
  bool used = false;
  change_faults([&](Faults& it) {
    used = it.*count > 0;
    it.*count -= used ? 1 : 0;
  });
  return used;
}

Event* new_event(int device) {
  check_usable(device);
  if (faults().events_out_of_memory > 0 && use_up(&Faults::events_out_of_memory)) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "emulated out of memory. Tried to create an event.");
  }
  return new Event();
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  c10::Device getDevice() const override { return device_at(current_device()); }
  void setDevice(c10::Device device) const override { set_current_device(index_of(device)); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { set_current_device(index_of(device)); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }

  c10::Stream getStream(c10::Device device) const override {
    const int index = index_of(device);
    return torch_stream(index, current_stream_index(index));
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return torch_stream(index_of(device), 0); }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    const int index = index_of(device);
    return torch_stream(index, next_pool_stream(index));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*is_high_priority*/) const override {
    return getNewStream(device, 0);
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const auto before = getStream(next.device());
    set_current_stream(next.device_index(), static_cast<int>(next.id()));
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream it) const override { return &ours(it); }
  bool queryStream(const c10::Stream& it) const override { return ours(it).idle(); }
  void synchronizeStream(const c10::Stream& it) const override { ours(it).synchronise("stream"); }
  void synchronizeDevice(const c10::DeviceIndex device) const override { synchronise_device(device); }
  bool isStreamCapturing(const c10::Stream&) const override { return faults().capturing; }

  void record(void** event, const c10::Stream& on, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new_event(on.device_index());
    }
    auto moment = std::make_shared<Moment>();
    moment->stream = &ours(on);
    moment->never = faults().events_never_complete > 0 && use_up(&Faults::events_never_complete);
    Task task;
    task.operation.kind = "event";
    task.reaches = moment;
    moment->stream->enqueue(std::move(task));
    static_cast<Event*>(*event)->moment = std::move(moment);
    truth::count("events");
  }
  void block(void* event, const c10::Stream& on) const override {
    Task task;
    task.operation.kind = "wait";
    task.awaits = static_cast<Event*>(event)->moment;
    ours(on).enqueue(std::move(task));
  }
  bool queryEvent(void* event) const override {
    const auto& moment = moment_of(event);
    return moment.stream->has_passed(moment);
  }
  void synchronizeEvent(void* event) const override {
    const auto& moment = moment_of(event);
    moment.stream->wait_for(moment);
  }
  // torch has asked before whether both have passed, so both times are final.
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    return static_cast<double>(moment_of(second).at - moment_of(first).at) / 1e6;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }

  // Every type, since the CPU computes.
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }

  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(current_device()); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_current_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const auto before = getCurrentDevice();
    set_current_device(device);
    return before;
  }
  // A negative index means "as it is".
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? getCurrentDevice() : exchangeDevice(device);
  }

  bool isPinnedPtr(const void* pointer) const override { return is_pinned(pointer); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  c10::Device getDeviceFromPtr(void* pointer) const override {
    const int device = device_of(pointer);
    TORCH_CHECK(device >= 0, "the pointer is not in the memory of an emulated device");
    return device_at(device);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    const c10::DeviceGuard guard(storage.device());
    at::native::resize_bytes_cpu(storage.unsafeGetStorageImpl(), bytes);
  }

  // The arithmetic runs on the CPU and draws from the CPU's generator: a run here draws what a run there draws.
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::make_generator<at::CPUGeneratorImpl>();
  }
};

}  // namespace

void register_hooks() {
  c10::SetAllocator(kType, device_allocator());
  at::RegisterPrivateUse1HooksInterface(new Hooks());
}

}  // namespace emulated
