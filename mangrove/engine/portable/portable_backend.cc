#include "mangrove/engine/portable/portable_backend.h"

#include <map>

#include "mangrove/engine/portable/kernels.h"

namespace mangrove {
namespace {

using portable::KernelRow;

std::map<std::string_view, KernelRow> all_rows() {
  std::map<std::string_view, KernelRow> rows;
  for (const auto family : {portable::activations, portable::arithmetic, portable::constants, portable::convolutions,
                            portable::indexing, portable::logic, portable::movement, portable::normalizations,
                            portable::pools, portable::products, portable::quantization, portable::recurrent,
                            portable::reductions, portable::regularization, portable::shapes, portable::softmaxes}) {
    for (const KernelRow& row : family()) rows.emplace(row.op, row);
  }
  return rows;
}

const KernelRow* find_row(std::string_view op) {
  static const std::map<std::string_view, KernelRow> rows = all_rows();
  const auto row = rows.find(op);
  return row == rows.end() ? nullptr : &row->second;
}

class PortableBackend final : public Backend {
 public:
  std::string_view name() const override { return "portable"; }

  bool supports(const KernelRequest& request) const override {
    return find_row(request.node.op) != nullptr && request.epilogue.empty();
  }

  bool fuses(const KernelRequest&) const override { return false; }

  Result<NodeKernels> make_kernels(const KernelRequest& request) const override {
    return find_row(request.node.op)->make(request);
  }

  Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const override {
    return make_error(Code::internal, "portable values lie plain, found " + (from ? from->describe() : "plain") +
                                          " to " + (to ? to->describe() : "plain") + " for " + to_string(info.shape));
  }

  void prepare_thread(int) const override {}  // denormal numbers as IEEE has them
};

}  // namespace

std::shared_ptr<const Backend> make_portable_backend() {
  return std::make_shared<PortableBackend>();
}

}  // namespace mangrove
