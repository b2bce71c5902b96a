#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/engine/kernel.h"

/// What the portable kernels share: operands that lie plain, and steps written as functions over typed pointers.
namespace mangrove::portable {

inline Operand read_value(const std::string& name) {
  return {.kind = Operand::Kind::value, .access = Operand::Access::read, .name = name};
}
inline Operand write_value(const std::string& name) {
  return {.kind = Operand::Kind::value, .access = Operand::Access::write, .name = name};
}
inline Operand read_gradient(const std::string& name) {
  return {.kind = Operand::Kind::gradient, .access = Operand::Access::read, .name = name};
}
inline Operand write_gradient(const std::string& name) {
  return {.kind = Operand::Kind::gradient, .access = Operand::Access::write, .name = name};
}
inline Operand read_saved(const std::string& name, Bytes bytes) {
  return {.kind = Operand::Kind::saved, .access = Operand::Access::read, .name = name, .saved_bytes = bytes};
}
inline Operand write_saved(const std::string& name, Bytes bytes) {
  return {.kind = Operand::Kind::saved, .access = Operand::Access::write, .name = name, .saved_bytes = bytes};
}

inline bool has_input(const KernelRequest& request, std::size_t i) {
  return i < request.node.inputs.size() && !request.node.inputs[i].empty();
}
inline bool has_output(const KernelRequest& request, std::size_t i) {
  return i < request.output_names.size() && !request.output_names[i].empty();
}
inline bool wants_gradient(const KernelRequest& request, std::size_t i) {
  return request.mode == Mode::training && i < request.wants_gradient.size() && request.wants_gradient[i];
}

/// Of an operand that a step does not have.
constexpr std::size_t kNoOperand = static_cast<std::size_t>(-1);

/// The operands of a step of which some are optional, and their positions.
class OperandList {
 public:
  std::size_t add(Operand operand) {
    operands_.push_back(std::move(operand));
    return operands_.size() - 1;
  }
  /// Adds make() if `present`; else kNoOperand.
  template <class Make>
  std::size_t add_if(bool present, Make make) {
    return present ? add(make()) : kNoOperand;
  }
  std::vector<Operand> take() { return std::move(operands_); }

 private:
  std::vector<Operand> operands_;
};

/// Where the operands of a step lie.
class Buffers {
 public:
  explicit Buffers(std::span<std::byte* const> buffers) : buffers_(buffers.begin(), buffers.end()) {}
  /// Null for kNoOperand.
  template <class T>
  T* as(std::size_t operand) const {
    return operand == kNoOperand ? nullptr : reinterpret_cast<T*>(buffers_[operand]);
  }

 private:
  std::vector<std::byte*> buffers_;
};

/// A step that runs work(const Buffers&). `what`: "forward", "backward data".
template <class Work>
Step make_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands, Work work) {
  Step step;
  step.name = request.node.name + " " + what;
  step.node = request.node.name;
  step.operands = std::move(operands);
  step.bind = [work](std::span<std::byte* const> buffers, std::byte*) -> Step::Bound {
    return [work, bound = Buffers(buffers)] { work(bound); };
  };
  return step;
}

/// The same with `bytes` of scratch space: work(const Buffers&, std::byte* workspace).
template <class Work>
Step make_step_with_workspace(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                              Bytes bytes, Work work) {
  Step step = make_step(request, what, std::move(operands), [](const Buffers&) {});
  step.workspace = bytes;
  step.bind = [work](std::span<std::byte* const> buffers, std::byte* workspace) -> Step::Bound {
    return [work, bound = Buffers(buffers), workspace] { work(bound, workspace); };
  };
  return step;
}

/// make(T()) for the element type T of a value, one of Types. errors: unimplemented (another type).
template <class... Types, class Make>
Result<NodeKernels> for_one_of(DType dtype, Make make) {
  Result<NodeKernels> made = make_error(Code::unimplemented, std::string("no kernel for type ") + dtype_name(dtype));
  const auto make_if = [&](auto zero) {
    if (dtype == dtype_of<decltype(zero)>) made = make(zero);
  };
  (make_if(Types()), ...);
  return made;
}
template <class Make>
Result<NodeKernels> for_type(DType dtype, Make make) {
  return for_one_of<float, double>(dtype, make);
}
template <class Make>
Result<NodeKernels> for_numeric_type(DType dtype, Make make) {
  return for_one_of<float, double, std::int32_t, std::int64_t, std::uint8_t, std::int8_t>(dtype, make);
}
template <class Make>
Result<NodeKernels> for_any_type(DType dtype, Make make) {
  return for_one_of<float, double, std::int32_t, std::int64_t, std::uint8_t, std::int8_t, bool>(dtype, make);
}

}  // namespace mangrove::portable
