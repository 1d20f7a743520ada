// Device memory with a limit and a cache, and pinned host memory. Both are plain host memory underneath.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

namespace emulated {

c10::DeviceAllocator* device_allocator();
c10::Allocator* pinned_allocator();

bool is_pinned(const void* pointer);
// -1 where it is no device memory.
int device_of(const void* pointer);

}  // namespace emulated
