#include "mangrove/cli/predict_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

/// Five images of nothing; knows when it was read.
class Watched final : public SampleSource {
 public:
  struct Fill {
    std::int64_t first;
    Instant at;
  };
  std::int64_t count() const override { return 5; }
  std::string name(std::int64_t sample) const override { return std::to_string(sample); }
  bool has_images() const override { return true; }
  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    fills.push_back({samples.front(), clock.now()});
    std::ranges::fill(execution.input<float>("input"), 0.0f);
    return std::vector<Status>(samples.size());
  }

  SteadyClock clock;
  mutable std::vector<Fill> fills;
};

TEST(RunModel, WithExitsTimesNoCompilation) {
  const Graph graph = zoo::build_model("branchy-lenet", {}).value();
  ASSERT_EQ(graph.inputs()[0].first, "input");
  const Watched source{};
  const Instant start = source.clock.now();
  const auto predictions = run_model(
      graph, source, {.batch = 2, .backend = {}, .exit_thresholds = std::vector<float>{0}}, [](std::int64_t) {}, {});
  const Seconds all = source.clock.now() - start;
  ASSERT_TRUE(predictions.ok()) << predictions.error().message;
  EXPECT_EQ(predictions->left_at_exits, (std::vector<std::int64_t>{0, 5}));
  std::vector<std::int64_t> firsts;
  for (const Watched::Fill& fill : source.fills) firsts.push_back(fill.first);
  ASSERT_EQ(firsts, (std::vector<std::int64_t>{0, 0, 2, 4, 4})) << "again what programs were compiled for";
  const Seconds compiling = (source.fills[1].at - source.fills[0].at) + (source.fills[4].at - source.fills[3].at);
  EXPECT_GT(predictions->seconds, 0);
  EXPECT_LE(predictions->seconds, all - compiling);
}

}  // namespace
}  // namespace mangrove::cli
