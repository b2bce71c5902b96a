#include "tests/engine/reversed_backend.h"

#include <cstring>

#include "mangrove/engine/portable/portable_backend.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

class Reversed final : public Layout {
 public:
  explicit Reversed(const ValueInfo& info) : info_(info) {}
  Bytes bytes() const override { return (info_.shape.elements() + 1) * static_cast<Bytes>(size_of(info_.dtype)); }
  bool equals(const Layout& other) const override { return dynamic_cast<const Reversed*>(&other) != nullptr; }
  std::string describe() const override { return "reversed"; }

 private:
  ValueInfo info_;
};

class ReversedBackend final : public Backend {
 public:
  std::string_view name() const override { return "reversed"; }
  bool supports(const KernelRequest& request) const override {
    if (!request.epilogue.empty()) return false;
    const bool is_add = request.node.op == "Add" && request.inputs[0].shape == request.outputs[0].shape &&
                        request.inputs[1].shape == request.outputs[0].shape;
    return is_add || find_operator(request.node.op)->activation;
  }
  bool fuses(const KernelRequest&) const override { return false; }

  // An elementwise step does not care in which order the elements lie, as long as all operands have the same one.
  Result<NodeKernels> make_kernels(const KernelRequest& request) const override {
    MG_TRY(NodeKernels kernels, portable_->make_kernels(request));
    for (auto* steps : {&kernels.forward, &kernels.backward}) {
      for (Step& step : *steps) {
        for (Operand& operand : step.operands) operand.layout = std::make_shared<Reversed>(request.outputs[0]);
      }
    }
    return kernels;
  }

  Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr&, const LayoutPtr&) const override {
    const std::size_t size = size_of(info.dtype);
    const auto elements = static_cast<std::size_t>(info.shape.elements());
    Step step;
    step.operands.push_back({.kind = Operand::Kind::value, .access = Operand::Access::read, .name = ""});
    step.operands.push_back({.kind = Operand::Kind::value, .access = Operand::Access::write, .name = ""});
    step.bind = [=](std::span<std::byte* const> buffers, std::byte*) -> Step::Bound {
      return [=, from = buffers[0], to = buffers[1]] {
        for (std::size_t i = 0; i < elements; ++i) std::memcpy(to + i * size, from + (elements - 1 - i) * size, size);
      };
    };
    return step;
  }

  void prepare_thread(int) const override {}

 private:
  std::shared_ptr<const Backend> portable_ = make_portable_backend();
};

}  // namespace

std::shared_ptr<const Backend> make_reversed_backend() {
  return std::make_shared<ReversedBackend>();
}

}  // namespace mangrove
