#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/engine/kernel.h"

namespace mangrove {

/// A table from operator to kernels, for one kind of hardware or library. Stateless.
/// threads: any.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  /// False: the program takes the portable kernel instead (which exists for every operator) and says so in its trace.
  virtual bool supports(const KernelRequest& request) const = 0;
  /// The same for a request whose dequantized inputs are read as what they were dequantized from. Without such a kernel
  /// they are dequantized first, and supports() is asked.
  virtual bool supports_dequantized(const KernelRequest&) const { return false; }
  /// Whether the last node of the request's epilogue (there is one) can be computed inside the kernels of its node,
  /// given that those before it are. Quick: supports() has the last word.
  virtual bool fuses(const KernelRequest& request) const = 0;
  virtual Result<NodeKernels> make_kernels(const KernelRequest& request) const = 0;

  /// A step that copies a value from operand 0 (layout `from`) to operand 1 (layout `to`); one of the two may be plain.
  /// The program fills in the operands' kinds and names.
  virtual Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const = 0;

  /// Called on the thread that runs the steps, before them: thread count, handling of denormal numbers.
  virtual void prepare_thread(int threads) const = 0;
};

/// "onednn" (where the build has it), "simd" and "portable".
Result<std::shared_ptr<const Backend>> find_backend(std::string_view name);
/// The fastest one of this build first.
std::span<const std::string> backend_names();

}  // namespace mangrove
