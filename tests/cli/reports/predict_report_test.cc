#include "mangrove/cli/reports/predict_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mangrove::cli {
namespace {

using nlohmann::json;

json report_of(json samples) {
  return {{"samples", std::move(samples)},
          {"outputs", json::array()},
          {"failed", 0},
          {"seconds", 0.5},
          {"samples_per_s", 20.0}};
}

TEST(PredictTable, HasASentenceForEachExit) {
  json report = report_of(json::array({{{"input", "x.npy"}}}));
  report["left_at_exits"] = {7, 1, 12'000};
  report["exit_thresholds"] = {0.30200001597404480, 0.5};
  EXPECT_EQ(predict_table(report),
            "left at exit 1: 7 samples (0.1 %), threshold 0.302 at the end\n"
            "left at exit 2: 1 sample (0.0 %), threshold 0.500 at the end\n"
            "left at exit 3: 12,000 samples (99.9 %)\n"
            "1 sample in 500 ms, 20.0 samples/s\n");
}

TEST(PredictTable, NamesAnImageThatCannotBeReadOnce) {
  json report = report_of(json::array(
      {{{"input", "a.ppm"}, {"error", "a.ppm: no PPM image"}}, {{"input", "b.ppm"}, {"error", "its sides are 0"}}}));
  report["failed"] = 2;
  EXPECT_EQ(predict_table(report),
            "a.ppm: no PPM image\n"
            "b.ppm: its sides are 0\n"
            "2 of 2 samples could not be read\n"
            "2 samples in 500 ms, 20.0 samples/s\n");
}

}  // namespace
}  // namespace mangrove::cli
