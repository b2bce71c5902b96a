#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/infer/views/views_job.h"

#include "mangrove/data/dataset.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/exits.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

TEST(Views, AnswersAreThoseOfTheNetworkOnOneDevice) {
  for (const char* fusions : {"max-max", "average-average", "concat-concat", "average-concat", "max-concat"}) {
    const Graph graph = ddnn(fusions);
    const std::vector<std::vector<float>> all = {middle_thresholds(graph), {0}, {1}};
    for (const std::vector<float>& thresholds : all) {
      OnOneDevice network(graph, thresholds);
      for (const int nodes : {kViews, kViews + 1, kViews + 2}) {
        const std::string where =
            std::string(fusions) + ", " + exits::exit_numbers_text(thresholds) + ", nodes " + std::to_string(nodes);
        EXPECT_TRUE(expect_right(infer_views(views_job(graph, thresholds), nodes), network, where).empty()) << where;
      }
    }
  }
}

TEST(Views, WithoutThresholdsAllSamplesGoUp) {
  const Graph graph = ddnn();
  const json result = json::parse(infer_views(views_job(graph, {}), kViews + 1).result());
  EXPECT_EQ(result["exits"][0]["images"], 0);
  EXPECT_EQ(result["exits"][1]["images"], kSamples);
}

TEST(Views, BytesAreThoseThatMustGoUp) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  const AllLeft expected = on_one_device(graph, thresholds);
  const auto stayed = std::ranges::count(expected, 1u, &Left::exit);
  ASSERT_GT(stayed, 2);
  ASSERT_LT(stayed, kSamples - 2);
  const json result = json::parse(infer_views(views_job(graph, thresholds), kViews + 1).result());
  for (const json& view : result["views"]) {
    EXPECT_EQ(view["score_bytes"], kSamples * kScores);
    EXPECT_EQ(view["feature_bytes"], stayed * kFeatures);
  }
  const auto each = [](Bytes bytes) { return static_cast<double>(kViews * bytes) / kSamples; };
  EXPECT_DOUBLE_EQ(result["score_bytes_per_image"], each(kSamples * kScores));
  EXPECT_DOUBLE_EQ(result["feature_bytes_per_image"], each(stayed * kFeatures));
  EXPECT_EQ(result["sample_bytes"], 784);
  EXPECT_EQ(result["upper"].size(), 1u);
  EXPECT_EQ(result["upper"][0]["node"], "rank-5");
  EXPECT_EQ(result["upper"][0]["images"], stayed);
}

TEST(Views, TellHowManyLeftAtEachExitAndHowManyOfThemRight) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  std::vector<double> images(2), right(2);
  for (std::uint32_t image = 0; const Left& left : on_one_device(graph, thresholds)) {
    ++images[left.exit];
    right[left.exit] += left.label == dataset->label(image++) ? 1 : 0;
  }
  const json result = json::parse(infer_views(views_job(graph, thresholds), kViews).result());
  EXPECT_TRUE(result["upper"][0]["node"].is_null()) << "the coordinator";
  EXPECT_DOUBLE_EQ(result["accuracy"], (right[0] + right[1]) / kSamples);
  for (std::size_t exit = 0; exit < 2; ++exit) {
    EXPECT_EQ(result["exits"][exit]["images"], images[exit]);
    EXPECT_DOUBLE_EQ(result["exits"][exit]["accuracy"], right[exit] / images[exit]);
  }
}

TEST(Views, JobsThatCannotBeDoneAreRefused) {
  const auto error = [](const InferJob& job, int nodes) {
    const RoleWorld::Outcome outcome = infer_views(job, nodes);
    EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
    return outcome.leader.ok() ? "" : outcome.leader.error().message;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error(views_job(ddnn(), {0.5f}), kViews - 1), "needs at least 4 nodes, got 3");
  has(error(views_job(exits_graph(), {0.5f, 0.5f}), kViews), "does not take its image apart");
  has(error(views_job(without_early_exits(ddnn()), {}), kViews), "has no early exits");
  has(error(views_job(ddnn(), {0.5f, 0.5f}), kViews), "exit_thresholds: expected 1 number");
  has(error(views_job(ddnn(), {1.5f}), kViews), "exit_thresholds: '1.5' is not a number from 0 to 1");
  InferJob other = views_job(zoo::build_model("ddnn-4", {.classes = 7}).value(), {0.5f});
  InferJob nonsense = views_job(ddnn(), {0.5f});
  nonsense.set_backend("nonsense");
  for (const int nodes : {kViews, kViews + 1}) {
    has(error(other, nodes), "7 classes");
    has(error(nonsense, nodes), "nonsense");
  }
}

}  // namespace
}  // namespace mangrove::infer
