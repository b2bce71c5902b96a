#include "mangrove/plan/layers.h"

#include <fmt/format.h>

#include <algorithm>

namespace mangrove::plan {
Status check(const Layers& network) {
  const std::size_t n = network.layers.size();
  if (n == 0) return make_error(Code::invalid_argument, "network '" + network.name + "' has no layers");
  if (network.batch < 1)
    return make_error(Code::invalid_argument, fmt::format("a micro-batch of {} samples", network.batch));
  for (const Layer& layer : network.layers)
    if (!is_size(layer.parameters) || !is_size(layer.buffers) || layer.activations < 0)
      return make_error(Code::invalid_argument, "layer '" + layer.name + "' has a size below 0 or above 1 TB");
  for (const Flow& flow : network.flows) {
    const std::string from = flow.from && *flow.from < n ? network.layers[*flow.from].name : "input";
    if (!is_size(flow.bytes))
      return make_error(Code::invalid_argument, "the value of '" + from + "' has a size below 0 or above 1 TB");
    const bool in_order =
        std::ranges::all_of(flow.to, [&](std::size_t to) { return to < n && (!flow.from || *flow.from < to); });
    if (!in_order || (flow.from && *flow.from >= n))
      return make_error(Code::invalid_argument, "the value of '" + from + "' is read by a layer that is not behind it");
  }
  return {};
}

void measure_living(Layers& network) {
  for (Layer& layer : network.layers) layer.activations = 0;
  const std::size_t n = network.layers.size();
  for (const Flow& flow : network.flows) {
    const std::size_t first = flow.from.value_or(0);
    std::size_t last = flow.is_result ? n - 1 : first;
    for (const std::size_t to : flow.to) last = std::max(last, to);
    for (std::size_t i = first; i <= last; ++i) network.layers[i].activations += flow.bytes;
  }
}

}  // namespace mangrove::plan
