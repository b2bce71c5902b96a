#include "mangrove/engine/portable/unary_kernels.h"

#include <array>

#include "mangrove/base/check.h"
#include "mangrove/engine/in_parallel.h"

namespace mangrove::portable {

Step element_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                  std::vector<std::int64_t> sizes, ElementLoop loop) {
  constexpr std::size_t kMostOperands = 3;
  MG_CHECK(operands.size() == sizes.size() && sizes.size() <= kMostOperands);
  const std::int64_t elements = request.outputs[0].shape.elements();
  return make_step(
      request, what, std::move(operands),
      [elements, sizes = std::move(sizes), loop = std::move(loop), threads = request.threads](const Buffers& buffers) {
        in_ranges(elements, threads_for(elements, threads), [&](std::int64_t first, std::int64_t last) {
          std::array<std::byte*, kMostOperands> at{};
          for (std::size_t k = 0; k < sizes.size(); ++k) at[k] = buffers.as<std::byte>(k) + first * sizes[k];
          loop(last - first, at.data());
        });
      });
}

}  // namespace mangrove::portable
