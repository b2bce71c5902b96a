#include "tests/plan/tile_problems.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mangrove/graph/operator.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::testing {

Graph small_convolutions(std::size_t convolutions, std::int64_t plane, std::size_t pool_behind) {
  zoo::NetworkBuilder builder("small", {.sample_shape = {1, plane, plane}, .classes = 10});
  zoo::Value x = builder.input();
  for (std::size_t i = 0; i < convolutions; ++i) {
    x = builder.conv(std::string(1, static_cast<char>('a' + i)), x, 1);
    if (i + 1 == pool_behind) x = builder.max_pool("pool", x);
  }
  x = builder.dense("dense", builder.flatten("flatten", x), 10);
  return std::move(builder).finish(x).value();
}

Graph model(const std::string& name, std::int64_t plane) {
  return zoo::build_model(name, {.sample_shape = {3, plane, plane}, .classes = 10}).value();
}

plan::TileDevice device_with(const Graph& graph, double flops_a_second) {
  plan::TileDevice device{.name = "n"};
  for (const Node& node : graph.nodes()) device.seconds.push_back(node_cost(graph, node, 1).flops / flops_a_second);
  return device;
}

plan::TileDevice board(const Graph& graph, double flops_a_second, BytesPerSecond rate) {
  plan::TileDevice device = device_with(graph, flops_a_second);
  device.rate = rate;
  device.delay = 1e-4;
  device.byte_seconds = 1e-9;
  device.message_seconds = 1e-4;
  return device;
}

std::vector<plan::TileDevice> random_boards(const Graph& graph, std::size_t count, Random& random) {
  const double flops = std::exp(random.uniform(std::log(2e5), std::log(5e7)));
  std::vector<plan::TileDevice> devices;
  for (std::size_t d = 0; d < count; ++d) {
    const double memory_rate = random.uniform(1e5, 1e7);
    devices.push_back(board(graph, flops * random.uniform(1, 3), memory_rate));
    devices.back().name += std::to_string(d + 1);
    devices.back().delay = random.uniform(0, 2e-4);
    devices.back().message_seconds = random.uniform(0, 2e-4);
    devices.back().byte_seconds = random.uniform(0, 1e-8);
  }
  return devices;
}

Seconds best_single(const plan::TileProblem& problem) {
  std::vector<Seconds> all;
  for (const plan::TileDevice& device : problem.devices)
    all.push_back(std::accumulate(device.seconds.begin(), device.seconds.end(), 0.0));
  return std::ranges::min(all);
}

}  // namespace mangrove::testing
