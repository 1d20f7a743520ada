// The operators of the emulated device. Its memory is host memory: data move when the call is made and are right at
// any time; what takes time is the entry in the stream.
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <cstring>
#include <set>

#include "machine.h"
#include "memory.h"

namespace emulated {
namespace {

const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// The CPU fallback moves its arguments with the same operators as a user; those copies do not exist on a device.
thread_local bool t_in_fallback = false;

class InFallback {
 public:
  InFallback() : before_(t_in_fallback) { t_in_fallback = true; }
  ~InFallback() { t_in_fallback = before_; }
  InFallback(const InFallback&) = delete;
  InFallback& operator=(const InFallback&) = delete;

 private:
  bool before_;
};

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), device_allocator(), kKeys,
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                           device_allocator(), kKeys, c10::dtype_or_default(type));
}

const at::Tensor& resize_(const at::Tensor& self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(self.device());
  return at::native::resize_(self, C10_AS_INTARRAYREF_SLOW(size), format);
}

at::Tensor& set_from_storage(at::Tensor& self, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return at::native::set_storage_cpu_(self, std::move(source), 0, {count}, {});
}

// The same bytes as a CPU tensor.
at::Tensor on_host(const at::Tensor& it) {
  if (it.is_cpu()) {
    return it;
  }
  return at::from_blob(it.data_ptr(), it.sizes(), it.strides(), it.options().device(c10::kCPU).requires_grad(false));
}

struct Copy {
  const char* kind;
  const char* name;  // as Kineto names it on CUDA
  double gb_per_s;
  int device;  // whose stream carries it
  bool pageable;
};

Copy describe(const at::Tensor& from, const at::Tensor& to) {
  const auto set = settings();
  if (from.is_cpu()) {
    return is_pinned(from.data_ptr())
               ? Copy{"pinned_to_device", "Memcpy HtoD (Pinned -> Device)", set.pinned_gb_per_s, to.get_device(), false}
               : Copy{"pageable_to_device", "Memcpy HtoD (Pageable -> Device)", set.pageable_gb_per_s, to.get_device(),
                      true};
  }
  const auto device = static_cast<int>(from.get_device());
  if (to.is_cpu()) {
    return is_pinned(to.data_ptr())
               ? Copy{"device_to_pinned", "Memcpy DtoH (Device -> Pinned)", set.pinned_gb_per_s, device, false}
               : Copy{"device_to_pageable", "Memcpy DtoH (Device -> Pageable)", set.pageable_gb_per_s, device, true};
  }
  if (from.get_device() != to.get_device()) {
    return {"between_devices", "Memcpy PtoP (Device -> Device)", set.pinned_gb_per_s, device, false};
  }
  return {"on_device", "Memcpy DtoD (Device -> Device)", set.on_device_gb_per_s, device, false};
}

void carry(const Copy& copy, int64_t bytes) {
  Task task;
  task.operation.kind = "copy";
  task.operation.name = copy.name;
  task.operation.copy = copy.kind;
  task.operation.bytes = bytes;
  task.duration = std::llround(static_cast<double>(bytes) / copy.gb_per_s);  // 1 GB/s is a byte per nanosecond
  truth::count(std::string("copies.") + copy.kind);
  truth::count(std::string("bytes.") + copy.kind, bytes);
  current_stream(copy.device).enqueue(std::move(task));
}

void move_data(const at::Tensor& from, const at::Tensor& to) {
  const bool plain = from.dtype() == to.dtype() && from.sizes() == to.sizes() && from.is_contiguous() &&
                     to.is_contiguous() && !from.is_conj() && !from.is_neg();
  if (plain) {
    // The CPU's own copy asks its thread pool for help, which takes milliseconds on a machine with other work.
    std::memcpy(to.data_ptr(), from.data_ptr(), from.nbytes());
  } else {
    on_host(to).copy_(on_host(from));
  }
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  if (t_in_fallback || self.numel() == 0) {
    move_data(self, to);
    return to;
  }
  const auto copy = describe(self, to);
  check_usable(copy.device);
  if (copy.pageable) {
    check_not_capturing("a copy of pageable memory");
  }
  // The device begins when the copy is called, and the bytes are moved meanwhile: a link that is slower than this
  // machine's memory is busy for exactly its own time.
  carry(copy, static_cast<int64_t>(self.nbytes()));
  move_data(self, to);
  const bool leaves_device = self.is_cpu() || to.is_cpu();
  if (leaves_device && (copy.pageable || !non_blocking)) {
    current_stream(copy.device).synchronise("copy");
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  resize_(to, self.sym_sizes(), std::nullopt);
  return copy_from(self, to, false);
}

// `.item()`: the value crosses to the host, and the host waits for everything before it.
at::Scalar item(const at::Tensor& self) {
  const auto device = static_cast<int>(self.get_device());
  check_not_capturing("reading a value");
  carry({"device_to_pageable", "Memcpy DtoH (Device -> Pageable)", settings().pageable_gb_per_s, device, true},
        static_cast<int64_t>(self.itemsize()));
  current_stream(device).synchronise("item");
  return at::native::_local_scalar_dense_cpu(on_host(self));
}

// Values are computed the moment an operator is called, so no stream can read memory that another one has been given.
void record_stream(at::Tensor&, at::Stream) {}

// Their results' sizes depend on the data, so on a device the host has to wait for them.
bool needs_data(const std::string& name) {
  static const std::set<std::string> names{"aten::nonzero",     "aten::masked_select", "aten::equal",
                                           "aten::_unique2",    "aten::unique_dim",    "aten::unique_consecutive",
                                           "aten::repeat_interleave"};
  return names.count(name) > 0;
}

// What an operator means on a device, once the CPU has computed it.
void note_operator(const std::string& name, int device) {
  if (t_in_fallback) {
    return;
  }
  if (const auto us = settings().operator_us; us > 0) {
    run_kernel(us / 1e3, name, device);
  }
  if (needs_data(name)) {
    current_stream(device).synchronise("operator");
  }
}

// That of the first argument which has one.
int device_of_arguments(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  for (const auto& argument : torch::jit::last(stack, op.schema().arguments().size())) {
    if (argument.isTensor() && argument.toTensor().is_privateuseone()) {
      return argument.toTensor().get_device();
    }
    if (argument.isTensorList() && !argument.toTensorList().empty()) {
      const at::Tensor first = argument.toTensorList().get(0);
      if (first.is_privateuseone()) {
        return first.get_device();
      }
    }
  }
  return current_device();
}

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const int device = device_of_arguments(op, *stack);
  check_usable(device);
  {
    const InFallback guard;
    at::native::cpu_fallback(op, stack);
  }
  note_operator(op.schema().name(), device);
}

at::Tensor on_device(const at::Tensor& host, at::Device device) {
  const InFallback guard;
  return host.defined() ? host.to(device) : host;
}

// torch gives convolutions to backends under names for which the CPU has no kernel, so they cannot fall back.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       c10::SymIntArrayRef stride, c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                       bool transposed, c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  check_usable(input.get_device());
  const auto host_bias = bias && bias->defined() ? std::optional(on_host(*bias)) : std::nullopt;
  const auto result = at::convolution_symint(on_host(input), on_host(weight), host_bias, stride, padding, dilation,
                                             transposed, output_padding, std::move(groups));
  note_operator("aten::convolution", input.get_device());
  return on_device(result, input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight, c10::SymIntArrayRef stride,
    c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed, c10::SymIntArrayRef output_padding,
    c10::SymInt groups, std::array<bool, 3> wanted) {
  check_usable(input.get_device());
  const std::vector<c10::SymInt> bias_sizes{gradient.sym_size(1)};
  const auto [for_input, for_weight, for_bias] = at::convolution_backward_symint(
      on_host(gradient), on_host(input), on_host(weight), c10::SymIntArrayRef(bias_sizes), stride, padding, dilation,
      transposed, output_padding, std::move(groups), wanted);
  note_operator("aten::convolution_backward", input.get_device());
  const auto device = input.device();
  return {on_device(for_input, device), on_device(for_weight, device), on_device(for_bias, device)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("resize_", resize_);
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  library.impl("set_.source_Storage", set_from_storage);
  library.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", item);
  library.impl("record_stream", record_stream);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("unfold", at::native::unfold);
  library.impl("convolution_overrideable", convolution);
  library.impl("convolution_backward_overrideable", convolution_backward);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

// Autocast may be switched on, but computes in the types it is given.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) { library.fallback(torch::CppFunction::makeFallthrough()); }

}  // namespace
}  // namespace emulated
