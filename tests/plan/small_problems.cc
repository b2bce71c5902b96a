#include "tests/plan/small_problems.h"

#include <algorithm>

namespace mangrove::testing {
namespace {

plan::Layers random_network(Random& random, const Shape& shape) {
  plan::Layers network{"random", 1, {}, {{{}, {0}, false, static_cast<Bytes>(random.below(8))}}};
  for (std::size_t i = 0; i < shape.layers; ++i) {
    network.layers.push_back({"l" + std::to_string(i), static_cast<Bytes>(random.below(6)), 0});
    network.flows.push_back({i, {}, i + 1 == shape.layers, static_cast<Bytes>(random.below(8))});
    if (i == 0) continue;
    const std::size_t from = shape.is_chain ? i - 1 : random.below(i);
    network.flows[from + 1].to.push_back(i);
    // now and then a layer reads from a second one, or the input
    if (random.below(3) != 0) continue;
    const std::size_t second = random.below(shape.is_chain ? i : i + 1);
    auto& readers = network.flows[shape.is_chain ? second + 1 : second].to;
    if (std::ranges::count(readers, i) == 0) readers.push_back(i);
  }
  measure_living(network);
  return network;
}

plan::Device random_device(Random& random, const Shape& shape) {
  plan::Device device;
  const double speed = static_cast<double>(1 + random.below(3));
  for (std::size_t i = 0; i < shape.layers; ++i) device.seconds.push_back(static_cast<double>(random.below(7)) * speed);
  device.watts = static_cast<double>(1 + random.below(4));
  if (shape.has_memory && random.below(4) != 0) device.memory = static_cast<Bytes>(20 + random.below(60));
  if (shape.has_memory) device.reserved = static_cast<Bytes>(random.below(5));
  if (shape.has_links && random.below(4) != 0) device.rate = static_cast<double>(1 + random.below(4)) / 2;
  if (shape.has_links) device.delay = static_cast<double>(random.below(2));
  if (shape.has_links && random.below(2) != 0) device.handling = static_cast<double>(1 + random.below(4));
  return device;
}

}  // namespace

plan::Problem random_problem(Random& random, const Shape& shape) {
  plan::Problem problem{random_network(random, shape), {}};
  problem.most_replicas = shape.most_replicas;
  problem.training = shape.is_training;
  const std::size_t kinds = shape.kinds > 0 ? shape.kinds : 1 + random.below(shape.devices);
  for (std::size_t d = 0; d < shape.devices; ++d) {
    problem.devices.push_back(d < kinds ? random_device(random, shape) : problem.devices[d % kinds]);
    problem.devices.back().name = "d" + std::to_string(d);
  }
  for (std::size_t d = 0; shape.has_ways && d + 1 < shape.devices; ++d)
    if (random.below(2) == 0)
      problem.ways[{d, d + 1}] = {static_cast<double>(random.below(3)), static_cast<double>(random.below(3))};
  if (shape.is_training) {
    problem.schedule = {.copies = static_cast<double>(1 + random.below(4)),
                        .messages = static_cast<double>(random.below(4)),
                        .ahead = static_cast<std::int64_t>(random.below(2)),
                        .at_once = static_cast<std::int64_t>(random.below(3)),
                        .recomputes = random.below(2) == 0,
                        .per_update = static_cast<std::int64_t>(random.below(2) * 6)};
    for (plan::Layer& layer : problem.network.layers) layer.buffers = static_cast<Bytes>(random.below(3));
  }
  return problem;
}

plan::Problem chain_problem(const std::vector<Seconds>& seconds, std::size_t devices) {
  plan::Problem problem{{"chain", 1, {}, {{{}, {0}, false, 100}}}, {}};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    problem.network.layers.push_back({"l" + std::to_string(i), 0, 0});
    problem.network.flows.push_back({i, {}, i + 1 == seconds.size(), 100});
    if (i > 0) problem.network.flows[i].to.push_back(i);
  }
  measure_living(problem.network);
  for (std::size_t d = 0; d < devices; ++d)
    problem.devices.push_back({.name = "d" + std::to_string(d), .seconds = seconds});
  return problem;
}

}  // namespace mangrove::testing
