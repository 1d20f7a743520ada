// What torch asks of a backend, registered by init().
#pragma once

namespace emulated {

void register_hooks();

}  // namespace emulated
