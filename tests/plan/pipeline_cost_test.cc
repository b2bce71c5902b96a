#include "mangrove/plan/pipeline_cost.h"

#include <gtest/gtest.h>

#include <string>

namespace mangrove::plan {
namespace {

struct PipelineCostCase {
  const char* name;
  std::vector<PipelineLoad> loads;
  std::vector<double> cores;
  std::size_t micro_batches;
  Seconds period;
  Seconds seconds;
};

class PredictPipeline : public ::testing::TestWithParam<PipelineCostCase> {};

TEST_P(PredictPipeline, FollowsTheBusiestDeviceAndTheCores) {
  const PipelineCostCase& c = GetParam();
  const PipelinePrediction prediction = predict_pipeline(c.loads, c.cores, c.micro_batches);
  EXPECT_DOUBLE_EQ(prediction.period, c.period);
  EXPECT_DOUBLE_EQ(prediction.seconds, c.seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Hosts, PredictPipeline,
    ::testing::Values(
        PipelineCostCase{
            "own_machines_slowest_stage", {{1, 1, 0, 1}, {3, 2, 1, 1}, {2, 3, 2, 1}}, {1, 1, 1}, 10, 3, 6 + 27},
        PipelineCostCase{"two_cores_for_three_stages", {{2, 1, 0, 1}, {2, 2, 0, 1}, {2, 3, 0, 1}}, {2}, 10, 3, 6 + 27},
        PipelineCostCase{
            "a_fifth_of_a_core_for_reading_and_computing", {{4, 1, 0, 1}, {1, -1, 0, 1}}, {0.2}, 10, 5, 5 + 45},
        PipelineCostCase{"two_stages_on_one_device", {{2, 1, 0, 1}, {2, 1, 0, 1}}, {8}, 5, 4, 4 + 16},
        PipelineCostCase{"threads_take_cores", {{2, 1, 0, 4}, {2, 2, 0, 4}}, {4}, 2, 4, 4 + 4},
        PipelineCostCase{"more_threads_than_cores", {{2, 1, 0, 8}}, {2}, 2, 2, 4},
        PipelineCostCase{"nothing_to_do", {{2, 1, 0, 1}}, {2}, 0, 2, 0}),
    [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace mangrove::plan
