#include "mangrove/cluster/reference_conv.h"

#include <algorithm>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/engine/program.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cluster {
namespace {

constexpr std::int64_t kBatchSize = 8;
constexpr std::int64_t kChannels = 16;
constexpr std::int64_t kSide = 32;
constexpr std::int64_t kKernel = 3;
constexpr double kFlops = 2.0 * kBatchSize * kChannels * kSide * kSide * kChannels * kKernel * kKernel;
constexpr Seconds kMeasureFor = 0.1;

Result<Graph> reference_graph() {
  GraphParts parts;
  parts.name = "reference-conv";
  parts.inputs = {{"x", {DType::f32, {kBatchSize, kChannels, kSide, kSide}}}};
  parts.outputs = {"y"};
  Node conv;
  conv.name = "conv";
  conv.op = "Conv";
  conv.attributes["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  conv.inputs = {"x", "w"};
  conv.outputs = {"y"};
  parts.nodes = {conv};
  parts.initializers.emplace("w", Tensor(DType::f32, Shape{kChannels, kChannels, kKernel, kKernel}));
  return Graph::create(std::move(parts));
}

}  // namespace

Result<double> measure_reference_conv(int threads, const Clock& clock) {
  MG_TRY(const Graph graph, reference_graph());
  MG_TRY(std::shared_ptr<const Program> program,
         Program::compile(graph, {.mode = Mode::inference, .batch = kBatchSize, .backend = {}, .threads = threads}));
  MG_TRY(const std::unique_ptr<Execution> execution, Execution::create(std::move(program), threads));
  std::ranges::fill(execution->input<float>("x"), 1.0F);
  execution->forward();  // the first run takes its memory
  // the best of many: what the device can do, whatever else runs at the moment
  const Deadline deadline = clock.after(kMeasureFor);
  Seconds best = kMeasureFor;
  do {
    const Instant start = clock.now();
    execution->forward();
    best = std::min(best, clock.now() - start);
  } while (clock.now() < deadline);
  return kFlops / std::max(best, 1e-9);
}

}  // namespace mangrove::cluster
